"""Numbers of the Fastformer paper, shown in grey beside one's own: published, not run here."""

from summarizer.reporting.comparison import ComparedSystem, Score

# Wu, Wu, Qi, Huang: "Fastformer: Additive Attention Can Be All You Need", arXiv 2108.09084v6. ROUGE-1, -2 and -L,
# F × 100; its L agrees with summary-level ROUGE, so it stands under rougeLsum.
SOURCE = "Wu et al. 2021, arXiv 2108.09084; published, not run here"
METRICS = ("rouge1", "rouge2", "rougeLsum")
PUBLISHED = {
    "cnn_dailymail": {
        "Transformer": (38.52, 16.04, 35.87),
        "Longformer": (37.89, 15.46, 35.19),
        "BigBird": (38.31, 15.78, 35.60),
        "Linformer": (37.96, 15.58, 35.34),
        "Linear Transformer": (37.24, 14.87, 34.64),
        "Poolingformer": (38.58, 16.16, 36.17),
        "Fastformer": (38.54, 16.22, 36.21),
    },
    "pubmed": {
        "Transformer": (34.26, 11.88, 31.64),
        "Longformer": (36.92, 14.34, 33.75),
        "BigBird": (37.73, 14.99, 34.51),
        "Linformer": (37.22, 14.48, 34.02),
        "Linear Transformer": (36.43, 13.80, 33.21),
        "Poolingformer": (37.82, 15.15, 34.63),
        "Fastformer": (38.09, 15.44, 34.81),
    },
}


def published_systems(data_set: str) -> list[ComparedSystem]:
    """The paper's systems on a data set, as a comparison holds them; scores 0..1."""
    return [
        ComparedSystem(
            f"{name} (published)",
            "published",
            {metric: {"fmeasure": Score(round(score / 100, 4))} for metric, score in zip(METRICS, scores, strict=True)},
            source=SOURCE,
        )
        for name, scores in PUBLISHED[data_set].items()
    ]

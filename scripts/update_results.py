"""Update the tables in the pages from the files in results/."""

import re
from argparse import ArgumentParser
from functools import partial
from pathlib import Path

from summarizer.experiments.mixing_use import mixing_use_table, mixing_uses_table
from summarizer.experiments.study_table import study_table
from summarizer.reporting.benchmark_tables import TABLES as BENCHMARKS
from summarizer.reporting.benchmark_tables import benchmark_table
from summarizer.reporting.result_tables import evaluation_table, loss_table, profile_table, rouge_table

ROOT = Path(__file__).parent.parent
TABLES = {
    "pubmed": lambda: rouge_table(ROOT / "results/pubmed/scores.json", "this model"),
    "default": lambda: rouge_table(ROOT / "results/default/scores.json", "default model"),
    **{
        f"default_{corpus}": partial(
            rouge_table,
            ROOT / f"results/default/{corpus}.json",
            "default model, extracts",
            {"default model, `--method write`": ROOT / f"results/default/{corpus}_write.json"},
        )
        for corpus in ("pubmed", "pmc_oa_cased", "cnn_dailymail")
    },
    "overfit": lambda: rouge_table(ROOT / "results/overfit/scores.json", "model overfitted to eight articles"),
    "evaluation": lambda: evaluation_table(ROOT / "results/evaluation"),
    "convolution": lambda: loss_table(
        ROOT / "results/convolution",
        {
            "copy5": "copying, convolution over 5 neighbours",
            "copy0": "copying, no convolution",
            "plain5": "no copying, convolution over 5 neighbours",
            "plain0": "neither: the paper's model",
        },
    ),
    "optimizer": lambda: loss_table(
        ROOT / "results/optimizer", {"adamw": "AdamW", "muon": "Muon"}, key="loss", every=20
    ),
    "learning_rate": lambda: loss_table(
        ROOT / "results",
        {
            "study/control/copying_product": "Muon, 1.5e-3",
            **{f"learning_rate/{rate}": f"Muon, {rate}" for rate in ("3e-3", "6e-3", "12e-3")},
        },
    ),
    **{
        name: partial(benchmark_table, name, ROOT / f"results/benchmarks/{name}.json")
        for name in (
            *BENCHMARKS,
            *(f"encoders_{part}" for part in ("backward", "bigbird", "growth", "float32", "avx512", "mixers")),
            "generation_batches",
        )
    },
    **{
        f"study_{name}": partial(study_table, ROOT / f"results/study/{name}.json")
        for name in (
            "sections_ablation",
            "sections_encoders",
            "sections_minutes",
            "pubmed_minutes",
            "pubmed_steps",
            "selection_seeds",
            "selection_mixers",
        )
    },
    **{
        f"mixing_use_{name}": partial(mixing_use_table, ROOT / f"results/study/mixing_use_{name}.json")
        for name in ("summaries", "sections", "selection")
    },
    "control": lambda: loss_table(
        ROOT / "results/study/control",
        {
            "copying_product": "convolution, copying; product",
            "copying_add": "convolution, copying; adding",
            "plain_fastformer": "no convolution, no copying; product",
            "plain_add": "no convolution, no copying; adding",
            "plain_full": "no convolution, no copying; full attention",
            "plain_no_mixing": "no convolution, no copying; no mixing (the control)",
        },
        digits=3,
    ),
    "mixing_use_settings": lambda: _mixing_uses(
        {
            "summarizer": "convolution, copying, two decoder layers",
            "add_with_copying": "adding the global vectors in place of the product",
            "one_decoder_layer": "one decoder layer",
            "learning_rate_3e-3": "a learning rate of 3e-3 in place of 1.5e-3",
            "no_positions": "without positions",
            "gap": "gap sentences in place of abstracts",
            "gap_then_pubmed": "gap sentences, then 200 steps with abstracts",
            "news_one_decoder_layer": "one decoder layer, news",
            "news": "news (CNN/DailyMail)",
            "no_convolution": "without the convolution",
            "no_copying": "without copying",
            "neither": "without both, as in the paper",
            "gap_neither": "without both, gap sentences",
            "neither_900_steps": "without both, 900 steps",
            "neither_200_steps_from_trunk": "without both, 900 steps without mixing, then 200 steps with it",
            "default_390_steps": "default model after 390 steps",
            "default_700_steps": "default model, 700 steps",
            "default_1490_steps": "default model, 1,490 steps",
        }
    ),
    "mixing_use_ablation": lambda: _mixing_uses(
        {
            "neither": "base",
            **{path.stem: path.stem for path in sorted((ROOT / "results/study/mixing_use/ablation").glob("*.json"))},
        }
    ),
    "profile": lambda: profile_table(ROOT / "results/profile.json"),
}


def _mixing_uses(labels: dict[str, str]) -> str:
    folder = ROOT / "results/study/mixing_use"
    found = {path.stem: path for path in folder.rglob("*.json")}
    return mixing_uses_table({label: found[name] for name, label in labels.items()})


def updated(text: str) -> str:
    """The text with every table between `<!-- table: NAME -->` and `<!-- end -->` updated."""

    def table(match: re.Match[str]) -> str:
        return f"<!-- table: {match[1]} -->\n{TABLES[match[1]]()}\n<!-- end -->"

    return re.sub(r"<!-- table: (\w+) -->.*?<!-- end -->", table, text, flags=re.DOTALL)


PAGES = (
    ROOT / "README.md",
    ROOT / "docs/results.md",
    ROOT / "docs/evaluation.md",
    ROOT / "docs/ablations.md",
    ROOT / "docs/benchmarks.md",
    ROOT / "summarizer/assets/default/README.md",
)

if __name__ == "__main__":
    ArgumentParser(description=__doc__).parse_args()  # --help, and no other argument
    for page in PAGES:
        page.write_text(updated(page.read_text(encoding="utf-8")), encoding="utf-8")

import csv
import io
from dataclasses import replace

import pytest

from summarizer.reporting.comparison import ComparedSystem, Comparison, Score, SystemTest
from summarizer.reporting.paper_scores import PUBLISHED, published_systems
from summarizer.reporting.tables import csv_table, difference_table, markdown_page, measure_table, score_table


def system(name, mean, kind="model"):
    score = Score(mean, mean - 0.01, mean + 0.01)
    return ComparedSystem(name, kind, {"rouge1": {"fmeasure": score}}, measures={"empty": 0.25})


@pytest.fixture
def comparison():
    test = SystemTest("b|<x>", "a", "rouge1", 0.02, -0.01, 0.05, 0.02, 0.0001, 0.03, 3, 2, 1)
    systems = [system("a", 0.4), system("b|<x>", 0.42), system("lead-1", 0.5, "baseline")]
    published = published_systems("pubmed")[:1]
    return Comparison(["rouge1"], [*systems, *published], "a", 6, "rouge1|n:6", "holm", [test])


def test_the_best_model_is_bold_published_rows_are_in_italics_and_names_break_nothing(comparison):
    assert score_table(comparison).splitlines() == [
        "| system | ROUGE-1 |",
        "|---|---|",
        "| a | 40.00 (39.00 – 41.00) |",
        r"| b\|\<x\> | **42.00** (41.00 – 43.00) |",
        "| lead-1 | 50.00 (49.00 – 51.00) |",
        "| *Transformer (published)* | *34.26* |",
    ]


def test_support_stands_beside_the_scores(comparison):
    measured = replace(comparison.systems[0], measures={"supported_sentences": 0.035, "sentence_coverage": 0.52})
    table = score_table(replace(comparison, systems=[measured, *comparison.systems[1:]])).splitlines()
    assert table[0] == "| system | ROUGE-1 | supported sentences | sentence coverage |"
    assert table[2].endswith(" | 3.5 % | 52.0 % |")
    assert all(row.endswith(" | – | – |") for row in table[3:])


def test_all_models_with_the_highest_score_are_bold(comparison):
    tied = replace(comparison, systems=[system("a", 0.42), system("b", 0.420001), system("lead-1", 0.5, "baseline")])
    assert [row.count("**") for row in score_table(tied).splitlines()[2:]] == [2, 2, 0]


def test_a_test_is_a_row_with_its_interval_p_values_and_votes(comparison):
    expected = r"| b\|\<x\> | ROUGE-1 | +2.00 (−1.00 – +5.00) | 0.020 | < 0.001 | **0.030** | 3 / 2 / 1 |"
    assert difference_table(comparison).splitlines()[2] == expected


def test_measures_are_shares_in_percent(comparison):
    assert measure_table(comparison).splitlines()[:3] == ["| system | empty |", "|---|---|", "| a | 25.0 % |"]


def test_the_page_says_what_was_published_and_shows_the_figures(comparison):
    page = markdown_page(comparison, ["rouge.png"])
    assert all(text in page for text in ("not run here", "Holm", "`rouge1|n:6`", "![rouge](rouge.png)"))
    changed = replace(comparison, systems=comparison.systems[:3], notes=["The texts of a are not shown: gone"])
    page = markdown_page(changed, [])
    assert "not run here" not in page
    assert "The texts of a are not shown: gone" in page


def test_the_csv_holds_a_row_a_score_with_the_test_beside(comparison):
    rows = list(csv.DictReader(io.StringIO(csv_table(comparison))))
    assert [row["system"] for row in rows] == ["a", "b|<x>", "lead-1", *["Transformer (published)"] * 3]
    assert (rows[1]["mean"], rows[1]["low"], rows[1]["difference"], rows[1]["difference_low"]) == (
        *("0.42", "0.41", "0.02", "-0.01"),
    )
    assert (rows[1]["p_adjusted"], rows[0]["p_adjusted"], rows[3]["low"]) == ("0.03", "", "")


def test_the_published_numbers_are_the_papers():
    assert {name: len(rows) for name, rows in PUBLISHED.items()} == {"cnn_dailymail": 7, "pubmed": 7}
    assert PUBLISHED["cnn_dailymail"]["Fastformer"] == (38.54, 16.22, 36.21)
    assert PUBLISHED["pubmed"]["Fastformer"] == (38.09, 15.44, 34.81)

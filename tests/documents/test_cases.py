"""The documents of the shared cases, each of which was once read wrongly. What must come out is in their README."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from summarizer.batch.inputs import find_inputs
from summarizer.batch.reader_process import read_inputs
from summarizer.data.scripts import ScriptCheck
from summarizer.documents.read import read_document
from summarizer.errors import InputError
from summarizer.evaluation.examples import Policy, pair_examples
from summarizer.evaluation.files_of_texts import Columns
from summarizer.text import guess_note, split_sentences

CASES = Path(__file__).parents[3] / "shared" / "cases" / "documents"
MET = "The cooperative of the harbour met in spring and agreed on new rules for the quay."
BOAT = "Each member may keep one boat of up to nine metres there, as long as the fee is paid."
REPORT = [
    "met in spring and agreed on new rules for the quay, which every member has to follow",
    "the end of the month so that nobody can say later that they had not been told of the fees and of the two",
    "will put them up. The fee was raised from forty to ninety crowns a year in the autumn.",
]
TEXTS = {
    "docx_content_control/all_in_control.docx": [MET, BOAT],
    "docx_content_control/form.docx": [
        MET,
        "The meeting lasted three hours, and forty members came.",
        "The chair of the cooperative is Ida Holm, elected for two years.",
        BOAT,
    ],
    "docx_invented_title/from_google_docs.docx": ["Rules of the quay", MET, BOAT],
    "docx_strict/strict.docx": [MET, BOAT],
    "docx_text_box/newsletter.docx": [MET, BOAT],
    "docx_tracked_changes/minutes.docx": [
        MET,
        "The fee was raised to ninety crowns a year.",
        "Two members voted against the rules and left the cooperative.",
        "The chair thanked the harbour master.",
        BOAT,
    ],
    "epub_missing_chapter/book.epub": ["one.xhtml", MET, "two.xhtml", BOAT],
    "epub_superscript/book.epub": [
        "one.xhtml",
        "The lake holds 3 × 10^6 fish, as was counted in 2010, and the water has 5 g of CO2 per m^3.",
        "The wave was H2 high.",
    ],
    "markdown_markup/readme.md": [
        "Quay",
        "The cooperative of the harbour met in spring and agreed on rules that every member has to follow from the "
        "first of May onwards.",
        "boat fee",
        "small 40",
        "quay --list --all",
        "Members repair the quay together on two Saturdays of each year.",
        "Guests may stay for three nights.",
        "If invited.",
    ],
    "pdf_mid_line_hyphen/hyphens.pdf": [
        "We compare two- and three-year plans, pre- and post-war fleets, and short- to mid-term effects on upper- and "
        "lower-class boats. The tests are for micro- or macro-level changes of the harbour and its market, which were "
        "seen in all of the towns that took part in the study of the coast."
    ],
}
PARTS = {
    "html_faq_questions_lost/faq.html": [
        "3.1. May guests use the quay at night?\nNo. Guests leave before ten",
        "3.2. May I sell fish from my boat?\nYes. Members sell fish",
        "3.3. Is a boat without an engine charged?\nYes. The fee is the same",
    ],
    "html_list_items_lost/rules.html": [
        "Definitions.\nA boat is any vessel",
        "A member is whoever",
        "The quay is the wall",
        "The office is the house",
        "Berths. Each member",
        "Repairs. Members repair",
        "Liability. The cooperative",
    ],
    "html_superscript/page.html": ["3 × 10^6 fish, as was counted in 2010, and", "5 g of CO2 for each"],
    "pdf_aes_empty_password/aes128.pdf": REPORT,
    "pdf_aes_empty_password/aes256.pdf": REPORT,
    "pdf_latex_ligatures/t1_bitmap_font.pdf": [
        "We define a coefficient of effort for the fish",
        "we quantify how it is affected by the flow of the river in the first days",
        "The difference between the two fields was not significant, but the efficiency of the nets was five times as "
        "high as in the office.",
    ],
    "pdf_running_header/report.pdf": REPORT,
    "text_legacy_encodings/czech_cp1250.txt": ["Přístavní družstvo se sešlo na jaře", "zaplatí čtyřicet korun"],
    "text_legacy_encodings/polish_cp1250.txt": ["uchwaliła nowe zasady dla nabrzeża", "trzymać tam jedną łódź"],
    "text_legacy_encodings/romanian_cp1250.txt": [
        "s-a întrunit primăvara şi a hotărât",
        "barcă, atâta timp cât plăteşte",
    ],
    "text_legacy_encodings/turkish_cp1254.txt": ["rıhtım için yeni kurallar", "ücretini ödediği sürece"],
}


@pytest.fixture
def case():
    if not CASES.is_dir():
        pytest.skip(f"the corpora are not here: no {CASES}")
    return lambda name: CASES / name


@pytest.mark.parametrize("name", TEXTS)
def test_the_text_is_read_whole(case, name):
    assert read_document(case(name)).text.split("\n") == TEXTS[name]


@pytest.mark.parametrize("name", PARTS)
def test_the_parts_that_were_lost_or_garbled_are_read(case, name):
    text = read_document(case(name)).text
    assert [part for part in PARTS[name] if part not in text] == []


def test_titles_and_notes(case):
    assert read_document(case("docx_invented_title/from_google_docs.docx")).title == "Rules of the quay"
    notes = read_document(case("epub_missing_chapter/book.epub")).notes
    assert notes == ("The chapter OEBPS/notes.xhtml is missing.",)
    assert read_document(case("text_legacy_encodings/turkish_cp1254.txt")).notes == (guess_note("cp1254"),)


def test_a_hard_wrapped_text_is_read_as_the_flat_one(case):
    flat, wrapped = (read_document(case(f"text_hard_wrapped/{name}.txt")).text for name in ("flat", "wrapped"))
    assert wrapped == flat
    assert len(split_sentences(wrapped)) == 7


def test_a_german_text_has_three_sentences(case):
    text = read_document(case("sentences_german/text.txt")).text
    assert len(split_sentences(text, language="de")) == 3


@pytest.mark.parametrize("name", ["csv_semicolon/excel.csv", "tsv_as_text/data.tsv"])
def test_rows_are_documents(case, name):
    documents = list(read_inputs(find_inputs([str(case(name))], None)))
    assert [(document.id, document.error) for document in documents] == [("1", None), ("2", None)]
    assert all(document.text.endswith(".") and len(document.text) > 60 for document in documents)


@pytest.mark.parametrize(
    ("name", "message"),
    [("docbook_read_as_jats/manual.xml", "DocBook"), ("pdf_aes_empty_password/aes256_locked.pdf", "by a password")],
)
def test_what_cannot_be_read_says_why(case, name, message):
    with pytest.raises(InputError, match=message):
        read_document(case(name))


class LatinTokenizer:
    """A tokenizer that knows English words alone."""

    unk_token = "<unk>"

    def __call__(self, text, **options):
        return SimpleNamespace(input_ids=[0])

    def convert_ids_to_tokens(self, ids):
        return ["<unk>"]

    def get_vocab(self):
        return {"<unk>": 0, "quay": 1}


@pytest.mark.parametrize("name", ["chinese", "russian"])
def test_scripts_that_the_vocabulary_does_not_know_are_refused(case, name):
    text = read_document(case(f"default_model_other_scripts/{name}.txt")).text
    with pytest.raises(InputError, match="script that the model does not know"):
        ScriptCheck(LatinTokenizer()).notes(text)


def test_repeated_rows_are_several_references_of_one_document(case):
    predictions, references = (
        case(f"eval_repeated_rows_as_references/{name}.jsonl") for name in ("predictions", "references")
    )
    examples = pair_examples(predictions, references, Columns(), Policy(duplicates="references"))
    counts = {example.id: len(example.references) for example in examples}
    assert counts == {"a": 2, "b": 1}

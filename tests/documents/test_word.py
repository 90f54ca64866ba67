import pytest

from summarizer.documents.read import read_document


def test_docx_gives_paragraphs_and_tables_in_order(tmp_path):
    docx = pytest.importorskip("docx", reason="Word documents need the documents extra")
    document = docx.Document()
    document.core_properties.title = "Report"
    document.add_heading("Findings")
    document.add_paragraph("Some text.")
    table = document.add_table(1, 3)
    for cell, text in zip(table.rows[0].cells, ("a", "b", "c"), strict=True):
        cell.text = text
    table.cell(0, 0).merge(table.cell(0, 1))
    document.add_paragraph("The end.")
    document.save(str(tmp_path / "a.docx"))
    read = read_document(tmp_path / "a.docx")
    assert (read.title, read.text) == ("Report", "Findings\nSome text.\na b c\nThe end.")


def test_headings_begin_sections(tmp_path):
    docx = pytest.importorskip("docx", reason="Word documents need the documents extra")
    word = docx.Document()
    for heading in ("One", "Two"):
        word.add_heading(heading)
        word.add_paragraph(f"Text of {heading}.")
    word.save(str(tmp_path / "c.docx"))
    assert read_document(tmp_path / "c.docx").title is None  # neither of its two headings stands above the other
    word.add_heading("Both", level=0)
    word.save(str(tmp_path / "e.docx"))
    assert read_document(tmp_path / "e.docx").title == "Both"
    sections = read_document(tmp_path / "c.docx").sections
    assert [(section.title, section.text) for section in sections] == [
        ("One", "One\nText of One."), ("Two", "Two\nText of Two."),
    ]  # fmt: skip

import io
import zipfile

import pytest
from file_formats import docx, zipped

from summarizer.errors import InputError


def run(text, properties=""):
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def paragraph(*runs, properties=""):
    return f"<w:p><w:pPr>{properties}</w:pPr>{''.join(runs)}</w:p>"


def styled(style, text):
    return paragraph(run(text), properties=f'<w:pStyle w:val="{style}"/>')


def cell(*content, properties=""):
    return f"<w:tc><w:tcPr>{properties}</w:tcPr>{''.join(content)}</w:tc>"


def table(*rows):
    return f"<w:tbl>{''.join(f'<w:tr>{row}</w:tr>' for row in rows)}</w:tbl>"


def field(kind):
    return f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>'


def control(content):
    return f"<w:sdt><w:sdtPr><w:alias w:val='Name'/></w:sdtPr><w:sdtContent>{content}</w:sdtContent></w:sdt>"


REFERENCE = '<w:r><w:footnoteReference w:id="2"/></w:r>'
RAISED = '<w:vertAlign w:val="superscript"/>'
INSTRUCTION = "<w:r><w:instrText>IF</w:instrText></w:r>"
BOX = f"<w:txbxContent>{paragraph(run('boxed'))}</w:txbxContent>"
DRAWN = f"<w:drawing><wp:posOffset>7</wp:posOffset><wps:txbx>{BOX}</wps:txbx></w:drawing>"
OLD = f"<w:pict><v:textbox>{BOX}</v:textbox></w:pict>"
CHOICE = f'<mc:Choice Requires="wps">{DRAWN}</mc:Choice>'


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (control(paragraph(run("a "), control(run("b")), run(" c"))), "a b c"),
        (table(control(cell(paragraph(run("a")))) + cell(control(paragraph(run("b"))))), "a b"),
        (paragraph(run("a"), f"<w:r><mc:AlternateContent>{CHOICE}<mc:Fallback>{OLD}</mc:Fallback>"
         "</mc:AlternateContent></w:r>", run("b")), "ab\nboxed"),
        (paragraph(f"<w:r><mc:AlternateContent>{CHOICE}</mc:AlternateContent></w:r>"), "boxed"),
        (paragraph(f"<w:r>{OLD}</w:r>", f"<w:r>{DRAWN}</w:r>"), "boxed\nboxed"),
        (paragraph("<w:del><w:r><w:delText>old</w:delText></w:r></w:del>", f"<w:ins>{run('new')}</w:ins>"), "new"),
        (paragraph(f"<w:moveFrom>{run('a')}</w:moveFrom>", run("b"), f"<w:moveTo>{run('a')}</w:moveTo>"), "ba"),
        (paragraph(run("one "), properties="<w:rPr><w:del/></w:rPr>") + paragraph(run("two")), "one two"),
        (paragraph(run("D"), properties='<w:framePr w:dropCap="drop"/>') + paragraph(run("rop")), "Drop"),
        (table(f"<w:trPr><w:del/></w:trPr>{cell(paragraph(run('a')))}", cell(paragraph(run("b")))), "b"),
        (table(cell(paragraph(run("a")), table(cell(paragraph(run("b"))))) + cell(paragraph(run("c")))), "a b c"),
        (table(cell(paragraph(run("word " * 30)), paragraph(run("a"))) + cell()), "word " * 29 + "word\na"),
        (table(cell(paragraph(run("a")), properties='<w:vMerge w:val="restart"/>'), cell(paragraph(run("x")),
         properties="<w:vMerge/>") + cell(paragraph(run("b")))), "a\nb"),
        (paragraph(f"<w:fldSimple w:instr='AUTHOR'>{run('Ida')}</w:fldSimple>"), "Ida"),
        (paragraph(field("begin"), INSTRUCTION, field("begin"), INSTRUCTION, field("separate"), run("no"), field("end"),
         field("separate"), run("yes"), field("end")), "yes"),
        (paragraph(field("begin"), INSTRUCTION, run("no")) + paragraph(run("the rest")), "the rest"),
        (paragraph('<w:r><w:fldChar w:fldCharType="begin"><w:ffData><w:ddList><w:result w:val="1"/>'
         '<w:listEntry w:val="a"/><w:listEntry w:val="b"/></w:ddList></w:ffData></w:fldChar></w:r>', run("!")), "b"),
        (paragraph(f"<w:smartTag>{run('Kiel')}</w:smartTag>", f"<w:bdo>{run(', ')}</w:bdo>",
         f"<w:customXml>{run('Lund')}</w:customXml>", f"<w:hyperlink>{run('!')}</w:hyperlink>"), "Kiel, Lund!"),
        (paragraph(run("a", "<w:vanish/>"), run("b", '<w:vanish w:val="0"/>')), "b"),
        (paragraph(run("10"), run("6", RAISED), run(" in 2010"), run("1", RAISED), run("2", RAISED)), "10^6 in 2010"),
        (paragraph("<m:oMath><m:r><m:t>x=</m:t></m:r><m:sSup><m:e><m:r><m:t>y</m:t></m:r></m:e><m:sup><m:r><m:t>2</m:t>"
         "</m:r></m:sup></m:sSup></m:oMath>"), "x=y^2"),
        (paragraph("<w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:noBreakHyphen/><w:sym w:font='Symbol' w:char='F061'/>"
         "<w:sym w:font='Wingdings' w:char='F061'/></w:r>"), "a b-α"),
        ("<w:altChunk/>" + paragraph(run("a")), "a"),
    ],
)  # fmt: skip
def test_the_text_is_what_word_shows_with_all_changes_accepted(read, body, text):
    for content in (docx(body=body), strict(body)):
        assert read("a.docx", content).text == text


def strict(body):
    """The same document in the Strict format, whose namespaces are others."""
    with zipfile.ZipFile(io.BytesIO(docx(body=body))) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    for old, new in (
        (b"schemas.openxmlformats.org/wordprocessingml/2006/main", b"purl.oclc.org/ooxml/wordprocessingml/main"),
        (b"schemas.openxmlformats.org/officeDocument/2006/", b"purl.oclc.org/ooxml/officeDocument/"),
    ):
        parts = {name: content.replace(old, new) for name, content in parts.items()}
    return zipped(parts)


def test_a_note_stands_once_after_its_paragraph(read):
    body = paragraph(run("One"), REFERENCE, run(".")) + paragraph(run("Two."))
    note = f'<w:footnote w:id="2">{paragraph(run("Note."), REFERENCE)}</w:footnote>'
    notes = f'<w:footnote w:id="1" w:type="separator"/>{note}'
    assert read("a.docx", docx(body=body, footnotes=notes)).text == "One.\nNote.\nTwo."
    assert read("b.docx", docx(body=body)).text == "One.\nTwo."


STYLES = """<w:style w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>
<w:style w:styleId="Own"><w:name w:val="Chapter"/><w:basedOn w:val="berschrift1"/></w:style>
<w:style w:styleId="Titel"><w:name w:val="Title"/></w:style>
<w:style w:styleId="Gone"><w:name w:val="x"/><w:rPr><w:vanish/></w:rPr></w:style>
<w:style w:styleId="V1"><w:name w:val="toc 1"/></w:style>
<w:style w:styleId="Loop"><w:basedOn w:val="Loop"/></w:style>"""


def test_headings_begin_sections_whatever_the_language_of_the_styles(read):
    body = "".join([
        styled("berschrift1", "One"), styled("Loop", "Text of one."), styled("Gone", "hidden"), styled("V1", "One 1"),
        styled("Own", "Two"), paragraph(run("Text of two."), properties='<w:outlineLvl w:val="9"/>'),
    ])  # fmt: skip
    document = read("a.docx", docx(body=body, styles=STYLES))
    assert [(section.title, section.text) for section in document.sections] == [
        ("One", "One\nText of one."), ("Two", "Two\nText of two."),
    ]  # fmt: skip
    assert document.title is None  # neither of its two headings stands above the other
    assert document.notes == ("The table of contents was left out.",)
    titled = read("b.docx", docx(body=styled("Titel", "Both") + body, styles=STYLES))
    assert (titled.title, len(titled.sections)) == ("Both", 2)


def test_a_table_of_contents_in_a_control_is_left_out(read):
    gallery = '<w:docPartObj><w:docPartGallery w:val="Table of Contents"/></w:docPartObj>'
    contents = control(paragraph(run("One ..... 3"))).replace("<w:alias w:val='Name'/>", gallery)
    document = read("a.docx", docx(body=contents + paragraph(run("One."))))
    assert (document.text, document.notes) == ("One.", ("The table of contents was left out.",))


def test_the_title_is_the_document_s_own_heading(read):
    assert read("a.docx", docx(body=styled("Heading1", "The quay") + paragraph(run("Text.")))).title == "The quay"
    assert read("b.docx", docx("Text.")).title is None


def test_a_protected_or_broken_document_says_why(read):
    with pytest.raises(InputError, match="password"):
        read("a.docx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")
    with pytest.raises(InputError, match="no main part"):
        read("b.docx", zipped({"word/other.xml": b""}))
    with pytest.raises(InputError, match="broken Word document: broken XML"):
        read("c.docx", docx(body="<w:p>"))

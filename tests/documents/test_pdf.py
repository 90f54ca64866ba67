import pytest
from file_formats import pdf

from summarizer.errors import InputError


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (pdf(), "without text"),
        (pdf("Hello", password="secret"), "password"),
        (b"no PDF at all", "broken PDF"),
        (pdf("Hello")[:200], "broken PDF"),
        (b"", "broken PDF"),
    ],
    ids=["scanned", "locked", "text", "cut", "empty"],
)
def test_pdfs_without_readable_text_say_why(read, content, message):
    with pytest.raises(InputError, match=message):
        read("a.pdf", content)


def test_pdf_lines_are_joined_to_paragraphs_and_hyphenated_words_joined(read):
    document = read(
        "a.pdf", pdf("Introduction", "The patients were treated for a num-", "ber of weeks. This was good.")
    )
    assert document.title == "A PDF"
    assert document.text == "Introduction\nThe patients were treated for a number of weeks. This was good."

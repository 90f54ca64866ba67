import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from summarizer.documents.unwrapping import unwrap

PARAGRAPHS = [
    "The government broke the law when it allowed boats to catch almost twice as much herring as its own scientists "
    "had advised, the High Court ruled on Thursday. The judge said that the minister had been entitled to consider "
    "the livelihoods of fishermen, but not to set the well-known science aside without saying why.",
    "The quota of 61,000 tonnes for the Western Banks was quashed, and the ministry has three months to set another "
    "one. Fishermen in the ports of the north called the judgment a disaster for their villages.",
]


@pytest.mark.parametrize("width", [45, 60, 72, 79])
def test_wrapped_paragraphs_become_lines(width):
    wrapped = "\n\n".join(textwrap.fill(text, width) for text in PARAGRAPHS)
    assert unwrap(wrapped).split("\n") == [PARAGRAPHS[0], "", PARAGRAPHS[1]]
    indented = "\n".join(textwrap.fill(text, width, initial_indent="   ") for text in PARAGRAPHS)
    assert [line.strip() for line in unwrap(indented).split("\n")] == PARAGRAPHS


def test_the_items_of_a_list_stay_apart_and_their_lines_are_joined():
    items = [f"{mark} {text}" for mark, text in zip(("-", "2."), PARAGRAPHS, strict=True)]
    wrapped = "\n".join(textwrap.fill(text, 60, subsequent_indent="  ") for text in items)
    assert unwrap(f"The rules:\n{wrapped}").split("\n") == ["The rules:", *items]


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(PARAGRAPHS),
        "The boats may stay in the harbour till autumn.\nThe fee is to be paid at the beginning of each year.\n" * 3,
        "Harbour Cooperative of the Western Banks, Quay 1\nHigh Court of Calderon, Chambers of the Third Judge\n" * 3,
        "Name of the boat          Length    Fee per year\nSea Gull of the Banks       9.0 m       40 crowns\n" * 3,
        "for line in lines:\n    if line.strip():\n        yield line\n" * 3,
        "my love is like\na red, red rose\nthat is newly sprung\nin june\n",
        "",
        "\n",
    ],
    ids=["paragraphs", "sentences", "addresses", "table", "code", "poem", "empty", "blank"],
)
def test_other_lines_stay_as_they_are(text):
    assert unwrap(text).split("\n") == text.expandtabs().split("\n")[: len(text.splitlines())] or not text.strip()


def test_quoted_mails_are_unwrapped_without_their_marks():
    first, second = (textwrap.fill(text, 60) for text in PARAGRAPHS)
    mail = f"Hello,\n{textwrap.indent(second, '>> ')}\n{textwrap.indent(first, '> ')}\n\n>>> x = 1\n>>> y = 2\n\n> 5 mg"
    read = [line for line in unwrap(mail).split("\n") if line]
    assert read == ["Hello,", PARAGRAPHS[1], PARAGRAPHS[0], ">>> x = 1", ">>> y = 2", "> 5 mg"]


def test_a_double_spaced_text_and_paragraphs_beside_a_wrapped_one():
    lines = textwrap.wrap(PARAGRAPHS[0], 60)
    assert unwrap("\n\n".join(lines)) == PARAGRAPHS[0]
    text = f"{PARAGRAPHS[1]}\n{PARAGRAPHS[1]}\n\n" + "\n".join(lines)
    assert unwrap(text).split("\n") == [PARAGRAPHS[1], PARAGRAPHS[1], "", PARAGRAPHS[0]]


def test_a_word_is_joined_only_if_it_occurs_without_its_hyphen():
    lines = textwrap.wrap(PARAGRAPHS[0], 60)
    text = "\n".join([*lines, "and the fishermen of the northern ports, who had caught govern-", "ment boats there."])
    assert "caught government boats" in unwrap(text)
    assert "caught govern-mental boats" in unwrap(text.replace("ment boats", "mental boats"))


@settings(deadline=None, max_examples=50)
@given(st.text("aB. -\n\t1中|"))
def test_no_letter_is_lost(text):
    assert [letter for letter in unwrap(text) if letter.isalnum()] == [letter for letter in text if letter.isalnum()]

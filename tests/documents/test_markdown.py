import pytest

from summarizer.errors import InputError


def test_headings_begin_sections(read):
    markdown = (
        "# Book\n\nBefore.\n## One\nText of one.\n```\n## no heading\n```\n### Deeper\nMore.\n\nTwo\n---\nText of two."
    )
    document = read("a.md", markdown)
    assert [(section.title, section.text.split("\n")[-1]) for section in document.sections] == [
        ("One", "More."), ("Two", "Text of two."),
    ]  # fmt: skip
    assert document.title == "Book"
    only = read("b.md", "#hashtag\n# Only one #\nText.")
    assert (only.title, only.sections) == ("Only one", ())
    assert read("d.md", "## One\nText.\n# Two\nText.").title is None


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        ("<!-- SPDX -->\n\n[![build](https://a.org/b.svg)](https://a.org/ci)\n\nThe **quay** of *all*.",
         "The quay of all."),
        ("See [the town](https://a.org/Harbour_(town)) and `quay --all`.", "See the town and quay --all."),
        ("One line that\ngoes on here  \nand breaks.\n\nNext.", "One line that goes on here\nand breaks.\nNext."),
        ("| boat | fee |\n|------|----:|\n| *small* | 40 |", "boat fee\nsmall 40"),
        ("```bash\nquay [^a-z] **x**\n```\n\n    more *code*", "quay [^a-z] **x**\nmore *code*"),
        ("> Quoted\n> text.\n\n* One.[^1]\n* [ ] Two\n1. Three\n\n[^1]: A note\n[^2]: https://a.org/",
         "Quoted text.\nOne.\nTwo\nThree\nA note"),
        ("See <https://a.org/x>, (https://a.org/y_z) or https://a.org/q?a=b. End [x][y].\n\n[y]: https://a.org 'T'",
         "See, or. End x."),
        ('<h1 align="center">Quay</h1>\n\n<p>\n  <img src="a.png" alt="logo">\n  <b>Boats</b> &amp; nets\n</p>',
         "Quay\nBoats & nets"),
        ("10<sup>6</sup> fish in 2010<sup>3</sup>, CO<sub>2</sub>,<br>a &lt; b, \\*c\\*, snake_case_word, 2 * 3 * 4",
         "10^6 fish in 2010, CO2,\na < b, *c*, snake_case_word, 2 * 3 * 4"),
        ("::: note\nMind the steps.\n:::\n\n> [!NOTE]\n> Mind them.\n\n!!! tip\n    Mind all.\n\n[TOC]",
         "Mind the steps.\nMind them.\nMind all."),
        ("# Quay {#quay .big}\n\n~~Old~~ text {{ x }} {% include y %}", "Quay\nOld text {{ x }}"),
        ("%% mine %%\n\n![[map.png]]\n[[Quay|The quay]] and ==all== [[boats]]; `[[x]]`, a==b and c==d, x[[1, 2]].",
         "The quay and all boats; [[x]], a==b and c==d, x[[1, 2]]."),
        ("The har-\nbour of a well-\nknown harbour, two- or\nthree.",
         "The harbour of a well-known harbour, two- or three."),
        ("<table><tr><td>boat</td><td>fee</td></tr></table>\n\n{{% note %}}Mind.{{% /note %}}", "boat fee\nMind."),
        ("---\nNot front matter.\n\n---\nText.", "Not front matter.\nText."),
        ("", ""),
    ],
)  # fmt: skip
def test_the_text_is_plain_without_the_markup(read, markdown, text):
    assert read("a.md", markdown).text == text


@pytest.mark.parametrize("front", ['---\ntitle: "The quay"\nlayout: post\n---\n', "+++\ntitle = 'The quay'\n+++\n"])
def test_front_matter_gives_the_title_alone(read, front):
    document = read("a.md", f"{front}## One\nText.")
    assert (document.title, document.text) == ("The quay", "One\nText.")


def test_deep_nesting_loses_no_text_silently(read):
    assert read("a.md", "> " * 60 + "deep").text == "deep"
    for deep in ("> " * 200 + "deep", "".join("  " * depth + "- item\n" for depth in range(60))):
        with pytest.raises(InputError, match="nested"):
            read("b.md", deep)

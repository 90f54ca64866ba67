def test_headings_begin_sections(read):
    markdown = (
        "# Book\n\nBefore.\n## One\nText of one.\n```\n## no heading\n```\n### Deeper\nMore.\n## Two\nText of two."
    )
    document = read("a.md", markdown)
    assert [(section.title, section.text.split("\n")[-1]) for section in document.sections] == [
        ("One", "More."), ("Two", "Text of two."),
    ]  # fmt: skip
    assert document.title == "Book"
    only = read("b.md", "#hashtag\n# Only one #\nText.")
    assert (only.title, only.sections) == ("Only one", ())
    assert read("d.md", "## One\nText.\n# Two\nText.").title is None

"""Whatever bytes a file holds, reading it gives clean text or the readers' own error."""

import gzip
import io
import zipfile

import pytest
from file_formats import docx, epub, parquet, pdf, zipped
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from make_hostile_corpus import ARTICLE, CHAPTER, CSV, JSONL, LINES, PAGE, ROWS, TEXT

from summarizer.documents.document import ReadingOptions
from summarizer.documents.read import read_document
from summarizer.errors import InputError
from summarizer.rows import read_rows
from summarizer.text import clean_text

GOOD = {
    ".txt": TEXT.encode("utf-16"),
    ".md": f"# A\n{TEXT}\n# B\n{TEXT}".encode(),
    ".html": PAGE.encode(),
    ".xml": ARTICLE.encode(),
    ".pdf": pdf(*LINES),
    ".docx": docx(*LINES),
    ".epub": epub("Book", [CHAPTER, CHAPTER]),
    ".txt.gz": gzip.compress(TEXT.encode()),
}
GOOD_ROWS = {".jsonl": JSONL.encode(), ".csv": CSV.encode(), ".parquet": parquet(ROWS)}
EXAMPLES = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
LIMITS = ReadingOptions(max_document_mb=4, max_pages=50)

pieces = st.binary(max_size=12) | st.sampled_from(
    [b"\x00", b"<!--", b"]]>", b"&#x110000;", b"endobj", b"\xff\xfe", b"PK"]
)
edits = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 40), pieces), max_size=4)


def edited(content: bytes, changes: list[tuple[float, int, bytes]]) -> bytes:
    """The content with pieces put in the place of others."""
    for place, length, piece in changes:
        start = int(place * len(content))
        content = content[:start] + piece + content[start + length :]
    return content


@pytest.mark.parametrize("suffix", GOOD)
@EXAMPLES
@given(changes=edits)
def test_a_damaged_document_is_read_or_refused(tmp_path, suffix, changes):
    path = tmp_path / f"a{suffix}"
    path.write_bytes(edited(GOOD[suffix], changes))
    check(path)


@pytest.mark.parametrize("suffix", [*GOOD, ""])
@EXAMPLES
@given(content=st.binary(max_size=200))
@example(content=b"")
def test_any_bytes_are_read_or_refused(tmp_path, suffix, content):
    path = tmp_path / f"a{suffix}"
    path.write_bytes(content)
    check(path)


@pytest.mark.parametrize("name", ["word/officeDocument.xml", "_rels/.rels", "OPS/package.opf", "OPS/0.xhtml"])
@EXAMPLES
@given(changes=edits)
def test_a_damaged_part_of_an_archive_is_read_or_refused(tmp_path, name, changes):
    path = tmp_path / ("a.epub" if name.startswith("OPS") else "a.docx")
    with zipfile.ZipFile(io.BytesIO(GOOD[path.suffix])) as archive:
        parts = {each: archive.read(each) for each in archive.namelist()}
    path.write_bytes(zipped({**parts, name: edited(parts[name], changes)}))
    check(path)


@pytest.mark.parametrize("suffix", GOOD_ROWS)
@EXAMPLES
@given(changes=edits)
def test_damaged_rows_are_read_or_refused(tmp_path, suffix, changes):
    path = tmp_path / f"a{suffix}"
    path.write_bytes(edited(GOOD_ROWS[suffix], changes))
    try:
        for record in read_rows(path):
            assert record.error is None or isinstance(record.error, str)
    except InputError:
        pass


def check(path) -> None:
    try:
        document = read_document(path, LIMITS)
    except InputError:
        return
    for text in (document.text, *(section.text for section in document.sections)):
        assert clean_text(text) == text

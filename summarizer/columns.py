"""The usual names of columns that hold documents, summaries and ids, and their cells as text."""

import re
from typing import Any

from summarizer.errors import InputError
from summarizer.rows import Row

DOCUMENT_COLUMNS = ("document", "article", "text", "body", "article_text")
SUMMARY_COLUMNS = ("summary", "abstract", "highlights", "reference", "references", "target", "abstract_text")
LABEL_COLUMNS = ("label", "labels", "class", "category", "topic", "coarse_label")
PREDICTION_COLUMNS = ("summary", "prediction", "generated_summary", "generated_text", "output")
ID_COLUMNS = ("id", "article_id")
# Sentence markers of the original PubMed and arXiv release, and lone surrogates, which are in no text.
_UNWANTED = re.compile(r"</?S>|[\ud800-\udfff]")


def find_column(row: Row, wanted: str | None, usual: tuple[str, ...], setting: str) -> str:
    """The column to read: `wanted`, or the first of the `usual` ones. Raises InputError that lists the columns."""
    for name in (wanted,) if wanted else usual:
        if name in row.columns:
            return name
    looked_for = wanted or " or ".join(usual)
    raise InputError(f"{row.location}: no column {looked_for} (set {setting}); there are: {', '.join(row.columns)}")


def text_of(value: Any) -> str:
    """A cell as text: null is empty, a list of sentences becomes one sentence per line without its markers.

    Raises ValueError for a cell of another kind.
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return _UNWANTED.sub("", value)
    if isinstance(value, list) and all(isinstance(sentence, str) for sentence in value):
        return "\n".join(_UNWANTED.sub("", sentence).strip() for sentence in value)
    raise ValueError(f"holds {type(value).__name__}, not text or a list of sentences")


def label_of(value: Any) -> str:
    """A cell as the name of a class. Raises ValueError for other types, such as a list."""
    if value is None:
        return ""
    if isinstance(value, (str, int)):
        return str(value).strip()
    raise ValueError(f"holds {type(value).__name__}, not a class")


def id_of(row: Row, id_column: str | None = None) -> str | None:
    """The row's own id, or None; a whole number is written without a point, however the file holds it.

    Raises InputError if the row lacks the column `id_column`.
    """
    names = ID_COLUMNS if id_column is None else (find_column(row, id_column, (), "--id-column"),)
    value = next((value for name in names if (value := row.columns.get(name)) not in (None, "")), None)
    if value is None:
        return None
    return encodable(str(int(value) if isinstance(value, float) and value.is_integer() else value))


def title_of(row: Row) -> str | None:
    """The row's column `title` on one line, or None."""
    value = row.columns.get("title")
    return encodable(" ".join(value.split())) or None if isinstance(value, str) else None


def encodable(name: str) -> str:
    """A name without what UTF-8 cannot hold, such as the lone surrogates of a file name in another encoding."""
    return name.encode("utf-8", "replace").decode("utf-8")

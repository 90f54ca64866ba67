"""Evidence of a summary: for each of its lines, the passages of the document that the line comes from."""

import json
from typing import Any, TypedDict


class SourceSpan(TypedDict):
    """A passage of the text that was read: its character offsets (end excluded), and the passage itself."""

    start: int
    end: int
    text: str


Evidence = list[list[SourceSpan]]  # an entry for each line of the summary, each with its passages

_KEYS = SourceSpan.__annotations__.keys()


def read_evidence(value: Any) -> Evidence | None:
    """The evidence in a record's column, which may hold it as JSON (CSV); None for a value of any other form."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    if not isinstance(value, list) or not all(isinstance(entry, list) for entry in value):
        return None
    return value if all(_is_span(span) for entry in value for span in entry) else None


def _is_span(value: Any) -> bool:
    if not isinstance(value, dict) or not value.keys() >= _KEYS:
        return False
    start, end = value["start"], value["end"]
    return isinstance(start, int) and isinstance(end, int) and 0 <= start <= end and isinstance(value["text"], str)

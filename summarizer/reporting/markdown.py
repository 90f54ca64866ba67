"""Tables of Markdown, the only place that makes them."""

from collections.abc import Sequence


def markdown_table(heads: Sequence[str], rows: Sequence[Sequence[str]], right: bool = False) -> str:
    """A table of cells that are Markdown already; with `right` all columns but the first are aligned to the right."""
    rule = "|---" + ("|---:" if right else "|---") * (len(heads) - 1) + "|"
    return "\n".join([_row(heads), rule, *map(_row, rows)])


def escape(text: str) -> str:
    """A name as Markdown that breaks no table and brings no markup of its own."""
    for character in "\\`*_<>[]|":
        text = text.replace(character, f"\\{character}")
    return " ".join(text.split())


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"

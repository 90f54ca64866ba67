"""Write docs/configuration.md anew from the data classes and the comments of their fields."""

import ast
import re
from pathlib import Path

from summarizer.config import RunConfig

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "configuration.md"
SECTIONS = {  # heading, file, class
    "": ("summarizer/config.py", "RunConfig"),
    "data": ("summarizer/config.py", "DataConfig"),
    "training": ("summarizer/config.py", "TrainingConfig"),
    "training.lora": ("summarizer/config.py", "LoraConfig"),
    "generation": ("summarizer/generation_options.py", "GenerationOptions"),
    "model": ("summarizer/models/configuration.py", "SummarizerConfig"),
}
QUOTE = "'"
YAML = {"None": "null", "True": "true", "False": "false"}
HEAD = """# Configuration

Every key of a run's YAML file with its default, which `key=value` on the command line overrides, as in
`training.steps=100`. This page is made by `scripts/write_configuration_page.py` from the data classes.
"""
FIXED = ("is_encoder_decoder", "tie_word_embeddings", "use_cache")  # of the model, and what the tokenizer says:
FROM_TOKENIZER = ("vocab_size", "pad_token_id", "bos_token_id", "eos_token_id", "decoder_start_token_id")


def page() -> str:
    """The page's text."""
    return HEAD + "".join(map(_section, SECTIONS))


def _section(name: str) -> str:
    file, class_name = SECTIONS[name]
    source = (ROOT / file).read_text(encoding="utf-8")
    found = next(node for node in ast.parse(source).body if isinstance(node, ast.ClassDef) and node.name == class_name)
    rows = [
        f"| `{name}{'.' if name else ''}{node.target.id}` | {_type(node.annotation)} | {_default(_value(name, node))} "
        f"| {_escape(_comment(source, node))} |"
        for node in found.body
        if isinstance(node, ast.AnnAssign)
        and isinstance(node.target, ast.Name)
        and not _is_section(node)
        and node.target.id not in (*FIXED, *FROM_TOKENIZER)
    ]
    summary = (ast.get_docstring(found) or "").partition("\n")[0]
    heading = f"`{name}`" if name else "At the top"
    table = ["| key | type | default | |", "|---|---|---|---|", *rows]
    return "\n".join(["", f"## {heading}", "", summary, "", *table, ""])


def _value(section: str, node: ast.AnnAssign) -> ast.expr | None:
    """A field's default; a run has defaults of its own for the options of generation."""
    if section != "generation":
        return node.value
    return ast.Constant(getattr(RunConfig().generation, ast.unparse(node.target)))


def _is_section(node: ast.AnnAssign) -> bool:
    return ast.unparse(node.annotation) in ("DataConfig", "TrainingConfig", "GenerationOptions")


def _type(annotation: ast.expr) -> str:
    """The type, or the choices."""
    text = ast.unparse(annotation)
    if text.startswith("Literal["):
        return ", ".join(f"`{choice}`" for choice in re.findall(r"'(\w+)'", text)) + (
            ", `null`" if "None" in text else ""
        )
    return f"`{_escape(text.replace('None', 'null').replace('LoraConfig', 'keys below'))}`"


def _default(value: ast.expr | None) -> str:
    """The default as it stands in YAML."""
    if value is None:
        return ""
    text = ast.unparse(value)
    if text.startswith("field("):
        factory = text.removeprefix("field(default_factory=").removesuffix(")")
        text = {"list": "[]", "dict": "{}"}.get(factory, factory.removeprefix("lambda: "))
    return f"`{YAML.get(text, text.replace(QUOTE, ''))}`"


def _comment(source: str, node: ast.AnnAssign) -> str:
    """What stands behind # in the line of a field."""
    line = source.splitlines()[(node.end_lineno or 1) - 1]
    return line.encode()[node.end_col_offset or 0 :].decode().partition("# ")[2]


def _escape(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

"""The model card: a README.md that describes a trained model and its training."""

import json
from dataclasses import asdict
from typing import Any

import yaml

from summarizer import __version__
from summarizer.config import RunConfig

TEMPLATE = """---
library_name: transformers
pipeline_tag: {pipeline}
tags: [{tags}]
---

# {name}

A long-document {kind} trained with fastformer-summarizer {version}.

```python
{imports}

path = "PATH"  # this folder, or its hub id
model = {auto_class}.from_pretrained(path)
tokenizer = AutoTokenizer.from_pretrained(path)
```

- Parameters: {parameters:,}
- Steps: {step:,}, {documents:,} training documents, {validation_documents:,} validation documents
- Source tokens per training document: {max_source}
- Validation: {metrics}{rouge}{signature}

{warning}

## Configuration

```yaml
{config}```
"""

_OF_AUTO_CLASS = """import summarizer  # registers the model with transformers' Auto classes
from transformers import {auto_class}, AutoTokenizer"""
_OF_OURS = """from summarizer import {auto_class}
from transformers import AutoTokenizer"""

OF_TASK = {
    "summarization": {
        "pipeline": "summarization",
        "tags": "summarization, long-documents, fastformer",
        "kind": "summarizer",
        "auto_class": "AutoModelForSeq2SeqLM",
        "warning": "Summaries may repeat text, contradict the document or miss important points. "
        "Check a summary before you rely on it.\n\n"
        "`summarizer.Summarizer` and the command `summarizer summarize` apply `no_repeat_words`, and they restore "
        "numbers and capitals. `model.generate` by itself does neither.",
    },
    "classification": {
        "pipeline": "text-classification",
        "tags": "text-classification, long-documents, fastformer",
        "kind": "classifier",
        "auto_class": "AutoModelForSequenceClassification",
        "warning": "It assigns every document to one of the classes it was trained on.",
    },
    "selection": {
        "pipeline": "summarization",
        "tags": "summarization, extractive-summarization, long-documents, fastformer",
        "kind": "sentence selector",
        "auto_class": "FastformerSummarizerForSentenceSelection",
        "warning": "It scores the sentences of a document, one sentence a line. It writes no text of its own.",
    },
}


def make_card(config: RunConfig, step: int, sizes: dict[str, int], metrics: dict[str, float], signature: str) -> str:
    """The card in Markdown. `sizes` has parameters, documents, validation_documents; `signature` may be empty."""
    limit = config.data.max_source_tokens
    of_task = OF_TASK[config.task]
    imports = _OF_OURS if config.task == "selection" else _OF_AUTO_CLASS
    num_scored = min(config.training.rouge_examples, sizes["validation_documents"])
    return TEMPLATE.format(
        **of_task,
        imports=imports.format(**of_task),
        name=config.name,
        version=__version__,
        step=step,
        max_source="all" if limit is None else f"the first {limit:,}",
        metrics=json.dumps({name: round(value, 4) for name, value in metrics.items()}) if metrics else "none",
        rouge=f" (ROUGE on {num_scored:,} documents)" if "rouge1" in metrics else "",
        signature=f"\n- Signature of the scores: `{signature}`" if signature else "",
        config=yaml.safe_dump(_without_paths(asdict(config)), sort_keys=False),
        **sizes,
    )


def _without_paths(config: dict[str, Any]) -> dict[str, Any]:
    """The configuration without folders of this machine: of each path, only the last two parts."""
    shown: dict[str, Any] = {key: dict(value) if isinstance(value, dict) else value for key, value in config.items()}
    shown.pop("output_dir")
    shown["data"].pop("cache_dir")
    for split in ("train", "validation", "test"):
        shown["data"][split] = [_end_of_path(entry) for entry in shown["data"][split]]
    named = [(shown, "pretrained"), (shown["data"], "tokenizer")]
    named += [(shown["training"], key) for key in ("initial_embeddings", "initial_trunk")]
    for place, key in named:
        place[key] = place[key] and _end_of_path(place[key])
    return shown


def _end_of_path(path: str) -> str:
    return "/".join(path.rstrip("/").split("/")[-2:]) if "/" in path else path

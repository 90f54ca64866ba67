"""The model card: what a trained model is, from what its run knows."""

import json
from typing import Any

from summarizer import __version__
from summarizer.config import RunConfig

TEMPLATE = """---
library_name: transformers
pipeline_tag: summarization
tags: [summarization, long-documents, fastformer]
---

# {name}

A long-document summarizer trained with fastformer-summarizer {version}.

```python
import summarizer  # registers the model with transformers' Auto classes
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

model = AutoModelForSeq2SeqLM.from_pretrained("PATH")
tokenizer = AutoTokenizer.from_pretrained("PATH")
```

- Parameters: {parameters:,}
- Steps: {step:,}, {documents:,} training documents, {validation_documents:,} validation documents
- Source tokens read in training: {max_source}
- Validation: {metrics}

It may repeat itself, state what its source does not, or miss what matters: check a summary before you rely on it.

## Configuration

```yaml
{config}```
"""


def make_card(config: RunConfig, text: str, step: int, sizes: dict[str, int], metrics: dict[str, float]) -> str:
    """The card in Markdown. `text` is the configuration; `sizes` has parameters, documents, validation_documents.

    Paths of the machine stay out of it: only the last part of each data file's name is shown.
    """
    limit = config.data.max_source_tokens
    return TEMPLATE.format(
        name=config.name,
        version=__version__,
        step=step,
        max_source="the whole document" if limit is None else f"the first {limit:,}",
        metrics=json.dumps({name: round(value, 4) for name, value in metrics.items()}) if metrics else "none",
        config=text,
        **sizes,
    )


def without_paths(config: dict[str, Any]) -> dict[str, Any]:
    """The configuration with the folders of data files left out."""
    shown = {key: dict(value) if isinstance(value, dict) else value for key, value in config.items()}
    for split in ("train", "validation", "test"):
        shown["data"][split] = ["/".join(str(entry).rstrip("/").split("/")[-2:]) for entry in shown["data"][split]]
    return shown

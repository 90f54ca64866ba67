#!/usr/bin/env bash
# On a fresh machine with Python and pip: installs, summarizes the sample documents with the default model, scores them.
set -euo pipefail
. "$(dirname "$0")/environment.sh" documents
output=quickstart_output
echo "Summarizing samples/documents (four research articles, four news articles) with the default model"
summarizer summarize samples/documents --output "$output/summaries.jsonl"
summarizer evaluate "$output/summaries.jsonl" samples/pairs.jsonl --baselines --output "$output/scores.json"
python - "$output/summaries.jsonl" <<'PYTHON'
import json
import sys

from summarizer.batch.records import SummaryRecord, bare_summary

with open(sys.argv[1], encoding="utf-8") as file:
    record = SummaryRecord(**json.loads(next(file)))
summary = bare_summary(record, with_evidence=record.evidence is not None)
print(f"\nThe first summary, of {record.id} ({record.source_tokens:,} tokens):\n\n{summary}")
PYTHON
cat <<TEXT

The summaries are in $output/summaries.jsonl, the scores in $output/scores.json.
The summaries are extracts: whole sentences of the documents. What the model can do, and what it cannot:
summarizer/assets/default/README.md. Try next, after '. .venv/bin/activate':
  summarizer summarize YOUR_FOLDER -o summaries.jsonl        text, Markdown, HTML, PDF, Word, EPUB, JATS XML, JSONL, CSV, Parquet
  summarizer summarize paper.pdf --show-evidence             one document, to the terminal, with its sources
  accelerate launch scripts/train.py configs/debug.yaml      train a tiny model on the samples, in seconds
  docs/training.md                                           train a real one on your own pairs
TEXT

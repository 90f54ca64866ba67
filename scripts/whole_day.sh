#!/usr/bin/env bash
# Runs the commands of docs/tutorial.md on rows made from the samples: from raw rows to a scored model beside baselines.
# bash scripts/whole_day.sh FOLDER [key=value …]   makes FOLDER; the other arguments go to `train`
set -euo pipefail
samples="$(cd "$(dirname "$0")/.." && pwd)/samples/pairs.jsonl"
configs="$(cd "$(dirname "$0")/../configs" && pwd)"
mkdir "$1"
cd "$1"
shift
# Rows as they come out of a database: other column names, one row twice, one without a text, one broken.
mkdir raw
sed -e 's/"document":/"body_text":/' -e 's/"summary":/"tldr":/' "$samples" > rows.jsonl
{ head -n 6 rows.jsonl; head -n 1 rows.jsonl; echo '{"body_text": "", "tldr": "No text."}'; echo '{"body_text": '; } > raw/papers.jsonl
tail -n 2 rows.jsonl > test.jsonl
set -x
summarizer tokenizer raw -o my_tokenizer --vocab-size 1000 --document-column body_text --summary-column tldr
summarizer train "$configs/tutorial.yaml" "$@"
summarizer test runs/tutorial
summarizer summarize test.jsonl -o summaries.jsonl --model runs/tutorial/best --document-column body_text
summarizer compare tutorial=runs/tutorial/test/scores.json -o comparison

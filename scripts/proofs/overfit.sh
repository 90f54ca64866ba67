#!/usr/bin/env bash
# Trains a model on eight articles, summarizes the same articles, and fails if ROUGE-1 is below 95.
# Usage: bash scripts/proofs/overfit.sh ARTICLES.parquet OUTPUT_FOLDER [key=value …]
set -euo pipefail
articles=$1 output=$2
shift 2
root=$(dirname "$0")/../..
python "$root/scripts/train.py" "$root/configs/overfit.yaml" output_dir="$output" data.train="[$articles]" \
  data.validation="[$articles]" data.cache_dir="$output/cache" "$@"
summarizer summarize "$articles" --max-documents 8 --max-source-tokens 2048 --model "$output/overfit/last" \
  --output "$output/summaries.jsonl"
summarizer evaluate "$output/summaries.jsonl" "$articles" --on-mismatch intersect --output "$output/scores.json"
python - "$output/scores.json" <<'PYTHON'
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    rouge1 = json.load(file)["scores"]["rouge1"]["fmeasure"]["mean"]
print(f"ROUGE-1 {100 * rouge1:.2f}")
sys.exit(rouge1 < 0.95)
PYTHON

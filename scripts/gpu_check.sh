#!/usr/bin/env bash
# Compares the model on a GPU with the model on the CPU, measures encoders and generation, and trains briefly in bfloat16.
# Takes up to six minutes. Writes OUTPUT_FOLDER/gpu_check.json, which names the GPU. Without a GPU, runs a tiny version.
# Usage: bash scripts/gpu_check.sh OUTPUT_FOLDER
set -euo pipefail
output=${1:?the folder to write; usage: bash scripts/gpu_check.sh OUTPUT_FOLDER}
if [[ $output == -* ]]; then sed -n 2,4p "$0"; exit 0; fi
here=$(dirname "$0")
mkdir -p "$output"
started=$SECONDS
device=$(python -c 'import torch; print("cuda" if torch.cuda.is_available() else "cpu")')
sizes=() beams="1,4" lengths="4096,16384" steps=100
training=(model.d_model=512 model.encoder_layers=4 model.decoder_layers=4 model.encoder_attention_heads=8
  model.decoder_attention_heads=8 model.encoder_ffn_dim=2048 model.decoder_ffn_dim=2048)
if [ "$device" = cpu ]; then
  echo "no GPU: running a tiny version on the CPU; ignore its speeds"
  sizes=(--d-model 32 --layers 1 --heads 2 --ffn-dim 32 --no-memory) beams=2 lengths=64 steps=2 training=()
fi
python "$here/proofs/compare_devices.py" "$device" "$output/correctness.json"
summarizer benchmark encoders --encoders fastformer,full,led,pegasus_x --lengths "$lengths" --dtype bfloat16 --backward \
  --repeats 3 --max-seconds 10 --device "$device" "${sizes[@]}" -o "$output/encoders.json"
summarizer benchmark generation --lengths "$lengths" --num-beams "$beams" --batch-sizes 1 --new-tokens 16 --repeats 1 \
  --max-seconds 20 --dtype bfloat16 --device "$device" "${sizes[@]}" -o "$output/generation.json"
rm -rf "$output/runs"
accelerate launch --num_processes 1 --mixed_precision bf16 "$here/train.py" "$here/../configs/debug.yaml" name=gpu_check \
  output_dir="$output/runs" training.steps="$steps" training.validate_every="$steps" training.log_every=1 "${training[@]}"
python - "$output" "$((SECONDS - started))" <<'PYTHON'
import json
import sys
from pathlib import Path

from summarizer.files import write_json

folder = Path(sys.argv[1])
parts = {name: json.loads((folder / f"{name}.json").read_text()) for name in ("correctness", "encoders", "generation")}
machine = parts["encoders"]["machine"]
steps = [json.loads(line) for line in (folder / "runs/gpu_check/metrics.jsonl").read_text().splitlines()]
card = machine.get("accelerator")
write_json(folder / "gpu_check.json", {"card": card, "seconds": int(sys.argv[2]), **parts, "training": steps})
print(f"{card or 'no GPU'}: {folder / 'gpu_check.json'}")
PYTHON

#!/usr/bin/env bash
# Check that two machines train like one: sudo bash scripts/proofs/two_machines.sh [result.json]
#
# The machines are two network namespaces, connected by a virtual cable (veth). configs/debug.yaml is trained with one
# process on each machine, and with two processes on one machine. Losses and weights must be the same. Needs Linux,
# iproute2 and permission to create namespaces. Without them, the script prints a message and ends with status 77.
set -euo pipefail
cd "$(dirname "$0")/../.."
result=${1:-}
names=("summarizer-$$-0" "summarizer-$$-1") # of the namespaces
cables=("sum$$a" "sum$$b")                  # at most 15 letters
addresses=(10.213.47.1 10.213.47.2)
work=$(mktemp -d)

clean_up() {
  for name in "${names[@]}"; do ip netns del "$name" 2>/dev/null || true; done # and the cable with them
  rm -rf "$work"
}
trap clean_up EXIT

if ! command -v ip >/dev/null || ! ip netns add "${names[0]}" 2>/dev/null; then
  echo "skipped: this machine does not permit network namespaces (they need root and iproute2)" >&2
  exit 77
fi
ip netns add "${names[1]}"
if ! ip link add "${cables[0]}" netns "${names[0]}" type veth peer name "${cables[1]}" netns "${names[1]}"; then
  echo "skipped: this machine's kernel has no virtual cables (veth)" >&2
  exit 77
fi
for rank in 0 1; do
  ip -n "${names[rank]}" address add "${addresses[rank]}/24" dev "${cables[rank]}"
  ip -n "${names[rank]}" link set "${cables[rank]}" up
  ip -n "${names[rank]}" link set lo up
done

settings=(configs/debug.yaml "output_dir=$work" training.batches_per_step=2 'training.trackers=[]')
export ACCELERATE_USE_CPU=true OMP_NUM_THREADS=${OMP_NUM_THREADS:-1}
launch=(python -m accelerate.commands.launch --mixed_precision no)

"${launch[@]}" --config_file configs/accelerate/two_cpu_processes.yaml --main_process_port 0 \
  scripts/train.py "${settings[@]}" name=one

pids=()
for rank in 0 1; do
  GLOO_SOCKET_IFNAME=${cables[rank]} ip netns exec "${names[rank]}" "${launch[@]}" \
    --config_file configs/accelerate/two_machines.yaml --num_processes 2 --machine_rank "$rank" \
    --main_process_ip "${addresses[0]}" scripts/train.py "${settings[@]}" name=two &
  pids+=($!)
done
for pid in "${pids[@]}"; do wait "$pid"; done
received=()
for rank in 0 1; do
  received+=("$(ip netns exec "${names[rank]}" cat "/sys/class/net/${cables[rank]}/statistics/rx_bytes")")
done

python - "$work" "$result" "${received[@]}" <<'PYTHON'
import json
import sys
from pathlib import Path

from safetensors.torch import load_file

from summarizer.files import write_json

work, result, received = Path(sys.argv[1]), sys.argv[2], [int(number) for number in sys.argv[3:]]
one, two = (load_file(work / name / "last/model.safetensors") for name in ("one", "two"))
lines = [[json.loads(line) for line in (work / name / "metrics.jsonl").read_text().splitlines()] for name in ("one", "two")]
losses = [[line.get("loss", line.get("validation_loss")) for line in run] for run in lines]
weight = max(float((one[name] - two[name]).abs().max()) for name in one)
loss = max(abs(mine - other) for mine, other in zip(*losses, strict=True))
megabytes = [number / 1e6 for number in received]
parameters = sum(value.numel() for value in two.values())
steps = lines[1][-1]["step"]
# Each step's gradients have to cross the cable.
summary = {
    "equal": one.keys() == two.keys() and weight <= 1e-6 and loss <= 1e-6 and min(megabytes) > 4e-6 * parameters * steps,
    "largest_difference_of_a_weight": weight,
    "largest_difference_of_a_loss": loss,
    "losses_compared": len(losses[0]),
    "parameters": parameters,
    "steps": steps,
    "megabytes_received_by_each_machine": [round(number, 1) for number in megabytes],
}
if result:
    write_json(Path(result), summary)
print(json.dumps(summary))
sys.exit(0 if summary["equal"] else 1)
PYTHON

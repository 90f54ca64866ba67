#!/usr/bin/env bash
# Passes lint, types, the import contract and the tests, in the project's own virtual environment.
# Arguments go to pytest: bash scripts/test.sh tests/models -k copying
set -euo pipefail
. "$(dirname "$0")/environment.sh" dev
ruff check .
ruff format --check .
pyright
lint-imports --no-cache
# One thread a worker: two workers with two threads each are slower on two cores.
OMP_NUM_THREADS=1 pytest -n "${PYTEST_WORKERS:-2}" --dist worksteal "$@"

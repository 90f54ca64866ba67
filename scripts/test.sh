#!/usr/bin/env bash
# For contributors: runs the linter, the type checker, the import checker and the tests in .venv. Takes about ten minutes.
# Arguments go to pytest: bash scripts/test.sh tests/models -k copying
set -euo pipefail
. "$(dirname "$0")/environment.sh" dev
# The tests of the HTML page need Chromium. Without it they are skipped; with CI=true in the environment they fail.
# It is installed while the checks run.
if ! command -v chromium > /dev/null && [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null; then
  echo "Installing Chromium"
  (apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium > /dev/null ||
    echo "Chromium could not be installed") &
  trap wait EXIT
fi
ruff check .
ruff format --check .
pyright
lint-imports --no-cache
wait
# One thread per worker: on two cores, two workers with two threads each are slower.
OMP_NUM_THREADS=1 pytest -n "${PYTEST_WORKERS:-2}" --dist worksteal "$@"

# Sourced by the other scripts. Creates .venv with the project and the given extras, in the versions that CI tested.
# Usage: . scripts/environment.sh EXTRAS     (PYTHON=… chooses the interpreter, Python 3.10 or later)
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
old='import sys; sys.exit("Python 3.10 or later is needed, not " + sys.version) if sys.version_info < (3, 10) else 0'
if [ ! -x .venv/bin/python ]; then
  "${PYTHON:-python3}" -c "$old" || exit 1  # before it creates a .venv that a later Python could not use
  echo "Creating a virtual environment in .venv"
  "${PYTHON:-python3}" -m venv .venv || exit 1
fi
. .venv/bin/activate
sum=$(cat pyproject.toml constraints.txt | cksum)
installed=$(cat .venv/installed 2>/dev/null || true)
if [ "$installed" != "$1 $sum" ] && [ "$installed" != "dev $sum" ]; then  # dev contains the other extras
  echo "Installing fastformer-summarizer[$1] (several hundred megabytes on a fresh machine)"
  python -c "$old" || exit 1
  # constraints.txt lists the versions that CI tested on Python 3.11. Python 3.10 needs older versions of some packages.
  python -c 'import sys; sys.exit(sys.version_info < (3, 11))' && proven=constraints.txt || proven=.venv/torch.txt
  grep '^torch==' constraints.txt > .venv/torch.txt
  pip install --quiet --disable-pip-version-check --no-compile --constraint "$proven" --editable ".[$1]" || exit 1
  # pip would compile one file after the other; this takes all cores, and leaves out the packages' own tests.
  python -m compileall -qq -j 0 -x '/tests/' .venv/lib || true  # some packages hold templates that are not Python
  echo "$1 $sum" > .venv/installed
fi

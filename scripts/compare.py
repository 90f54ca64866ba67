"""Compare systems: the same as `summarizer compare`."""

import sys

from summarizer.cli import main

if __name__ == "__main__":
    main(["compare", *sys.argv[1:]])

"""Summarize files: the same as `summarizer summarize`."""

import sys

from summarizer.cli.app import main

if __name__ == "__main__":
    main(["summarize", *sys.argv[1:]])

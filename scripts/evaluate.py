"""Score summaries: the same as `summarizer evaluate`."""

import sys

from summarizer.cli.app import main

if __name__ == "__main__":
    main(["evaluate", *sys.argv[1:]])

"""`python -m summarizer.cli`: the same as `summarizer`."""

from summarizer.cli.app import main

main()

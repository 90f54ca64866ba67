"""Train a summarizer: accelerate launch scripts/train.py configs/pubmed/fastformer.yaml [key=value …]."""

import sys

from summarizer.cli.app import main

if __name__ == "__main__":
    main(["train", *sys.argv[1:]])

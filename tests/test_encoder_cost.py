"""The picture of the README shows the numbers of the committed benchmarks."""

import json
from importlib import import_module
from pathlib import Path


def test_the_picture_shows_the_numbers_of_the_result_files(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent.parent / "scripts"))
    script = import_module("plot_encoder_cost")
    assert json.dumps(script.values()).encode() in script.PICTURE.read_bytes()


def test_the_picture_draws_every_number(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent.parent / "scripts"))
    script = import_module("plot_encoder_cost")
    numbers = script.values()
    growth, seconds, megabytes = script.picture(numbers).axes
    assert list(growth.lines[0].get_ydata()) == list(numbers["growth"].values())
    assert [bar.get_width() for bar in seconds.patches] == list(numbers["seconds"].values())
    assert [bar.get_width() for bar in megabytes.patches] == list(numbers["megabytes"].values())

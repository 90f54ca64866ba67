import json

import matplotlib.colors
import matplotlib.image
import pytest

from summarizer.reporting.run_plot import plot_run


def write(folder, lines):
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


LOSSES = [{"step": step, "loss": 5 / step, "learning_rate": 0.1, "peak_memory_mb": 9.0} for step in (1, 2, 3)]
VALIDATION = [{"step": 3, "validation_loss": 1.5, "rouge1": 40.0, "rouge2": 10.0}]


@pytest.mark.parametrize(("lines", "panels"), [(LOSSES, 2), (LOSSES + VALIDATION, 3)])
def test_a_panel_for_losses_one_for_scores_where_there_are_any_one_for_the_rate(tmp_path, lines, panels):
    write(tmp_path, lines)
    plot_run(tmp_path)
    height, width, _ = matplotlib.image.imread(tmp_path / "metrics.png").shape
    assert (height, width) == (round(3.4 * 120), round(4.5 * panels * 120))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["metrics.jsonl", "metrics.png"]


def test_nothing_is_drawn_of_nothing_nor_by_other_processes(tmp_path, monkeypatch):
    plot_run(tmp_path / "nowhere")
    write(tmp_path, [])
    plot_run(tmp_path)
    write(tmp_path, LOSSES)
    monkeypatch.setenv("RANK", "1")
    plot_run(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["metrics.jsonl"]


def test_equal_curves_are_both_visible_and_a_picture_that_is_newer_stays(tmp_path):
    write(tmp_path, [{"step": step, "rougeL": 30.0 + step, "rougeLsum": 30.0 + step} for step in (1, 2, 3)])
    plot_run(tmp_path)
    pixels = matplotlib.image.imread(tmp_path / "metrics.png")[..., :3]
    for colour in ("tab:blue", "tab:orange"):
        near = abs(pixels - matplotlib.colors.to_rgb(colour)).max(axis=-1) < 0.02
        assert near.sum() > 350, colour  # in the legend alone there are fewer
    before = (tmp_path / "metrics.png").stat().st_mtime_ns
    plot_run(tmp_path)
    assert (tmp_path / "metrics.png").stat().st_mtime_ns == before

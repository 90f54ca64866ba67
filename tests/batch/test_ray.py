"""A Ray cluster writes what one process writes, each document once, whatever happens to a machine."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from summarizer.batch import ray_pipeline
from summarizer.batch.options import BatchOptions
from summarizer.batch.ray_options import RayOptions
from summarizer.batch.ray_pipeline import _actors, summarize_with_ray
from summarizer.batch.summarize_files import summarize_files
from summarizer.errors import InputError
from summarizer.generation.options import SummarySettings

ROOT = Path(__file__).parents[2]
OPTIONS = BatchOptions(
    dtype="float32", device="cpu", quiet=True, settings=SummarySettings(num_beams=1, max_summary_tokens=20)
)


@pytest.fixture
def cluster(monkeypatch):
    """Two machines of two cores each, and one without any, from which the job starts."""
    ray = pytest.importorskip("ray")
    for name, value in (("RAY_USAGE_STATS_ENABLED", "0"), ("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")):
        monkeypatch.setenv(name, value)
    from ray.cluster_utils import Cluster

    small = {"object_store_memory": 80 * 2**20, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, **small})
    nodes = [cluster.add_node(num_cpus=2, **small) for _ in range(2)]
    ray.init(cluster.address, log_to_driver=False, logging_level="error")
    yield cluster, nodes
    ray.shutdown()
    cluster.shutdown()


def rows(path):
    return [
        {name: value for name, value in row.items() if name != "seconds"} for row in pq.read_table(path).to_pylist()
    ]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of Ray and pandas
def test_a_machine_is_lost_and_each_document_has_one_record_equal_to_that_of_summarize(cluster, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sentences = (ROOT / "samples/documents/fishing_quota_ruling.txt").read_text().split(". ")[:9]
    lines = [
        {"id": f"row{number % 30}", "text": f"In case {number}, " + ". ".join(sentences[number % 6 :])}
        for number in range(40)
    ]
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\nno JSON\n")
    Path("texts").mkdir()
    Path("texts/a.txt").write_text(lines[0]["text"])
    Path("texts/broken.pdf").write_text("no PDF")
    Path("texts/empty.txt").write_text("")
    job = (["texts", "rows.jsonl"], "ray.parquet", OPTIONS, RayOptions(actors=2, documents_per_task=4))
    write, results = ray_pipeline._write, []

    def write_until_interrupted(sink, position, result):
        if position == 10:
            raise KeyboardInterrupt
        return write(sink, position, result)

    def write_and_lose_a_machine(sink, position, result):
        results.append(result)
        if position == 15:
            cluster[0].remove_node(cluster[1][0], allow_graceful=False)
        return write(sink, position, result)

    monkeypatch.setattr(ray_pipeline, "_write", write_until_interrupted)
    with pytest.raises(KeyboardInterrupt):
        summarize_with_ray(*job)
    monkeypatch.setattr(ray_pipeline, "_write", write_and_lose_a_machine)
    report = summarize_with_ray(*job)
    assert len(results) == 44
    assert report.counts == {"ok": 41, "empty": 1, "failed": 2}
    assert report.resumed == sum(result.record is None for result in results) == 9  # the broken file is tried again
    summarize_files(["texts", "rows.jsonl"], "alone.parquet", OPTIONS)
    assert rows("ray.parquet") == rows("alone.parquet")
    assert len({row["id"] for row in rows("ray.parquet")}) == 44


def test_actors_take_the_gpus_or_the_cores_but_one():
    assert _actors({"CPU": 8, "GPU": 2}, RayOptions()) == (2, {"num_cpus": 1, "num_gpus": 1.0})
    assert _actors({"CPU": 9}, RayOptions(cpus_per_actor=4)) == (2, {"num_cpus": 4, "num_gpus": 0.0})
    with pytest.raises(InputError, match="too few"):
        _actors({"CPU": 4}, RayOptions(cpus_per_actor=4))


def test_standard_input_is_refused(tmp_path):
    pytest.importorskip("ray")
    with pytest.raises(InputError, match="cannot be read by the machines"):
        summarize_with_ray(["-"], str(tmp_path / "out.parquet"), OPTIONS)

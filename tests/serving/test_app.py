"""The service answers with the records of `summarize`, and refuses in one line what it must refuse."""

import json
import threading
import time
from typing import Any

import pytest
import torch
from starlette.testclient import TestClient

from summarizer.batch.options import BatchOptions
from summarizer.batch.summarize_files import summarize_files
from summarizer.data.selection_labels import line_break_id
from summarizer.generation.options import Summary, SummarySettings
from summarizer.generation.summarizer import Summarizer
from summarizer.serving.app import make_app
from summarizer.serving.options import ServingOptions
from summarizer.serving.worker import QueueFullError, SummaryWorker
from tests.corpus import TEXTS, tiny_tokenizer
from tests.tiny import tiny_model

LOCAL = "http://127.0.0.1:8000"


@pytest.fixture(scope="module")
def model():
    tokenizer = tiny_tokenizer()
    torch.manual_seed(0)
    own = {"sentence_selection": True, "line_break_token_id": line_break_id(tokenizer)}
    return Summarizer(tiny_model(vocab_size=len(tokenizer), copy_mechanism=True, **own), tokenizer)


class Waiting:
    """A summarizer that waits until it may go on."""

    def __init__(self):
        self.may_go_on = threading.Event()
        self.batches = []

    def stream(self, texts, settings):
        texts = list(texts)
        self.batches.append((texts, settings))
        for text in texts:
            assert self.may_go_on.wait(20)
            yield Summary(text.upper(), 1, 0, 1)


def client_of(summarizer, key=None, base_url=LOCAL, **options):
    options = ServingOptions(**options)
    app = make_app(SummaryWorker(summarizer, options.max_waiting), options, key)
    return TestClient(app, base_url=base_url, raise_server_exceptions=False)


@pytest.fixture
def client(model):
    with client_of(model, max_documents=5, max_megabytes=0.1) as client:
        yield client


def events(answer):
    assert answer.headers["content-type"].startswith("text/event-stream")
    parts = [part.split("\n") for part in answer.text.split("\n\n") if part]
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in parts]


@pytest.mark.parametrize("settings", [{}, {"method": "write", "max_sentences": 2}], ids=str)
def test_texts_get_the_summaries_that_the_library_gives(client, model, settings):
    expected = model.summarize(TEXTS[:3], **settings)
    asked = {"texts": TEXTS[:3], "settings": settings}
    found = client.post("/v1/summaries", json=asked).json()["summaries"]
    assert [record["summary"] for record in found] == [summary.text for summary in expected]
    assert [record["evidence"] for record in found] == [summary.evidence for summary in expected]
    for record in found:
        for [span] in record["evidence"]:
            assert record["text"][span["start"] : span["end"]] == span["text"]
    streamed = events(client.post("/v1/summaries", json={**asked, "stream": True}))
    assert [name for name, _ in streamed] == ["summary"] * 3 + ["end"]
    untimed = [{**record, "seconds": 0} for record in found]
    assert [{**record, "seconds": 0} for _, record in streamed[:3]] == untimed


def test_a_file_gets_the_records_that_the_command_writes(client, model, tmp_path, monkeypatch):
    rows = tmp_path / "rows.jsonl"
    texts = [{"id": f"r{number}", "document": text} for number, text in enumerate(TEXTS[:2])]
    rows.write_text("\n".join(map(json.dumps, [*texts, {"id": "bad"}])), encoding="utf-8")
    monkeypatch.setattr(Summarizer, "from_pretrained", lambda *_: model)
    summarize_files([str(rows)], str(tmp_path / "out.jsonl"), BatchOptions(quiet=True, settings=SummarySettings()))
    expected = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()]
    headers = {"Content-Type": "application/octet-stream", "X-File-Name": "..%2F..%2Fetc%2Frows.jsonl"}
    answer = client.post("/v1/files", content=rows.read_bytes(), headers=headers)
    assert answer.status_code == 200
    found = answer.json()["summaries"]
    for name in ("status", "summary", "evidence", "source_tokens", "reader"):
        assert [record[name] for record in found] == [record[name] for record in expected]
    assert found[2]["status"] == "failed"
    assert str(tmp_path) not in answer.text
    assert "summarizer-" not in answer.text


REFUSED = {
    "no texts": ({"json": {"texts": []}}, 422),
    "unknown setting": ({"json": {"texts": ["a"], "settings": {"beams": 3}}}, 422),
    "settings that exclude each other": (
        {"json": {"texts": ["a"], "settings": {"language": "xx"}}},
        422,
    ),
    "no JSON": ({"content": b"{", "headers": {"Content-Type": "application/json"}}, 422),
    "another content type": ({"content": b'{"texts": ["a"]}', "headers": {"Content-Type": "text/plain"}}, 422),
    "too many": ({"json": {"texts": ["a"] * 6}}, 413),
    "too large": ({"json": {"texts": ["a" * 200_000]}}, 413),
    "too large without saying so": ({"content": iter([b"a" * 60_000] * 2)}, 413),
    "of another host": ({"json": {"texts": ["a"]}, "headers": {"Host": "evil.example"}}, 421),
}


@pytest.mark.parametrize(("arguments", "status"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_refused_says_why_and_quotes_nothing(client, arguments, status, caplog):
    answer = client.post("/v1/summaries", **arguments)
    assert answer.status_code == status
    assert answer.json()["error"]
    assert "aaa" not in answer.text + caplog.text
    assert "default-src 'none'" in answer.headers["content-security-policy"]


@pytest.mark.parametrize(
    ("name", "kind", "status"),
    [("a.exe", "application/octet-stream", 415), ("", "application/octet-stream", 415), ("a.txt", "text/plain", 415)],
)
def test_files_of_other_kinds_are_refused(client, name, kind, status):
    answer = client.post("/v1/files", content=b"abc", headers={"X-File-Name": name, "Content-Type": kind})
    assert (answer.status_code, list(answer.json())) == (status, ["error"])


def test_a_key_is_needed_for_all_but_the_page(model):
    with client_of(model, key="secret", host="0.0.0.0", base_url="http://summaries.example") as client:
        assert client.get("/").status_code == client.get("/healthz").status_code == 200
        asked = {"json": {"texts": [TEXTS[0]]}}
        assert client.post("/v1/summaries", **asked).status_code == 401
        assert client.get("/metrics").status_code == 401
        wrong, right = ({"Authorization": f"Bearer {key}"} for key in ("secre", "secret"))
        assert client.post("/v1/summaries", **asked, headers=wrong).status_code == 401
        assert client.post("/v1/summaries", **asked, headers=right).status_code == 200


def test_a_full_queue_is_a_429_and_waiting_documents_share_a_batch():
    slow = Waiting()
    with client_of(slow, max_waiting=2) as client:
        answers = []

        def ask(texts):
            answers.append(client.post("/v1/summaries", json={"texts": texts}))

        threads = [threading.Thread(target=ask, args=[[text]]) for text in "abc"]
        for thread in threads:
            thread.start()
            time.sleep(0.2)
        refused = client.post("/v1/summaries", json={"texts": ["d"]})
        assert refused.status_code == 429
        assert refused.headers["retry-after"]
        slow.may_go_on.set()
        for thread in threads:
            thread.join()
        assert {answer.json()["summaries"][0]["summary"] for answer in answers} == {"A", "B", "C"}
        assert [texts for texts, _ in slow.batches] == [["a"], ["b", "c"]]
        metrics = client.get("/metrics").text
        assert 'summarizer_documents_total{status="ok"} 3.0' in metrics
        assert "summarizer_refused_total 1.0" in metrics


def test_a_request_that_takes_too_long_is_a_504_and_no_longer_waits():
    slow = Waiting()
    with client_of(slow, max_seconds=0.3) as client:
        assert client.post("/v1/summaries", json={"texts": ["a", "b"]}).status_code == 504
        slow.may_go_on.set()


def test_a_worker_drops_what_is_cancelled_and_stops():
    slow: Any = Waiting()
    worker = SummaryWorker(slow, max_waiting=3)
    first = worker.submit(["a"], SummarySettings())[0]
    while not slow.batches:
        time.sleep(0.01)
    second, third, fourth = worker.submit(["b", "c", "d"], SummarySettings())
    assert second.cancel()
    assert worker.submit(["e"], SummarySettings(max_words=3))  # in its place
    slow.may_go_on.set()
    assert [each.result(20).text for each in (first, third, fourth)] == ["A", "C", "D"]
    worker.close()
    assert "b" not in [text for texts, _ in slow.batches for text in texts]
    with pytest.raises(QueueFullError):
        worker.submit(["f"], SummarySettings())


def test_an_internal_error_tells_nothing(caplog):
    class Broken:
        def stream(self, texts, settings):
            raise ZeroDivisionError(next(iter(texts)))

    with client_of(Broken()) as client:
        answer = client.post("/v1/summaries", json={"texts": ["a secret text"]})
    assert (answer.status_code, answer.json()) == (500, {"error": "internal error"})
    assert "secret" not in caplog.text
    assert "ZeroDivisionError" in caplog.text


def test_the_interface_is_described(client):
    found = client.get("/openapi.json").json()
    assert set(found["paths"]) == {"/v1/summaries", "/v1/files", "/healthz"}

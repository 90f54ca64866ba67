import json
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
SAMPLES = REPOSITORY / "samples"
CORPORA = REPOSITORY.parent / "shared" / "data"


@pytest.fixture(scope="session")
def samples() -> list[tuple[str, str, str]]:
    """(id, document, reference) of the repository's own plain-text samples."""
    lines = (SAMPLES / "references.jsonl").read_text(encoding="utf-8").splitlines()
    references = {row["id"]: row["summary"] for row in map(json.loads, lines)}
    return [
        (path.name, path.read_text(encoding="utf-8"), references[path.name])
        for path in sorted((SAMPLES / "documents").glob("*.txt"))
    ]


@pytest.fixture(scope="session")
def pubmed() -> list[dict[str, str]]:
    """Rows of the PubMed test set, where the corpora are at hand."""
    path = CORPORA / "pubmed" / "test.parquet"
    if not path.exists():
        pytest.skip(f"the corpora are not here: no {path}")
    import pyarrow.parquet as pq

    return pq.read_table(path).slice(0, 300).to_pylist()


@pytest.fixture
def write_jsonl(tmp_path: Path):
    """Write rows to a file of the test's folder."""

    def write(name: str, rows: list[dict]) -> Path:
        path = tmp_path / name
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
        return path

    return write

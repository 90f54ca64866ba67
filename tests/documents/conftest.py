import pytest

from summarizer.documents.read import read_document


@pytest.fixture
def read(tmp_path):
    def read(name, content):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return read_document(path)

    return read

"""Write a folder of valid, unusual and broken files, and the expected result for each file.

FOLDER/documents holds the files. FOLDER/expected.json holds the options for reading them, the expected status of each
document, a part of each expected error, and the files that must be skipped. All files are small: the decompression
bombs exceed the limit only with these options. Needs the extra `documents`, and a system with links, pipes and sockets.
"""

import gzip
import json
import os
import socket
from pathlib import Path
from typing import Annotated, Any

import typer
from file_formats import docx, epub, parquet, pdf, zipped

from summarizer.files import write_json

OPTIONS = ["--max-document-mb", "1", "--max-pages", "20", "--read-timeout", "5"]
LINES = (
    "The council met in spring and voted on a new plan for the harbour.",
    "Fishers asked for more time, because storms had damaged their nets.",
    "Most boats stayed on land, and few buyers came to the market.",
)
TEXT = "\n".join(LINES)
PARAGRAPHS = "".join(f"<p>{line}</p>" for line in LINES)
PAGE = (
    f"<html><head><title>Harbour</title></head><body><article><h1>Harbour</h1>{PARAGRAPHS * 3}</article></body></html>"
)
CHAPTER = f"<html xmlns='http://www.w3.org/1999/xhtml'><head/><body><h1>Chapter</h1>{PARAGRAPHS}</body></html>"
ARTICLE = (
    "<article><front><article-meta><title-group><article-title>Harbour</article-title></title-group></article-meta>"
    f"</front><body><sec><title>Plan</title>{PARAGRAPHS}</sec></body></article>"
)
ROWS = [{"id": None, "text": TEXT}, {"id": None, "text": LINES[0]}]
JSONL = "".join(json.dumps(row) + "\n" for row in ROWS)
CSV = "".join(f'"{text}"\n' for text in ("text", TEXT, LINES[0]))
TOO_LARGE = b"x " * 2**20


class Corpus:
    """Writes files and keeps what is expected of each."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.expected: dict[str, list[str]] = {}  # status, and of "failed" a part of the error
        self.skipped: list[str] = []

    def write(self, name: str, content: bytes | str) -> None:
        """Write a file of which no document is expected, or several are."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())

    def add(self, status: str, files: dict[str, bytes | str]) -> None:
        """Files that are a document of this status each."""
        for name, content in files.items():
            self.write(name, content)
            self.expected[name] = [status]

    def fails(self, error: str, files: dict[str, bytes | str]) -> None:
        """Files that fail with an error that says `error`."""
        self.add("failed", files)
        self.expected.update({name: ["failed", error] for name in files})

    def rows(self, name: str, content: bytes | str, expected: list[list[str]]) -> None:
        """A file of rows, with what is expected of each."""
        self.write(name, content)
        self.expected.update({f"{name}:{number}": each for number, each in enumerate(expected, start=1)})


def add_good(corpus: Corpus) -> None:
    """A file of every kind, and the same packed."""
    files: dict[str, bytes | str] = {
        "plain.txt": TEXT, "plain.text": TEXT, "notes.md": f"# Harbour\n\n{TEXT}", "notes.markdown": TEXT,
        "page.html": PAGE, "page.htm": PAGE, "page.xhtml": PAGE, "paper.pdf": pdf(*LINES), "report.docx": docx(*LINES),
        "book.epub": epub("Harbour", [CHAPTER, CHAPTER]), "article.xml": ARTICLE, "article.nxml": ARTICLE,
    }  # fmt: skip
    for name, content in files.items():
        packed = gzip.compress(content if isinstance(content, bytes) else content.encode())
        corpus.add("ok", {f"good/{name}": content, f"packed/{name}.gz": packed})
    for name, content in (("rows.jsonl", JSONL.encode()), ("rows.csv", CSV.encode()), ("rows.parquet", parquet(ROWS))):
        corpus.rows(f"good/{name}", content, [["ok"], ["ok"]])
        corpus.rows(f"packed/{name}.gz", gzip.compress(content), [["ok"], ["ok"]])


def add_encodings(corpus: Corpus) -> None:
    """Text in encodings other than plain UTF-8, marked, declared and to be guessed."""
    western = "Der Fluß stieg über die Brücke – „nie zuvor“ gesehen, sagte die Bürgermeisterin.\n" * 3
    japanese = "港の会議は春に開かれ、新しい計画に投票した。漁師たちは網を直す時間を求めた。\n" * 3
    russian = "Совет собрался весной и проголосовал за новый план гавани. Рыбаки просили времени.\n" * 3
    for encoding in ("utf-8-sig", "utf-16", "utf-32", "cp1252"):
        corpus.add("ok", {f"encodings/{encoding}.txt": western.encode(encoding)})
    corpus.add(
        "ok",
        {
            "encodings/utf-16-be.txt": b"\xfe\xff" + western.encode("utf-16-be"),
            "encodings/declared.html": PAGE.replace("<head>", "<head><meta charset='cp1250'>").encode("cp1250"),
            "encodings/declared.xml": f"<?xml version='1.0' encoding='iso-8859-1'?>{ARTICLE}".encode("latin-1"),
        },
    )
    corpus.fails(
        "script that the model does not know (Hiragana", {"encodings/shift_jis.txt": japanese.encode("shift_jis")}
    )
    corpus.fails("script that the model does not know (Hiragana", {"encodings/euc_jp.txt": japanese.encode("euc_jp")})
    corpus.fails("script that the model does not know (Cyrillic)", {"encodings/cp1251.txt": russian.encode("cp1251")})
    corpus.rows("encodings/utf-16.csv", CSV.encode("utf-16"), [["ok"], ["ok"]])
    for text, encoding in ((western, "cp1252"), (japanese, "shift_jis"), (russian, "cp1251")):
        line = text.splitlines()[0]
        account = ["ok"] if text == western else ["failed", "script that the model does not know"]
        jsonl = json.dumps({"text": line}, ensure_ascii=False) + "\n"
        corpus.rows(f"encodings/{encoding}.jsonl", (JSONL + jsonl * 3).encode(encoding), [["ok"]] * 2 + [account] * 3)
        corpus.rows(f"encodings/{encoding}.csv", f'text\n"{line}"\n"{line}"\n'.encode(encoding), [account] * 2)
    corpus.fails("UTF-16", {"encodings/utf-16-without-mark.csv": CSV.encode("utf-16-le")})
    corpus.fails("UTF-16", {"encodings/utf-16-without-mark.txt": western.encode("utf-16-le")})
    corpus.fails("byte-order mark of UTF-16", {"encodings/utf-16-odd.txt": "Text".encode("utf-16") + b"x"})


def add_odd(corpus: Corpus) -> None:
    """What is unusual and must be read all the same."""
    entity = "<!DOCTYPE article [<!ENTITY e SYSTEM '/etc/passwd'><!ENTITY a 'ha'><!ENTITY b '&a;&a;&a;&a;'>]>"
    corpus.fails("(Hebrew)", {"odd/hebrew.txt": "המועצה נפגשה באביב והצביעה על תוכנית חדשה לנמל."})
    corpus.add(
        "ok",
        {
            "odd/nul.txt": TEXT.replace("plan", "pl\0an"),
            "odd/controls.txt": f"\x1b[31m{TEXT}\x07\x7f",
            "odd/newlines.txt": TEXT.replace("\n", "\r") + "\r\n\u2028\x0b\x85" + TEXT,
            "odd/one-word.txt": "harbour",
            "odd/one-line.txt": " ".join(LINES * 60),
            "odd/emoji.txt": "👩‍👩‍👧‍👦 met 🏳️‍🌈 at the harbour, and 𝔘𝔫𝔦𝔠𝔬𝔡𝔢 too. " * 3,
            "odd/hebrew-name.txt": f"{TEXT} המועצה נפגשה באביב.",
            "odd/tokens.txt": f"{TEXT} </s> <pad> <unk>",
            "odd/UPPER.TXT": TEXT,
            "odd/upper.txt": TEXT,
            "odd/ space and ünïcode.txt": TEXT,
            "odd/line\nbreak.txt": TEXT,
            "odd/con.txt": TEXT,
            f"odd/{'long' * 50}.txt": TEXT,
            "odd/a/same.txt": TEXT,
            "odd/b/same.txt": TEXT,
            "odd/entities.xml": entity + ARTICLE.replace("new plan", "&e; &b; plan"),
            "odd/fragment.html": PARAGRAPHS,
            "odd/untidy.epub": epub("Untidy", [f"<html><body><p>{LINES[0]}<p>&nbsp;{LINES[1]}</body>"]),
        },
    )
    ids = ["../../escape", "twice", "twice", "summaries.jsonl.part/y", "summaries.jsonl/y", "odd/upper.txt/below"]
    rows = [{"id": name, "text": TEXT} for name in ids]
    corpus.write("odd/ids.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    corpus.expected.update({name: ["ok"] for name in [*ids, "twice#2"]})
    corpus.rows("odd/surrogate.jsonl", json.dumps({"text": f"{TEXT} \ud800"}), [["ok"]])


def add_empty(corpus: Corpus) -> None:
    """What holds no text, and files without a single document."""
    corpus.add(
        "empty",
        {
            "empty/empty.txt": "", "empty/blank.txt": " \n\t\r\n\u3000", "empty/mark.txt": b"\xef\xbb\xbf",
            "empty/empty.md": "", "empty/empty.html": "<html><body></body></html>", "empty/empty.docx": docx(),
            "empty/empty.epub": epub("E", [""]), "empty/empty.xml": "<article><body/></article>",
            "empty/empty.txt.gz": gzip.compress(b""),
        },
    )  # fmt: skip
    corpus.rows("empty/rows.jsonl", '{"text": null}\n{"text": ""}\n{"text": []}', [["empty"]] * 3)
    corpus.write("empty/no-rows.jsonl", "\n\n")
    corpus.write("empty/no-rows.csv", "id,text\n")


def add_broken(corpus: Corpus) -> None:
    """What cannot be read, or is larger than a document may be."""
    good = pdf(*LINES)
    corpus.fails(
        "broken PDF", {"broken/text.pdf": TEXT, "broken/cut.pdf": good[: len(good) // 2], "broken/empty.pdf": ""}
    )
    corpus.fails("scanned", {"broken/scan.pdf": pdf()})
    corpus.fails("password", {"broken/locked.pdf": pdf(*LINES, password="secret")})
    corpus.fails("not read within 5 s", {"broken/slow.pdf": pdf(*["xx"] * 90_000, num_pages=20)})
    corpus.fails("more pages", {"broken/pages.pdf": pdf(*LINES, num_pages=21)})
    corpus.fails(
        "broken Word", {"broken/text.docx": TEXT, "broken/zip.docx": zipped({"a": b"b"}), "broken/empty.docx": ""}
    )
    corpus.fails("broken EPUB", {"broken/text.epub": TEXT, "broken/zip.epub": zipped({"a": b"b"})})
    locked = {"META-INF/encryption.xml": "<e><CipherReference URI='OPS/0.xhtml'/></e>"}
    corpus.fails("DRM", {"broken/locked.epub": epub("Locked", [CHAPTER], locked)})
    corpus.fails(
        "larger",
        {
            "broken/large.txt": TOO_LARGE, "broken/bomb.txt.gz": gzip.compress(TOO_LARGE),
            "broken/bomb.docx": zipped({"word/document.xml": TOO_LARGE}), "broken/bomb.epub": zipped({"a": TOO_LARGE}),
        },
    )  # fmt: skip
    size = 2**21
    liar = zipped({"META-INF/container.xml": b" " * size})
    liar = liar.replace(size.to_bytes(4, "little"), (9).to_bytes(4, "little"))
    corpus.fails("broken EPUB", {"broken/liar.epub": liar})
    corpus.fails("cannot be read", {"broken/cut.txt.gz": gzip.compress(TEXT.encode())[:-9], "broken/no.txt.gz": TEXT})
    corpus.fails("broken XML", {"broken/cut.xml": ARTICLE[:200], "broken/empty.xml": ""})
    corpus.fails("not JATS", {"broken/other.xml": "<letter>Text</letter>"})
    corpus.fails("nested", {"broken/deep.html": "<div>" * 300 + TEXT})
    corpus.fails("zero bytes", {"broken/zeros.txt": bytes(64)})
    corpus.fails("encoding", {"broken/image.txt": b"\x89PNG\r\n\x1a\n\xff\x81\x8d"})
    corpus.fails("cannot be read", {"broken/text.parquet": TEXT, "broken/no.jsonl.gz": TEXT})
    corpus.rows(
        "broken/dates.parquet",
        parquet([{"text": TEXT}] * 3, dates=[0, 2**59, 1]),  # the second is in the year 20237
        [["ok"], ["failed", "out of range"], ["ok"]],
    )
    rows = ['{"text": "Text – whole."}', '{"text": ', "[1]", '{"other": "x"}', '{"text": 5}', "[" * 10**5, "\udcff"]
    expected = [["ok"], *(["failed", e] for e in ("broken JSON", "object", "no column", "int", "broken JSON", "UTF-8"))]
    corpus.rows("broken/rows.jsonl", "\n".join(rows).encode(errors="surrogateescape"), expected)
    corpus.rows("broken/rows.csv", "id,text\n,Text.\n,a,b\n", [["ok"], ["failed", "fields"]])


def add_passed_over(corpus: Corpus) -> None:
    """What a folder may hold besides documents; following some of it would never end."""
    files: dict[str, bytes | str] = {"image.png": b"\x89PNG", "old.doc": TEXT, "no-suffix": TEXT, ".hidden.txt": TEXT}
    for name, content in files.items():
        corpus.write(f"others/{name}", content)
    folder = corpus.folder / "others"
    for name, target in {"loop.txt": "loop.txt", "none.txt": "nowhere", "zero.txt": "/dev/zero"}.items():
        (folder / name).symlink_to(target)
    (folder / "up").symlink_to("..")
    os.mkfifo(folder / "pipe.txt")
    here = Path.cwd()
    os.chdir(folder)  # a socket's name must be short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket.txt")
    os.chdir(here)
    corpus.skipped += [
        "image.png",
        "old.doc",
        "no-suffix",
        "loop.txt",
        "none.txt",
        "zero.txt",
        "pipe.txt",
        "socket.txt",
    ]


def make_corpus(folder: Path) -> dict[str, Any]:
    """Write the files and expected.json, and return what it holds."""
    corpus = Corpus(folder / "documents")
    for add in (add_good, add_encodings, add_odd, add_empty, add_broken, add_passed_over):
        add(corpus)
    expected = {"options": OPTIONS, "documents": corpus.expected, "skipped": sorted(corpus.skipped)}
    write_json(folder / "expected.json", expected)
    return expected


def main(folder: Annotated[Path, typer.Argument(help="The folder to write; it must not exist.")]) -> None:
    """Write FOLDER/documents and FOLDER/expected.json."""
    folder.mkdir(parents=True)
    expected = make_corpus(folder)
    files = sum(not path.is_dir() for path in (folder / "documents").rglob("*"))
    print(f"{files} files, {len(expected['documents'])} documents expected")


if __name__ == "__main__":
    typer.run(main)

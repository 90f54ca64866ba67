"""How much of real files the readers get right: python scripts/measure_readers.py FOLDER -o FILE.json.

The files are those of scripts/reader_files.yaml: Debian's packages and source packages of Debian and PyPI, which are
downloaded to FOLDER by name where they are missing. Each file comes with a trusted text of the same document, such as
the HTML pages that were made of the same source, or what pandoc's tests expect of it. Every file is read in a process
of its own.

A word is recovered if one of the three-word sequences that hold it in the trusted text also occurs in what was read. A
word does not belong if none of the sequences that hold it in what was read occurs in the trusted text. So words count
as wrong that are garbled, glued together, out of order, or next to a page number within a sentence.
"""

import gzip
import json
import re
import subprocess
import sys
import unicodedata
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import typer
import yaml

from summarizer.cli import run_script
from summarizer.cli.options import Overwrite
from summarizer.errors import InputError
from summarizer.files import write_json
from summarizer.outputs import check_files, form

RESULT = form("json", "files", "files.recovered")
ROOT = Path(__file__).parent.parent
_LINES = ("p", "div", "li", "dt", "dd", "pre", "br", "tr", "td", "th", "h1", "h2", "h3", "h4", "h5", "h6", "section")
_NOT_TEXT = ("script", "style", "nav", "title", "head")
_NAVIGATION = re.compile(r"(?i)\b(toc|contents|nav\w*|header|footer|related|sphinxsidebar\w*|index|indexterm)\b")
_STRING_OR_SPACE = re.compile(
    r'(?:Str|Math \w+|Code(?:Block)? \([^()]*\)) "((?:[^"\\]|\\.)*)"'
    r"|(Space|SoftBreak|LineBreak|Para|Plain|Header|Cell)\b"
)
# What a process runs: it reads one file, and prints its text, the CPU time, and its most memory in MiB.
_READ = r"""
import json, re, sys, time
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from summarizer.documents.document import ReadingOptions
from summarizer.documents.read import read_document
from summarizer.errors import InputError
began, text, error = time.process_time(), "", None
try:
    text = read_document(Path(sys.argv[2]), ReadingOptions()).text
except InputError as problem:
    error = str(problem)
seconds = time.process_time() - began  # of the processor: other programs do not count
memory = int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1]) / 1024
print(json.dumps({"text": text, "error": error, "seconds": seconds, "memory": memory}))
"""


def fetch(package: str, source: str, folder: Path) -> Path:
    """The folder of an unpacked package; downloads it if it is missing. Raises InputError."""
    target = folder / source / package
    if target.is_dir():
        return target
    packed = folder / "packed" / package
    packed.mkdir(parents=True, exist_ok=True)
    if source == "pypi":
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary=:all:", package]
    elif source == "debian-source":
        command = _source_command(package, packed)
    else:
        command = ["apt-get", "download", "-q", package]
    done = subprocess.run(command, cwd=packed, capture_output=True, text=True, check=False)
    archives = [path for path in packed.iterdir() if path.is_file() and path.suffix not in (".dsc", ".list", ".xz")]
    if done.returncode or not archives:
        raise InputError(f"{package} was not downloaded: {done.stderr.strip().splitlines()[-1:]}")
    target.mkdir(parents=True)
    for archive in archives:
        unpack = ["dpkg-deb", "-x", archive, target] if source == "debian" else ["tar", "-xf", archive, "-C", target]
        subprocess.run(unpack, check=True)
    return target


def _source_command(package: str, packed: Path) -> list[str]:
    """The command that downloads a source package of this release of Debian, with lists of its own."""
    release = re.search(r"^VERSION_CODENAME=(\w+)", Path("/etc/os-release").read_text(), re.M)
    sources, lists = (packed / "deb-src.list").resolve(), (packed / "lists").resolve()
    (lists / "partial").mkdir(parents=True, exist_ok=True)
    sources.write_text(f"deb-src http://deb.debian.org/debian {release[1] if release else 'stable'} main\n")
    options = f"-o Dir::Etc::SourceList={sources} -o Dir::Etc::SourceParts=- -o Dir::State::Lists={lists}"
    return ["sh", "-c", f"apt-get -q {options} update && apt-get -q {options} source --download-only {package}"]


def trusted_text(folder: Path, pattern: str, encoding: str) -> str:
    """The text of all files of the pattern: of HTML without navigation, of pandoc's trees, of other files as it is."""
    paths = sorted(folder.glob(pattern))
    if not paths:
        raise InputError(f"no file {pattern} in {folder}")
    return "\n".join(_plain(path, encoding) for path in paths)


def _plain(path: Path, encoding: str) -> str:
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    if path.suffix == ".native":
        return _text_of_tree(content.decode())
    if ".htm" not in path.name:
        return content.decode(encoding)
    from lxml import html

    root = html.fromstring(content)
    for element in list(root.iter()):
        if not isinstance(element.tag, str) or element.tag in _NOT_TEXT or _NAVIGATION.search(element.get("class", "")):
            if element.getparent() is not None:
                element.drop_tree()
        elif element.tag in _LINES:
            element.text = f"\n{element.text or ''}"
            element.tail = f"\n{element.tail or ''}"
    return root.text_content()


def _text_of_tree(tree: str) -> str:
    """The text of a document in pandoc's own format, in which the strings are written as in Haskell."""
    pieces = []
    for string, between in _STRING_OR_SPACE.findall(tree):
        string = re.sub(r"\\(\d+)(?:\\&)?", lambda code: chr(int(code[1])), string.replace("\\n", "\n"))
        pieces.append("\n" if between else string.replace('\\"', '"'))
    return "".join(pieces)


def words_of(text: str) -> list[str]:
    """Words and numbers in lower case; one of an East Asian script is a character."""
    normal = unicodedata.normalize("NFKC", text).casefold().replace("\xad", "")
    return re.findall(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\u3040-\u30ff\u3400-\u9fff]+", normal)


def share_within(words: list[str], others: list[str]) -> float:
    """The share of `words` that stand in a sequence of three which `others` have as well."""
    known = {tuple(others[place : place + 3]) for place in range(len(others) - 2)}
    inside = [False] * len(words)
    for place in range(len(words) - 2):
        if tuple(words[place : place + 3]) in known:
            inside[place : place + 3] = [True] * 3
    return sum(inside) / len(words) if words else 0.0


def measure(entry: dict[str, str], folder: Path, code: Path) -> dict[str, Any]:
    """Read one file with the readers of the checkout `code` and compare it with its trusted text."""
    source = entry.get("source", "debian")
    path = fetch(entry["package"], source, folder) / entry["file"]
    if not path.exists():  # some releases of a package have it packed
        path = path.with_name(f"{path.name}.gz")
    text_folder = fetch(entry.get("text_package", entry["package"]), entry.get("text_source", source), folder)
    trusted = words_of(trusted_text(text_folder, entry["text"], entry.get("encoding", "utf-8")))
    command = [sys.executable, "-c", _READ, str(code), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        found = {"text": "", "error": f"crashed: {done.stderr.strip()[-200:]}", "seconds": 0.0, "memory": 0.0}
    else:
        found = json.loads(done.stdout.splitlines()[-1])
    words = words_of(found["text"])
    return {
        **{key: entry[key] for key in ("kind", "package", "file")},
        "words": len(trusted),
        "recovered": round(share_within(trusted, words), 4),
        "foreign": round(1 - share_within(words, trusted), 4) if words else 0.0,
        "seconds": round(found["seconds"], 2),
        "memory_mib": round(found["memory"]),
        "error": found["error"],
    }


def readers_table(before: Path, after: Path) -> str:
    """A Markdown table of two result files; a row for each file, and one with the medians."""
    old, new = ({row["file"]: row for row in json.loads(path.read_text())["files"]} for path in (before, after))
    pairs = [(old[file], row) for file, row in new.items() if file in old]
    lines = [
        "| file | words | recovered % | not belonging % | seconds | MiB |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for a, b in pairs:
        name = Path(b["file"]).name.removesuffix(".gz")
        lines.append(f"| {b['package']}: {name} | {b['words']:,} | {_change(a, b)} |")
    middle = [{key: median(row[key] for row in side) for key in _COLUMNS} for side in zip(*pairs, strict=True)]
    lines.append(f"| **median** | | {_change(middle[0], middle[1])} |")
    return "\n".join(lines)


_COLUMNS = {"recovered": (100, ".1f"), "foreign": (100, ".1f"), "seconds": (1, ".1f"), "memory_mib": (1, ".0f")}


def _change(before: dict[str, Any], after: dict[str, Any]) -> str:
    cells = []
    for key, (factor, style) in _COLUMNS.items():
        cells.append(
            " → ".join("failed" if row.get("error") else f"{factor * row[key]:{style}}" for row in (before, after))
        )
    return " | ".join(cells)


def _line(row: dict[str, Any]) -> str:
    shares = f"recovered {row['recovered']:.1%}, not belonging {row['foreign']:.1%}"
    return f"{row['file']}: {row['error'] or shares}, {row['seconds']:.1f} s, {row['memory_mib']} MiB"


def main(
    folder: Annotated[Path, typer.Argument(help="Where the packages are kept.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The JSON file to write.")],
    kind: Annotated[list[str] | None, typer.Option(help="Measure files of this kind only, such as pdf.")] = None,
    code: Annotated[Path, typer.Option(help="Another checkout, whose readers are measured.")] = ROOT,
    before: Annotated[Path | None, typer.Option(help="An earlier result; print a table of both.")] = None,
    overwrite: Overwrite = False,
) -> None:
    """Read each file and write what share of its words was recovered, and which words do not belong."""
    check_files({output: RESULT}, overwrite)
    entries = yaml.safe_load((ROOT / "scripts/reader_files.yaml").read_text())
    rows = []
    for entry in entries:
        if not kind or entry["kind"] in kind:
            rows.append(measure(entry, folder, code))
            print(_line(rows[-1]), flush=True)
    write_json(output, {"files": rows})
    if before is not None:
        print(readers_table(before, output))


if __name__ == "__main__":
    run_script(main)

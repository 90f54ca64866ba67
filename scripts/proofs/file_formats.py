"""Small books and PDFs, good and broken, for the tests and the hostile corpus."""

import html
import io
import re
import zipfile
from collections.abc import Iterable, Mapping
from typing import Any


def epub(title: str, chapters: list[str], other: Mapping[str, str | None] | None = None) -> bytes:
    """A book of these chapters behind a table of contents; `other` replaces parts or, where None, leaves them out."""
    names = [f"{number}.xhtml" for number in range(len(chapters))]
    page = "media-type='application/xhtml+xml'"
    items = "".join(f"<item id='i{name}' href='{name}' {page}/>" for name in names)
    listed = "".join(f"<itemref idref='i{name}'/>" for name in names)
    parts: dict[str, str | None] = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": "<container><rootfile full-path='OPS/package.opf'/></container>",
        "OPS/package.opf": "<package xmlns='http://www.idpf.org/2007/opf' xmlns:dc='http://purl.org/dc/elements/1.1/'>"
        f"<metadata><dc:title>{title}</dc:title></metadata>"
        f"<manifest><item id='toc' href='toc.xhtml' properties='nav' {page}/>{items}</manifest>"
        f"<spine><itemref idref='toc'/>{listed}</spine></package>",
        "OPS/toc.xhtml": "<html xmlns='http://www.w3.org/1999/xhtml'><body><p>Contents</p></body></html>",
        **{f"OPS/{name}": chapter for name, chapter in zip(names, chapters, strict=True)},
        **(other or {}),
    }
    return zipped({name: content.encode() for name, content in parts.items() if content is not None})


_HELVETICA = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"


def pdf(*lines: str, password: str | None = None, num_pages: int = 1) -> bytes:
    """A PDF whose pages all hold these lines; with none, pages without text, as of a scan."""
    from pypdf import PdfReader, PdfWriter

    commands = " ".join(f"({line}) Tj T*" for line in lines)
    stream = f"BT /F1 12 Tf 14 TL 72 720 Td {commands} ET".encode() if lines else b""
    content = pdf_of_streams([stream] * num_pages)
    if password is None:
        return content
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(content)))
    writer.encrypt(password, algorithm="RC4-40")
    buffer = io.BytesIO()
    writer.write(buffer)
    return buffer.getvalue()


def pdf_of_lines(pages: list[list[tuple[float, float, float, str]]], font: bytes = _HELVETICA) -> bytes:
    """A PDF of pages of lines (x, y, size, text), in points from the lower left corner."""
    streams = []
    for lines in pages:
        escaped = [(x, y, size, re.sub(r"([()\\])", r"\\\1", text)) for x, y, size, text in lines]
        commands = [f"BT /F1 {size} Tf {x} {y} Td ({text}) Tj ET" for x, y, size, text in escaped]
        streams.append("\n".join(commands).encode("cp1252"))
    return pdf_of_streams(streams, font)


def pdf_of_streams(streams: list[bytes], font: bytes = _HELVETICA, second_font: bytes = _HELVETICA) -> bytes:
    """A PDF with a page for each stream of commands; /F1 and /F2 are the fonts."""
    contents = list(dict.fromkeys(streams))
    first_page = 6 + len(contents)
    kids = b" ".join(b"%d 0 R" % (first_page + number) for number in range(len(streams)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, len(streams)),
        b"<< /Title (A PDF) >>",
        font,
        second_font,
        *(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream) for stream in contents),
        *(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R "
            b"/Resources << /Font << /F1 4 0 R /F2 5 0 R >> >> >>" % (6 + contents.index(stream))
            for stream in streams
        ),
    ]
    content, offsets = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(content))
        content += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(content)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    size = len(objects) + 1
    content += b"xref\n0 %d\n0000000000 65535 f \n%s" % (size, table)
    return content + b"trailer << /Size %d /Root 1 0 R /Info 3 0 R >>\nstartxref\n%d\n%%%%EOF" % (size, start)


_NAMESPACES = {
    "w": "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
    "r": "http://schemas.openxmlformats.org/officeDocument/2006/relationships",
    "m": "http://schemas.openxmlformats.org/officeDocument/2006/math",
    "a": "http://schemas.openxmlformats.org/drawingml/2006/main",
    "wp": "http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing",
    "wps": "http://schemas.microsoft.com/office/word/2010/wordprocessingShape",
    "mc": "http://schemas.openxmlformats.org/markup-compatibility/2006",
    "v": "urn:schemas-microsoft-com:vml",
}


def docx(*lines: str, body: str = "", **others: str) -> bytes:
    """A Word document of paragraphs, or of a `body` in XML; others: the content of parts such as styles, in XML."""
    names = " ".join(f'xmlns:{prefix}="{uri}"' for prefix, uri in _NAMESPACES.items())
    relations = "http://schemas.openxmlformats.org/package/2006/relationships"
    body = body or "".join(f"<w:p><w:r><w:t>{html.escape(line)}</w:t></w:r></w:p>" for line in lines)

    def related(folder: str, kinds: Iterable[str]) -> bytes:
        entries = (f'<Relationship Type="{_NAMESPACES["r"]}/{kind}" Target="{folder}{kind}.xml"/>' for kind in kinds)
        return f'<Relationships xmlns="{relations}">{"".join(entries)}</Relationships>'.encode()

    parts = {
        "[Content_Types].xml": b'<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
        "_rels/.rels": related("word/", ["officeDocument"]),
        "word/officeDocument.xml": f"<w:document {names}><w:body>{body}</w:body></w:document>".encode(),
        "word/_rels/officeDocument.xml.rels": related("", others),
        **{f"word/{name}.xml": f"<w:{name} {names}>{part}</w:{name}>".encode() for name, part in others.items()},
    }
    return zipped(parts)


def zipped(parts: dict[str, bytes]) -> bytes:
    """A ZIP archive of these parts."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def parquet(rows: list[dict[str, Any]], dates: list[int] | None = None) -> bytes:
    """A table of these rows; `dates`, in microseconds, are one more column, in which any 64 bits are a date."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    table = pa.Table.from_pylist(rows)
    if dates is not None:
        table = table.append_column("date", pa.array(dates, pa.timestamp("us")))
    pq.write_table(table, buffer)
    return buffer.getvalue()

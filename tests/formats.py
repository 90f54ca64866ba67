"""Files of the kinds that the readers read, made here."""

import io
import zipfile


def epub(title: str, chapters: list[str], other: dict[str, str | None] | None = None) -> bytes:
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
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            if content is not None:
                archive.writestr(name, content)
    return buffer.getvalue()

"""ZIP archives, which Word documents and EPUB books are."""

import zipfile
from io import BytesIO

from summarizer.documents.document import ReadingLimits
from summarizer.errors import InputError


def open_archive(content: bytes, limits: ReadingLimits) -> zipfile.ZipFile:
    """Open an archive whose parts are not too large. Raises InputError.

    A part never unpacks to more than the archive says of it.
    """
    archive = zipfile.ZipFile(BytesIO(content))
    if sum(entry.file_size for entry in archive.infolist()) > limits.max_bytes:
        raise InputError(f"larger than --max-document-mb allows ({limits.max_bytes >> 20} MiB) when unpacked")
    return archive

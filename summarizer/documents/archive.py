"""ZIP archives, which Word documents and EPUB books are."""

import zipfile
from io import BytesIO

from summarizer.documents.document import ReadingOptions


def open_archive(content: bytes, options: ReadingOptions) -> zipfile.ZipFile:
    """Open an archive whose parts are not too large. Raises InputError.

    A part never unpacks to more than the archive says of it.
    """
    archive = zipfile.ZipFile(BytesIO(content))
    options.check_size(sum(entry.file_size for entry in archive.infolist()), " when unpacked")
    return archive

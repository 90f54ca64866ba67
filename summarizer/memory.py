"""The memory of this process: its peak, and a setting that reuses freed memory, since new pages are slow to get."""

import ctypes
import os
import sys

# glibc's malloc.h; see mallopt(3)
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_MAX = -1, -2, -4
_ONE_GIGABYTE = 2**30


def keep_freed_memory() -> bool:
    """Let glibc reuse large blocks instead of returning them to the system; returns whether the setting was accepted.

    Does nothing on other C libraries, nor where the user has set one of glibc's own variables (MALLOC_…_).
    """
    if not sys.platform.startswith("linux") or any(name.startswith("MALLOC_") for name in os.environ):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except AttributeError:  # musl has none
        return False
    # The largest value is an int's: memory is never trimmed before 2 GiB of it lie free at the top.
    settings = ((_MMAP_MAX, 0), (_TRIM_THRESHOLD, 2**31 - 1), (_TOP_PAD, _ONE_GIGABYTE))
    return all(mallopt(*setting) == 1 for setting in settings)


def peak_memory_mb() -> float | None:
    """The most memory that this process has had resident, in MiB; None if the system does not report it."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10

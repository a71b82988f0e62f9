"""One process at a time writes to an archive: a small file that says which.

It is made where there is none, which file systems do for one only. A process that was killed leaves it behind: on the
same machine the next one sees that nobody has that process id any more; from another machine one cannot tell, and the
message says what to do.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager

from ottla.pipelines import PipelineFailed
from ottla.pipelines.file_system import Files

LOCK = "_lock.json"


@contextmanager
def locked(archive: Files) -> Iterator[None]:
    """Hold the archive, or PipelineFailed where somebody else does."""
    mine = json.dumps({"host": socket.gethostname(), "pid": os.getpid()})
    try:
        archive.write(LOCK, mine, is_new=True)
    except FileExistsError:
        holder = archive.read(LOCK)
        if not is_gone(holder):
            raise PipelineFailed(
                f"another process writes to {archive.url}: {holder}; if it does not, remove {archive.url}/{LOCK}"
            ) from None
        archive.write(LOCK, mine)
    try:
        yield
    finally:
        archive.remove(LOCK)


def is_gone(holder: str) -> bool:
    """Whether a process of this machine held it, and is no more; or died while it wrote the file."""
    try:
        held = json.loads(holder)
        host, pid = held["host"], int(held["pid"])
    except (ValueError, KeyError, TypeError):
        return not holder.strip()
    if host != socket.gethostname():
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return pid == os.getpid()

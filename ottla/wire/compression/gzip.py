"""gzip, by zlib: members one after the other are one stream, and what follows the last is ignored, as Java has it.

Called by the package only. Output is pulled chunk by chunk; zlib keeps 32 KB of window between two of them.
"""

from __future__ import annotations

import zlib
from collections.abc import Generator, Iterator

from ottla.wire.compression import Buffer, Codec, corrupt

# zlib hands back a copy of all input that it has not used yet, so it gets little at a time.
_INPUT_BYTES = 16384
_GZIP_WINDOW_BITS = 31
_MEMBER_MAGIC = b"\x1f\x8b\x08"


def compress(data: Buffer, level: int | None) -> bytes:
    return zlib.compress(data, -1 if level is None else level, _GZIP_WINDOW_BITS)


def chunks(data: Buffer, bytes_max: int, chunk_bytes: int) -> Iterator[bytes]:
    view = memoryview(data)
    position = yield from _member(view, 0, chunk_bytes)
    while view[position : position + len(_MEMBER_MAGIC)] == _MEMBER_MAGIC:
        position = yield from _member(view, position, chunk_bytes)


def _member(view: memoryview, position: int, chunk_bytes: int) -> Generator[bytes, None, int]:
    """Yield what one member holds, return the position after it."""
    inflater = zlib.decompressobj(_GZIP_WINDOW_BITS)
    is_end = False
    while not is_end:
        piece = view[position : position + _INPUT_BYTES]
        try:
            output = inflater.decompress(piece, chunk_bytes)
        except zlib.error as error:
            raise corrupt(Codec.GZIP, error) from error
        is_end = inflater.eof
        # At the end of a member both may hold the same bytes.
        left_over = inflater.unused_data if is_end else inflater.unconsumed_tail
        position += len(piece) - len(left_over)
        if output:
            yield output
        elif not piece and not is_end:
            raise corrupt(Codec.GZIP, "it ends too early")
    return position

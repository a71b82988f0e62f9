"""zstd, by the standard library's module (Python 3.14) or its backport, which has the same interface.

Frames one after the other are one stream, as Java has it, but not without end. Called by the package only.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from ottla.wire.compression import Buffer, Codec, corrupt

if sys.version_info >= (3, 14):  # pragma: no cover (one of the two, by the Python that runs)
    from compression import zstd
else:  # pragma: no cover
    from backports import zstd

_INPUT_BYTES = 65536
# 128 MB: what Java's decoder accepts, and what its encoder asks for at level 22. It is taken from the system as output
# is produced, so the bound on the output bounds it as well.
_WINDOW_LOG_MAX = 27
_OPTIONS: dict[int, int] = {zstd.DecompressionParameter.window_log_max: _WINDOW_LOG_MAX}
# A decoder costs 9 microseconds, an empty frame 9 bytes: a megabyte of them would be a second of work.
_FRAMES_MAX = 1000


def compress(data: Buffer, level: int | None) -> bytes:
    return zstd.compress(data, level)


def chunks(data: Buffer, bytes_max: int, chunk_bytes: int) -> Iterator[bytes]:
    view = memoryview(data)
    position = 0
    for _ in range(_FRAMES_MAX):
        decompressor = zstd.ZstdDecompressor(options=_OPTIONS)
        while not decompressor.eof:
            piece = view[position : position + _INPUT_BYTES] if decompressor.needs_input else view[:0]
            if decompressor.needs_input and not piece:
                raise corrupt(Codec.ZSTD, "it ends too early")
            position += len(piece)
            try:
                output = decompressor.decompress(piece, chunk_bytes)
            except zstd.ZstdError as error:
                raise corrupt(Codec.ZSTD, error) from error
            if output:
                yield output
        position -= len(decompressor.unused_data)
        if position == len(view):
            return
    raise corrupt(Codec.ZSTD, f"more than {_FRAMES_MAX} frames")

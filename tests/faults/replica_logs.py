"""What lies in the logs of replicas, byte for byte, up to an offset: below the high watermark all must be equal."""

from __future__ import annotations

import struct
from pathlib import Path

# Base offset and length; the length counts from behind itself (message format v2).
_HEAD = struct.Struct(">qi")
_LAST_OFFSET_DELTA = struct.Struct(">i")
_LAST_OFFSET_DELTA_AT = 23


def batches_below(directory: Path, end_offset: int) -> list[bytes]:
    """The whole batches of a partition's directory, from its first segment up to an offset."""
    found = []
    for path in sorted(directory.glob("*.log")):
        data = path.read_bytes()
        position = 0
        while position < len(data):
            base_offset, length = _HEAD.unpack_from(data, position)
            size = _HEAD.size + length
            (delta,) = _LAST_OFFSET_DELTA.unpack_from(data, position + _LAST_OFFSET_DELTA_AT)
            if base_offset + delta < end_offset:
                found.append(data[position : position + size])
            position += size
    return found


def difference(logs: dict[int, list[bytes]]) -> str:
    """Where the logs of replicas differ first; nothing if they do not."""
    lengths = {id: len(log) for id, log in logs.items()}
    for index in range(max(lengths.values())):
        batches = {log[index] if index < len(log) else b"" for log in logs.values()}
        if len(batches) > 1:
            return f"at batch {index} of {lengths}: {[batch[:61].hex() for batch in batches]}"
    return ""

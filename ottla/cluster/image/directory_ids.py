"""Log directory ids with a meaning of their own (KIP-858).

Shared by whoever places replicas and whoever asks if a replica's directory is there. Knows no broker.
"""

from __future__ import annotations

from collections.abc import Collection

MIGRATING = bytes(16)  # the replica was placed before directories were recorded
UNASSIGNED = bytes(15) + b"\x01"  # the broker has not chosen yet
LOST = bytes(15) + b"\x02"  # the replica was in a directory that is gone

_RESERVED_COUNT = 100


def is_reserved(directory_id: bytes) -> bool:
    """No directory may call itself by one of the first hundred ids."""
    return int.from_bytes(directory_id, "big") < _RESERVED_COUNT


def is_online(directory_id: bytes, online: Collection[bytes]) -> bool:
    """Whether a replica in that directory can be reached, given the directories that its broker reports.

    A broker that reported none registered before directories were recorded; it stops if all of its own fail.
    """
    if directory_id in (UNASSIGNED, MIGRATING):
        return True
    if directory_id == LOST:
        return False
    return not online or directory_id in online

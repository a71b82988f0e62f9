"""Which names a topic may have, and ids for new topics.

The characters are those that are safe in a path and in a metric; nothing else is ever made into a directory name.
"""

from __future__ import annotations

import re

from ottla.cluster.placement import Randomness
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.primitives import uuid_text

NAME_LENGTH_MAX = 249
CLUSTER_METADATA_TOPIC = "__cluster_metadata"

_LEGAL = re.compile(r"[a-zA-Z0-9._-]+", re.ASCII)


def check_topic_name(name: str) -> None:
    """INVALID_TOPIC_EXCEPTION unless a topic may be called that."""
    if name in ("", ".", ".."):
        raise _invalid(f"{name!r} is no topic name")
    if len(name) > NAME_LENGTH_MAX:
        raise _invalid(f"a topic name of {len(name)} characters, at most {NAME_LENGTH_MAX} are allowed")
    if not _LEGAL.fullmatch(name):
        raise _invalid(f"topic name {name!r} has other characters than letters, digits, '.', '_' and '-'")


def _invalid(reason: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, reason)


def new_topic_id(random: Randomness) -> bytes:
    """A random UUID of version 4. One whose text begins with a dash looks like an option to every command line."""
    while True:
        raw = bytearray(random.randbytes(16))
        raw[6] = raw[6] & 0x0F | 0x40
        raw[8] = raw[8] & 0x3F | 0x80
        if not uuid_text(bytes(raw)).startswith("-"):
            return bytes(raw)

"""The names of partition directories: `<topic>-<partition>`, and what they are renamed to.

`-delete` waits to be removed, `-stray` belongs to no partition of this broker any more, `-future` is a replica that is
moving to another log directory. Topic names are checked here and nowhere else: they become file names, so nothing but
Kafka's alphabet may pass. The unique id of a renamed directory comes from the caller.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import NamedTuple

from ottla.wire.errors import ErrorCode, KafkaError

TOPIC_NAME_CHARACTERS_MAX = 249
DIRECTORY_NAME_CHARACTERS_MAX = 255
INT32_MAX = 2**31 - 1

_TOPIC = re.compile(r"[a-zA-Z0-9._-]+", re.ASCII)
_UNIQUE_ID = re.compile(r"[0-9a-f]{32}", re.ASCII)
# Kafka takes any unique id; the greedy topic leaves the last hyphen to the partition.
_DIRECTORY = re.compile(
    r"(?P<topic>[a-zA-Z0-9._-]+)-(?P<partition>[0-9]{1,10})(?:\.[^\s.]+(?P<suffix>-delete|-future|-stray))?", re.ASCII
)


class DirectoryKind(Enum):
    """What a directory is for, with the suffix of its name."""

    CURRENT = ""
    DELETED = "-delete"
    FUTURE = "-future"
    STRAY = "-stray"


class PartitionDirectory(NamedTuple):
    """What a directory's name says. The topic of a deleted or stray one may have been cut to fit."""

    topic: str
    partition: int
    kind: DirectoryKind


def check_topic_name(topic: str) -> None:
    """INVALID_TOPIC_EXCEPTION unless the name is one that a topic may have."""
    if not topic or topic in (".", ".."):
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"a topic cannot be named {topic!r}")
    if len(topic) > TOPIC_NAME_CHARACTERS_MAX:
        reason = f"a topic name of {len(topic)} characters, at most {TOPIC_NAME_CHARACTERS_MAX} are allowed"
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, reason)
    if not _TOPIC.fullmatch(topic):
        reason = f"topic {topic!r} contains other characters than ASCII letters and digits, '.', '_' and '-'"
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, reason)


def topics_collide(topic: str, other: str) -> bool:
    """Whether two names differ in '.' and '_' only: Kafka allows but one of them, since metrics could not tell."""
    return topic.replace(".", "_") == other.replace(".", "_")


def current_name(topic: str, partition: int) -> str:
    check_topic_name(topic)
    assert 0 <= partition <= INT32_MAX, partition
    return f"{topic}-{partition}"


def deleted_name(topic: str, partition: int, unique_id: str) -> str:
    return _capped_name(topic, partition, unique_id, DirectoryKind.DELETED)


def stray_name(topic: str, partition: int, unique_id: str) -> str:
    return _capped_name(topic, partition, unique_id, DirectoryKind.STRAY)


def future_name(topic: str, partition: int, unique_id: str) -> str:
    """The name of a replica on the move. It must lead back to the topic, so it cannot be cut."""
    name = current_name(topic, partition) + _renamed_suffix(unique_id, DirectoryKind.FUTURE)
    if len(name) > DIRECTORY_NAME_CHARACTERS_MAX:
        reason = f"topic {topic!r} has too long a name to move between log directories"
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, reason)
    return name


def parse(name: str) -> PartitionDirectory:
    """What a directory's name says; ValueError for a name that no partition's directory has."""
    form = _DIRECTORY.fullmatch(name)
    if form is None or name.endswith(("-delete", "-future", "-stray")) != (form["suffix"] is not None):
        raise ValueError(f"directory {name!r} is not named <topic>-<partition>, or that with a suffix of Kafka's")
    partition = int(form["partition"])
    if partition > INT32_MAX:
        raise ValueError(f"directory {name!r}: partition {partition} is out of range")
    return PartitionDirectory(form["topic"], partition, DirectoryKind(form["suffix"] or ""))


def _capped_name(topic: str, partition: int, unique_id: str, kind: DirectoryKind) -> str:
    check_topic_name(topic)
    suffix = f"-{partition}" + _renamed_suffix(unique_id, kind)
    return topic[: DIRECTORY_NAME_CHARACTERS_MAX - len(suffix)] + suffix


def _renamed_suffix(unique_id: str, kind: DirectoryKind) -> str:
    assert _UNIQUE_ID.fullmatch(unique_id), unique_id
    return f".{unique_id}{kind.value}"

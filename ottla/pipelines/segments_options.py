"""The options of `ottla-segments`, from the texts that Spark hands over to what they mean.

The names and forms are those of Spark's `kafka` format wherever it has such an option, so that a reader can be changed
from one to the other. What is wrong is a ValueError that says what would be right; an option that is not known is
wrong too, for a typing error in a range would read everything. Nothing is looked up here: no file, no Spark.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

TopicPartition = tuple[str, int]

# As Kafka writes them into JSON.
LATEST = -1
EARLIEST = -2
SPLIT_BYTES = 32 << 20
SPLIT_BYTES_MIN = 1

KNOWN = (
    *("path", "paths", "subscribe", "subscribePattern", "assign", "startingOffsets", "endingOffsets"),
    *("startingTimestamp", "endingTimestamp", "isolation", "upTo", "splitBytes", "failOnDataLoss", "includeHeaders"),
)
INTERNAL_PREFIX = "__"

_SIZE = re.compile(r"([0-9]+)\s*([kmg]?)b?", re.IGNORECASE)
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


@dataclass(frozen=True)
class Bound:
    """Where reading begins or ends: for partitions that are named, and for all others. LATEST and EARLIEST count."""

    others: int
    named: Mapping[TopicPartition, int] = field(default_factory=dict)

    def of(self, topic: str, partition: int) -> int:
        return self.named.get((topic, partition), self.others)


@dataclass(frozen=True)
class SegmentsOptions:
    """What is to be read, and how. At most one of topics, pattern and assigned is not None; with none, all topics."""

    paths: tuple[str, ...]
    topics: frozenset[str] | None = None
    pattern: str | None = None
    assigned: frozenset[TopicPartition] | None = None
    starting: Bound = Bound(EARLIEST)
    ending: Bound = Bound(LATEST)
    starting_timestamp: int | None = None
    ending_timestamp: int | None = None
    is_committed_only: bool = False
    is_up_to_high_watermark: bool = False
    split_bytes: int = SPLIT_BYTES
    fails_on_data_loss: bool = True
    includes_headers: bool = False

    def wants(self, topic: str, partition: int) -> bool:
        """Whether a partition is to be read. Kafka's own topics are, if they are named."""
        if self.assigned is not None:
            return (topic, partition) in self.assigned
        if self.topics is not None:
            return topic in self.topics
        if topic.startswith(INTERNAL_PREFIX):
            return False
        return self.pattern is None or re.fullmatch(self.pattern, topic) is not None


def parse_options(options: Mapping[str, str], *, is_streaming: bool | None = None) -> SegmentsOptions:
    """What the user wrote; the names in any case, as Spark takes them. None: it is not known yet what it is for."""
    given = {name.lower(): text for name, text in options.items()}
    known = {name.lower() for name in KNOWN}
    for name in given.keys() - known:
        raise ValueError(f"ottla-segments has no option {name!r}; there are {', '.join(KNOWN)}")
    _check_together(given)
    if is_streaming is not None:
        _check_kind(given, is_streaming)
    return SegmentsOptions(
        paths=_paths(given),
        topics=_topics(given.get("subscribe")),
        pattern=_pattern(given.get("subscribepattern")),
        assigned=_assigned(given.get("assign")),
        starting=_bound("startingOffsets", given.get("startingoffsets", "earliest")),
        ending=_bound("endingOffsets", given.get("endingoffsets", "latest")),
        starting_timestamp=_timestamp("startingTimestamp", given.get("startingtimestamp")),
        ending_timestamp=_timestamp("endingTimestamp", given.get("endingtimestamp")),
        is_committed_only=_one_of(given, "isolation", ("read_uncommitted", "read_committed")) == "read_committed",
        is_up_to_high_watermark=_one_of(given, "upTo", ("logEnd", "highWatermark")) == "highWatermark",
        split_bytes=_size("splitBytes", given.get("splitbytes")),
        fails_on_data_loss=_one_of(given, "failOnDataLoss", ("true", "false")) == "true",
        includes_headers=_one_of(given, "includeHeaders", ("false", "true")) == "true",
    )


def _check_together(given: Mapping[str, str]) -> None:
    chosen = [name for name in ("subscribe", "subscribePattern", "assign") if name.lower() in given]
    if len(chosen) > 1:
        raise ValueError(f"{' and '.join(chosen)} cannot be given together: choose one")
    for side in ("starting", "ending"):
        if f"{side}offsets" in given and f"{side}timestamp" in given:
            raise ValueError(f"{side}Offsets and {side}Timestamp cannot be given together: choose one")


def _check_kind(given: Mapping[str, str], is_streaming: bool) -> None:
    if is_streaming and ("endingoffsets" in given or "endingtimestamp" in given):
        raise ValueError("a stream has no end: endingOffsets and endingTimestamp are for spark.read")
    if not is_streaming and given.get("startingoffsets", "").strip().lower() == "latest":
        raise ValueError("startingOffsets=latest is for streams: of what is there already, nothing would be read")


def _paths(given: Mapping[str, str]) -> tuple[str, ...]:
    if "paths" in given:
        paths = _json("paths", given["paths"])
        if not isinstance(paths, list) or not all(isinstance(one, str) and one for one in paths) or not paths:
            raise ValueError(f"paths is to be a JSON list of directories, not {given['paths']!r}")
    elif given.get("path"):
        paths = [given["path"]]
    else:
        raise ValueError("ottla-segments needs a directory: .load('/path/of/log.dirs')")
    return tuple(one.removeprefix("file://") for one in paths)


def _topics(text: str | None) -> frozenset[str] | None:
    if text is None:
        return None
    topics = frozenset(one.strip() for one in text.split(",") if one.strip())
    if not topics:
        raise ValueError("subscribe names no topic")
    return topics


def _pattern(text: str | None) -> str | None:
    try:
        return None if text is None else re.compile(text).pattern
    except re.error as error:
        raise ValueError(f"subscribePattern {text!r} is no regular expression: {error}") from None


def _assigned(text: str | None) -> frozenset[TopicPartition] | None:
    if text is None:
        return None
    wrong = ValueError(f'assign is to be like {{"orders": [0, 1]}}, not {text!r}')
    parsed = _json("assign", text)
    if not isinstance(parsed, dict) or not parsed:
        raise wrong
    found = set()
    for topic, partitions in parsed.items():
        if not isinstance(partitions, list) or not all(type(one) is int and one >= 0 for one in partitions):
            raise wrong
        found |= {(topic, one) for one in partitions}
    return frozenset(found)


def _bound(name: str, text: str) -> Bound:
    """`earliest`, `latest`, one offset for all partitions, or JSON of offsets by topic and partition."""
    others = EARLIEST if name == "startingOffsets" else LATEST
    word = text.strip().lower()
    if word in ("earliest", "latest"):
        return Bound(EARLIEST if word == "earliest" else LATEST)
    parsed = _json(name, text)
    if type(parsed) is int and parsed >= 0:
        return Bound(parsed)
    try:
        return Bound(others, offsets_from_json(parsed))
    except (AttributeError, ValueError):
        pass
    raise ValueError(f'{name} is to be earliest, latest, an offset, or like {{"orders": {{"0": 23}}}}, not {text!r}')


def offsets_from_json(parsed: Any) -> dict[TopicPartition, int]:
    """{"topic": {"0": offset}} as Kafka's JSON has it. ValueError or AttributeError if it is something else."""
    offsets: dict[TopicPartition, int] = {}
    for topic, partitions in parsed.items():
        for partition, offset in partitions.items():
            if type(offset) is not int or offset < EARLIEST or not partition.isdecimal():
                raise ValueError(f"{topic}-{partition}: {offset!r} is no offset")
            offsets[topic, int(partition)] = offset
    return offsets


def offsets_to_json(offsets: Mapping[TopicPartition, int]) -> dict[str, dict[str, int]]:
    """The same for the same offsets, whatever their order: Spark compares positions of a stream by their text."""
    found: dict[str, dict[str, int]] = {}
    for topic, partition in sorted(offsets):
        found.setdefault(topic, {})[str(partition)] = offsets[topic, partition]
    return found


def _timestamp(name: str, text: str | None) -> int | None:
    if text is None:
        return None
    if not text.strip().isdecimal():
        raise ValueError(f"{name} is to be milliseconds since 1970, not {text!r}")
    return int(text)


def _size(name: str, text: str | None) -> int:
    if text is None:
        return SPLIT_BYTES
    form = _SIZE.fullmatch(text.strip())
    size = 0 if form is None else int(form[1]) * _UNITS[form[2].lower()]
    if size < SPLIT_BYTES_MIN:
        raise ValueError(f"{name} is to be a number of bytes, or like 64m, not {text!r}")
    return size


def _one_of(given: Mapping[str, str], name: str, allowed: tuple[str, ...]) -> str:
    """One of the allowed words, whatever its case; the first if none is given."""
    text = given.get(name.lower(), allowed[0]).strip().lower()
    for word in allowed:
        if word.lower() == text:
            return word
    raise ValueError(f"{name} is to be {' or '.join(allowed)}, not {given[name.lower()]!r}")


def _json(name: str, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise ValueError(f"{name} {text!r} is no JSON") from None

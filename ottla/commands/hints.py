"""What went wrong at a broker, as sentences for a person: what it was, and what to do about it.

Pure text. A hint names a command that helps; where none is known there is none.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from ottla.commands import CommandFailed
from ottla.wire.errors import ErrorCode, KafkaError

HINTS: dict[ErrorCode, str] = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "`ottla topics list` shows the topics; `ottla topics create` makes one",
    ErrorCode.TOPIC_ALREADY_EXISTS: "`ottla topics describe` shows it; with --if-not-exists this is no error",
    ErrorCode.INVALID_TOPIC_EXCEPTION: "a name has at most 249 letters, digits, dots, underscores and hyphens",
    ErrorCode.INVALID_REPLICATION_FACTOR: "it cannot exceed the number of brokers, which `ottla cluster info` shows",
    ErrorCode.INVALID_PARTITIONS: "partitions can only be added; `ottla topics describe` shows how many there are",
    ErrorCode.INVALID_CONFIG: "`ottla configs describe --all` shows every key with its value",
    ErrorCode.GROUP_ID_NOT_FOUND: "`ottla groups list` shows the groups",
    ErrorCode.NON_EMPTY_GROUP: "stop its members first; `ottla groups describe` names them",
    ErrorCode.UNKNOWN_MEMBER_ID: "the group has members: stop them first; `ottla groups describe` names them",
    ErrorCode.MESSAGE_TOO_LARGE: "raise `max.message.bytes` of the topic with `ottla configs set topic`",
    ErrorCode.OFFSET_OUT_OF_RANGE: "`ottla topics describe` shows which offsets there are",
    ErrorCode.NOT_ENOUGH_REPLICAS: "`ottla topics describe` shows the in-sync replicas",
    ErrorCode.LEADER_NOT_AVAILABLE: "a broker that holds the partition has to come back; `ottla cluster info` shows who"
    " is there",
    ErrorCode.UNSUPPORTED_VERSION: "the broker is too old, or has this switched off",
    ErrorCode.UNSUPPORTED_COMPRESSION_TYPE: "choose another --compression",
}


def failure(error: KafkaError) -> CommandFailed:
    """The error's own words, which name the thing, its name in Kafka, and what to do."""
    told = f"{error.message.rstrip('.')} ({error.code.name})"
    hint = HINTS.get(error.code)
    return CommandFailed(f"{told}; {hint}" if hint else told)


def no_broker(bootstrap: str, error: KafkaError, named_by: str) -> CommandFailed:
    why = error.message.removeprefix("no broker answers: ")
    return CommandFailed(
        f"no broker answers at {bootstrap} ({why}); start one with `ottla serve`, or name another with {named_by}"
    )


LISTED_BY = {"topic": "ottla topics list", "group": "ottla groups list", "broker": "ottla cluster info"}


def not_there(kind: str, name: str, names: Iterable[str]) -> CommandFailed:
    """A topic, group or broker that does not exist, with the names that may have been meant."""
    close = difflib.get_close_matches(name, list(names), n=3, cutoff=0.6)
    meant = f"; did you mean {' or '.join(close)}?" if close else f"; `{LISTED_BY[kind]}` shows what there is"
    return CommandFailed(f"there is no {kind} {name}{meant}")

"""What a shard and its driver say to each other.

A method of a shard looks at its state and returns an Outcome; whatever is kept in the log changes in `replay` and
nowhere else. The driver does, in this order:

1. append the records, in one batch. If that fails, nothing that the log holds has changed: `then` is told, and the
   request gets the error instead of an answer that is in the outcome; answers to others are given all the same.
2. replay each record at once, unless the outcome says that its records describe what is in memory already.
3. when the log is committed up to where it ended after step 1 (at once, if nothing is open): give the answers and call
   `then`, whose own outcome is treated the same way. State may run ahead of the high watermark, answers may not.

A method that raises KafkaError has changed nothing. Knows no group and no protocol.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

from ottla.wire.errors import KafkaError
from ottla.wire.schema import Response, StoredRecord

R = TypeVar("R")


class Record(NamedTuple):
    """A record of `__consumer_offsets`; without a value it is a tombstone. `version` is the value's."""

    key: StoredRecord
    value: StoredRecord | None
    version: int = 0


class Answer(NamedTuple):
    """The answer to a request that was parked; the token is what came with the request, whatever that is."""

    token: Any
    response: Response


class RequestContext(NamedTuple):
    """Who asks, in which version of the API."""

    client_id: str
    client_host: str
    version: int


@dataclass(slots=True)
class Outcome(Generic[R]):
    """What a method of a shard wants done.

    `response` is the answer to the request; None if it is parked, to be answered by its token, or was no request.
    Records that are not atomic may be spread over several batches.
    `then` is called with None when the records are committed, or with the error for which they could not be written.
    """

    response: R | None = None
    records: list[Record] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    is_replayed: bool = True
    is_atomic: bool = True
    then: Callable[[KafkaError | None, int], Outcome[None]] | None = None

"""What a function of the controller returns, and the bound on what one request may write."""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.schema import StoredRecord

# Kafka's MAX_RECORDS_PER_USER_OP: what a user asks for must fit in one batch.
RECORDS_PER_USER_OP_MAX = 10_000

R = TypeVar("R")


class Result(NamedTuple, Generic[R]):
    """The answer, to be given when the records are committed. Atomic records go into one batch."""

    response: R
    records: list[StoredRecord]
    atomic: bool = True

    def without_records(self) -> Result[R]:
        """For a request that only wanted to know."""
        return Result(self.response, [])


class RequestTooLarge(KafkaError):
    """The whole request is refused, not a part of it."""

    def __init__(self, what: str) -> None:
        reason = f"{what}: more than {RECORDS_PER_USER_OP_MAX} records in one request"
        super().__init__(ErrorCode.POLICY_VIOLATION, reason)

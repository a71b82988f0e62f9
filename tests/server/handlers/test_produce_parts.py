"""What a partition's answer says of a batch that is in the log, and of one that is not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from ottla.server.handlers.produce_parts import answer
from ottla.server.partition import Partition
from ottla.storage.appended import Appended
from ottla.storage.each_record import RecordsRejected
from ottla.wire.errors import ErrorCode, KafkaError

LEDGER = cast("Partition", SimpleNamespace(log=SimpleNamespace(start_offset=3)))


def test_a_batch_that_is_in_the_log_is_told_where() -> None:
    told = answer(LEDGER, Appended((7, 9, 1234, False)), 5)
    assert (told.index, told.error_code, told.base_offset) == (5, ErrorCode.NONE, 7)
    assert (told.log_append_time_ms, told.log_start_offset) == (1234, 3)


@pytest.mark.parametrize(
    ("code", "start_offset"), [(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, 3), (ErrorCode.CORRUPT_MESSAGE, -1)]
)
def test_a_batch_that_was_refused_is_told_where_the_log_begins_unless_kafka_does_not(
    code: ErrorCode, start_offset: int
) -> None:
    told = answer(LEDGER, KafkaError(code, "why"), 5)
    assert (told.error_code, told.error_message, told.base_offset) == (code, "why", -1)
    assert told.log_start_offset == start_offset
    assert answer(None, KafkaError(code), 5).log_start_offset == -1


def test_single_records_that_are_refused_are_named() -> None:
    rejected = RecordsRejected(ErrorCode.INVALID_RECORD, "one of two", [(1, "no key")])
    (named,) = answer(LEDGER, rejected, 0).record_errors
    assert (named.batch_index, named.batch_index_error_message) == (1, "no key")

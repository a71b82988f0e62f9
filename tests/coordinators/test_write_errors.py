"""Clients hear of a coordinator, never of the log behind it."""

from __future__ import annotations

import pytest

from ottla.coordinators.write_errors import as_coordinator_error
from ottla.wire.errors import ErrorCode, KafkaError


@pytest.mark.parametrize(
    ("written", "told"),
    [
        (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.REQUEST_TIMED_OUT, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR),
        (ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_an_error_of_the_log_becomes_one_of_the_coordinator(written: ErrorCode, told: ErrorCode) -> None:
    error = as_coordinator_error(KafkaError(written, "why"))
    assert (error.code, error.message) == (told, "why")

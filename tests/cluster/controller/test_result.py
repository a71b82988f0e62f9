"""Results, and the bound on one request."""

from __future__ import annotations

from ottla.cluster.controller.result import RequestTooLarge, Result
from ottla.wire.errors import ErrorCode
from ottla.wire.stored.metadata_records import NoOpRecord


def test_a_request_that_only_wanted_to_know_writes_nothing() -> None:
    assert Result("answer", [NoOpRecord()], atomic=False).without_records() == Result("answer", [])


def test_a_request_that_is_too_large_violates_the_policy() -> None:
    error = RequestTooLarge("CreateTopics")
    assert error.code == ErrorCode.POLICY_VIOLATION
    assert error.message == "CreateTopics: more than 10000 records in one request"

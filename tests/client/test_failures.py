"""Error numbers in answers become exceptions that name the thing."""

from __future__ import annotations

import pytest

from ottla.client.failures import ConnectionLost, MalformedAnswer, check, check_whole
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.classic_groups import FindCoordinatorResponse, HeartbeatResponse
from ottla.wire.messages.produce import ProduceResponse


def test_a_lost_connection_may_be_tried_again_and_a_malformed_answer_may_not() -> None:
    assert ConnectionLost("x").code.retriable
    assert not MalformedAnswer("x").code.retriable


def test_no_error_is_not_raised() -> None:
    check(0, "topic t")


def test_the_message_names_the_thing_and_keeps_the_words_of_the_broker() -> None:
    with pytest.raises(KafkaError, match="topic t: its own words") as raised:
        check(3, "topic t", "its own words")
    assert raised.value.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_the_number_of_an_error_of_a_later_kafka_is_not_lost() -> None:
    with pytest.raises(KafkaError, match=r"topic t: .*\(error 9999\)") as raised:
        check(9999, "topic t")
    assert raised.value.code == ErrorCode.UNKNOWN_SERVER_ERROR


def test_the_error_at_the_top_of_an_answer_is_found() -> None:
    with pytest.raises(KafkaError, match="Heartbeat: The group has no such member"):
        check_whole(HeartbeatResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID))
    with pytest.raises(KafkaError, match="FindCoordinator: why"):
        check_whole(FindCoordinatorResponse(error_code=15, error_message="why"))


def test_an_answer_without_an_error_at_the_top_passes() -> None:
    check_whole(ProduceResponse(responses=[]))

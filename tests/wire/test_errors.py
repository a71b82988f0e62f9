"""Error codes are Kafka's: numbers, names, retriability; and the exception says what it is about."""

from __future__ import annotations

import pickle

import pytest

from ottla.wire.errors import ErrorCode, KafkaError
from tests.wire import records_harness


@pytest.mark.jvm
def test_every_code_of_kafka_is_here_with_its_number_and_retriability() -> None:
    with records_harness.running() as kafka:
        theirs = kafka.ask("errors")
    ours = [f"{code.value} {code.name} {str(code.retriable).lower()}" for code in ErrorCode]
    assert ours == theirs


def test_every_code_has_a_sentence_of_its_own() -> None:
    texts = [code.text for code in ErrorCode]
    assert all(text.endswith(".") and len(text) < 100 for text in texts)
    assert len(set(texts)) == len(texts)


def test_a_number_of_a_later_kafka_is_an_unknown_server_error() -> None:
    assert ErrorCode.of(3) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert ErrorCode.of(32000) is ErrorCode.UNKNOWN_SERVER_ERROR


def test_a_code_is_the_number_that_goes_on_the_wire() -> None:
    assert ErrorCode.NOT_COORDINATOR == 16
    assert ErrorCode(16) is ErrorCode.NOT_COORDINATOR


def test_an_error_names_its_code_and_its_thing() -> None:
    error = KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, "the topic name is empty")
    assert (error.code, error.message) == (ErrorCode.INVALID_TOPIC_EXCEPTION, "the topic name is empty")
    assert str(error) == "INVALID_TOPIC_EXCEPTION: the topic name is empty"


def test_an_error_without_a_message_has_the_sentence_of_its_code() -> None:
    assert KafkaError(ErrorCode.NOT_CONTROLLER).message == ErrorCode.NOT_CONTROLLER.text


def test_an_error_survives_a_process_boundary() -> None:
    error = pickle.loads(pickle.dumps(KafkaError(ErrorCode.INVALID_RECORD, "no key")))
    assert (error.code, error.message) == (ErrorCode.INVALID_RECORD, "no key")


def test_an_error_that_is_kept_holds_on_to_nothing_else() -> None:
    def refuse(data: bytearray) -> KafkaError:
        view = memoryview(data)
        try:
            try:
                raise ValueError(view)
            except ValueError as error:
                raise KafkaError(ErrorCode.INVALID_RECORD, "no records") from error
        except KafkaError as error:
            return error.kept()

    data = bytearray(b"came with a request")
    kept = refuse(data)
    data.append(0)  # refused as long as there is a view of it
    assert str(kept) == "INVALID_RECORD: no records"

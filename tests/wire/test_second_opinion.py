"""Two other codecs read our bytes and write them again unchanged, at every version that they know.

They share no line with Kafka's Java or with us. Where one of them cannot agree by its own design, the reason is said
here, and a test shows that it still holds.
"""

from __future__ import annotations

import random

import pytest

from ottla.wire.catalog import messages
from ottla.wire.messages.api_versions import ApiVersionsResponse
from ottla.wire.schema import Message
from tests.wire.referees import SECOND_OPINION_VALUES_PER_VERSION, SECOND_OPINIONS, KafkaPython, Kio, Referee
from tests.wire.values import random_message, shapes

SEED = 20261116


def shown(parameter: Referee | type[Message]) -> str:
    return parameter.__name__ if isinstance(parameter, type) else parameter.name


KNOWN = [
    (referee, message) for referee in SECOND_OPINIONS for message in messages().values() if referee.versions(message)
]


@pytest.mark.parametrize(("referee", "message"), KNOWN, ids=shown)
def test_bytes_come_back_unchanged(referee: Referee, message: type[Message]) -> None:
    for version in referee.versions(message):
        for index, shape in enumerate(shapes(SECOND_OPINION_VALUES_PER_VERSION)):
            seed = f"{SEED} {message.__name__} {version} {index}"
            value = random_message(message, version, random.Random(seed), shape=shape, tame=referee.strict)
            if isinstance(referee, KafkaPython) and isinstance(value, ApiVersionsResponse):
                value.error_code = 0  # see below
            ours = value.encode(version)
            draw = f"random_message({message.__name__}, {version}, random.Random({seed!r}), shape={shape}"
            assert referee.recode(message, version, ours) == ours, f"{draw}, tame={referee.strict})"


def test_kafka_python_reads_an_api_versions_error_as_version_0() -> None:
    """A broker answers so when it does not know the version asked for (KIP-511), and kafka-python relies on it."""
    refusal = ApiVersionsResponse(error_code=35, api_keys=[], throttle_time_ms=7)
    assert KafkaPython().recode(ApiVersionsResponse, 1, refusal.encode(1)) != refusal.encode(1)


def test_kio_refuses_an_error_code_it_does_not_know() -> None:
    odd = ApiVersionsResponse(error_code=12345, api_keys=[])
    with pytest.raises(ValueError, match="12345 is not a valid ErrorCode"):
        Kio().recode(ApiVersionsResponse, 0, odd.encode(0))


@pytest.mark.parametrize(("referee", "count"), [(Kio(), 625), (KafkaPython(), 478)], ids=["kio", "kafka-python"])
def test_as_many_versions_are_compared_as_each_knows(referee: Referee, count: int) -> None:
    assert sum(len(referee.versions(message)) for message in messages().values()) == count

"""The life of a topic, as each client's administration tells it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from compat_tests.clients.waiting import eventually
from compat_tests.driven_clients.conftest import partitions_known, wait_until_known
from compat_tests.driven_clients.driver import Driver, Refused
from ottla.wire.errors import ErrorCode


def test_a_topic_is_created_described_and_deleted(driver: Driver, new_name: Callable[[], str]) -> None:
    topic = new_name()
    configs = {"cleanup.policy": "compact", "segment.bytes": "1048576"}
    driver.ask("create_topic", topic=topic, partitions=3, configs=configs)
    wait_until_known(driver, topic, 3)
    assert driver.ask("describe_topic", topic=topic) == {"partitions": 3, "configs": configs}
    driver.ask("delete_topic", topic=topic)
    eventually(lambda: partitions_known(driver, topic), expected=0)


@pytest.mark.parametrize(
    ("wish", "code"),
    [
        ({"topic": "spaces are not allowed"}, ErrorCode.INVALID_TOPIC_EXCEPTION),
        ({"partitions": 0}, ErrorCode.INVALID_PARTITIONS),
        ({"configs": {"no.such.key": "1"}}, ErrorCode.INVALID_CONFIG),
    ],
)
def test_what_cannot_be_created_is_refused(
    driver: Driver, new_name: Callable[[], str], wish: dict[str, object], code: ErrorCode
) -> None:
    topic = new_name()
    with pytest.raises(Refused) as refused:
        driver.ask("create_topic", **{"topic": topic, "partitions": 1, **wish})
    assert refused.value.code == code
    assert partitions_known(driver, topic) == 0


def test_a_topic_is_created_once_and_deleted_once(driver: Driver, new_name: Callable[[], str]) -> None:
    topic = new_name()
    driver.ask("create_topic", topic=topic, partitions=1)
    with pytest.raises(Refused) as refused:
        driver.ask("create_topic", topic=topic, partitions=1)
    assert refused.value.code == ErrorCode.TOPIC_ALREADY_EXISTS
    driver.ask("delete_topic", topic=topic)
    with pytest.raises(Refused) as refused:
        driver.ask("delete_topic", topic=topic)
    assert refused.value.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

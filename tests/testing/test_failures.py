"""Whatever a test gets wrong is a BrokerError with a sentence that says what."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from ottla.testing import Broker, BrokerError
from tests.testing.brokers import both_kinds

MISTAKES: list[tuple[str, Callable[[Broker], object]]] = [
    ("no API 'Prodooce'", lambda broker: broker.fail_next("Prodooce", "NOT_COORDINATOR")),
    ("no error 'OOPS'", lambda broker: broker.fail_next("Produce", "OOPS")),
    ("no error 0", lambda broker: broker.fail_next("Produce", 0)),
    ("Vote is not served", lambda broker: broker.cut_off_next("Vote")),
    ("times is 0", lambda broker: broker.delay_next("Fetch", 1, times=0)),
    ("UNKNOWN_TOPIC_OR_PARTITION: there is no t-0", lambda broker: broker.move_leader("t")),
    ("GROUP_ID_NOT_FOUND", lambda broker: broker.fence_member("g")),
    ("INVALID_TOPIC_EXCEPTION", lambda broker: broker.create_topic("a/b")),
    ("UNKNOWN_TOPIC_OR_PARTITION", lambda broker: broker.delete_topic("t")),
    ("INVALID_CONFIG", lambda broker: broker.create_topic("u", configs={"segment.bytes": "many"})),
]


@pytest.fixture(scope="module", params=[False, True], ids=["process", "thread"])
def broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    with Broker(in_thread=request.param) as broker:
        yield broker


@pytest.mark.parametrize(("sentence", "mistake"), MISTAKES, ids=[sentence for sentence, _ in MISTAKES])
def test_a_mistake_is_told(broker: Broker, sentence: str, mistake: Callable[[Broker], object]) -> None:
    with pytest.raises(BrokerError) as caught:
        mistake(broker)
    assert sentence in str(caught.value)
    assert broker.is_running


@both_kinds
def test_a_setting_that_there_is_not_is_an_error_with_the_one_that_was_meant(in_thread: bool) -> None:
    with pytest.raises(BrokerError, match=r"num\.partition is not a key.*did you mean num.partitions"):
        Broker(num_partition=3, in_thread=in_thread).start()


def test_what_ended_the_broker_is_told() -> None:
    with Broker() as broker:
        broker.kill()
        with pytest.raises(BrokerError, match="the broker is not running"):
            broker.create_topic("t")
    with pytest.raises(BrokerError, match="the broker is not running"):
        broker.stop()

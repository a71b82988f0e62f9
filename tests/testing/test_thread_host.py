"""A broker in a thread: orders from any thread, ends of any kind."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import trio

from ottla.testing.failures import BrokerError
from ottla.testing.orders import ORDERS
from ottla.testing.thread_host import ThreadHost


def settings(directory: Path) -> dict[str, str]:
    return {"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": str(directory)}


@pytest.fixture
def host(tmp_path: Path) -> Iterator[ThreadHost]:
    host = ThreadHost(settings(tmp_path))
    host.start()
    yield host
    host.kill()


def test_it_says_where_it_is(tmp_path: Path) -> None:
    host = ThreadHost(settings(tmp_path))
    address, _, port = host.start().partition(":")
    assert (address, int(port) > 0, host.is_running) == ("127.0.0.1", True, True)
    host.stop()
    assert not host.is_running


def test_orders_come_from_many_threads(host: ThreadHost) -> None:
    def create(number: int) -> None:
        host.call("create_topic", {"name": f"t{number}", "partitions": 1, "configs": {}})

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(create, range(8)))
    with pytest.raises(BrokerError, match="TOPIC_ALREADY_EXISTS"):
        create(3)


def test_an_order_can_be_given_from_inside_of_another_trio_loop(host: ThreadHost) -> None:
    async def main() -> None:
        host.call("create_topic", {"name": "t", "partitions": 1, "configs": {}})

    trio.run(main)


def test_after_the_end_nothing_is_done(host: ThreadHost) -> None:
    host.kill()
    with pytest.raises(BrokerError, match="not running any more"):
        host.call("remove_faults", {})
    host.kill()
    host.stop()


def test_an_order_that_is_under_way_at_the_end_is_given_up(host: ThreadHost, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = threading.Event()

    async def wait(served: object) -> None:
        begun.set()
        await trio.sleep_forever()

    monkeypatch.setitem(ORDERS, "wait", wait)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(host.call, "wait", {})
        begun.wait()
        host.stop()
        with pytest.raises(BrokerError, match="not running any more"):
            waiting.result()


def test_a_node_that_cannot_start_says_why(host: ThreadHost, tmp_path: Path) -> None:
    second = ThreadHost(settings(tmp_path))
    with pytest.raises(BrokerError, match=r"did not start: LogDirectoryError: .*in use|did not start: .*lock"):
        second.start()
    assert not second.is_running


def test_a_broker_that_fails_is_told_of_when_it_is_stopped(host: ThreadHost) -> None:
    async def fail() -> None:
        raise ZeroDivisionError("by a test")

    host._soon(host._served.broker.start_soon, fail)
    host._thread.join()
    with pytest.raises(BrokerError, match="ZeroDivisionError: by a test"):
        host.stop()

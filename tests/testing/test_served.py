"""One life of a broker: how it begins, and what its two ends leave on the disk."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import trio

from ottla.testing.failures import BrokerError
from ottla.testing.served import Served, sentence

MARKER = ".kafka_cleanshutdown"
SECONDS_MAX = 60


def settings(directory: Path, **more: str) -> dict[str, str]:
    return {"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": str(directory), **more}


def live(served: Served, do: Callable[[], Awaitable[None]]) -> None:
    """Serve, do something in the same loop, and return when the broker has ended."""

    async def main() -> None:
        with trio.fail_after(SECONDS_MAX):
            async with trio.open_nursery() as nursery:
                await served.run(lambda address: nursery.start_soon(do))

    trio.run(main)


def test_a_stop_is_clean_and_a_kill_is_not(tmp_path: Path) -> None:
    served = Served(settings(tmp_path))

    async def stop() -> None:
        served.stop()

    live(served, stop)
    assert (tmp_path / MARKER).exists()
    again = Served(settings(tmp_path))

    async def kill() -> None:
        again.kill()

    live(again, kill)
    assert not (tmp_path / MARKER).exists()


def test_what_is_refused_is_a_sentence_with_the_name_of_the_error(tmp_path: Path) -> None:
    served = Served(settings(tmp_path))
    told: list[str] = []

    async def order() -> None:
        try:
            await served.call("delete_topic", {"name": "t"})
        except BrokerError as error:
            told.append(str(error))
        served.stop()

    live(served, order)
    assert len(told) == 1
    assert told[0].startswith("UNKNOWN_TOPIC_OR_PARTITION: ")


@pytest.mark.parametrize(
    ("more", "reason"),
    [({"num.partition": "3"}, r"did you mean num\.partitions"), ({"num.partitions": "x"}, r"num\.partitions")],
)
def test_settings_that_are_wrong_are_refused(tmp_path: Path, more: dict[str, str], reason: str) -> None:
    with pytest.raises(BrokerError, match=reason):
        Served(settings(tmp_path, **more))


def test_a_sentence_tells_the_innermost_reason() -> None:
    assert sentence(BrokerError("just so")) == "just so"
    group = BaseExceptionGroup("", [ExceptionGroup("", [ValueError("inside")]), KeyError("other")])
    assert sentence(group) == "ValueError: inside"

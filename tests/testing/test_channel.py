"""Orders and answers over a pair of sockets."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from ottla.testing import channel as module
from ottla.testing.channel import Channel, ChannelClosed, packed
from ottla.testing.failures import BrokerError

Answer = Callable[[dict[str, Any]], list[bytes]]


@contextmanager
def answering(answer: Answer) -> Iterator[Channel]:
    """A channel to somebody who answers every order with some bytes; one for which there are none ends it."""
    ours, theirs = socket.socketpair()

    def serve() -> None:
        with theirs, theirs.makefile("rb") as lines:
            for line in lines:
                pieces = answer(json.loads(line))
                if not pieces:
                    return
                for piece in pieces:
                    theirs.sendall(piece)

    thread = threading.Thread(target=serve)
    thread.start()
    channel = Channel(ours)
    try:
        yield channel
    finally:
        channel.close()
        thread.join()


def echo(message: dict[str, Any]) -> list[bytes]:
    return [packed({"number": message["number"], "result": [message["order"], message["arguments"]]})]


def test_an_order_is_answered() -> None:
    with answering(echo) as channel:
        assert channel.call("do", {"a": 1}) == ["do", {"a": 1}]
        assert channel.call("again", {}) == ["again", {}]


def test_an_answer_may_come_in_pieces() -> None:
    with answering(lambda message: [bytes([one]) for one in echo(message)[0]]) as channel:
        assert channel.call("do", {"long": "x" * 100}) == ["do", {"long": "x" * 100}]


def test_a_refusal_is_raised() -> None:
    def refuse(message: dict[str, Any]) -> list[bytes]:
        return [packed({"number": message["number"], "error": "no"})]

    with answering(refuse) as channel, pytest.raises(BrokerError, match=r"^no$"):
        channel.call("do", {})


def test_an_answer_to_an_order_that_was_given_up_is_passed_over() -> None:
    def late(message: dict[str, Any]) -> list[bytes]:
        return [packed({"number": message["number"] - 1, "result": "old"}), *echo(message)]

    with answering(late) as channel:
        assert channel.call("do", {}) == ["do", {}]


def test_one_who_has_gone_is_told_from_one_who_refuses() -> None:
    with answering(lambda message: []) as channel:
        with pytest.raises(ChannelClosed):
            channel.call("do", {})
        with pytest.raises(ChannelClosed):
            channel.call("do", {})


def test_one_who_says_nothing_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SECONDS_MAX", 0.01)
    with answering(lambda message: [b"{"]) as channel, pytest.raises(BrokerError, match="did not answer"):
        channel.call("do", {})


def test_threads_take_turns() -> None:
    results: list[Any] = []
    with answering(echo) as channel:
        threads = [
            threading.Thread(target=lambda name=str(number): results.append(channel.call(name, {})))
            for number in range(20)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(results) == sorted([str(number), {}] for number in range(20))

"""The status server over real sockets: three pages, clear refusals, and bounds that hold."""

from __future__ import annotations

import logging
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from http.client import parse_headers
from io import BytesIO
from typing import NamedTuple

import pytest
import trio
import trio.testing
from prometheus_client.parser import text_string_to_metric_families

from ottla.config.loading import load
from ottla.server.exposition import GAUGE, Family, labels, pieces
from ottla.server.http_status import (
    CONNECTIONS_MAX,
    EXCHANGE_SECONDS_MAX,
    LEFTOVER_BYTES_MAX,
    REQUEST_BYTES_MAX,
    HttpStatus,
    open_status,
)
from ottla.server.listener import listen

PATIENCE_SECONDS = 30


class Answered(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


class Pages:
    """What the server is told to show."""

    def __init__(self) -> None:
        self.text: Iterable[str] = ["# TYPE x gauge\n", "x 1\n"]
        self.health: Sequence[str] = []
        self.readiness: Sequence[str] = []

    def open(self) -> HttpStatus:
        return HttpStatus(
            listen("127.0.0.1", 0),
            metrics=lambda: self.text,
            health=lambda: self.health,
            readiness=lambda: self.readiness,
        )


@asynccontextmanager
async def serving(pages: Pages) -> AsyncIterator[HttpStatus]:
    status = pages.open()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(status.serve)
        yield status
        nursery.cancel_scope.cancel()


async def exchange(status: HttpStatus, request: bytes) -> bytes:
    """Everything that comes back."""
    async with await trio.open_tcp_stream(*status.address) as stream:
        await stream.send_all(request)
        return await rest(stream)


async def rest(stream: trio.SocketStream) -> bytes:
    return b"".join([data async for data in stream])


async def send_forever(stream: trio.SocketStream) -> None:
    while True:
        await stream.send_all(bytes(LEFTOVER_BYTES_MAX))


def parsed(answer: bytes) -> Answered:
    head, _, body = answer.partition(b"\r\n\r\n")
    first, _, fields = head.partition(b"\r\n")
    version, code, _ = first.decode().split(" ", 2)
    assert version == "HTTP/1.1"
    headers = dict(parse_headers(BytesIO(fields + b"\r\n\r\n")).items())
    assert headers["Connection"] == "close"
    return Answered(int(code), headers, body)


def ask(request: bytes, pages: Pages | None = None) -> Answered:
    """One request to a server of its own."""

    async def main() -> bytes:
        with trio.fail_after(PATIENCE_SECONDS):
            async with serving(pages or Pages()) as status:
                return await exchange(status, request)

    return parsed(trio.run(main))


def get(path: str, pages: Pages | None = None) -> Answered:
    return ask(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode(), pages)


def run(story: Callable[[], Awaitable[None]], *, time_jumps: bool = False) -> None:
    """A story with real sockets. Where time jumps, it does so only when nobody has anything to do."""

    async def main() -> None:
        with trio.fail_after(PATIENCE_SECONDS):
            await story()

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0) if time_jumps else None)


# -- pages ------------------------------------------------------------------------------------------------------------


def test_metrics_are_served_in_the_text_format() -> None:
    answer = get("/metrics")
    assert answer.status == 200
    assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert int(answer.headers["Content-Length"]) == len(answer.body)
    (family,) = text_string_to_metric_families(answer.body.decode())
    assert (family.name, family.samples[0].value) == ("x", 1)


def test_a_query_does_not_change_the_page() -> None:
    assert get("/metrics?name[]=x").status == 200


def test_a_long_text_comes_whole() -> None:
    pages = Pages()
    samples = [("", labels(n=number), number) for number in range(5_000)]
    pages.text = pieces([Family("x", GAUGE, "Help.", samples)])
    (family,) = text_string_to_metric_families(get("/metrics", pages).body.decode())
    assert len(family.samples) == 5_000


def test_others_may_work_while_a_long_text_is_made() -> None:
    async def story() -> None:
        turns: list[str] = []
        pages = Pages()

        def text() -> Iterable[str]:
            for _ in range(50):
                turns.append("text")
                yield "# nothing\n"

        async def work() -> None:
            while True:
                turns.append("work")
                await trio.lowlevel.checkpoint()

        pages.text = text()
        async with serving(pages) as status, trio.open_nursery() as nursery:
            nursery.start_soon(work)
            await exchange(status, b"GET /metrics HTTP/1.1\r\n\r\n")
            nursery.cancel_scope.cancel()
        first, last = turns.index("text"), len(turns) - 1 - turns[::-1].index("text")
        # The first and the last turn may come in any order.
        assert turns[first : last + 1].count("work") >= 48

    run(story)


def test_text_that_utf8_does_not_know_is_replaced() -> None:
    pages = Pages()
    pages.text = ['x{directory="/caf\udce9"} 1\n']
    assert get("/metrics", pages).body == b'x{directory="/caf?"} 1\n'


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_a_node_without_problems_is_ok(path: str) -> None:
    answer = get(path)
    assert (answer.status, answer.body) == (200, b"ok\n")
    assert answer.headers["Cache-Control"] == "no-store"


def test_a_node_that_is_not_ready_says_why_and_lives() -> None:
    pages = Pages()
    pages.readiness = ["the metadata log is being loaded", "no controller yet"]
    answer = get("/readyz", pages)
    assert (answer.status, answer.body) == (503, b"the metadata log is being loaded\nno controller yet\n")
    assert get("/healthz", pages).status == 200


def test_a_node_that_is_ill_says_why() -> None:
    pages = Pages()
    pages.health = ["every log directory has failed"]
    answer = get("/healthz", pages)
    assert (answer.status, answer.body) == (503, b"every log directory has failed\n")


def test_head_gets_the_headers_alone() -> None:
    answer = ask(b"HEAD /healthz HTTP/1.1\r\n\r\n")
    assert (answer.status, answer.headers["Content-Length"], answer.body) == (200, "3", b"")


def test_http_1_0_and_bare_line_ends_are_understood() -> None:
    assert ask(b"GET /healthz HTTP/1.0\n\n").status == 200


def test_a_request_may_come_in_small_parts() -> None:
    async def story() -> None:
        async with serving(Pages()) as status, await trio.open_tcp_stream(*status.address) as stream:
            for byte in b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n":
                await stream.send_all(bytes([byte]))
            assert parsed(await rest(stream)).status == 200

    run(story)


# -- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/", "/metrics/", "/METRICS", "/../metrics", "/%6detrics"])
def test_there_are_no_other_pages(path: str) -> None:
    answer = get(path)
    assert (answer.status, answer.body) == (404, b"there are /metrics, /healthz and /readyz\n")


@pytest.mark.parametrize("method", ["POST", "DELETE", "get"])
def test_nothing_but_get_is_allowed_even_with_a_body(method: str) -> None:
    answer = ask(f"{method} /metrics HTTP/1.1\r\nContent-Length: 5000\r\n\r\n".encode() + bytes(5000))
    assert (answer.status, answer.headers["Allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize(
    "request_",
    [
        b"\r\n\r\n",
        b"GET /metrics\r\n\r\n",
        b"GET /metrics HTTP/2.0\r\n\r\n",
        b"GET metrics HTTP/1.1\r\n\r\n",
        b"GET /metrics  HTTP/1.1\r\n\r\n",
        b"GET /m\xe9trics HTTP/1.1\r\n\r\n",
        b"\0\0\0\x12\0\x12\0\x03\0\0\0\0\0\0\n\n",
    ],
)
def test_what_is_no_http_is_a_bad_request(request_: bytes) -> None:
    assert ask(request_).status == 400


def test_a_request_without_an_end_is_too_large() -> None:
    assert ask(b"GET /metrics HTTP/1.1\r\nX: " + b"x" * REQUEST_BYTES_MAX).status == 431


def test_a_page_that_cannot_be_made_is_an_error_of_ours_and_the_next_one_is_served(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken() -> Iterable[str]:
        yield "x 1\n"
        raise RuntimeError("our mistake")

    async def story() -> None:
        pages = Pages()
        pages.text = broken()
        async with serving(pages) as status:
            answer = parsed(await exchange(status, b"GET /metrics HTTP/1.1\r\n\r\n"))
            assert (answer.status, answer.body) == (500, b"the broker made a mistake; its log says more\n")
            assert parsed(await exchange(status, b"GET /healthz HTTP/1.1\r\n\r\n")).status == 200

    run(story)
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert "our mistake" in caplog.text


# -- bounds -----------------------------------------------------------------------------------------------------------


def test_one_who_says_nothing_is_cut_off_in_time() -> None:
    async def story() -> None:
        async with serving(Pages()) as status, await trio.open_tcp_stream(*status.address) as stream:
            begun = trio.current_time()
            assert await rest(stream) == b""
            assert trio.current_time() - begun == pytest.approx(EXCHANGE_SECONDS_MAX)

    run(story, time_jumps=True)


def test_one_who_does_not_read_is_cut_off_in_time() -> None:
    async def story() -> None:
        pages = Pages()
        pages.text = ["# " + "x" * (1 << 20) + "\n"] * 32
        async with serving(pages) as status, await trio.open_tcp_stream(*status.address) as stream:
            await stream.send_all(b"GET /metrics HTTP/1.1\r\n\r\n")
            await trio.sleep(EXCHANGE_SECONDS_MAX + 1)
            received_bytes = 0
            # What had been sent until then may be read, or the connection is reset at once.
            with suppress(trio.BrokenResourceError):
                async for data in stream:
                    received_bytes += len(data)
            assert received_bytes < 32 << 20

    run(story, time_jumps=True)


def test_one_who_goes_in_the_middle_of_the_answer_is_forgotten() -> None:
    async def story() -> None:
        pages = Pages()
        pages.text = ["# " + "x" * (1 << 20) + "\n"] * 32
        async with serving(pages) as status:
            async with await trio.open_tcp_stream(*status.address) as stream:
                await stream.send_all(b"GET /metrics HTTP/1.1\r\n\r\n")
                await stream.receive_some(1)
                # Closing resets the connection: nothing more is taken, nor waited for.
                stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            assert parsed(await exchange(status, b"GET /healthz HTTP/1.1\r\n\r\n")).status == 200

    run(story)


def test_one_who_keeps_the_connection_open_is_closed_soon_after_the_answer() -> None:
    async def story() -> None:
        async with serving(Pages()) as status, await trio.open_tcp_stream(*status.address) as stream:
            await stream.send_all(b"GET /healthz HTTP/1.1\r\n\r\n")
            assert parsed(await rest(stream)).status == 200
            await trio.sleep(EXCHANGE_SECONDS_MAX)
            with pytest.raises(trio.BrokenResourceError):
                await send_forever(stream)

    run(story, time_jumps=True)


def test_one_who_goes_on_sending_is_read_up_to_a_bound() -> None:
    async def story() -> None:
        async with serving(Pages()) as status, await trio.open_tcp_stream(*status.address) as stream:
            await stream.send_all(b"GET /healthz HTTP/1.1\r\n\r\n")
            with pytest.raises(trio.BrokenResourceError):
                await send_forever(stream)

    run(story)


def test_one_who_leaves_before_the_end_of_the_request_is_forgotten() -> None:
    async def story() -> None:
        async with serving(Pages()) as status:
            for _ in range(2 * CONNECTIONS_MAX):
                async with await trio.open_tcp_stream(*status.address) as stream:
                    await stream.send_all(b"GET /metr")
                    await stream.send_eof()
                    assert await rest(stream) == b""
            assert parsed(await exchange(status, b"GET /healthz HTTP/1.1\r\n\r\n")).status == 200

    run(story)


def test_those_beyond_the_number_allowed_are_closed_and_the_others_served() -> None:
    async def story() -> None:
        async with serving(Pages()) as status:
            silent = [await trio.open_tcp_stream(*status.address) for _ in range(CONNECTIONS_MAX)]
            await trio.testing.wait_all_tasks_blocked()
            async with await trio.open_tcp_stream(*status.address) as late:
                assert await rest(late) == b""
            await silent[0].send_all(b"GET /healthz HTTP/1.1\r\n\r\n")
            assert parsed(await rest(silent[0])).status == 200
            for stream in silent:
                await stream.aclose()

    run(story)


def test_a_server_that_is_cancelled_leaves_nothing_open() -> None:
    async def story() -> None:
        async with serving(Pages()) as status:
            stream = await trio.open_tcp_stream(*status.address)
            await trio.testing.wait_all_tasks_blocked()
            address = status.address
        async with stream:
            assert await rest(stream) == b""
        with pytest.raises(OSError, match="connect"):
            await trio.open_tcp_stream(*address)

    run(story)


# -- configuration ----------------------------------------------------------------------------------------------------


def opened(**settings: str) -> HttpStatus | None:
    config = load({f"ottla.metrics.{name}": text for name, text in settings.items()}, {}).config
    return open_status(config, metrics=list, health=list, readiness=list)


def test_it_is_off_unless_asked_for() -> None:
    assert opened() is None


@pytest.mark.parametrize("host", ["127.0.0.1", ""])
def test_port_0_lets_the_system_choose(host: str) -> None:
    status = opened(port="0", host=host)
    assert status is not None

    async def story() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(status.serve)
            stream = await trio.open_tcp_stream("127.0.0.1", status.address[1])
            await stream.aclose()
            nursery.cancel_scope.cancel()

    run(story)

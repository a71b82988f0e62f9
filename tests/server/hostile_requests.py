"""What hostile clients send: requests of every served API and version, damaged in every way, the same for a seed.

    sent = HostileRequests(seed=1)
    data = sent.make(17)     # what one connection sends before it says no more

Each is made from a request that is whole and of chance values, so that damage lies behind what parses. Nothing here
connects to anything.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable

from ottla.server.handlers.every_route import ROUTES
from ottla.wire.messages.headers import RequestHeader, request_header_version
from ottla.wire.schema import Request
from tests.wire.mutations import mutations
from tests.wire.values import Shape, random_message, shapes

SHAPES_PER_VERSION = shapes(6)
# A request of the largest size that is allowed, and around it; sizes that are none.
SIZES = (-1, -(2**31), 0, 1, 3, 9, 100 << 20, (100 << 20) + 1, 2**31 - 1)
HUGE_COUNTS = (b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff\x07", b"\xff\xff\xff\xff\x0f", b"\x80\x80\x80\x80\x80\x80\x01")
GREETINGS = (b"GET / HTTP/1.1\r\nHost: broker\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"\0" * 64)


def framed(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


class HostileRequests:
    def __init__(self, seed: int) -> None:
        self.seed = seed
        rng = random.Random(seed)
        self.whole = [
            _request(route.request, version, rng, shape)
            for route in ROUTES
            for version in range(route.versions.low, route.versions.high + 1)
            for shape in SHAPES_PER_VERSION
        ]

    def make(self, number: int) -> bytes:
        """What connection number so-and-so sends: by turns, each kind of damage to each request."""
        rng = random.Random(f"{self.seed} {number}")
        return KINDS[number % len(KINDS)](rng.choice(self.whole), rng)


def _request(kind: type[Request], version: int, rng: random.Random, shape: Shape) -> bytes:
    header = RequestHeader(
        request_api_key=kind.api_key, request_api_version=version, correlation_id=7, client_id=rng.choice(("a", None))
    )
    body = random_message(kind, version, rng, shape=shape).encode(version)
    return header.encode(request_header_version(kind, version)) + body


# Each takes a request without its prefix, and gives what goes over the wire.


def whole(request: bytes, rng: random.Random) -> bytes:
    return framed(request)


def truncated(request: bytes, rng: random.Random) -> bytes:
    """Cut off, and the prefix knows."""
    return framed(request[: rng.randrange(len(request))])


def half(request: bytes, rng: random.Random) -> bytes:
    """Cut off, and the prefix does not know: the rest never comes."""
    return framed(request)[: rng.randrange(len(request))]


def damaged(request: bytes, rng: random.Random) -> bytes:
    return framed(next(mutations([request], seed=rng.getrandbits(32), count=1)))


def of_a_wrong_size(request: bytes, rng: random.Random) -> bytes:
    return struct.pack(">i", rng.choice((*SIZES, len(request) + 1, len(request) - 1, len(request) // 2))) + request


def with_a_huge_count(request: bytes, rng: random.Random) -> bytes:
    position = rng.randrange(8, len(request))
    count = rng.choice(HUGE_COUNTS)
    return framed(request[:position] + count + request[position + rng.choice((0, 1, 4)) :])


def of_an_unknown_kind(request: bytes, rng: random.Random) -> bytes:
    key, version = struct.unpack_from(">hh", request)
    wrong = rng.choice(
        ((rng.randrange(-(2**15), 2**15), version), (key, rng.randrange(-(2**15), 2**15)), (key, version + 1))
    )
    return framed(struct.pack(">hh", *(max(-(2**15), min(one, 2**15 - 1)) for one in wrong)) + request[4:])


def behind_garbage(request: bytes, rng: random.Random) -> bytes:
    return rng.choice((*GREETINGS, rng.randbytes(rng.randrange(1, 200)))) + framed(request)


def before_garbage(request: bytes, rng: random.Random) -> bytes:
    return framed(request) + rng.randbytes(rng.randrange(1, 2000))


def with_bytes_behind_its_end(request: bytes, rng: random.Random) -> bytes:
    return framed(request + rng.randbytes(rng.randrange(1, 2000)))


KINDS: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    whole,
    truncated,
    half,
    damaged,
    of_a_wrong_size,
    with_a_huge_count,
    of_an_unknown_kind,
    behind_garbage,
    before_garbage,
    with_bytes_behind_its_end,
)

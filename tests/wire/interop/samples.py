"""The records that every client is given: nulls, empties, headers, small and large, dull and noisy."""

from __future__ import annotations

import random

from ottla.wire.records import Record

NOW_MS = 1_700_000_000_000
BYTES_MAX = 8 * 1024 * 1024


def records(base_offset: int = 0) -> list[Record]:
    luck = random.Random(20261116)
    payloads: list[tuple[bytes | None, bytes | None]] = [
        (b"key", b"value"),
        (None, b"no key"),
        (b"tombstone", None),
        (b"", b""),
        (b"dull", bytes(150_000)),
        (b"noisy", luck.randbytes(100_000)),
    ]
    payloads += [(b"k%d" % number, b"value %d " % number * number) for number in range(60)]
    headers = ((b"name", b"text"), (b"name", b""), ("schlüssel".encode(), bytes(300)))
    return [
        Record(base_offset + number, NOW_MS + luck.randint(-500, 500), key, value, headers if number % 7 == 0 else ())
        for number, (key, value) in enumerate(payloads)
    ]

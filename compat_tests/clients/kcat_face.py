"""kcat, a command-line program on librdkafka, as the tests that all clients share see it: every call is a process.

It reads and writes text here, since it shows records as JSON. It says no offsets when it writes.
"""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence

from compat_tests.clients.records import (
    CREATE_TIME,
    LOG_APPEND_TIME,
    SECONDS_MAX,
    Headers,
    Producing,
    Received,
    Sent,
    in_order,
)

PROGRAM = "kcat"
TIMESTAMP_TYPES = {"create": CREATE_TIME, "logappend": LOG_APPEND_TIME}
# Characters that no test writes: what ends a record, and what ends its key.
RECORD_END, KEY_END = b"\x1e", b"\x1f"
EARLIEST, LATEST = -2, -1


class KcatFailed(Exception):
    """It ended with an error; the message is what it said."""


def is_installed() -> bool:
    return shutil.which(PROGRAM) is not None


class Kcat:
    name = "kcat"

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap

    def run(self, *arguments: str, given: bytes = b"") -> bytes:
        """Run it once, and return what it printed."""
        command = [PROGRAM, "-b", self.bootstrap, "-E", *arguments]
        done = subprocess.run(command, input=given, capture_output=True, timeout=2 * SECONDS_MAX, check=False)
        if done.returncode != 0:
            raise KcatFailed(done.stderr.decode(errors="replace"))
        return done.stdout

    def produce(self, topic: str, records: Sequence[Sent], how: Producing = Producing()) -> list[int]:  # noqa: B008
        """One process for each stretch of records with the same partition, headers and kind of emptiness."""
        assert all(record.timestamp_ms is None for record in records), "it takes no timestamps"
        for (partition, headers, has_key, has_value), stretch in itertools.groupby(records, key=shape):
            options = [
                *("-t", topic, "-p", str(partition), "-z", how.codec, "-D", RECORD_END.decode()),
                *("-X", f"acks={how.acks}", "-X", f"message.max.bytes={how.request_bytes_max}"),
                *("-X", "max.in.flight=1"),  # so that a request that is sent again does not come out of order
                *("-X", f"enable.idempotence={str(how.is_idempotent).lower()}"),
                *(["-K", KEY_END.decode()] if has_key else []),
                *([] if has_value else ["-Z"]),
                *itertools.chain.from_iterable(("-H", as_option(header)) for header in headers),
            ]
            lines = [
                (record.key + KEY_END if record.key is not None else b"") + (record.value or b"") + RECORD_END
                for record in stretch
            ]
            self.run("-P", *options, given=b"".join(lines))
        return [-1] * len(records)

    def read(self, topic: str, starts: Mapping[int, int], count: int) -> list[Received]:
        """Read each partition to its end; `count` is what all of them hold together."""
        found: list[Received] = []
        for partition, offset in starts.items():
            place = ("-t", topic, "-p", str(partition), "-o", str(offset))
            # It sees the end of a partition when a fetch comes back empty: that need not take long.
            printed = self.run("-C", *place, "-e", "-J", "-X", "fetch.wait.max.ms=10")
            found += [received(json.loads(line)) for line in printed.splitlines()]
        assert len(found) == count, f"{len(found)} records came, not {count}"
        return in_order(found)

    def earliest(self, topic: str, partition: int) -> int:
        return self._queried(topic, partition, EARLIEST)

    def latest(self, topic: str, partition: int) -> int:
        return self._queried(topic, partition, LATEST)

    def offset_for_time(self, topic: str, partition: int, timestamp_ms: int) -> int | None:
        found = self._queried(topic, partition, timestamp_ms)
        return None if found < 0 else found

    def _queried(self, topic: str, partition: int, timestamp_ms: int) -> int:
        """Ask for an offset. It prints `topic [partition] offset N`."""
        printed = self.run("-Q", "-t", f"{topic}:{partition}:{timestamp_ms}").decode()
        return int(printed.split()[-1])


def shape(record: Sent) -> tuple[int, Headers, bool, bool]:
    return record.partition, record.headers, record.key is not None, record.value is not None


def as_option(header: tuple[str, bytes | None]) -> str:
    key, value = header
    return key if value is None else f"{key}={value.decode()}"


def received(told: dict[str, object]) -> Received:
    def as_bytes(text: object) -> bytes | None:
        return None if text is None else str(text).encode()

    flat = told.get("headers", [])
    assert isinstance(flat, list)
    pairs = tuple((str(key), as_bytes(value)) for key, value in zip(flat[::2], flat[1::2], strict=True))
    return Received(
        int(str(told["partition"])),
        int(str(told["offset"])),
        as_bytes(told["payload"]),
        as_bytes(told["key"]),
        pairs,
        int(str(told["ts"])),
        TIMESTAMP_TYPES[str(told["tstype"])],
    )

"""A client in another language, as a process that is told what to do and tells what it learns, in lines of JSON.

A process has one client, and is at most one member of a group, so that a member can crash or freeze for real: it is
killed, or stopped and continued. Whoever starts one closes it. What requests mean is in go/client.go.
"""

from __future__ import annotations

import base64
import contextlib
import json
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ottla.wire.errors import ErrorCode

ROOT = Path(__file__).resolve().parents[2]
# Far beyond what a busy machine takes: it ends a test that hangs and paces nothing.
SECONDS_MAX = 90
# What all drivers learn is told here: a test often waits for what two of them know together.
NEWS = threading.Condition()

# How members of a group share: two ways of the classic protocol, and the new one (KIP-848).
EAGER, COOPERATIVE, CONSUMER = "eager", "cooperative", "consumer"
LATEST, EARLIEST = -1, -2


class Refused(Exception):
    """The client says no; `code` is what the broker named, NONE where it named nothing."""

    def __init__(self, number: int, message: str) -> None:
        self.code = ErrorCode(number)
        super().__init__(f"{self.code.name}: {message}")


@dataclass(frozen=True)
class Record:
    """A record to be written, whose offset does not matter, or one that was read."""

    value: bytes | None
    key: bytes | None = None
    headers: tuple[tuple[str, bytes], ...] = ()
    timestamp: int = 1_700_000_000_000
    partition: int = 0
    offset: int = 0

    def as_line(self) -> dict[str, Any]:
        headers = [{"key": key, "value": to_text(value)} for key, value in self.headers]
        return {**vars(self), "key": to_text(self.key), "value": to_text(self.value), "headers": headers}

    @classmethod
    def from_line(cls, line: dict[str, Any]) -> Record:
        headers = tuple((header["key"], from_text(header["value"]) or b"") for header in line["headers"] or ())
        return cls(**{**line, "key": from_text(line["key"]), "value": from_text(line["value"]), "headers": headers})


def to_text(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


def from_text(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)


class Driver:
    """A running driver. What its member owns, gave up and read so far is in `owned`, `given_up` and `records`.

    `refusals` are the errors of the broker that stopped it or that it got over.
    """

    def __init__(self, command: Sequence[str], bootstrap: str) -> None:
        self.owned: set[int] = set()
        self.given_up: list[int] = []
        self.records: list[Record] = []
        self.troubles: list[str] = []
        self.refusals: set[ErrorCode] = set()
        self._replies: dict[int, dict[str, Any]] = {}
        self._has_ended = False
        self._asked = 0
        self._process = subprocess.Popen(
            [*command, bootstrap],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with NEWS:
                self._learn(json.loads(line))
                NEWS.notify_all()
        with NEWS:
            self._has_ended = True
            NEWS.notify_all()

    def _learn(self, line: dict[str, Any]) -> None:
        match line.get("event"):
            case None:
                self._replies[line["id"]] = line
            case "assigned":
                self.owned |= set(line.get("partitions", ()))
            case "revoked":
                self.owned -= set(line.get("partitions", ()))
                self.given_up += line.get("partitions", ())
            case "record":
                self.records.append(Record.from_line(line["record"]))
            case "trouble":
                self.troubles.append(line["message"])
                self.refusals |= {ErrorCode(line["code"])} if line.get("code") else set()

    def ask(self, do: str, **fields: object) -> Any:
        """Have one thing done and return the answer, or raise Refused."""
        assert self._process.stdin is not None
        self._asked += 1
        number = self._asked
        self._process.stdin.write(json.dumps({"id": number, "do": do, **fields}) + "\n")
        self._process.stdin.flush()
        until(lambda: number in self._replies or self._has_ended, self)
        assert number in self._replies, f"the driver ended instead of doing {do}"
        reply = self._replies.pop(number)
        if failed := reply.get("failed"):
            raise Refused(failed["code"], failed["message"])
        return reply["answer"]

    def produce(self, topic: str, records: Sequence[Record], codec: str = "none") -> list[int]:
        offsets: list[int] = self.ask(
            "produce", topic=topic, codec=codec, records=[record.as_line() for record in records]
        )
        return offsets

    def read(self, topic: str, count: int, *, partition: int = 0, offset: int = 0) -> list[Record]:
        lines = self.ask("read", topic=topic, partition=partition, offset=offset, count=count)
        return [Record.from_line(line) for line in lines]

    def join(
        self, group: str, topic: str, session_timeout_ms: int, *, protocol: str = EAGER, instance_id: str = ""
    ) -> None:
        self.ask(
            "join",
            group=group,
            topic=topic,
            session_timeout_ms=session_timeout_ms,
            protocol=protocol,
            instance_id=instance_id,
        )

    def progress(self, group: str, topic: str) -> dict[int, tuple[int, int]]:
        """How far a group has committed each partition, -1 for not at all, and where the partition ends."""
        listed = self.ask("progress", group=group, topic=topic)
        return {one["partition"]: (one["committed"], one["end"]) for one in listed}

    @contextlib.contextmanager
    def frozen(self) -> Iterator[None]:
        """It does nothing at all, and its connections stay."""
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """End it in the middle of whatever it does."""
        self._process.kill()
        self.close()

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with contextlib.suppress(BrokenPipeError):
                pipe.close()


def until(is_so: Callable[[], bool], *drivers: Driver) -> None:
    """Wait until it is so; after the deadline the test fails and says what these drivers knew."""
    deadline = time.monotonic() + SECONDS_MAX
    with NEWS:
        while not is_so():
            if not NEWS.wait(deadline - time.monotonic()):
                raise AssertionError(f"it does not become so: {[knowledge(driver) for driver in drivers]}")


def knowledge(driver: Driver) -> dict[str, object]:
    records = [(record.partition, record.offset) for record in driver.records[-20:]]
    return {"owned": driver.owned, "given up": driver.given_up, "records": records, "troubles": driver.troubles[-5:]}

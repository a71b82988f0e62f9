"""Kafka's Java client, reading and writing record batches for the tests: see java/RecordsHarness.java.

One JVM per test module: `with running() as kafka`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from subprocess import Popen

from ottla.wire.records import NO_TIMESTAMP, Record
from tests import jvm

SOURCE = Path(__file__).parent / "java" / "RecordsHarness.java"


class KafkaRecords:
    """Questions to a running harness."""

    def __init__(self, process: Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.stdin, self.stdout = process.stdin, process.stdout

    def ask(self, *words: object) -> list[str]:
        self.stdin.write(" ".join(map(str, words)) + "\n")
        self.stdin.flush()
        lines = list(iter(lambda: self.stdout.readline().rstrip("\n"), "."))
        assert not lines or not lines[-1].startswith("failed"), lines
        return lines

    def encode(
        self,
        records: Sequence[Record],
        *,
        magic: int = 2,
        codec: int = 0,
        base_offset: int = 0,
        append_time: int | None = None,
        producer: tuple[int, int, int] = (-1, -1, -1),
        is_transactional: bool = False,
        is_control: bool = False,
        leader_epoch: int = -1,
        delete_horizon_ms: int = NO_TIMESTAMP,
    ) -> bytes:
        time_words = (int(append_time is not None), base_offset, -1 if append_time is None else append_time)
        flags = (int(is_transactional), int(is_control))
        words = ("encode", magic, codec, *time_words, *producer, *flags, leader_epoch, delete_horizon_ms)
        return bytes.fromhex(self.ask(*words, *map(record_word, records))[0])

    def decode(self, data: bytes) -> list[tuple[list[str], list[str]]]:
        """(words about the batch, a word for each record) for each batch; Kafka has checked the CRC."""
        batches: list[tuple[list[str], list[str]]] = []
        for line in self.ask("decode", data.hex()):
            kind, _, rest = line.partition(" ")
            if kind == "batch":
                batches.append((rest.split(" "), []))
            else:
                batches[-1][1].append(rest)
        return batches


@contextmanager
def running() -> Iterator[KafkaRecords]:
    """The harness as a process, until the end of the block."""
    classpath = jvm.kafka_clients_classpath()
    classes = jvm.compile_java(SOURCE, classpath)
    with jvm.java(f"{classpath}:{classes}", "RecordsHarness") as process:
        yield KafkaRecords(process)
        assert process.stdin is not None
        process.stdin.close()


def record_word(record: Record) -> str:
    """A record as the harness writes it."""
    headers = [part for header in record.headers for part in header]
    parts = [bytes_word(part) for part in (record.key, record.value, *headers)]
    return ",".join([str(record.offset), str(record.timestamp), *parts])


def bytes_word(data: bytes | None) -> str:
    return "-" if data is None else data.hex() or "x"

"""`ottla produce`: lines in, batches out.

Standard input is read as it comes, in blocks; the whole lines of a block are sent together, so that a slow writer need
not wait for company and a fast one costs a request per block, not per line. A last line without an end counts too.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterable, Iterator
from random import Random

from ottla.client.blocking import Client
from ottla.client.cluster import Cluster
from ottla.client.partitioning import Placement
from ottla.client.sender import Outgoing, Sender, Sent
from ottla.commands import EXIT_OK, CommandFailed, UsageError
from ottla.commands.asking import asking
from ottla.commands.produce import ACKS
from ottla.commands.terminal import Row, Tally, Terminal
from ottla.commands.text_form import compact_json, count_text
from ottla.commands.topic_commands import existing
from ottla.wire.records import Codec, Header

READ_BYTES = 1_048_576

Pair = tuple[bytes | None, bytes | None]


def produce(parsed: argparse.Namespace) -> int:
    lines = Lines(parsed)
    totals = Totals()
    tally = Tally(sys.stderr, f"records to {parsed.topic}")
    with asking(parsed) as client:
        placement = _placement(client, parsed.topic, parsed.partition)
        if sys.stdin.isatty():
            sys.stderr.write(f"each line becomes a record of {parsed.topic}; Ctrl-D ends\n")
        sender = client.call(_sender, parsed.topic, ACKS[parsed.acks], Codec[parsed.compression.upper()])
        headers = [(key.encode(), value.encode()) for key, value in parsed.header]
        try:
            for block in blocks(sys.stdin.fileno()):
                records, mistake = placed(lines.records(block), placement, parsed.partition, headers)
                totals.add(client.call(_send, sender, records))
                if mistake is not None:
                    raise mistake
                if not sys.stdin.isatty():
                    tally.reached(totals.record_count)
        finally:
            tally.erase()
    _tell(parsed, totals)
    return EXIT_OK


async def _sender(cluster: Cluster, topic: str, acks: int, codec: Codec) -> Sender:
    return Sender(cluster, topic, acks=acks, codec=codec)


async def _send(cluster: Cluster, sender: Sender, records: list[Outgoing]) -> list[Sent]:
    return await sender.send(records)


def _placement(client: Client, topic: str, partition: int | None) -> Placement:
    existing(client, [topic])
    known = client.metadata(topic)
    count = len(known.topic(topic).partitions)
    if partition is not None and partition >= count:
        raise UsageError(f"--partition {partition}: {topic} has partitions 0 to {count - 1}")
    return Placement(count, known.available(topic), Random())


def blocks(descriptor: int) -> Iterator[bytes]:
    """Whole lines, as many as could be read at once. What follows the last line end comes last."""
    rest: list[bytes] = []
    while data := os.read(descriptor, READ_BYTES):
        end = data.rfind(b"\n") + 1
        if not end:
            rest.append(data)
            continue
        yield b"".join([*rest, data[:end]])
        rest = [data[end:]] if end < len(data) else []
    if rest:
        yield b"".join(rest)


class Lines:
    """Lines as keys and values; it counts them, to say where a mistake is."""

    def __init__(self, parsed: argparse.Namespace) -> None:
        self._separator: bytes | None = None if parsed.key_separator is None else parsed.key_separator.encode()
        self._key: bytes | None = None if parsed.key is None else parsed.key.encode()
        self._null: bytes | None = None if parsed.null is None else parsed.null.encode()
        self._count = 0
        if self._separator == b"":
            raise UsageError("--key-separator: the empty text separates nothing")

    def records(self, block: bytes) -> Iterator[Pair]:
        for line in block.removesuffix(b"\n").split(b"\n"):
            self._count += 1
            yield self._record(line.removesuffix(b"\r"))

    def _record(self, line: bytes) -> Pair:
        key, value = self._key, line
        if self._separator is not None:
            key, found, value = line.partition(self._separator)
            if not found:
                told = self._separator.decode()
                raise CommandFailed(f"line {self._count} has no key: it lacks {told!r}; the lines before it were sent")
        return key, None if value == self._null else value


def placed(
    pairs: Iterable[Pair], placement: Placement, partition: int | None, headers: list[Header]
) -> tuple[list[Outgoing], CommandFailed | None]:
    """The records before a mistake, and the mistake if there is one."""
    now_ms = time.time_ns() // 1_000_000
    records = []
    try:
        for key, value in pairs:
            size_bytes = len(key or b"") + len(value or b"")
            chosen = placement.partition(key, size_bytes) if partition is None else partition
            records.append(Outgoing(chosen, key, value, now_ms, headers))
    except CommandFailed as mistake:
        return records, mistake
    return records, None


class Totals:
    """What was written, by partition."""

    def __init__(self) -> None:
        self.rows: dict[int, Row] = {}
        self.record_count = 0

    def add(self, sent: Iterable[Sent]) -> None:
        for batch in sent:
            row = self.rows.setdefault(
                batch.partition,
                {"partition": batch.partition, "records": 0, "firstOffset": batch.base_offset, "lastOffset": None},
            )
            row["records"] += batch.record_count
            if batch.base_offset is not None:
                row["lastOffset"] = batch.base_offset + batch.record_count - 1
            self.record_count += batch.record_count


def _tell(parsed: argparse.Namespace, totals: Totals) -> None:
    rows = [{"topic": parsed.topic, **totals.rows[partition]} for partition in sorted(totals.rows)]
    if parsed.json:
        terminal = Terminal(sys.stdout)
        for row in rows:
            terminal.line(compact_json(row))
    elif not parsed.quiet:
        partitions = count_text(len(rows), "partition")
        sys.stderr.write(f"{count_text(totals.record_count, 'record')} to {parsed.topic}, {partitions}\n")

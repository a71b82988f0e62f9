"""`ottla consume`: which offsets of which partitions, and the records between them, chosen and written.

Where each partition begins and ends is settled first (spans.py); the loop only reads and chooses. A log that is cut at
its front while it is read goes on at its new beginning, with a word on standard error.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO

from ottla.client.blocking import Client
from ottla.client.cluster import Cluster
from ottla.client.metadata import TopicPartition
from ottla.client.offsets import EARLIEST, IsolationLevel
from ottla.client.partitioning import partition_for_key
from ottla.client.topic_reader import Portion, TopicReader
from ottla.commands import EXIT_OK, UsageError
from ottla.commands.asking import asking
from ottla.commands.record_form import Form, json_form, raw_form, template_form, terminal_form
from ottla.commands.spans import Span, span
from ottla.commands.terminal import Progress, Terminal
from ottla.commands.topic_commands import existing
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.records import Record

LINES_MAX = 1_000

Chosen = Callable[[Record], bool]


def consume(parsed: argparse.Namespace) -> int:
    form = chosen_form(parsed)
    is_wanted = chosen_records(parsed)
    with asking(parsed) as client:
        places = _places(client, parsed)
        isolation = IsolationLevel.READ_COMMITTED if parsed.committed else IsolationLevel.READ_UNCOMMITTED
        reach = span(client, parsed, places, isolation)
        reader = client.call(_reader, parsed.topic, reach, isolation)
        progress = _progress(parsed, reach)
        try:
            portions = rounds(client, parsed.topic, reader, reach, progress)
            write(portions, Output(sys.stdout.buffer), form, is_wanted, parsed.max_messages)
        finally:
            progress.erase()
    return EXIT_OK


async def _reader(cluster: Cluster, topic: str, reach: Span, isolation: IsolationLevel) -> TopicReader:
    return TopicReader(cluster, topic, reach.starts, end_offsets=reach.ends, isolation=isolation)


def chosen_form(parsed: argparse.Namespace) -> Form:
    if parsed.json:
        return json_form(parsed.topic)
    if parsed.format is not None:
        try:
            return template_form(parsed.topic, parsed.format, is_terminal=sys.stdout.isatty())
        except ValueError as error:
            raise UsageError(f"--format: {error}") from error
    terminal = Terminal(sys.stdout)
    return terminal_form(terminal) if terminal.is_terminal else raw_form


def chosen_records(parsed: argparse.Namespace) -> Chosen:
    key = None if parsed.key is None else parsed.key.encode()
    try:
        pattern = None if parsed.grep is None else re.compile(parsed.grep)
    except re.error as error:
        raise UsageError(f"--grep: {parsed.grep!r} is no regular expression: {error}") from error

    def is_wanted(record: Record) -> bool:
        if key is not None and record.key != key:
            return False
        return pattern is None or pattern.search((record.value or b"").decode(errors="replace")) is not None

    return is_wanted


def _places(client: Client, parsed: argparse.Namespace) -> list[TopicPartition]:
    """The partitions to read."""
    (topic,) = existing(client, [parsed.topic])
    there = sorted(partition.partition_index for partition in topic.partitions)
    if parsed.key is not None:
        there = [partition_for_key(parsed.key.encode(), len(there))]
    for number in parsed.partition or ():
        if number not in there:
            raise UsageError(f"--partition {number}: {parsed.topic} has partitions 0 to {there[-1]}")
    return [
        TopicPartition(parsed.topic, number) for number in there if not parsed.partition or number in parsed.partition
    ]


def rounds(client: Client, topic: str, reader: TopicReader, reach: Span, progress: Progress) -> Iterator[list[Portion]]:
    """What one round of Fetches after another brings, until every partition is at its end."""
    while reader.unfinished:
        try:
            portions = client.call(lambda _: reader.fetch())
        except KafkaError as error:
            if error.code != ErrorCode.OFFSET_OUT_OF_RANGE:
                raise
            catch_up(client, topic, reader)
            continue
        yield portions
        progress.reached(sum(at - reach.starts[partition] for partition, at in reader.offsets.items()))


def catch_up(client: Client, topic: str, reader: TopicReader) -> None:
    """Go on where the logs begin now, if that is later than where they were to be read."""
    places = [TopicPartition(topic, partition) for partition in reader.unfinished]
    starts = client.list_offsets(dict.fromkeys(places, EARLIEST))
    moved = [place for place in places if starts[place].offset > reader.offsets[place.partition]]
    if not moved:
        raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, f"topic {topic}: it was cut or made anew while it was read")
    for place in moved:
        sys.stderr.write(f"{place}: the log begins at {starts[place].offset} now; what was before is gone\n")
        reader.offsets[place.partition] = starts[place].offset


class Output:
    """Lines that are written many at a time: a record alone costs no system call."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._lines: list[bytes] = []

    def add(self, line: bytes) -> None:
        self._lines.append(line)
        if len(self._lines) >= LINES_MAX:
            self.flush()

    def flush(self) -> None:
        lines, self._lines = self._lines, []
        self._stream.write(b"".join(lines))
        self._stream.flush()


def write(
    portions: Iterable[list[Portion]], output: Output, form: Form, is_wanted: Chosen, count_max: int | None
) -> None:
    """Write the records that are wanted. After each round all is out: whoever reads a pipe sees it at once."""
    count = 0
    try:
        for one_round in portions:
            for partition, records in one_round:
                for record in filter(is_wanted, records):
                    output.add(form(partition, record))
                    count += 1
                    if count == count_max:
                        return
            output.flush()
    finally:
        output.flush()


def _progress(parsed: argparse.Namespace, reach: Span) -> Progress:
    """For those who read a long topic into a file; on a terminal the records themselves are progress enough."""
    total = 0 if parsed.follow or sys.stdout.isatty() else reach.record_count_max
    return Progress(sys.stderr, f"reading {parsed.topic}", total)

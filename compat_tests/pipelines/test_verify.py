"""`ottla pipeline verify` on a real Spark: whatever is wrong with a copy is found, and nothing else."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from compat_tests.pipelines.filled_topics import create, fill
from compat_tests.side_by_side import Side
from ottla.client.blocking import Client
from ottla.client.metadata import TopicPartition
from ottla.pipelines.source_header import Origin, header_of
from ottla.wire.records import BatchBuilder, Record
from tests.commands.command_line import CommandLine, Told
from tests.pipelines.copied_logs import stored
from tests.pipelines.test_target_tail import delete_records

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.jvm

NUMBERS = itertools.count(1)
COUNT = 20
COUNTED = ("missing", "extra", "duplicates", "different", "disordered", "foreign", "behind", "expired", "new")


class Sides:
    """A topic of Apache Kafka, COUNT records in each partition, and a copy of it in Ottla that is made by hand."""

    def __init__(self, kafka: str, ottla: str, partition_count: int = 1) -> None:
        self.source, self.target = kafka, ottla
        self.topic = f"verified.{next(NUMBERS)}"
        self.command = CommandLine(ottla)
        create(kafka, self.topic, partition_count)
        create(ottla, self.topic, partition_count)
        fill(kafka, self.topic, range(COUNT * partition_count), partition_count)
        with Client(kafka) as client:
            self.cluster = client.metadata().cluster_id or ""
            self.records = [stored(client, self.place(number)) for number in range(partition_count)]

    def place(self, partition: int) -> TopicPartition:
        return TopicPartition(self.topic, partition)

    def write(self, partition: int, records: Sequence[Record]) -> None:
        """A record with an offset becomes a copy of that one; one with offset -1 is nobody's."""
        builder = BatchBuilder()
        origin = Origin(self.cluster, *self.place(partition))
        for record in records:
            source = () if record.offset < 0 else (header_of(origin, record.offset),)
            builder.append(record.key, record.value, timestamp=record.timestamp, headers=(*record.headers, *source))
        with Client(self.target) as client:
            client.produce(*self.place(partition), builder.build())

    def verify(self, *words: str) -> Told:
        return self.command("pipeline", "verify", self.topic, "--from", self.source, "--to", self.target, *words)


@pytest.fixture
def kafka_to_ottla(spark: SparkSession, kafka_side: Side, ottla_side: Side) -> tuple[str, str]:
    return kafka_side.bootstrap, ottla_side.bootstrap


Written = Callable[[list[Record]], list[Record]]


def changed(**fields: Any) -> Written:
    """The seventh record is another one."""
    return lambda records: [*records[:7], records[7]._replace(**fields), *records[8:]]


# What the copy of a partition is made of; what is to be found; and where first.
CASES: tuple[tuple[Written, dict[str, int], int | None], ...] = (
    (lambda records: records, {}, None),
    (
        lambda records: [records[at] for at in (0, 1, 1, 2, 6, 5, 7, 9, *range(10, COUNT))],
        {"missing": 3, "duplicates": 1, "disordered": 1},
        1,
    ),
    (lambda records: records[:15], {"behind": 5}, None),
    (lambda records: [], {"behind": COUNT}, None),
    (
        lambda records: [records[0], records[0]._replace(offset=-1), *records[1:], records[0]._replace(offset=-1)],
        {"foreign": 1, "new": 1},
        None,
    ),
    (lambda records: [*records, records[0]._replace(offset=COUNT + 5)], {"extra": 1}, COUNT + 5),
    (changed(value=b"other"), {"different": 1}, 7),
    (changed(value=b""), {"different": 1}, 7),  # in this partition it is null
    (changed(key=b""), {"different": 1}, 7),
    (changed(timestamp=5), {"different": 1}, 7),
    (changed(headers=((b"h", b""), (b"empty", b"7"))), {"different": 1}, 7),
    (changed(headers=((b"x", None),)), {"different": 1}, 7),
)


def test_whatever_is_wrong_with_a_copy_is_found_and_nothing_else(kafka_to_ottla: tuple[str, str]) -> None:
    sides = Sides(*kafka_to_ottla, partition_count=len(CASES))
    assert sides.records[7][7].value is None
    for partition, (written, _, _) in enumerate(CASES):
        if records := written(sides.records[partition]):
            sides.write(partition, records)
    told = sides.verify("--json")
    assert told.status == 1
    rows = told.rows
    for row, (_, wrong, first) in zip(rows, CASES, strict=True):
        assert {name: row[name] for name in COUNTED if row[name]} == wrong, row
        assert (row["source"], row["firstDifference"], row["equal"]) == (COUNT, first, not wrong), row
        is_same = row["sourceChecksum"] == row["targetChecksum"]
        assert is_same == (not set(wrong) & {"missing", "extra", "different"}), row
    allowed = sides.verify("--allow-behind", "--json").rows
    assert [row["equal"] for row in allowed] == [set(wrong) <= {"behind"} for _, wrong, _ in CASES]


def test_the_first_difference_is_shown_field_by_field(kafka_to_ottla: tuple[str, str]) -> None:
    sides = Sides(*kafka_to_ottla)
    sides.write(0, changed(value=b"other", headers=())(sides.records[0]))
    told = sides.verify()
    assert (told.status, told.err) == (1, f"different: {sides.topic}-0\n")
    assert told.lines[1].split()[:4] == [sides.topic, "0", str(COUNT), str(COUNT)]
    assert told.lines[3] == f"first difference: {sides.topic}-0 at offset 7"
    assert [line.split()[0] for line in told.lines[4:]] == ["FIELD", "value", "headers"]
    assert told.lines[5].endswith('  "other"')
    assert told.lines[6].split()[1:] == ['h="7",', 'empty=""', "none"]
    (row,) = sides.verify("--json").rows
    assert [one["field"] for one in row["fields"]] == ["value", "headers"]


def test_what_either_side_has_deleted_is_no_difference(kafka_to_ottla: tuple[str, str]) -> None:
    sides = Sides(*kafka_to_ottla)
    sides.write(0, sides.records[0])
    told = sides.verify()
    assert (told.status, told.err) == (0, f"equal: {COUNT} records in 1 partition\n")
    for side, offset, expired in ((sides.source, 4, 4), (sides.target, 9, 5)):
        with Client(side) as client:
            delete_records(client, sides.place(0), offset)
        told = sides.verify("--json")
        (row,) = told.rows
        assert (told.status, row["expired"], row["firstDifference"]) == (0, expired, None), row


def test_a_cluster_and_its_archive_are_equal_until_one_goes_on(kafka_to_ottla: tuple[str, str], tmp_path: Path) -> None:
    sides = Sides(*kafka_to_ottla)
    path = str(tmp_path / "archive")
    told = sides.command("pipeline", "archive", sides.topic, "-b", sides.source, "-o", path, "--once")
    assert told.status == 0, told
    to_archive = ("pipeline", "verify", sides.topic, "--from", sides.source, "--to-archive", path)
    from_archive = ("pipeline", "verify", "--from-archive", path, "--to", sides.source)
    assert [sides.command(*words).status for words in (to_archive, from_archive)] == [0, 0]
    fill(sides.source, sides.topic, range(3), partitions=1)
    assert [sides.command(*words).status for words in (to_archive, from_archive)] == [1, 1]
    assert sides.command(*to_archive, "--allow-behind").status == 0


@pytest.mark.parametrize(
    ("words", "status", "told"),
    [
        (("nowhere",), 1, "there is no topic nowhere"),
        ((), 2, "say which topics"),
    ],
)
def test_what_cannot_be_compared_is_told_in_a_sentence(
    kafka_to_ottla: tuple[str, str], words: Any, status: int, told: str
) -> None:
    source, target = kafka_to_ottla
    found = CommandLine(target)("pipeline", "verify", *words, "--from", source, "--to", target)
    assert (found.status, len(found.err.splitlines())) == (status, 1)
    assert told in found.err

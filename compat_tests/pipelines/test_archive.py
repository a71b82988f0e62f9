"""`ottla pipeline archive` on a real Spark: what is archived is what Spark's batch reader finds, each record once."""

from __future__ import annotations

import io
import itertools
import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fastavro
import pytest
from confluent_kafka import Producer

from compat_tests.clients.confluent_face import ConfluentAdmin
from compat_tests.pipelines.filled_topics import GUARD_SECONDS, batch_rows, create, fill, rows
from compat_tests.side_by_side import Side
from ottla.pipelines.archive_reading import archived_files, read_archive
from ottla.pipelines.file_system import Directory
from tests.commands.command_line import CommandLine, Told

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.jvm

NUMBERS = itertools.count(1)


@pytest.fixture
def topic() -> str:
    return f"archived.{next(NUMBERS)}"


class Archive:
    """An archive of topics of one broker, by commands."""

    def __init__(self, session: SparkSession, bootstrap: str, directory: Path) -> None:
        self.session = session
        self.bootstrap = bootstrap
        self.path = directory / "archive"
        self.ottla = CommandLine(bootstrap)

    def __call__(self, *words: str) -> Told:
        return self.ottla("pipeline", "archive", "-o", str(self.path), *words)

    def total(self, *words: str) -> dict[str, Any]:
        told = self("--json", *words)
        assert told.status == 0, told
        total: dict[str, Any] = told.rows[-1]["total"]
        return total

    def rows(self) -> list[Any]:
        return rows(read_archive(self.session, str(self.path)))

    def names(self) -> list[str]:
        return [file.path for file in archived_files(Directory(self.session, str(self.path)))]


@pytest.fixture
def archive(spark: SparkSession, ottla_side: Side, tmp_path: Path) -> Archive:
    return Archive(spark, ottla_side.bootstrap, tmp_path)


@pytest.fixture(params=["ottla", "kafka"])
def either(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> Archive:
    side: Side = request.getfixturevalue(f"{request.param}_side")
    return Archive(spark, side.bootstrap, tmp_path)


def test_the_archive_is_what_the_batch_reader_finds_and_the_next_run_goes_on(either: Archive, topic: str) -> None:
    create(either.bootstrap, topic)
    fill(either.bootstrap, topic, range(100))
    first = either.total(topic, "--once", "--by", "date", "--batch-records", "40")
    assert (first["records"], first["repeated"]) == (100, 0)
    assert first["batches"] >= 3
    fill(either.bootstrap, topic, range(100, 130))
    second = either.total(topic, "--once", "--by", "date")
    assert (second["records"], second["batches"]) == (30, 1)
    found = either.rows()
    assert len(found) == 130
    assert found == batch_rows(either.session, either.bootstrap, topic)
    days = {f"{row.timestamp:%Y-%m-%d}" for row in found}
    assert {path.name for path in (either.path / f"topic={topic}").iterdir()} == {f"date={day}" for day in days}


def test_records_of_aborted_transactions_are_not_archived(
    spark: SparkSession, kafka_side: Side, tmp_path: Path, topic: str
) -> None:
    archive = Archive(spark, kafka_side.bootstrap, tmp_path)
    create(archive.bootstrap, topic, partitions=1)
    producer = Producer({"bootstrap.servers": archive.bootstrap, "transactional.id": topic})
    producer.init_transactions(GUARD_SECONDS)
    for number, ends in enumerate([producer.commit_transaction, producer.abort_transaction] * 3):
        producer.begin_transaction()
        for part in range(3):
            producer.produce(topic, b"%d.%d" % (number, part), partition=0)
        ends(GUARD_SECONDS)
    assert archive.total(topic, "--once", "--batch-records", "5")["records"] == 9
    committed = [b"%d.%d" % (number, part) for number in (0, 2, 4) for part in range(3)]
    assert [bytes(row.value) for row in archive.rows()] == committed
    told = archive.ottla("pipeline", "verify", topic, "--from", archive.bootstrap, "--to-archive", str(archive.path))
    assert told.status == 0, told
    assert archive.total(topic, "--once")["records"] == 0


def test_files_hold_records_in_order_and_any_reader_finds_the_same(archive: Archive, topic: str) -> None:
    create(archive.bootstrap, topic, partitions=1)
    fill(archive.bootstrap, topic, range(60), partitions=1)
    archive.total(topic, "--once", "--by", "hour")
    import pyarrow.dataset
    import pyarrow.parquet

    for path in (archive.path / f"topic={topic}").rglob("*.parquet"):
        offsets = pyarrow.parquet.ParquetFile(path).read(["offset"])["offset"].to_pylist()
        assert offsets == sorted(offsets)
    elsewhere = pyarrow.dataset.dataset(archive.path, partitioning="hive").to_table(columns=["offset"])
    assert sorted(elsewhere["offset"].to_pylist()) == list(range(60))


def test_small_files_are_merged_and_nothing_else_changes(archive: Archive, topic: str) -> None:
    create(archive.bootstrap, topic)
    for first in range(0, 90, 30):
        fill(archive.bootstrap, topic, range(first, first + 30))
        archive.total(topic, "--once")
    before = archive.rows()
    assert len(archive.names()) == 9
    total = archive.total("--compact-only")
    assert (total["merged"], total["records"]) == (9, 0)
    assert archive.names() == [f"topic={topic}/p{number}-0-29-30.parquet" for number in range(3)]
    assert archive.rows() == before == batch_rows(archive.session, archive.bootstrap, topic)
    fill(archive.bootstrap, topic, range(90, 99))
    decoding = ("--decode", "json", "--schema", "id long")
    assert archive.total(topic, "--once", "--compact", "--file-bytes", "1", *decoding)["merged"] == 0
    assert archive.total("--compact-only")["merged"] == 6
    assert archive.rows() == batch_rows(archive.session, archive.bootstrap, topic)
    decoded = archive.session.read.parquet(str(archive.path)).where("decoded IS NOT NULL").count()
    assert decoded == len([number for number in range(90, 99) if number % 13])
    left = [path.name for path in archive.path.iterdir() if path.name.startswith("_") and path.name != "_checkpoint"]
    assert left == ["_archive.json"]


def test_a_batch_that_spark_brings_again_is_not_archived_twice(archive: Archive, topic: str) -> None:
    create(archive.bootstrap, topic)
    fill(archive.bootstrap, topic, range(30))
    archive.total(topic, "--once")
    # As if it had been killed after the files were in their places, and before Spark noted that the batch is done.
    for path in (archive.path / "_checkpoint" / "commits").iterdir():
        path.unlink()
    assert archive.total("--compact-only")["merged"] == 0
    again = archive.total(topic, "--once")
    assert (again["records"], again["repeated"]) == (0, 30)
    assert archive.rows() == batch_rows(archive.session, archive.bootstrap, topic)


def test_without_its_checkpoint_it_goes_on_after_what_is_archived(archive: Archive, topic: str) -> None:
    create(archive.bootstrap, topic)
    fill(archive.bootstrap, topic, range(30))
    archive.total(topic, "--once")
    shutil.rmtree(archive.path / "_checkpoint")
    fill(archive.bootstrap, topic, range(30, 36))
    total = archive.total(topic, "--once", "--checkpoint", str(archive.path.parent / "elsewhere"))
    assert (total["records"], total["repeated"]) == (6, 0)
    assert archive.rows() == batch_rows(archive.session, archive.bootstrap, topic)


def test_a_pattern_takes_all_topics_that_match(archive: Archive, topic: str) -> None:
    names = [f"{topic}.a", f"{topic}.b", f"{topic}-c"]
    for name in names:
        create(archive.bootstrap, name, partitions=1)
        fill(archive.bootstrap, name, range(5), partitions=1)
    archive.total("--pattern", rf"{topic}\..*", "--once")
    assert archive.rows() == batch_rows(archive.session, archive.bootstrap, *names[:2])


def test_what_is_another_archive_or_held_by_somebody_is_refused(archive: Archive, topic: str) -> None:
    for name in (topic, f"{topic}.other"):
        create(archive.bootstrap, name, partitions=1)
        fill(archive.bootstrap, name, range(3), partitions=1)
    told = archive(topic, "--once")
    assert told.out.startswith("3 records archived in 1 file of file:/")
    told = archive(f"{topic}.other", "--once")
    assert told.status == 1
    assert f"it holds the topics {topic}, and not the topics {topic}.other" in told.err
    archive.path = archive.path.parent / "second"
    told = archive(topic, "--once", "--checkpoint", str(archive.path.parent / "archive" / "_checkpoint"))
    assert told.status == 1
    assert "is a checkpoint of something else. Choose another --checkpoint" in told.err
    archive.path = archive.path.parent / "archive"
    (archive.path / "_lock.json").write_text('{"host": "elsewhere", "pid": 1}')
    told = archive(topic, "--once")
    assert told.status == 1
    assert "another process writes to file:/" in told.err
    assert archive(topic, "--once", "--decode", "json", "--schema", "id nonsense").status == 1
    assert len(archive.rows()) == 3


@pytest.fixture
def mixed(archive: Archive, topic: str) -> str:
    """A topic with three values: one of the schema, one that is none, and none at all."""
    create(archive.bootstrap, topic, partitions=1)
    producer = Producer({"bootstrap.servers": archive.bootstrap})
    written = io.BytesIO()
    fastavro.schemaless_writer(written, AVRO, {"id": 7, "name": "n"})
    for value in (b"\0\0\0\0\1" + written.getvalue(), b'{"id": 8, "name": "json"}', b"\xff", None):
        producer.produce(topic, value)
    assert producer.flush(GUARD_SECONDS) == 0
    return topic


AVRO = {
    "type": "record",
    "name": "Order",
    "fields": [{"name": "id", "type": "long"}, {"name": "name", "type": ["null", "string"], "default": None}],
}


def test_values_are_decoded_beside_themselves(archive: Archive, mixed: str, tmp_path: Path) -> None:
    path = tmp_path / "schema.avsc"
    path.write_text(json.dumps(AVRO), encoding="utf-8")
    words = {"avro": ["--schema", f"@{path}", "--confluent"], "json": ["--schema", "id long, name string"]}
    for kind, expected in (("avro", [(7, "n"), None, None, None]), ("json", [None, (8, "json"), None, None])):
        archive.path = tmp_path / kind
        total = archive.total(mixed, "--once", "--decode", kind, *words[kind])
        assert (total["records"], total["undecoded"]) == (4, 2)
        found = archive.session.read.parquet(str(archive.path)).orderBy("offset").collect()
        assert [None if row.decoded is None else tuple(row.decoded) for row in found] == expected
        assert archive.rows() == batch_rows(archive.session, archive.bootstrap, mixed)


def test_records_that_are_gone_are_told_and_skipped_only_if_that_is_said(archive: Archive, topic: str) -> None:
    create(archive.bootstrap, topic, partitions=1)
    fill(archive.bootstrap, topic, range(10), partitions=1)
    archive.total(topic, "--once")
    fill(archive.bootstrap, topic, range(10, 30), partitions=1)
    assert ConfluentAdmin(archive.bootstrap).delete_records(topic, 0, 20) == 20
    told = archive(topic, "--once")
    assert told.status == 1
    assert "--skip-lost" in told.err
    assert "Traceback" not in told.err
    assert archive.total(topic, "--once", "--skip-lost")["records"] == 10
    assert [row.offset for row in archive.rows()] == [*range(10), *range(20, 30)]


def test_a_topic_that_was_deleted_and_made_anew_is_another_one(archive: Archive, topic: str) -> None:
    create(archive.bootstrap, topic, partitions=1)
    fill(archive.bootstrap, topic, range(3), partitions=1)
    archive.total(topic, "--once")
    ConfluentAdmin(archive.bootstrap).delete_topic(topic)
    create(archive.bootstrap, topic, partitions=1)
    told = archive(topic, "--once", "--skip-lost")
    assert told.status == 1
    assert f"the topic {topic} was deleted and made anew since" in told.err

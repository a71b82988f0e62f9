"""Which files an archive is made of. Reading them with Spark: compat_tests/pipelines/test_archive.py."""

from __future__ import annotations

from ottla.pipelines.archive_reading import COLUMNS, SCHEMA, archived_files, every_file
from tests.pipelines.memory_files import MemoryFiles


def test_only_files_that_count_are_read() -> None:
    names = ("topic=t/p0-0-9-10", "topic=t/p0-10-19-10", "topic=t/p0-0-19-20", "topic=t/part-0", "_staging/p0-20-29-10")
    archive = MemoryFiles(**{f"{name}.parquet": "bytes" for name in names})
    assert [file.path for file in archived_files(archive)] == ["topic=t/p0-0-19-20.parquet"]
    assert len(every_file(archive)) == 3
    assert {file.size_bytes for file in every_file(archive)} == {5}


def test_the_columns_are_those_of_the_kafka_format() -> None:
    kafka = ["key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers"]
    assert sorted(COLUMNS) == sorted(kafka)
    assert SCHEMA.startswith("topic string, key binary, ")

"""Kafka's own cleaner and ours, run on copies of the same log: the files that remain are the same.

Byte for byte where nothing is compressed: logs, offset indexes, time indexes, transaction indexes. Compressed batches
are compared by what is in them, since no two libraries compress alike. Several rounds, so that delete horizons pass.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from subprocess import Popen

import pytest

from ottla.storage.cleaner.job import LastRecord
from ottla.storage.files import OsDisk
from ottla.storage.log_config import LogConfig
from ottla.wire.records import Codec, Record, RecordBatch, iter_batches, iter_records
from tests import jvm
from tests.storage.cleaner.histories import CODECS, clean, job_for, random_history, segment_files

pytestmark = pytest.mark.jvm

SOURCE = Path(__file__).parent / "java" / "CleanerHarness.java"
RETENTION_MS = 1000
# Room for all keys, and for fewer than there are: then a round ends where the map was full.
KEY_MAPS_BYTES = (24 * 100, 24 * 8)
SEEDS = 12


class Harness:
    def __init__(self, process: Popen[str]) -> None:
        self.process = process

    def clean(self, directory: Path, *numbers: int) -> tuple[dict[int, LastRecord], int]:
        """Have Kafka clean a log; returns the producers that it knew before, and the first offset not cleaned."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(directory, *numbers, file=self.process.stdin, flush=True)
        producers = {}
        for line in self.process.stdout:
            kind, *words = line.split()
            if kind == "end":
                return producers, int(words[0])
            assert kind == "producer", line
            producer_id, last_offset, epoch = map(int, words)
            producers[producer_id] = LastRecord(last_offset if last_offset >= 0 else None, epoch)
        raise AssertionError("the harness ended")


@pytest.fixture(scope="module")
def kafka() -> Iterator[Harness]:
    classpath = jvm.kafka_classpath()
    classes = jvm.compile_java(SOURCE, classpath)
    with jvm.java(f"{classes}:{classpath}", "CleanerHarness") as process:
        yield Harness(process)
        assert process.stdin is not None
        process.stdin.close()


Contents = list[tuple[tuple[int, ...], list[Record]]]


def contents(data: bytes) -> Contents:
    """What is in a log file: headers, but for length and checksum, and records."""
    return [(header_of(batch), list(iter_records(batch, bytes_max=1 << 20))) for batch in iter_batches(data)]


def header_of(batch: RecordBatch) -> tuple[int, ...]:
    return (
        *(batch.base_offset, batch.leader_epoch, batch.attributes, batch.last_offset_delta, batch.base_timestamp),
        *(batch.max_timestamp, batch.producer_id, batch.producer_epoch, batch.base_sequence, batch.count),
    )


@pytest.mark.parametrize("codecs", [(Codec.NONE,), CODECS], ids=["uncompressed", "compressed"])
@pytest.mark.parametrize("seed", range(SEEDS))
def test_the_same_files_remain(tmp_path: Path, kafka: Harness, seed: int, codecs: Sequence[Codec]) -> None:
    disk = OsDisk()
    history = random_history(Random(seed), steps=120, codecs=codecs)
    ours, theirs = tmp_path / "ours" / "t-0", tmp_path / "theirs" / "t-0"
    history.write(disk, str(ours))
    shutil.copytree(ours, theirs)
    # Compressed sizes differ, and with them what fits into a group: then all of it shall be one.
    segment_bytes = 2000 if codecs == (Codec.NONE,) else 1 << 20
    config = LogConfig(compact=True, delete_retention_ms=RETENTION_MS, segment_bytes=segment_bytes)
    key_map_bytes = KEY_MAPS_BYTES[seed % 2]
    now_ms, end_offset = history.now_ms, 0
    for quarters, from_start in ((1, True), (2, False), (3, False), (4, False), (4, True), (4, True)):
        now_ms += RETENTION_MS // 2 + 1
        first_dirty = 0 if from_start else end_offset
        uncleanable = (history.next_offset - 1) * quarters // 4
        job = job_for(
            disk,
            str(ours),
            now_ms=now_ms,
            first_dirty_offset=first_dirty,
            uncleanable_offset=uncleanable,
            config=config,
        )
        if job.first_uncleanable_offset <= first_dirty:
            continue  # nothing is dirty: Kafka's cleaner would not have been called
        numbers = (first_dirty, uncleanable, now_ms, RETENTION_MS, segment_bytes, key_map_bytes)
        last_records, end_offset = kafka.clean(theirs, *numbers)
        result = clean(disk, replace(job, last_records=last_records, key_map_bytes=key_map_bytes))
        assert result.end_offset == end_offset
        for path in theirs.glob("*.deleted"):
            path.unlink()
        assert_same_files(segment_files(disk, str(ours)), segment_files(disk, str(theirs)), codecs)


def assert_same_files(ours: dict[str, bytes], theirs: dict[str, bytes], codecs: Sequence[Codec]) -> None:
    theirs = {name: data for name, data in theirs.items() if name in ours or data or not name.endswith(".txnindex")}
    assert sorted(ours) == sorted(theirs)
    for name, data in ours.items():
        if name.endswith(".log"):
            assert contents(data) == contents(theirs[name]), name
        if codecs == (Codec.NONE,):
            assert data == theirs[name], name


def test_dump_log_segments_reads_cleaned_segments_without_complaint(tmp_path: Path) -> None:
    disk = OsDisk()
    history = random_history(Random(1), steps=400, codecs=CODECS)
    directory = str(tmp_path / "t-0")
    history.write(disk, directory, interval_bytes=200)
    config = LogConfig(compact=True, delete_retention_ms=RETENTION_MS, segment_bytes=4000, index_interval_bytes=200)
    for now_ms in (history.now_ms, history.now_ms + RETENTION_MS):
        last_records = history.last_records()
        clean(disk, job_for(disk, directory, now_ms=now_ms, last_records=last_records, config=config))
    files = sorted(name for name, data in segment_files(disk, directory).items() if data)
    assert {name[20:] for name in files} == {".log", ".index", ".timeindex", ".txnindex"}
    plain = dump(directory, files, "--deep-iteration")
    assert "isvalid: true" in plain
    assert "deleteHorizonMs: OptionalLong[" in plain
    indexes = [name for name in files if name.endswith("index") and not name.endswith(".txnindex")]
    checked = dump(directory, indexes, "--index-sanity-check")
    assert checked.count("passed sanity check") == len(indexes)
    dump(directory, indexes, "--verify-index-only")


def dump(directory: str, names: Sequence[str], *options: str) -> str:
    """What Kafka's tool says of these files, none of it a complaint."""
    files = ",".join(f"{directory}/{name}" for name in names)
    arguments = ("org.apache.kafka.tools.DumpLogSegments", "--files", files, *options)
    with jvm.java(jvm.kafka_classpath(), *arguments) as process:
        output, _ = process.communicate()
    assert process.returncode == 0, output
    for complaint in ("Found", "Mismatch", "mismatch", "isvalid: false", "out of order", "Could not", "No such"):
        assert complaint not in output, output
    return output

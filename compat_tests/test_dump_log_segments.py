"""Apache Kafka's own DumpLogSegments reads every kind of file that Ottla writes, and finds in it what was written.

Three runs of the tool over all files of all logs: every record, the indexes against the log, and the check by which a
broker decides at its start whether an index is to be rebuilt. The tool complains on its error output: that has to be
empty but for two things that it says of Kafka's files as well. It takes -1 for the offset before a segment, so every
segment but the first begins with a gap; and it looks for the largest timestamp of a batch in its records, where the
cleaner, Kafka's like ours, leaves none of a batch that only keeps a producer's last sequence number.
"""

from __future__ import annotations

import re
import subprocess
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from compat_tests.ottla_logs import NAMES, Written, write_all
from ottla.wire.records import Record, RecordBatch, iter_batches, iter_records
from tests import jvm

pytestmark = pytest.mark.jvm

TOOL = "org.apache.kafka.tools.DumpLogSegments"
INDEXES = (".index", ".timeindex")
DUMPED = (".log", *INDEXES, ".txnindex", ".snapshot")

BATCH = re.compile(r"baseOffset: (\d+) lastOffset: (\d+) count: (\d+) .*position: (\d+) .*size: (\d+) .*isvalid: (\w+)")
RECORD = re.compile(
    r"\| offset: (\d+) (\w+): (\d+) keySize: (-?\d+) valueSize: (-?\d+) sequence: -?\d+ headerKeys: \[(.*?)\]"
)
ABORTED = re.compile(r"version: 0 producerId: (\d+) firstOffset: (\d+) lastOffset: (\d+) lastStableOffset: \d+")
PRODUCER = re.compile(
    r"producerId: (\d+) producerEpoch: (\d+) coordinatorEpoch: (-?\d+) currentTxnFirstOffset: OptionalLong(\S+) "
    r"lastTimestamp: (-?\d+) (?:firstSequence: (-?\d+) lastSequence: (-?\d+) lastOffset: (\d+))?"
)
GAP = re.compile(r"  (-?\d+) is followed by (\d+)")
TIMESTAMP_MISMATCH = re.compile(r"  Index timestamp: (\d+), log timestamp: -1")


@dataclass
class Dump:
    """What the tool printed, by file: on its output, and as complaints."""

    lines: dict[Path, list[str]]
    complaints: dict[tuple[str, Path], list[str]]

    def matches(self, path: Path, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
        return (match for line in self.lines[path] if (match := pattern.match(line)))


def dump(files: Iterable[Path], *options: str) -> Dump:
    classpath = f"{jvm.kafka_classpath()}:{jvm.jars('kafka-logging')}/*"
    arguments = (*options, "--files", ",".join(map(str, files)))
    done = subprocess.run(
        (jvm.program("java"), "-Xmx512m", "-XX:TieredStopAtLevel=1", "-cp", classpath, TOOL, *arguments),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines: dict[Path, list[str]] = {}
    current: list[str] = []
    for line in done.stdout.split("\n"):
        if line.startswith("Dumping "):
            current = lines.setdefault(Path(line.removeprefix("Dumping ")), [])
        else:
            current.append(line)
    return Dump(lines, complaints_in(done.stderr))


def complaints_in(text: str) -> dict[tuple[str, Path], list[str]]:
    """(what is wrong, file) -> the details: a heading that names the file, then indented lines."""
    found: dict[tuple[str, Path], list[str]] = {}
    details: list[str] = []
    for line in text.splitlines():
        if line.startswith("  "):
            details.append(line)
            continue
        heading = re.fullmatch(r"(.+?) in ?:?(/.*)", line)
        assert heading is not None, f"the tool said: {line}"
        details = found.setdefault((heading[1].strip(), Path(heading[2])), [])
    return found


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Written]:
    return write_all(tmp_path_factory.mktemp("ottla"), int(time.time() * 1000))


def files_of(logs: dict[str, Written], suffixes: Sequence[str]) -> list[Path]:
    return [path for log in logs.values() for path in sorted(log.directory.iterdir()) if path.suffix in suffixes]


@pytest.fixture(scope="module")
def deep(logs: dict[str, Written]) -> Dump:
    return dump(files_of(logs, DUMPED), "--deep-iteration", "--print-data-log")


def batches_in(path: Path) -> list[RecordBatch]:
    return list(iter_batches(path.read_bytes()))


def test_the_logs_are_worth_dumping(logs: dict[str, Written]) -> None:
    """Every kind of file is there, with something in it, and most logs have several segments."""
    for suffix in DUMPED:
        assert any(path.stat().st_size > 100 for path in files_of(logs, [suffix])), suffix
    assert sum(len(list(log.directory.glob("*.log"))) > 2 for log in logs.values()) >= 8


@pytest.mark.parametrize("name", NAMES)
def test_every_record_is_shown_as_it_was_written(logs: dict[str, Written], deep: Dump, name: str) -> None:
    log = logs[name]
    shown = []
    for path in files_of({name: log}, [".log"]):
        controls = {batch.base_offset for batch in batches_in(path) if batch.is_control}
        shown += [match.groups() for match in deep.matches(path, RECORD) if int(match[1]) not in controls]
    time_type = "LogAppendTime" if log.config.log_append_time else "CreateTime"
    # The tool knows nothing of where a log starts: what was deleted is still in the segment.
    shown = [groups for groups in shown if int(groups[0]) >= log.start_offset]
    assert shown == [as_shown(record, time_type) for record in log.records]


def as_shown(record: Record, time_type: str) -> tuple[str, ...]:
    sizes = ["-1" if data is None else str(len(data)) for data in (record.key, record.value)]
    header_keys = ",".join(key.decode() for key, _ in record.headers)
    return (str(record.offset), time_type, str(record.timestamp), *sizes, header_keys)


@pytest.mark.parametrize("name", NAMES)
def test_every_batch_is_valid_and_where_it_should_be(logs: dict[str, Written], deep: Dump, name: str) -> None:
    for path in files_of({name: logs[name]}, [".log"]):
        shown = [match.groups() for match in deep.matches(path, BATCH)]
        position = 0
        expected = []
        for batch in batches_in(path):
            numbers = (batch.base_offset, batch.last_offset, batch.count, position, batch.size_bytes)
            expected.append((*map(str, numbers), "true"))
            position += batch.size_bytes
        assert shown == expected
        assert position == path.stat().st_size


@pytest.mark.parametrize("name", NAMES)
def test_aborted_transactions_are_those_that_were_aborted(logs: dict[str, Written], deep: Dump, name: str) -> None:
    log = logs[name]
    shown = [
        tuple(map(int, match.groups()))
        for path in files_of({name: log}, [".txnindex"])
        for match in deep.matches(path, ABORTED)
    ]
    if log.config.compact:
        # Those go whose records and marker the cleaner has removed.
        assert set(shown) <= set(log.aborted)
    else:
        assert shown == log.aborted


@pytest.mark.parametrize("name", NAMES)
def test_the_last_snapshot_knows_every_producer(logs: dict[str, Written], deep: Dump, name: str) -> None:
    log = logs[name]
    (path,) = log.directory.glob(f"{log.end_offset:020d}.snapshot")
    shown = sorted(match.groups() for match in deep.matches(path, PRODUCER))
    expected = []
    for producer_id, sent in log.producers.items():
        first = sent.transaction_first_offset
        optional = ".empty" if first < 0 else f"[{first}]"
        assert sent.last_batch is not None
        numbers = (producer_id, sent.epoch, sent.coordinator_epoch)
        expected.append((*map(str, numbers), optional, str(sent.last_timestamp), *map(str, sent.last_batch)))
    assert shown == sorted(expected)


def test_the_tool_has_no_complaint_of_its_own(logs: dict[str, Written], deep: Dump) -> None:
    for (kind, path), details in deep.complaints.items():
        if kind == "Non-consecutive offsets":
            assert [tuple(map(int, GAP.fullmatch(line).groups())) for line in details] == gaps_in(path)  # type: ignore[union-attr]
        else:
            assert_only_emptied_batches(kind, path, details)


def gaps_in(path: Path) -> list[tuple[int, int]]:
    """Where offsets are not consecutive: after what the cleaner removed, and before a segment's first record."""
    offsets = [record.offset for batch in batches_in(path) for record in iter_records(batch, bytes_max=1 << 24)]
    return [(one, other) for one, other in zip([-1, *offsets], offsets, strict=False) if other != one + 1]


def assert_only_emptied_batches(kind: str, path: Path, details: Sequence[str]) -> None:
    assert kind == "Found timestamp mismatch", (kind, path, details)
    emptied = {str(batch.max_timestamp) for batch in batches_in(path.with_suffix(".log")) if batch.count == 0}
    for line in details:
        found = TIMESTAMP_MISMATCH.fullmatch(line)
        assert found is not None, (path, line)
        assert found[1] in emptied, (path, line)


def test_index_entries_point_at_batches(logs: dict[str, Written]) -> None:
    verified = dump(files_of(logs, INDEXES), "--verify-index-only")
    assert set(verified.lines) == set(files_of(logs, INDEXES))
    for (kind, path), details in verified.complaints.items():
        assert_only_emptied_batches(kind, path, details)


def test_indexes_would_not_be_rebuilt_by_a_broker(logs: dict[str, Written]) -> None:
    checked = dump(files_of(logs, INDEXES), "--index-sanity-check")
    assert checked.complaints == {}
    verdicts: dict[bool, int] = defaultdict(int)
    for path, lines in checked.lines.items():
        said = "".join(lines)
        # The tool stops at an empty offset index without checking it: there is nothing to check.
        assert said in (f"{path} passed sanity check.", f"{path} is empty."), said
        verdicts[said.endswith("is empty.")] += 1
        assert not said.endswith("is empty.") or path.stat().st_size == 0, path
    assert verdicts[False] > verdicts[True] > 0

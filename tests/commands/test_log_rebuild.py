"""`ottla log rebuild-index`: what it makes is what the log and Kafka make, and a running broker is left alone."""

from __future__ import annotations

import fcntl
import io
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ottla.commands import UsageError
from ottla.commands.log_rebuild import rebuild_index
from ottla.storage.files import OsDisk
from ottla.storage.producer_entry import ProducerEntry
from ottla.storage.producer_snapshot import encode_snapshot
from ottla.wire.records import BatchBuilder, EndTransactionMarker, end_transaction_batch
from tests.commands.sample_logs import (
    FIRST,
    INTERVAL_BYTES,
    KAFKA,
    NOW_MS,
    PRODUCER_ID,
    SECOND,
    content,
    new_log,
    orders,
    plain,
    spoil,
)


@pytest.fixture
def partition(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    orders(tmp_path)
    return Path("orders-0")


def rebuilt(directory: str = "orders-0", *, status: int = 0, interval_bytes: int = INTERVAL_BYTES) -> list[str]:
    terminal, stream = plain()
    assert rebuild_index(OsDisk(), directory, terminal, io.StringIO(), interval_bytes=interval_bytes) == status
    return stream.getvalue().splitlines()


def test_indexes_that_are_right_are_left_alone(partition: Path) -> None:
    before = content(partition)
    assert rebuilt() == [
        f"orders-0/{FIRST}.index: as it should be, 2 entries",
        f"orders-0/{FIRST}.timeindex: as it should be, 2 entries",
        f"orders-0/{SECOND}.index: as it should be, 1 entry",
        f"orders-0/{SECOND}.timeindex: as it should be, 1 entry",
        f"orders-0/{SECOND}.txnindex: as it should be, 1 entry",
        "orders-0: 0 files changed",
    ]
    assert content(partition) == before


def test_lost_and_damaged_indexes_come_back_byte_for_byte(partition: Path) -> None:
    before = content(partition)
    (partition / f"{FIRST}.index").unlink()
    spoil(partition / f"{FIRST}.timeindex", 12, b"\xff")
    (partition / f"{SECOND}.index").write_bytes(before[f"{SECOND}.index"] + bytes(80))
    (partition / f"{SECOND}.timeindex").write_bytes(before[f"{SECOND}.timeindex"] + b"\1")
    (partition / f"{SECOND}.txnindex").unlink()
    assert rebuilt() == [
        f"orders-0/{FIRST}.index: was missing; now 2 entries",
        f"orders-0/{FIRST}.timeindex: had 2 entries, other ones from entry 1 on; now 2 entries",
        f"orders-0/{SECOND}.index: had 80 bytes of unused space; now 1 entry",
        f"orders-0/{SECOND}.timeindex: had 1 entry and 1 odd byte; now 1 entry",
        f"orders-0/{SECOND}.txnindex: was missing; now 1 entry",
        "orders-0: 5 files changed",
    ]
    assert content(partition) == before


def test_an_index_of_aborted_transactions_where_there_are_none_is_emptied(partition: Path) -> None:
    (partition / f"{FIRST}.txnindex").write_bytes(bytes(33) + b"\1")
    assert f"orders-0/{FIRST}.txnindex: had 1 entry; now 0 entries" in rebuilt()
    assert (partition / f"{FIRST}.txnindex").read_bytes() == b""


def test_an_interval_of_ones_own_gives_other_entries(partition: Path) -> None:
    assert f"orders-0/{FIRST}.index: had 2 entries; now 0 entries" in rebuilt(interval_bytes=4096)


def test_the_indexes_of_kafka_are_made_byte_for_byte(tmp_path: Path) -> None:
    copy = tmp_path / "orders-0"
    shutil.copytree(KAFKA / "orders-0", copy)
    for suffix in ("index", "timeindex", "txnindex"):
        (copy / f"{FIRST}.{suffix}").unlink()
    rebuilt(str(copy), interval_bytes=200)
    assert content(copy) == content(KAFKA / "orders-0")


@pytest.mark.parametrize(
    ("position", "spoilt", "why"),
    [
        (16, b"\x09", "byte 0: no batch can begin so (magic 9); 361 bytes follow"),
        (100, b"!", "byte 0: the batch up to offset 1 fails its CRC"),
        (102, b"\x7f", "byte 102: offset 9151314442816847875 where 2 was expected"),
    ],
)
def test_a_segment_that_cannot_be_read_keeps_its_indexes(
    position: int, spoilt: bytes, why: str, partition: Path
) -> None:
    spoil(partition / f"{FIRST}.log", position, spoilt)
    (partition / f"{FIRST}.index").unlink()
    (partition / f"{SECOND}.index").unlink()
    (partition / f"{SECOND}.txnindex").unlink()
    assert rebuilt(status=1) == [
        f"orders-0/{FIRST}.log, {why}",
        "    its indexes are left alone; run `ottla log verify` to see what can be done",
        f"orders-0/{SECOND}.index: was missing; now 1 entry",
        f"orders-0/{SECOND}.timeindex: as it should be, 1 entry",
        "orders-0: 1 file changed",
    ]
    # Which transactions were open at its beginning is not known.
    assert not (partition / f"{SECOND}.txnindex").exists()


def test_a_marker_that_cannot_be_read_is_damage(tmp_path: Path) -> None:
    partition = tmp_path / "orders-0"
    new_log(partition).close()
    builder = BatchBuilder(producer_id=1, producer_epoch=0, is_control=True)
    builder.append(b"?", None, timestamp=NOW_MS)
    (partition / f"{FIRST}.log").write_bytes(builder.build())
    assert "byte 0: a control batch that cannot be read: " in rebuilt(str(partition), status=1)[0]


def test_a_transaction_from_before_the_first_segment_is_known_from_the_snapshot(tmp_path: Path) -> None:
    partition = tmp_path / "orders-0"
    new_log(partition).close()
    for path in partition.glob(f"{FIRST}.*"):
        path.rename(partition / f"00000000000000000100{path.suffix}")
    marker = end_transaction_batch(
        EndTransactionMarker(False, 3), producer_id=PRODUCER_ID, producer_epoch=1, timestamp=NOW_MS, base_offset=100
    )
    (partition / "00000000000000000100.log").write_bytes(marker)
    assert rebuilt(str(partition))[-1].endswith(": 1 file changed")  # the time index has its entry now
    producer = ProducerEntry(PRODUCER_ID, 1, 3, NOW_MS, transaction_first_offset=90)
    (partition / "00000000000000000100.snapshot").write_bytes(encode_snapshot([producer]))
    assert f"{partition}/00000000000000000100.txnindex: was missing; now 1 entry" in rebuilt(str(partition))


def test_a_directory_that_a_broker_holds_is_left_alone(partition: Path, tmp_path: Path) -> None:
    lock = OsDisk().lock(str(tmp_path / ".lock"))
    with pytest.raises(UsageError, match=r"a broker is running on .*: stop it first"):
        rebuilt()
    lock.release()
    assert rebuilt()[-1] == "orders-0: 0 files changed"


def test_a_directory_that_apache_kafka_holds_is_left_alone(partition: Path, tmp_path: Path) -> None:
    # Java locks with fcntl, and only another process sees that.
    path = tmp_path / ".lock"
    path.touch()
    code = (
        "import fcntl, sys; file = open(sys.argv[1], 'r+b'); fcntl.lockf(file, 2); print(flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with pytest.raises(UsageError, match="a broker is running on"):
            rebuilt()
        holder.communicate()
    assert rebuilt()[-1] == "orders-0: 0 files changed"
    with path.open("r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # and it let go of both


def test_no_lock_is_left_where_none_was(partition: Path, tmp_path: Path) -> None:
    rebuilt()
    assert not (tmp_path / ".lock").exists()

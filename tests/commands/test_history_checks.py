"""Leader epochs and aborted transactions against the batches."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from ottla.wire.records import BatchBuilder
from tests.commands.sample_logs import FIRST, NOW_MS, PRODUCER_ID, SECOND, new_log, orders, spoil, transaction
from tests.commands.test_index_checks import found, told

EPOCHS = "leader-epoch-checkpoint"
ABORTED = f"{SECOND}.txnindex"


def entry(producer_id: int = PRODUCER_ID, first: int = 6, last: int = 7, stable: int = 8) -> bytes:
    return struct.pack(">hqqqq", 0, producer_id, first, last, stable)


# Epochs


def test_an_epoch_that_the_history_does_not_have_is_found(tmp_path: Path) -> None:
    partition = orders(tmp_path)
    (partition / EPOCHS).write_text("0\n1\n0 0\n")
    what = "offset 6 was written in leader epoch 1, but the history says 0"
    assert told(partition)[0] == (EPOCHS, None, what)


def test_a_lost_history_is_found(tmp_path: Path) -> None:
    partition = orders(tmp_path)
    (partition / EPOCHS).unlink()
    what = "offset 0 was written in leader epoch 0, but the history is empty"
    assert told(partition)[0] == (EPOCHS, None, what)


def test_a_damaged_history_is_found_with_its_line(tmp_path: Path) -> None:
    partition = orders(tmp_path)
    (partition / EPOCHS).write_text("0\n2\n0 0\n")
    assert told(partition) == [(EPOCHS, None, "line 2: 2 entries are announced, 1 follow")]


def test_a_history_that_begins_after_deleted_records_is_fine(tmp_path: Path) -> None:
    partition = orders(tmp_path)
    (partition / EPOCHS).write_text("0\n1\n1 6\n")
    assert told(partition) == []


def test_an_epoch_behind_the_end_is_a_note(tmp_path: Path) -> None:
    partition = orders(tmp_path)
    (partition / EPOCHS).write_text("0\n3\n0 0\n1 6\n2 11\n")
    (note,) = found(partition)
    assert (note.is_damage, note.what) == (False, "epoch 2 begins at offset 11, after the end of the log, 10")


def test_epochs_that_go_back_are_damage_of_the_log(tmp_path: Path) -> None:
    partition = orders(tmp_path)
    spoil(partition / f"{SECOND}.log", 151 + 12, struct.pack(">i", 0))
    assert told(partition)[0] == (f"{SECOND}.log", 151, "leader epoch 0 after epoch 1")


def test_batches_without_an_epoch_say_nothing(tmp_path: Path) -> None:
    partition = orders(tmp_path)
    spoil(partition / f"{SECOND}.log", 151 + 12, struct.pack(">i", -1))
    assert told(partition) == []


# Transactions


@pytest.mark.parametrize(
    ("data", "position", "what"),
    [
        (
            b"",
            None,
            "offsets 6 to 7 of producer 7 were aborted, but there is no entry: consumers would see their records",
        ),
        (entry(producer_id=8), 0, "entry 0 names producer 8, but the marker is of 7"),
        (entry(first=5), 0, "entry 0 says that the transaction began at offset 5, it was 6"),
        (entry(first=7), 0, "entry 0 says that the transaction began at offset 7, it was 6"),
        (entry(stable=9), 0, "entry 0 says that all before offset 9 was decided, it was 8"),
        (entry() + entry(last=9), 34, "entry 1 names an abort marker of producer 7 at offset 9, where there is none"),
        (entry() + entry(), 34, "entry 1 is not after the one before it, whose marker is at offset 7"),
        (entry() + b"\1", 34, "1 bytes are no entry of 34"),
        (b"\1" + entry()[1:], None, "an entry of version 256, only 0 is known"),
    ],
)
def test_the_index_of_aborted_transactions_must_agree_with_the_markers(
    data: bytes, position: int | None, what: str, tmp_path: Path
) -> None:
    partition = orders(tmp_path)
    (partition / ABORTED).write_bytes(data)
    assert told(partition) == [(ABORTED, position, what)]


def test_a_missing_index_of_aborted_transactions_is_found(tmp_path: Path) -> None:
    partition = orders(tmp_path)
    (partition / ABORTED).unlink()
    assert [name for name, _, _ in told(partition)] == [ABORTED]


def test_a_commit_is_no_abort(tmp_path: Path) -> None:
    partition = orders(tmp_path)
    (partition / f"{FIRST}.txnindex").write_bytes(entry(first=4, last=5, stable=6))
    what = "entry 0 names an abort marker of producer 7 at offset 5, where there is none"
    assert told(partition) == [(f"{FIRST}.txnindex", 0, what)]


def test_a_marker_whose_records_are_gone_needs_no_entry_and_may_have_one(tmp_path: Path) -> None:
    partition = tmp_path / "compacted-0"
    log = new_log(partition)
    transaction(log, 0, is_commit=False, at_ms=0)
    log.close()
    path = partition / f"{FIRST}.log"
    data = path.read_bytes()
    marker = data[data.index(b"maybe") + len(b"maybe") + 1 :]
    path.write_bytes(marker)
    assert [name for name, _, _ in told(partition)] == ["partition.metadata"]
    (partition / f"{FIRST}.txnindex").unlink()
    assert [name for name, _, _ in told(partition)] == ["partition.metadata"]


def test_a_control_batch_that_cannot_be_read_is_damage_of_the_log(tmp_path: Path) -> None:
    partition = tmp_path / "orders-0"
    log = new_log(partition)
    builder = BatchBuilder(producer_id=1, producer_epoch=0, is_control=True, leader_epoch=0)
    builder.append(b"?", None, timestamp=NOW_MS)
    log.close()
    (partition / f"{FIRST}.log").write_bytes(builder.build())
    (name, position, what), *_ = [line for line in told(partition) if line[0].endswith(".log")]
    assert (name, position) == (f"{FIRST}.log", 0)
    assert what.startswith("a control batch that cannot be read: ")


def test_control_batches_without_a_marker_say_nothing(tmp_path: Path) -> None:
    partition = tmp_path / "orders-0"
    log = new_log(partition)
    log.close()
    emptied = BatchBuilder(is_control=True).build(last_offset=0, max_timestamp=NOW_MS)
    (partition / f"{FIRST}.log").write_bytes(emptied)
    assert [name for name, _, _ in told(partition)] == ["partition.metadata"]

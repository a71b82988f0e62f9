"""A partition's state: from a record, through changes, back to a record."""

from __future__ import annotations

import pytest
from hypothesis import given

from ottla.cluster.image.directory_ids import MIGRATING
from ottla.cluster.image.partitions import NO_LEADER, Partition, partition_of
from ottla.cluster.metadata_log import MetadataLogError
from ottla.wire.stored.metadata_records import PartitionChangeRecord, PartitionRecord
from tests.wire.strategies import messages

TOPIC_ID = bytes(range(16))
DIRECTORIES = (b"a" * 16, b"b" * 16, b"c" * 16)
PARTITION = Partition((1, 2, 3), DIRECTORIES, (1, 2), leader=1, leader_epoch=5, partition_epoch=9)


def change(**values: object) -> PartitionChangeRecord:
    return PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, **values)  # type: ignore[arg-type]


def test_every_change_raises_the_partition_epoch_and_only_a_leader_the_leader_epoch() -> None:
    shrunk = PARTITION.changed(change(isr=[1]))
    assert (shrunk.isr, shrunk.leader_epoch, shrunk.partition_epoch) == ((1,), 5, 10)
    moved = PARTITION.changed(change(leader=2))
    assert (moved.leader, moved.leader_epoch, moved.partition_epoch) == (2, 6, 10)
    again = PARTITION.changed(change(leader=1))
    assert (again.leader, again.leader_epoch) == (1, 6), "naming the same leader raises the epoch as well"


def test_a_change_touches_what_it_names() -> None:
    after = PARTITION.changed(
        change(
            replicas=[3, 4],
            directories=[b"x" * 16, b"y" * 16],
            removing_replicas=[3],
            adding_replicas=[4],
            leader_recovery_state=1,
            eligible_leader_replicas=[2],
            last_known_elr=[1],
        )
    )
    assert (after.replicas, after.directories) == ((3, 4), (b"x" * 16, b"y" * 16))
    assert (after.removing_replicas, after.adding_replicas) == ((3,), (4,))
    assert (after.leader_recovery_state, after.elr, after.last_known_elr) == (1, (2,), (1,))
    assert after.changed(change()) == after._replace(partition_epoch=11)


def test_clearing_the_elr_is_a_change_only_if_there_is_one() -> None:
    assert PARTITION.without_elr() is PARTITION
    assert PARTITION._replace(elr=(3,)).without_elr() == PARTITION._replace(partition_epoch=10)
    assert PARTITION._replace(last_known_elr=(3,)).without_elr() == PARTITION._replace(partition_epoch=10)


def test_a_partition_knows_its_preferred_leader_and_where_its_replicas_are() -> None:
    assert PARTITION.has_preferred_leader
    assert not PARTITION._replace(leader=2).has_preferred_leader
    assert Partition((), (), ()).preferred_leader == NO_LEADER
    assert PARTITION.directory(2) == b"b" * 16
    assert PARTITION.directory(9) is None
    assert not PARTITION.is_reassigning
    assert PARTITION._replace(adding_replicas=(2,)).is_reassigning
    assert PARTITION._replace(removing_replicas=(2,)).is_reassigning


@given(messages(PartitionRecord, 2))
def test_a_record_comes_back_from_the_state_that_it_made(record: PartitionRecord) -> None:
    record.directories = [bytes([index]) * 16 for index, _ in enumerate(record.replicas)]
    record.eligible_leader_replicas = record.eligible_leader_replicas or None
    record.last_known_elr = record.last_known_elr or None
    assert partition_of(record).to_record(record.topic_id, record.partition_id) == record


def test_an_isr_of_all_replicas_is_the_same_object() -> None:
    record = PARTITION._replace(isr=(1, 2, 3)).to_record(TOPIC_ID, 0)
    partition = partition_of(record)
    assert partition.isr is partition.replicas


def test_an_old_metadata_version_knows_neither_directories_nor_elr() -> None:
    record = PARTITION._replace(elr=(3,), last_known_elr=(2,)).to_record(TOPIC_ID, 0, 16)
    assert (record.directories, record.eligible_leader_replicas, record.last_known_elr) == ([], None, None)
    assert partition_of(record).directories == (MIGRATING,) * 3


def test_an_assignment_of_before_directories_grows_without_them() -> None:
    old = PARTITION._replace(directories=(MIGRATING,) * 3)
    assert old.changed(change(replicas=[1, 2, 3, 4])).directories == (MIGRATING,) * 4


def test_directories_that_do_not_fit_the_replicas_are_refused() -> None:
    with pytest.raises(MetadataLogError, match="3 directories for 2 replicas"):
        PARTITION.changed(change(replicas=[1, 2]))

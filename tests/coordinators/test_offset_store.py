"""Offsets are what the log says, with and without transactions, in whatever order the log says it."""

from __future__ import annotations

from ottla.coordinators.offset_store import OffsetStore
from ottla.wire.records import NO_PRODUCER_ID
from ottla.wire.stored.classic_group_records import (
    LegacyOffsetCommitKey,
    LegacyOffsetCommitValue,
    OffsetCommitKey,
    OffsetCommitValue,
)

PARTITION = ("orders", 0)


class Log:
    """Gives records the next offset and replays them."""

    def __init__(self) -> None:
        self.store = OffsetStore()
        self._next = 0

    def commit(
        self, offset: int | None, *, producer_id: int = NO_PRODUCER_ID, partition: int = 0, group: str = "g"
    ) -> None:
        key = OffsetCommitKey(group=group, topic="orders", partition=partition)
        value = None if offset is None else OffsetCommitValue(offset=offset, metadata="", commit_timestamp=1)
        self.store.replay(key, value, self._next, producer_id)
        self._next += 1

    def offset(self, partition: int = 0) -> int | None:
        found = self.store.of_group("g").get(("orders", partition))
        return None if found is None else found.offset


def test_the_last_commit_counts_and_a_tombstone_ends_it() -> None:
    log = Log()
    log.commit(5)
    log.commit(6)
    assert log.offset() == 6
    assert log.store.groups() == ["g"]
    log.commit(None)
    assert log.offset() is None
    assert log.store.groups() == []


def test_a_transaction_counts_when_it_is_committed() -> None:
    log = Log()
    log.commit(5)
    log.commit(9, producer_id=1)
    assert (log.offset(), log.store.is_pending("g", PARTITION)) == (5, True)
    assert log.store.has_open_transaction("g")
    log.store.replay_marker(1, is_commit=True)
    assert (log.offset(), log.store.is_pending("g", PARTITION)) == (9, False)
    assert not log.store.has_open_transaction("g")


def test_an_aborted_transaction_leaves_nothing() -> None:
    log = Log()
    log.commit(9, producer_id=1)
    log.store.replay_marker(1, is_commit=False)
    log.store.replay_marker(1, is_commit=False)
    assert (log.offset(), log.store.groups()) == (None, [])


def test_a_later_plain_commit_is_not_undone_by_an_earlier_transaction() -> None:
    log = Log()
    log.commit(9, producer_id=1)
    log.commit(5)
    log.store.replay_marker(1, is_commit=True)
    assert log.offset() == 5


def test_a_tombstone_takes_pending_offsets_too() -> None:
    log = Log()
    log.commit(9, producer_id=1)
    log.commit(8, producer_id=2, partition=1)
    log.commit(7, producer_id=2)
    assert [key for key, _ in log.store.known("g")] == [PARTITION, ("orders", 1), PARTITION]
    log.commit(None)
    assert not log.store.is_pending("g", PARTITION)
    assert log.store.has_open_transaction("g")
    log.store.replay_marker(1, is_commit=True)
    log.store.replay_marker(2, is_commit=True)
    assert (log.offset(), log.offset(1)) == (None, 8)


def test_groups_of_one_producer_are_told_apart() -> None:
    log = Log()
    log.commit(1, producer_id=1)
    log.commit(2, producer_id=1, group="h")
    log.commit(None, group="h")
    assert log.store.groups() == ["g"]
    log.store.replay_marker(1, is_commit=True)
    assert log.offset() == 1
    assert log.store.of_group("h") == {}


def test_records_of_old_brokers_are_read() -> None:
    store = OffsetStore()
    key = LegacyOffsetCommitKey(group="g", topic="orders", partition=0)
    store.replay(key, LegacyOffsetCommitValue(offset=4, metadata="old", commit_timestamp=3), 0, NO_PRODUCER_ID)
    found = store.of_group("g")[PARTITION]
    assert (found.offset, found.metadata, found.leader_epoch, found.expire_timestamp_ms) == (4, "old", -1, None)


def test_a_retention_of_its_own_is_kept() -> None:
    store = OffsetStore()
    value = OffsetCommitValue(offset=4, metadata="", commit_timestamp=3, expire_timestamp=9)
    store.replay(OffsetCommitKey(group="g", topic="orders", partition=0), value, 0, NO_PRODUCER_ID)
    assert store.of_group("g")[PARTITION].expire_timestamp_ms == 9

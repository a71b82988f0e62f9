"""What a partition takes from producers, what it remembers of them, and for how long (failure classes 21 and 29)."""

from __future__ import annotations

import pytest

from ottla.storage.producer_entry import SEQUENCE_MAX
from ottla.storage.producer_snapshot import ProducerSnapshots, encode_snapshot
from ottla.storage.producer_state import LATE_TRANSACTION_MS, AppendOrigin, ProducerState
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.records import BatchBuilder, ControlType, RecordBatch, control_key
from tests.storage.fake_disk import FakeDisk
from tests.storage.producer_batches import NOW_MS, data_batch, marker_batch

COORDINATOR = AppendOrigin.COORDINATOR
DAY_MS = 24 * 3600 * 1000


def code_of_check(
    state: ProducerState, batch: RecordBatch, origin: AppendOrigin = AppendOrigin.CLIENT
) -> ErrorCode | None:
    before = encode_snapshot(state.producers.values())
    try:
        state.check(batch, origin)
    except KafkaError as error:
        return error.code if error.message.startswith("t-0, producer ") else None
    finally:
        assert encode_snapshot(state.producers.values()) == before, "a check changes nothing"
    return None


def append(state: ProducerState, batch: RecordBatch, origin: AppendOrigin = AppendOrigin.CLIENT) -> None:
    """Check and apply, and complete what was completed."""
    assert state.check(batch, origin) is None
    completed = state.apply(batch, NOW_MS)
    if completed is not None:
        state.complete(completed)


def state_with(*batches: RecordBatch) -> ProducerState:
    state = ProducerState("t-0")
    for batch in batches:
        append(state, batch, COORDINATOR if batch.is_control else AppendOrigin.CLIENT)
    return state


# Idempotence


def test_batches_in_sequence_are_taken() -> None:
    state = state_with(data_batch(7, 0, 0, count=3), data_batch(7, 3, 3), data_batch(8, 0, 4), data_batch(7, 4, 5))
    assert state.producers[7].last_sequence == 4
    assert state.end_offset == 6


def test_a_batch_sent_again_is_told_where_it_is() -> None:
    state = state_with(*(data_batch(7, 2 * n, 10 * n, count=2, timestamp=n) for n in range(6)))
    for n in range(1, 6):
        appended = state.check(data_batch(7, 2 * n, 999, count=2))
        assert appended is not None
        assert (appended.first_offset, appended.last_offset, appended.timestamp) == (10 * n, 10 * n + 1, n)
    assert state.duplicate_of(data_batch(7, 0, 999, count=2)) is None
    assert state.duplicate_of(data_batch(7, 10, 999, count=1)) is None
    assert state.duplicate_of(data_batch(7, 10, 999, count=2, epoch=1)) is None
    assert state.duplicate_of(data_batch(9, 10, 999)) is None


def refused_old(state: ProducerState, sequence: int, count: int, committed_end: int = 1000) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        state.check(data_batch(7, sequence, 999, count=count), committed_end=committed_end)
    return caught.value.code


def test_a_batch_before_the_last_five_is_known_to_be_in_the_log() -> None:
    """KAFKA-9199: Kafka takes it for one out of order, and Java's producer then sends it for ever."""
    state = state_with(*(data_batch(7, 2 * n, 10 * n, count=2) for n in range(8)))
    for n in range(3):
        assert refused_old(state, 2 * n, 2) is ErrorCode.DUPLICATE_SEQUENCE_NUMBER
    # The oldest that is remembered begins at offset 30: what came before it may not be replicated yet.
    assert refused_old(state, 0, 2, committed_end=30) is ErrorCode.DUPLICATE_SEQUENCE_NUMBER
    assert refused_old(state, 0, 2, committed_end=29) is ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
    # Neither what is partly among the last five, nor what they hold in other batches, nor what comes too early.
    assert refused_old(state, 4, 4) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert refused_old(state, 7, 2) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert refused_old(state, 17, 1) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_what_was_never_seen_is_not_taken_for_being_in_the_log() -> None:
    """A producer that was forgotten goes on with any number: those before it may be lost."""
    state = state_with(*(data_batch(7, 100 + n, n) for n in range(8)))
    assert refused_old(state, 99, 1) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert refused_old(state, 99, 2) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert refused_old(state, 100, 1) is ErrorCode.DUPLICATE_SEQUENCE_NUMBER


def test_an_epoch_knows_nothing_of_the_numbers_of_the_one_before() -> None:
    state = state_with(
        *(data_batch(7, n, n) for n in range(20)), *(data_batch(7, n, 20 + n, epoch=1) for n in range(3))
    )
    assert code_of_check(state, data_batch(7, 12, 999, epoch=1)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert code_of_check(state, data_batch(7, 12, 999)) is ErrorCode.INVALID_PRODUCER_EPOCH


def test_old_batches_are_known_across_the_end_of_the_numbers() -> None:
    state = state_with(*(data_batch(7, (SEQUENCE_MAX - 3 + n) & SEQUENCE_MAX, n) for n in range(12)))
    assert refused_old(state, SEQUENCE_MAX - 2, 1) is ErrorCode.DUPLICATE_SEQUENCE_NUMBER
    assert refused_old(state, 1, 1) is ErrorCode.DUPLICATE_SEQUENCE_NUMBER
    assert refused_old(state, 50, 1) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_gap_is_refused() -> None:
    state = state_with(data_batch(7, 0))
    assert code_of_check(state, data_batch(7, 2)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_sequence_numbers_wrap_around() -> None:
    state = state_with(data_batch(7, SEQUENCE_MAX - 1, 0, count=4), data_batch(7, 2, 4))
    appended = state.check(data_batch(7, SEQUENCE_MAX - 1, 9, count=4))
    assert appended is not None
    assert (appended.first_offset, appended.last_offset) == (0, 3)


def test_a_new_epoch_begins_at_zero_and_fences_the_old() -> None:
    state = state_with(data_batch(7, 0), data_batch(7, 0, 1, epoch=1))
    assert code_of_check(state, data_batch(7, 1, epoch=0)) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert code_of_check(state, data_batch(7, 5, epoch=2)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert code_of_check(state, data_batch(7, 1, epoch=1)) is None


def test_a_client_may_not_write_control_batches_nor_negative_sequence_numbers() -> None:
    state = ProducerState("t-0")
    assert code_of_check(state, marker_batch()) is ErrorCode.INVALID_RECORD
    assert code_of_check(state, data_batch(7, -1)) is ErrorCode.INVALID_RECORD


def test_coordinators_write_without_sequence_numbers() -> None:
    state = ProducerState("t-0")
    for offset in (0, 1):
        append(state, data_batch(7, -1, offset, is_transactional=True), COORDINATOR)
    assert state.producers[7].last_sequence == -1
    assert code_of_check(state, data_batch(7, -1, 2, epoch=-1), COORDINATOR) is ErrorCode.INVALID_PRODUCER_EPOCH


def test_a_follower_takes_what_the_leader_took() -> None:
    state = state_with(data_batch(7, 0, 0, epoch=3, is_transactional=True))
    for batch in (data_batch(7, 99, 1, epoch=1), marker_batch(7, 2, epoch=0)):
        assert state.check(batch, AppendOrigin.REPLICATION) is None
        state.apply(batch, NOW_MS)
    assert state.producers[7].producer_epoch == 0


def test_a_batch_that_is_in_sequence_may_still_be_one_that_came_before() -> None:
    """A follower takes sequence numbers as they come; as the leader it still knows each of them."""
    state = ProducerState("t-0")
    for offset, sequence in enumerate([5, 4]):
        state.apply(data_batch(7, sequence, offset), NOW_MS)
    appended = state.check(data_batch(7, 5, 9))
    assert appended is not None
    assert appended.first_offset == 0


# Transactions


def test_readers_wait_for_the_marker_and_for_its_replication() -> None:
    state = state_with(data_batch(7, 0, 0, is_transactional=True), data_batch(8, 0, 1))
    state.advance_high_watermark(2)
    assert state.last_stable_offset(2, 0) == 0
    append(state, marker_batch(7, 2), COORDINATOR)
    assert state.last_stable_offset(2, 0) == 0
    assert (state.first_unstable_offset, state.first_undecided_offset) == (0, None)
    state.advance_high_watermark(3)
    assert state.last_stable_offset(3, 0) == 3
    assert state.first_unstable_offset is None


def test_the_last_stable_offset_is_never_before_the_log_nor_past_the_high_watermark() -> None:
    state = state_with(data_batch(7, 0, 10, is_transactional=True))
    assert state.last_stable_offset(5, 0) == 5
    assert state.last_stable_offset(10, 0) == 10
    assert state.last_stable_offset(20, 0) == 10
    assert state.last_stable_offset(20, 15) == 15


def test_an_aborted_transaction_is_told_to_the_index() -> None:
    state = state_with(data_batch(7, 0, 0, is_transactional=True), data_batch(8, 0, 1, is_transactional=True))
    completed = state.apply(marker_batch(8, 2, is_commit=False), NOW_MS)
    assert completed == (8, 1, 2, True)
    assert state.stable_offset_after(completed) == 0
    state.complete(completed)
    completed = state.apply(marker_batch(7, 3), NOW_MS)
    assert completed == (7, 0, 3, False)
    assert state.stable_offset_after(completed) == 4


def test_a_marker_without_a_transaction_only_raises_epochs() -> None:
    state = ProducerState("t-0")
    assert state.apply(marker_batch(7, 5, epoch=2, coordinator_epoch=9, timestamp=77), NOW_MS) is None
    entry = state.producers[7]
    assert (entry.producer_epoch, entry.coordinator_epoch, entry.last_timestamp, entry.batches) == (2, 9, 77, [])
    assert state.end_offset == 6


def test_markers_are_checked_for_coordinators() -> None:
    state = state_with(
        data_batch(7, 0, 0, epoch=3, is_transactional=True), marker_batch(7, 1, epoch=3, coordinator_epoch=5)
    )
    fenced = code_of_check(state, marker_batch(7, 2, epoch=3, coordinator_epoch=4), COORDINATOR)
    assert fenced is ErrorCode.TRANSACTION_COORDINATOR_FENCED
    old = code_of_check(state, marker_batch(7, 2, epoch=2, coordinator_epoch=5), COORDINATOR)
    assert old is ErrorCode.INVALID_PRODUCER_EPOCH
    append(state, data_batch(7, 1, 2, epoch=3, is_transactional=True))
    marker = marker_batch(7, 3, epoch=3, coordinator_epoch=5)
    assert state.check(marker, COORDINATOR, transaction_version=1) is None
    with pytest.raises(KafkaError, match="must raise the epoch"):
        state.check(marker, COORDINATOR, transaction_version=2)


def test_control_batches_that_are_no_markers_only_move_the_end() -> None:
    state = ProducerState("t-0")
    builder = BatchBuilder(base_offset=4, producer_id=7, producer_epoch=0, is_control=True)
    builder.append(control_key(ControlType.LEADER_CHANGE), b"", timestamp=NOW_MS)
    assert state.apply(RecordBatch(memoryview(builder.build())), NOW_MS) is None
    assert (len(state.producers), state.end_offset) == (0, 5)


def test_an_unreadable_marker_changes_nothing() -> None:
    state = state_with(data_batch(7, 0, 0, is_transactional=True))
    with pytest.raises(KafkaError):
        state.apply(data_batch(7, 0, 1, is_control=True), NOW_MS)
    assert state.end_offset == 1
    assert state.has_ongoing_transaction(7, 0)


def test_plain_batches_do_not_mix_with_an_open_transaction() -> None:
    state = state_with(data_batch(7, 0, 0, is_transactional=True))
    assert code_of_check(state, data_batch(7, 1, 1)) is ErrorCode.INVALID_TXN_STATE
    append(state, data_batch(7, 1, 1, is_transactional=True))
    append(state, marker_batch(7, 2), COORDINATOR)
    append(state, data_batch(7, 2, 3))


def test_a_new_epoch_goes_on_with_the_open_transaction() -> None:
    state = state_with(data_batch(7, 0, 0, is_transactional=True), data_batch(7, 0, 1, epoch=1, is_transactional=True))
    completed = state.apply(marker_batch(7, 2, epoch=1), NOW_MS)
    assert completed is not None
    assert completed.first_offset == 0


def test_a_transaction_that_nobody_writes_to_is_late() -> None:
    state = ProducerState("t-0")
    assert not state.has_late_transaction(NOW_MS, 1000)
    append(state, data_batch(7, 0, 0, is_transactional=True))
    append(state, data_batch(8, 0, 1, is_transactional=True, timestamp=-1))
    assert not state.has_late_transaction(NOW_MS + 1000 + LATE_TRANSACTION_MS, 1000)
    assert state.has_late_transaction(NOW_MS + 1001 + LATE_TRANSACTION_MS, 1000)
    append(state, marker_batch(7, 2), COORDINATOR)
    assert not state.has_late_transaction(NOW_MS + DAY_MS, 1000)  # the other one has no time to go by


# Verification


def test_with_verification_a_transaction_begins_only_under_its_guard() -> None:
    state = ProducerState("t-0", is_verification_required=True)
    batch = data_batch(7, 0, 0, is_transactional=True)
    assert code_of_check(state, batch) is ErrorCode.INVALID_TXN_STATE
    guard = state.verify(7, 0, 0, is_epoch_bumped=False, now_ms=NOW_MS)
    assert guard is not None
    assert code_of_check(state, batch) is ErrorCode.INVALID_TXN_STATE
    assert state.check(batch, guard=guard) is None
    state.apply(batch, NOW_MS)
    assert state.verify(7, 1, 0, is_epoch_bumped=False, now_ms=NOW_MS) is None
    assert code_of_check(state, data_batch(7, 1, 1, is_transactional=True)) is None


def test_a_guard_is_no_good_after_its_transaction() -> None:
    """A batch that was verified, but comes after the marker, must not open a transaction that nobody will end."""
    state = ProducerState("t-0", is_verification_required=True)
    guard = state.verify(7, 0, 0, is_epoch_bumped=False, now_ms=NOW_MS)
    state.apply(marker_batch(7, 0), NOW_MS)
    with pytest.raises(KafkaError, match="verified"):
        state.check(data_batch(7, 0, 1, is_transactional=True), guard=guard)


def test_coordinators_need_the_guard_too() -> None:
    state = ProducerState("t-0", is_verification_required=True)
    batch = data_batch(7, -1, 0, is_transactional=True)
    assert code_of_check(state, batch, COORDINATOR) is ErrorCode.INVALID_TXN_STATE
    guard = state.verify(7, -1, 0, is_epoch_bumped=False, now_ms=NOW_MS)
    assert state.check(batch, COORDINATOR, guard=guard) is None


def test_a_batch_that_overtook_another_waits() -> None:
    state = state_with(data_batch(7, 0, 0))
    state.verify(7, 1, 0, is_epoch_bumped=False, now_ms=NOW_MS)
    assert code_of_check(state, data_batch(7, 2, 1, is_transactional=True)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert code_of_check(state, data_batch(7, 1, 1, is_transactional=True)) is None


def test_an_old_epoch_is_not_verified() -> None:
    state = state_with(data_batch(7, 0, 0, epoch=3))
    with pytest.raises(KafkaError) as caught:
        state.verify(7, 0, 2, is_epoch_bumped=True, now_ms=NOW_MS)
    assert caught.value.code is ErrorCode.INVALID_PRODUCER_EPOCH


# Forgetting


def test_idle_producers_expire_by_our_clock_and_not_by_their_timestamps() -> None:
    """KAFKA-9144 and its kin: records from last year do not make a producer of today an old one."""
    state = ProducerState("t-0", expiration_ms=DAY_MS)
    state.apply(data_batch(7, 0, 0, timestamp=1), NOW_MS)
    state.apply(marker_batch(8, 1, timestamp=1), NOW_MS)
    state.verify(9, 0, 0, is_epoch_bumped=True, now_ms=NOW_MS)
    assert state.expire(NOW_MS + DAY_MS - 1) == 0
    assert code_of_check(state, data_batch(7, 5)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert state.expire(NOW_MS + DAY_MS) == 2
    assert len(state.producers) == 0
    assert code_of_check(state, data_batch(7, 5)) is None
    state.apply(data_batch(7, 5, 2), NOW_MS)
    assert state.producers[7].last_sequence == 5


def test_a_producer_with_an_open_transaction_does_not_expire() -> None:
    state = state_with(data_batch(7, 0, 0, is_transactional=True))
    assert state.expire(NOW_MS + 10 * DAY_MS) == 0
    append(state, marker_batch(7, 1), COORDINATOR)
    assert state.expire(NOW_MS + 10 * DAY_MS) == 1


def test_ever_new_producer_ids_do_not_cost_ever_more_memory() -> None:
    """Class 21: the producer that was idle longest goes first."""
    state = ProducerState("t-0", producers_max=3)
    for offset, producer_id in enumerate([1, 2, 3, 1, 4, 5]):
        state.apply(data_batch(producer_id, offset, offset), NOW_MS)
    assert list(state.producers) == [1, 4, 5]
    for producer_id in range(1000):
        state.apply(data_batch(producer_id, 0, 100 + producer_id), NOW_MS)
    assert len(state.producers) == 3


def test_the_bound_spares_open_transactions() -> None:
    state = ProducerState("t-0", producers_max=2)
    append(state, data_batch(1, 0, 0, is_transactional=True))
    append(state, data_batch(2, 0, 1))
    append(state, data_batch(3, 0, 2, is_transactional=True))
    assert set(state.producers) == {1, 3}
    append(state, data_batch(4, 0, 3))  # nobody can go
    assert set(state.producers) == {1, 3, 4}
    append(state, data_batch(5, 0, 4))
    assert set(state.producers) == {1, 3, 5}
    assert state.last_stable_offset(10, 0) == 0


def test_questions_to_the_coordinator_are_bounded_too() -> None:
    state = ProducerState("t-0", producers_max=2, is_verification_required=True)
    guards = [state.verify(n, 0, 0, is_epoch_bumped=True, now_ms=NOW_MS) for n in range(3)]
    with pytest.raises(KafkaError, match="verified"):
        state.check(data_batch(0, 0, 0, is_transactional=True), guard=guards[0])
    assert state.check(data_batch(2, 0, 0, is_transactional=True), guard=guards[2]) is None


# Remembering


def snapshots_on(disk: FakeDisk) -> ProducerSnapshots:
    disk.make_directory("/t-0")
    disk.sync_directory("/")
    return ProducerSnapshots(disk, "/t-0")


def test_a_retry_is_known_after_a_restart() -> None:
    """Class 29: snapshot, power cut, reload, replay of what came after it."""
    disk = FakeDisk()
    snapshots = snapshots_on(disk)
    log = [data_batch(7, n, n, is_transactional=n == 3) for n in range(4)]
    state = state_with(*log[:2])
    snapshots.take(state.end_offset, state.producers.values())
    for batch in log[2:]:
        append(state, batch)
    disk.crash()

    restarted = ProducerState("t-0")
    replay_from = restarted.truncate_and_reload(ProducerSnapshots(disk, "/t-0"), 0, 4, NOW_MS)
    assert replay_from == 2
    for batch in log[replay_from:]:
        restarted.apply(batch, NOW_MS)
    appended = restarted.check(data_batch(7, 2, 99))
    assert appended is not None
    assert appended.first_offset == 2
    assert restarted.last_stable_offset(4, 0) == 3
    assert encode_snapshot(restarted.producers.values()) == encode_snapshot(state.producers.values())


def test_a_restart_does_not_forget_producers_of_old_records() -> None:
    """Class 29: what is loaded is as young as the restart, so a retry across it is still recognised."""
    snapshots = snapshots_on(FakeDisk())
    snapshots.take(1, state_with(data_batch(7, 0, 0, timestamp=1)).producers.values())
    state = ProducerState("t-0", expiration_ms=DAY_MS)
    state.truncate_and_reload(snapshots, 0, 1, NOW_MS)
    assert state.expire(NOW_MS + DAY_MS - 1) == 0
    assert state.check(data_batch(7, 0, 9)) is not None
    assert state.expire(NOW_MS + DAY_MS) == 1


def test_open_transactions_are_loaded_in_the_order_of_their_offsets() -> None:
    snapshots = snapshots_on(FakeDisk())
    before = state_with(
        data_batch(9, 0, 0, is_transactional=True),
        data_batch(3, 0, 1, is_transactional=True, timestamp=5),
        data_batch(5, 0, 2, timestamp=4),
    )
    snapshots.take(3, before.producers.values())
    state = ProducerState("t-0")
    state.truncate_and_reload(snapshots, 0, 3, NOW_MS)
    assert list(state.producers) == [5, 3, 9]  # the oldest would be evicted first
    assert state.first_unstable_offset == 0
    append(state, marker_batch(9, 3), COORDINATOR)
    state.advance_high_watermark(4)
    assert state.first_unstable_offset == 1


def test_a_truncated_log_forgets_what_was_cut() -> None:
    snapshots = snapshots_on(FakeDisk())
    state = ProducerState("t-0")
    for n in range(6):
        append(state, data_batch(7, n, n))
        if n in (1, 3):
            snapshots.take(n + 1, state.producers.values())
    assert state.truncate_and_reload(snapshots, 0, 3, NOW_MS) == 2
    assert snapshots.offsets == [2]
    state.apply(data_batch(7, 2, 2), NOW_MS)
    append(state, data_batch(7, 3, 3))


def test_a_damaged_snapshot_means_a_longer_replay_and_no_wrong_state() -> None:
    disk = FakeDisk()
    snapshots = snapshots_on(disk)
    state = ProducerState("t-0")
    for n in range(4):
        append(state, data_batch(7, n, n))
        snapshots.take(n + 1, state.producers.values())
    disk.flip(snapshots.path(4), 30)
    disk.flip(snapshots.path(3), 30)
    assert ProducerState("t-0").truncate_and_reload(snapshots, 0, 4, NOW_MS) == 2
    assert snapshots.offsets == [1, 2]


def test_without_a_snapshot_all_of_the_log_is_replayed() -> None:
    state = state_with(data_batch(7, 0, 0))
    assert state.truncate_and_reload(snapshots_on(FakeDisk()), 10, 20, NOW_MS) == 10
    assert len(state.producers) == 0


def test_retention_deletes_snapshots_but_no_producers() -> None:
    """KAFKA-7190: a producer whose records have all been deleted can still go on, and is still recognised."""
    snapshots = snapshots_on(FakeDisk())
    state = state_with(data_batch(7, 0, 0, is_transactional=True), marker_batch(7, 1), data_batch(7, 1, 2))
    for offset in (1, 2, 3):
        snapshots.take(offset, state.producers.values())
    assert state.last_stable_offset(3, 0) == 0
    assert state.truncate_and_reload(snapshots, 2, 3, NOW_MS) == 3
    assert snapshots.offsets == [2, 3]
    assert state.first_unstable_offset is None
    assert state.check(data_batch(7, 1, 9)) is not None


def test_the_end_is_never_before_the_start_of_the_log() -> None:
    state = state_with(data_batch(7, 0, 0))
    state.advance_log_start(50)
    assert state.end_offset == 50
    assert 7 in state.producers

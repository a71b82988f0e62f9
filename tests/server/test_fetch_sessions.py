"""Sessions remember what was asked and tell what changed; slots go to those who have the better right (KIP-227)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from typing import Any

import pytest

from ottla.server.fetch_sessions import EPOCH_MAX, FetchSessions, Wanted, random_id
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.fetch import FetchRequest, FetchResponse
from tests.server.world import NOW_MS, TOPIC_ID, fetching

EVICTION_MS = 120_000


def sessions(slots: int = 10, **more: Any) -> FetchSessions:
    ids = count(1)
    return FetchSessions(slots, EVICTION_MS, new_id=lambda: next(ids), **more)


def begin(held: FetchSessions, indexes: Iterable[int] = (0,), *, now_ms: int = NOW_MS, **more: Any) -> int:
    """Ask for a session; its id, or 0."""
    is_follower = more.pop("is_follower", False)
    request = fetching(indexes=indexes, session_epoch=0, **more)
    return held.open(request, uses_ids=True, is_follower=is_follower, now_ms=now_ms).session_id


def go_on(held: FetchSessions, session_id: int, epoch: int, indexes: Iterable[int] = (), **more: Any) -> Any:
    options = {"uses_ids": True, "is_follower": False, "now_ms": NOW_MS} | {
        name: more.pop(name) for name in ("uses_ids", "now_ms") if name in more
    }
    request = fetching(more.pop("offset", 0), indexes=indexes, session_id=session_id, session_epoch=epoch, **more)
    return held.open(request, **options)  # type: ignore[arg-type]


def forgetting(*indexes: int, topic_id: bytes = TOPIC_ID) -> list[FetchRequest.ForgottenTopic]:
    return [FetchRequest.ForgottenTopic(topic="t", topic_id=topic_id, partitions=list(indexes))]


def asked_for(index: int) -> Wanted:
    return Wanted("t", TOPIC_ID, FetchRequest.FetchPartition(partition=index, fetch_offset=0, partition_max_bytes=1))


def indexes_of(fetch: Any) -> list[int]:
    return [one.asked.partition for one in fetch.wanted]


def code_of(call: Any, *arguments: Any, **more: Any) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        call(*arguments, **more)
    return caught.value.code


# A session's life


def test_a_session_adds_changes_and_forgets_partitions() -> None:
    held = sessions()
    session_id = begin(held, [0, 1])
    fetch = go_on(held, session_id, 1, [2, 0], offset=50, forgotten_topics_data=forgetting(1, 9))
    assert indexes_of(fetch) == [0, 2]
    assert [one.asked.fetch_offset for one in fetch.wanted] == [50, 50]
    assert fetch.is_incremental
    assert indexes_of(go_on(held, session_id, 2)) == [0, 2]
    assert held.partition_count == 2


def test_a_partition_that_was_served_goes_to_the_end() -> None:
    held = sessions()
    fetch = held.open(fetching(indexes=[0, 1, 2], session_epoch=0), uses_ids=False, is_follower=False, now_ms=NOW_MS)
    assert fetch.session is not None
    fetch.session.served([fetch.wanted[0], fetch.wanted[1]])
    fetch.session.served([asked_for(9)])  # forgotten meanwhile
    assert indexes_of(go_on(held, fetch.session_id, 1, uses_ids=False)) == [2, 0, 1]


def test_epochs_count_up_and_begin_again_at_one() -> None:
    held = sessions()
    session_id = begin(held)
    fetch = go_on(held, session_id, 1)
    assert fetch.session.epoch == 2
    fetch.session.epoch = EPOCH_MAX
    assert go_on(held, session_id, EPOCH_MAX).session.epoch == 1


def test_a_wrong_epoch_an_unknown_id_and_a_change_of_ids_are_errors_and_change_nothing() -> None:
    held = sessions()
    session_id = begin(held)
    assert code_of(go_on, held, session_id, 2, [7]) == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert code_of(go_on, held, session_id, 2, uses_ids=False) == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert code_of(go_on, held, session_id, 1, uses_ids=False) == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
    assert code_of(go_on, held, session_id + 1, 1) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert indexes_of(go_on(held, session_id, 1)) == [0]


@pytest.mark.parametrize("epoch", [0, -1])
def test_a_full_fetch_closes_the_session_that_it_names(epoch: int) -> None:
    held = sessions()
    session_id = begin(held)
    fetch = go_on(held, session_id, epoch, [3])
    assert indexes_of(fetch) == [3]
    assert not fetch.is_incremental
    assert (fetch.session_id != 0) == (epoch == 0)
    assert code_of(go_on, held, session_id, 1) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert held.partition_count == len(held) == (1 if epoch == 0 else 0)


def test_a_session_may_begin_with_nothing_and_ends_when_nothing_is_left() -> None:
    held = sessions()
    assert begin(held, []) != 0
    session_id = begin(held)
    assert len(held) == 2
    fetch = go_on(held, session_id, 1, forgotten_topics_data=forgetting(0))
    assert (fetch.wanted, fetch.session_id, len(held)) == ([], 0, 1)


def test_a_partition_that_is_named_twice_is_one() -> None:
    held = sessions()
    request = fetching(indexes=[0, 0, 0], session_epoch=-1)
    assert indexes_of(held.open(request, uses_ids=True, is_follower=False, now_ms=NOW_MS)) == [0]
    assert begin(held, [1, 1]) != 0
    assert held.partition_count == 1


def test_ids_are_drawn_by_lot_and_never_in_use() -> None:
    drawn = iter([5, 5, 0, 7])
    held = FetchSessions(10, EVICTION_MS, new_id=lambda: next(drawn))
    assert [begin(held), begin(held)] == [5, 7]
    assert all(0 < random_id() <= EPOCH_MAX for _ in range(100))


# News


def told(**more: Any) -> FetchResponse.PartitionData:
    values = {"partition_index": 0, "high_watermark": 5, "log_start_offset": 1, "aborted_transactions": None}
    return FetchResponse.PartitionData(**{**values, "records": b"", **more})  # type: ignore[arg-type]


def test_only_what_the_client_does_not_know_is_news() -> None:
    wanted = asked_for(0)
    assert wanted.news(told())
    assert not wanted.news(told())
    assert wanted.news(told(records=b"records"))
    assert not wanted.news(told(records=None))
    assert wanted.news(told(high_watermark=6))
    assert wanted.news(told(high_watermark=6, log_start_offset=2))
    assert not wanted.news(told(high_watermark=6, log_start_offset=2, last_stable_offset=3))
    assert wanted.news(told(high_watermark=6, log_start_offset=2, preferred_read_replica=2))
    diverging = FetchResponse.EpochEndOffset(epoch=1, end_offset=2)
    assert wanted.news(told(high_watermark=6, log_start_offset=2, diverging_epoch=diverging))


def test_an_error_is_news_each_time_and_so_is_its_end() -> None:
    wanted = asked_for(0)
    wanted.news(told())
    failed = told(error_code=3, high_watermark=-1, log_start_offset=-1)
    assert wanted.news(failed)
    assert wanted.news(failed)
    assert wanted.news(told())


# Failure class 20: the cache is bounded, and nobody is starved


def test_class_20_a_client_that_gets_no_slot_is_answered_in_full() -> None:
    held = sessions(2)
    assert begin(held) != 0
    assert begin(held) != 0
    fetch = held.open(fetching(session_epoch=0), uses_ids=True, is_follower=False, now_ms=NOW_MS)
    assert (fetch.session_id, indexes_of(fetch), fetch.is_incremental) == (0, [0], False)
    assert len(held) == 2


def test_class_20_a_stale_session_makes_room_for_anybody() -> None:
    held = sessions(2)
    stale, used = begin(held, range(100)), begin(held, range(100))
    go_on(held, stale, 1, now_ms=NOW_MS + 1)
    assert begin(held, now_ms=NOW_MS + EVICTION_MS) == 0
    assert begin(held, now_ms=NOW_MS + EVICTION_MS + 1) != 0
    assert code_of(go_on, held, used, 1) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_class_20_a_larger_session_pushes_out_the_smallest_that_had_its_time() -> None:
    held = sessions(3)
    later = NOW_MS + EVICTION_MS
    small, middle = begin(held, range(2)), begin(held, range(4))
    young = begin(held, range(1), now_ms=later)
    for session_id in (small, middle):
        go_on(held, session_id, 1, now_ms=later)
    assert begin(held, range(2), now_ms=later + 1) == 0  # not larger than any that may go
    assert begin(held, range(3), now_ms=later + 1) != 0
    assert code_of(go_on, held, small, 2) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert go_on(held, middle, 2)
    assert go_on(held, young, 1)


def test_class_20_followers_push_out_any_client_and_no_young_follower() -> None:
    held = sessions(2)
    client, follower = begin(held, range(50)), begin(held, range(2), is_follower=True)
    second = begin(held, is_follower=True)
    assert second != 0
    assert code_of(go_on, held, client, 1) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert begin(held, range(99), is_follower=True) == 0
    later = NOW_MS + EVICTION_MS + 1
    for session_id in (follower, second):
        go_on(held, session_id, 1, now_ms=later)
    assert begin(held, range(99), now_ms=later) == 0  # a client never pushes out a follower
    assert begin(held, range(99), now_ms=later, is_follower=True) != 0


def test_class_20_a_cache_without_slots_gives_none() -> None:
    assert begin(sessions(0)) == 0


def test_class_20_the_partitions_of_all_sessions_are_bounded() -> None:
    held = sessions(partitions_max=10)
    first = begin(held, range(6))
    assert begin(held, range(5)) == 0
    second = begin(held, range(4))
    assert held.partition_count == 10
    assert code_of(go_on, held, second, 1, [8]) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert held.partition_count == 6
    assert go_on(held, first, 1, [6, 7, 8]).is_incremental


def test_class_20_ten_thousand_clients_that_leak_their_sessions_take_no_more_than_the_slots() -> None:
    held = sessions(100)
    for number in range(10_000):
        begin(held, range(number % 5), now_ms=NOW_MS + number * 100)
    assert len(held) == 100
    assert held.partition_count == sum(len(one.wanted) for one in held._sessions.values())

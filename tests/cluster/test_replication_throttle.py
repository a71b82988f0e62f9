"""How fast throttled replicas are, and which are throttled."""

from __future__ import annotations

import pytest

from ottla.cluster.replication_throttle import ReplicationThrottle, throttled_indexes

COUNT, SAMPLE_MS = 11, 1000
START_MS = 5_000_000


def throttle() -> ReplicationThrottle:
    return ReplicationThrottle(COUNT, SAMPLE_MS)


def test_without_traffic_there_is_no_rate_and_even_a_rate_of_nothing_is_kept() -> None:
    assert throttle().bytes_per_second(START_MS) == 0
    assert not throttle().is_exceeded(0, START_MS)


def test_a_first_burst_counts_as_if_it_had_taken_a_whole_sample() -> None:
    rate = throttle()
    rate.record(500, START_MS)
    assert rate.bytes_per_second(START_MS) == 500
    assert rate.bytes_per_second(START_MS + 999) == 500
    assert rate.bytes_per_second(START_MS + 2000) == 250
    assert not rate.is_exceeded(500, START_MS), "as much as is allowed is not too much"
    assert rate.is_exceeded(499, START_MS)


def test_the_rate_is_that_since_the_oldest_sample_that_still_counts() -> None:
    rate = throttle()
    for second in range(30):
        rate.record(100, START_MS + second * 1000)
    now_ms = START_MS + 29_000
    # What was recorded 11 s ago is just too old.
    assert rate.bytes_per_second(now_ms) == pytest.approx(11 * 100 / 10)
    assert rate.bytes_per_second(now_ms + 10_999) == pytest.approx(100 / 10.999)
    assert rate.bytes_per_second(now_ms + 11_000) == 0


def test_what_comes_within_a_sample_makes_it_last() -> None:
    """Kafka keeps a sample that overlaps the window, though it began before it."""
    rate = throttle()
    rate.record(100, START_MS)
    rate.record(100, START_MS + 999)
    assert rate.bytes_per_second(START_MS + 11_000) == pytest.approx(200 / 11)
    assert rate.bytes_per_second(START_MS + 11_999) == 0


def test_who_stops_while_the_rate_is_exceeded_keeps_to_it_in_the_long_run() -> None:
    rate, sent, allowed = throttle(), 0, 10_000
    for now_ms in range(START_MS, START_MS + 60_000, 50):
        if not rate.is_exceeded(allowed, now_ms):
            rate.record(3000, now_ms)
            sent += 3000
    assert 0.9 < sent / (allowed * 60) < 1.2


@pytest.mark.parametrize(
    ("text", "mine"),
    [
        ("*", [0, 1, 99]),
        ("0:1,1:2,99:1", [0, 99]),
        (" 0:1 , ,99:1, ", [0, 99]),
        ("0:2", []),
        ("0:11", []),
    ],
)
def test_a_topic_names_its_throttled_replicas_by_partition_and_broker(text: str, mine: list[int]) -> None:
    found = throttled_indexes(text, 1)
    assert [index for index in (0, 1, 99) if index in found] == mine

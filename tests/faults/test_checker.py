"""The checker on histories made by hand: a good one, and for each kind of breakage one that differs by it alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.checker import Violation, check
from tests.faults.history import Event, HistoryFile, events_of


def sent(value: str, partition: int = 0, producer: str = "p") -> Event:
    return {"event": "sent", "producer": producer, "partition": partition, "value": value}


def acknowledged(value: str, offset: int, partition: int = 0, producer: str = "p") -> Event:
    event = "acknowledged"
    return {"event": event, "producer": producer, "partition": partition, "offset": offset, "value": value}


def refused(value: str, partition: int = 0, producer: str = "p") -> Event:
    return {"event": "refused", "producer": producer, "partition": partition, "value": value, "error": "timed out"}


def read(consumer: str, *values: str, partition: int = 0, first: int = 0) -> list[Event]:
    return [
        {"event": "read", "consumer": consumer, "partition": partition, "offset": offset, "value": value}
        for offset, value in enumerate(values, first)
    ]


def finished(consumer: str) -> Event:
    return {"event": "finished", "consumer": consumer}


# Two producers in partition 0, one of them in partition 1 as well.
SENT = [sent("a"), sent("b"), sent("c"), sent("x", producer="q"), sent("d", 1), sent("e", 1)]
ACKNOWLEDGED = [acknowledged("a", 0), acknowledged("b", 2), acknowledged("x", 1, producer="q"), acknowledged("d", 0, 1)]
READ = [*read("along", "a", "x"), *read("last", "a", "x", "b"), *read("last", "d", partition=1), finished("last")]
GOOD = [*SENT, *ACKNOWLEDGED, *READ]


def kinds(events: list[Event]) -> set[str]:
    return {violation.kind for violation in check(events)}


def test_a_good_history_has_nothing_wrong() -> None:
    assert check(GOOD) == []


def test_what_was_refused_or_never_answered_may_be_there_or_not() -> None:
    there = read("last", "e", partition=1, first=1)
    assert check([*GOOD, refused("c"), refused("e", 1)]) == []
    assert check([*GOOD[:-1], *there, refused("e", 1), finished("last")]) == []
    assert check([*GOOD[:-1], *there, finished("last")]) == []


def test_faults_are_remarks() -> None:
    assert check([{"event": "fault", "kind": "kill", "brokers": [1]}, *GOOD, {"event": "healed"}]) == []


def test_an_acknowledged_record_that_is_not_found_afterwards_is_lost() -> None:
    without = [*SENT, *ACKNOWLEDGED, *read("last", "a", "x", "b"), finished("last")]
    assert check(without) == [Violation("lost", "d, acknowledged at 1@0, was not found by last")]


def test_an_acknowledgement_need_not_say_where() -> None:
    nowhere = {"event": "acknowledged", "producer": "p", "partition": 1, "value": "e"}
    assert check([*GOOD, nowhere]) == [Violation("lost", "e, acknowledged, was not found by last")]
    assert check([*GOOD, nowhere, *read("last", "e", partition=1, first=1)]) == []


def test_every_consumer_that_read_all_must_have_found_it() -> None:
    assert kinds([*GOOD, finished("along")]) == {"lost"}


def test_a_consumer_that_did_not_finish_proves_no_loss() -> None:
    assert check([*SENT, *ACKNOWLEDGED, *read("along", "a")]) == []


def test_one_record_at_two_offsets_is_a_duplicate() -> None:
    assert check([*GOOD, *read("last", "b", first=3)]) == [Violation("duplicate", "b is at 0@2, 0@3")]


def test_a_record_that_is_not_where_its_acknowledgement_says_is_a_duplicate() -> None:
    moved = [{**event, "offset": 7} if event == acknowledged("b", 2) else event for event in GOOD]
    assert check(moved) == [Violation("duplicate", "b is at 0@2, 0@7")]


def test_two_records_at_one_offset_are_inconsistent() -> None:
    events = [*SENT, *ACKNOWLEDGED, *read("one", "a", "x", "c"), *read("other", "a", "x", "b")]
    assert check(events) == [Violation("inconsistent", "at 0@2 there are b, c")]


def test_two_acknowledgements_of_one_offset_are_inconsistent() -> None:
    assert "inconsistent" in kinds([*GOOD, acknowledged("e", 0, 1)])


def test_a_record_that_nobody_sent_is_told() -> None:
    assert check([*GOOD, *read("last", "z", first=3)]) == [Violation("unsent", "nobody sent z, which is at 0@3")]


def test_a_record_in_another_partition_than_it_was_sent_to_is_told() -> None:
    assert kinds([*GOOD, *read("last", "c", partition=1, first=1)]) == {"unsent"}


def test_records_of_a_producer_in_another_order_than_they_were_sent_in_are_told() -> None:
    events = [sent("a"), sent("b"), sent("c"), *read("last", "b", "a", "c")]
    assert check(events) == [Violation("reordered", "a at 0@1 was sent before b, which precedes it")]


def test_the_order_between_producers_and_between_partitions_is_free() -> None:
    events = [sent("a"), sent("x", producer="q"), sent("b", 1), *read("one", "x", "a"), *read("one", "b", partition=1)]
    assert check(events) == []


def test_a_consumer_that_leaves_an_offset_out_skipped_it() -> None:
    assert check([*SENT, *read("along", "a"), *read("along", "b", first=2)]) == [
        Violation("skipped", "along read 0@2 after 0@0")
    ]


def test_a_consumer_that_does_not_begin_at_the_first_offset_skipped_it() -> None:
    assert check([*SENT, *read("along", "x", first=1)]) == [Violation("skipped", "along read 0@1 after 0@-1")]


@pytest.mark.parametrize("first", [0, 1])
def test_a_consumer_that_goes_back_or_stays_repeated_itself(first: int) -> None:
    events = [*SENT, *read("along", "a", "x"), *read("along", "ax"[first], first=first)]
    assert kinds(events) == {"repeated"}


def test_a_consumer_whose_offset_is_none_went_astray() -> None:
    event = {"event": "astray", "consumer": "along", "partition": 1, "error": "offset out of range"}
    assert check([*GOOD, event]) == [Violation("astray", "along in partition 1: offset out of range")]


def test_a_value_that_was_sent_twice_makes_a_history_useless() -> None:
    with pytest.raises(AssertionError, match="a was sent twice"):
        check([sent("a"), sent("a")])


def test_a_history_comes_back_from_its_file(tmp_path: Path) -> None:
    with HistoryFile(tmp_path / "history.jsonl") as history:
        for event in GOOD:
            history.add(**event)
    assert list(events_of(tmp_path / "history.jsonl")) == GOOD
    assert (history.count("sent"), history.count("sent", "q"), history.count("refused")) == (6, 1, 0)

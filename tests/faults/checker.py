"""What is wrong with a history: a few passes over its events, each for one promise. No sentence means a good history.

    lost           an acknowledged record that a consumer did not find which read everything afterwards
    duplicate      one record at two places
    inconsistent   two records at one place: offsets are shared by all replicas and all clients
    unsent         a record that nobody sent, or not to that partition
    reordered      records of one producer in one partition, not in the order in which they were sent
    skipped        a consumer went from one offset to another that is not the next, or did not begin at the first
    repeated       a consumer went back
    astray         a consumer was told that its offset is none

They are those of jepsen.tests.kafka, less the ones about transactions. Only the form of `history` is known here: not
who wrote it, and nothing of brokers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.faults.history import Event


class Place(NamedTuple):
    partition: int
    offset: int


class Violation(NamedTuple):
    kind: str
    text: str


@dataclass
class Facts:
    """A history, sorted by who said what."""

    # Where and as the how-manieth of its producer and partition each value was sent.
    sent: dict[str, tuple[str, int, int]] = field(default_factory=dict)
    acknowledged: dict[str, Place | None] = field(default_factory=dict)
    # What is where, as it was heard of first; and all of it, where there is more than one answer.
    places: dict[str, Place] = field(default_factory=dict)
    values: dict[Place, str] = field(default_factory=dict)
    many_places: dict[str, set[Place]] = field(default_factory=dict)
    many_values: dict[Place, set[str]] = field(default_factory=dict)
    readings: dict[str, dict[int, list[int]]] = field(default_factory=dict)
    found_by: dict[str, set[str]] = field(default_factory=dict)
    finished: list[str] = field(default_factory=list)
    astray: list[Event] = field(default_factory=list)


def check(events: Iterable[Event]) -> list[Violation]:
    facts = sorted_facts(events)
    passes = (lost, duplicates, inconsistent, unsent, reordered, misread, astray)
    return [violation for one in passes for violation in one(facts)]


def sorted_facts(events: Iterable[Event]) -> Facts:
    facts = Facts()
    counts: dict[tuple[str, int], int] = {}
    for event in events:
        match event:
            case {"event": "sent", "producer": producer, "partition": partition, "value": value}:
                nth = counts[producer, partition] = counts.get((producer, partition), -1) + 1
                assert value not in facts.sent, f"{value} was sent twice: nothing can be said of such a history"
                facts.sent[value] = producer, partition, nth
            case {"event": "acknowledged", "partition": partition, "offset": offset, "value": value}:
                facts.acknowledged[value] = Place(partition, offset)
                _note(facts, Place(partition, offset), value)
            case {"event": "acknowledged", "value": value}:
                facts.acknowledged[value] = None
            case {"event": "read", "consumer": consumer, "partition": partition, "offset": offset, "value": value}:
                facts.readings.setdefault(consumer, {}).setdefault(partition, []).append(offset)
                facts.found_by.setdefault(consumer, set()).add(value)
                _note(facts, Place(partition, offset), value)
            case {"event": "finished", "consumer": consumer}:
                facts.finished.append(consumer)
            case {"event": "astray"}:
                facts.astray.append(event)
    return facts


def _note(facts: Facts, place: Place, value: str) -> None:
    if (known_place := facts.places.setdefault(value, place)) != place:
        facts.many_places.setdefault(value, {known_place}).add(place)
    if (known_value := facts.values.setdefault(place, value)) != value:
        facts.many_values.setdefault(place, {known_value}).add(value)


def lost(facts: Facts) -> Iterator[Violation]:
    for consumer in facts.finished:
        found = facts.found_by.get(consumer, set())
        for value, place in facts.acknowledged.items():
            if value not in found:
                where = "" if place is None else f" at {_at(place)}"
                yield Violation("lost", f"{value}, acknowledged{where}, was not found by {consumer}")


def duplicates(facts: Facts) -> Iterator[Violation]:
    for value, places in facts.many_places.items():
        yield Violation("duplicate", f"{value} is at {', '.join(map(_at, sorted(places)))}")


def inconsistent(facts: Facts) -> Iterator[Violation]:
    for place, values in facts.many_values.items():
        yield Violation("inconsistent", f"at {_at(place)} there are {', '.join(sorted(values))}")


def unsent(facts: Facts) -> Iterator[Violation]:
    for value, place in facts.places.items():
        if value not in facts.sent:
            yield Violation("unsent", f"nobody sent {value}, which is at {_at(place)}")
        elif facts.sent[value][1] != place.partition:
            yield Violation("unsent", f"{value} was sent to partition {facts.sent[value][1]}, not {_at(place)}")


def reordered(facts: Facts) -> Iterator[Violation]:
    """Holes are no violation here: what was refused may be missing between two others."""
    latest: dict[tuple[str, int], tuple[int, str]] = {}
    for place in sorted(facts.values):
        value = facts.values[place]
        if value not in facts.sent:
            continue
        producer, _, nth = facts.sent[value]
        before = latest.get((producer, place.partition))
        if before is not None and nth < before[0]:
            yield Violation("reordered", f"{value} at {_at(place)} was sent before {before[1]}, which precedes it")
        latest[producer, place.partition] = nth, value


def misread(facts: Facts) -> Iterator[Violation]:
    for consumer, partitions in facts.readings.items():
        for partition, offsets in partitions.items():
            before = -1
            for offset in offsets:
                if offset != before + 1:
                    kind = "skipped" if offset > before else "repeated"
                    yield Violation(kind, f"{consumer} read {partition}@{offset} after {partition}@{before}")
                before = offset


def astray(facts: Facts) -> Iterator[Violation]:
    for event in facts.astray:
        yield Violation("astray", f"{event['consumer']} in partition {event['partition']}: {event['error']}")


def _at(place: Place) -> str:
    return f"{place.partition}@{place.offset}"

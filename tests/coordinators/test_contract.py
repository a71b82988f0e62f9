"""Outcomes do not share what they collect."""

from __future__ import annotations

from ottla.coordinators.contract import Answer, Outcome, Record
from ottla.wire.messages.classic_groups import HeartbeatResponse
from ottla.wire.stored.classic_group_records import GroupMetadataKey


def test_an_outcome_asks_for_nothing_by_itself() -> None:
    outcome: Outcome[None] = Outcome()
    assert (outcome.response, outcome.records, outcome.answers, outcome.then) == (None, [], [], None)
    assert outcome.is_replayed
    assert outcome.is_atomic


def test_outcomes_share_no_lists() -> None:
    one: Outcome[None] = Outcome()
    other: Outcome[None] = Outcome()
    one.records.append(Record(GroupMetadataKey(group="g"), None))
    one.answers.append(Answer("token", HeartbeatResponse()))
    assert (other.records, other.answers) == ([], [])

"""Timers go with their group."""

from __future__ import annotations

from ottla.coordinators.classic.group import ClassicGroup
from ottla.coordinators.contract import Outcome
from ottla.coordinators.settings import GroupSettings
from ottla.coordinators.state import ShardState
from ottla.coordinators.topics_view import FixedTopics


def test_the_timers_of_a_group_are_forgotten_and_no_others() -> None:
    state = ShardState(GroupSettings(), FixedTopics(), lambda: "uuid")
    group, other = ClassicGroup("g"), ClassicGroup("h")
    group.pending_join.add("m")
    for key in (*group.timer_keys(), other.join_key):
        state.timers.schedule(key, 10, lambda now_ms: Outcome())
    assert group.session_key("m") in state.timers
    state.forget_timers(group)
    assert len(state.timers) == 1
    assert other.join_key in state.timers

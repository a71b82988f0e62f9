"""Targets have names for people."""

from __future__ import annotations

import pytest

from ottla.client.routing import (
    ANY,
    CONTROLLER,
    Broker,
    Coordinator,
    CoordinatorType,
    Target,
    group,
    leader,
    transaction,
)


@pytest.mark.parametrize(
    ("target", "text"),
    [
        (ANY, "any broker"),
        (CONTROLLER, "the controller"),
        (Broker(3), "broker 3"),
        (leader("t", 1), "the leader of t-1"),
        (group("g"), "the coordinator of group g"),
        (transaction("x"), "the coordinator of transaction x"),
        (Coordinator(CoordinatorType.SHARE, "g:id:0"), "the coordinator of share g:id:0"),
    ],
)
def test_a_target_says_who_it_is(target: Target, text: str) -> None:
    assert str(target) == text

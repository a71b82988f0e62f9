"""A member votes for what it prefers, and is the same only if it says the same."""

from __future__ import annotations

from typing import Any

from ottla.coordinators.classic.member import Member


def member(**options: Any) -> Member:
    values: dict[str, Any] = {
        "rebalance_timeout_ms": 2,
        "session_timeout_ms": 1,
        "protocol_type": "consumer",
        "protocols": {"sticky": b"s", "range": b"r"},
    }
    return Member("m", **(values | options))


def test_it_votes_for_the_first_that_all_can_do() -> None:
    assert member().vote({"range", "sticky"}) == "sticky"
    assert member().vote({"range", "other"}) == "range"


def test_it_matches_what_is_the_same_in_the_same_order() -> None:
    assert member().matches({"sticky": b"s", "range": b"r"})
    assert not member().matches({"range": b"r", "sticky": b"s"})
    assert not member().matches({"sticky": b"s", "range": b"changed"})
    assert not member().matches({"sticky": b"s"})


def test_under_a_new_id_it_is_the_same_member() -> None:
    old = member(instance_id="i", client_id="c", client_host="h", assignment=b"a")
    old.is_new = True
    new = old.renamed("n")
    assert (new.member_id, new.is_new, new.is_static) == ("n", False, True)
    same = set(Member.__slots__) - {"member_id", "is_new"}
    assert {name: getattr(new, name) for name in same} == {name: getattr(old, name) for name in same}
    assert not member().is_static
    assert repr(new) == "Member(n)"

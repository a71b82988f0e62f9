"""What every kind of group is called on the wire."""

from __future__ import annotations

from ottla.coordinators.group import GroupType


def test_types_are_called_as_list_groups_calls_them() -> None:
    assert [kind.value for kind in GroupType] == ["classic", "consumer", "share", "streams"]

"""What the tests of groups say of two members that share a topic of four partitions."""

from __future__ import annotations

from compat_tests.driven_clients.driver import Driver, until

PARTITIONS = 4
ALL = set(range(PARTITIONS))


def owns_all(member: Driver) -> None:
    until(lambda: member.owned == ALL, member)


def share(first: Driver, second: Driver) -> None:
    """Wait until each has half of all partitions, and no partition has two owners."""
    until(lambda: len(first.owned) == len(second.owned) == 2 and first.owned | second.owned == ALL, first, second)


def partitions_read(member: Driver) -> set[int]:
    return {record.partition for record in member.records}

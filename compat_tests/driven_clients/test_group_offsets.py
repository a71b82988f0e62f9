"""What a group keeps: committed offsets, where its next member goes on, its lag; and that it can be deleted."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from compat_tests.driven_clients.conftest import LONG_SESSION_MS, MakeTopic, StartDriver
from compat_tests.driven_clients.driver import Driver, Record, Refused, until
from ottla.wire.errors import ErrorCode


def read_so_far(member: Driver, partition: int) -> list[int]:
    return [record.offset for record in member.records if record.partition == partition]


def test_the_next_member_goes_on_where_the_last_committed(
    driver: Driver, start_driver: StartDriver, make_topic: MakeTopic, new_name: Callable[[], str]
) -> None:
    topic, group = make_topic(1), new_name()
    driver.produce(topic, [Record(b"%d" % number) for number in range(10)])
    first, second = start_driver(), start_driver()
    first.join(group, topic, LONG_SESSION_MS)
    until(lambda: len(first.records) == 10, first)
    first.ask("commit", partition=0, offset=6)
    first.ask("leave")
    second.join(group, topic, LONG_SESSION_MS)
    until(lambda: len(second.records) >= 4, second)
    assert read_so_far(second, 0) == [6, 7, 8, 9]


def test_a_member_seeks_back_and_forth(
    driver: Driver, start_driver: StartDriver, make_topic: MakeTopic, new_name: Callable[[], str]
) -> None:
    topic, group = make_topic(1), new_name()
    driver.produce(topic, [Record(b"%d" % number) for number in range(10)])
    member = start_driver()
    member.join(group, topic, LONG_SESSION_MS)
    until(lambda: read_so_far(member, 0) == list(range(10)), member)
    member.ask("seek", partition=0, offset=7)
    until(lambda: read_so_far(member, 0) == [*range(10), 7, 8, 9], member)
    member.ask("seek", partition=0, offset=2)
    until(lambda: read_so_far(member, 0) == [*range(10), 7, 8, 9, *range(2, 10)], member)


def test_lag_is_what_lies_between_commit_and_end(
    driver: Driver, start_driver: StartDriver, make_topic: MakeTopic, new_name: Callable[[], str]
) -> None:
    topic, group = make_topic(2), new_name()
    driver.produce(topic, [Record(b"%d" % number, partition=number % 2) for number in range(10)])
    member = start_driver()
    member.join(group, topic, LONG_SESSION_MS)
    until(lambda: len(member.records) == 10, member)
    member.ask("commit", partition=0, offset=2)
    assert driver.progress(group, topic) == {0: (2, 5), 1: (-1, 5)}
    member.ask("commit", partition=0, offset=5)
    member.ask("commit", partition=1, offset=4)
    assert driver.progress(group, topic) == {0: (5, 5), 1: (4, 5)}
    member.ask("leave")
    assert driver.ask("describe_group", group=group) == {"state": "Empty", "members": 0}
    assert driver.progress(group, topic) == {0: (5, 5), 1: (4, 5)}


def test_a_group_is_deleted_once_it_is_empty(
    driver: Driver, start_driver: StartDriver, make_topic: MakeTopic, new_name: Callable[[], str]
) -> None:
    topic, group = make_topic(1), new_name()
    member = start_driver()
    member.join(group, topic, LONG_SESSION_MS)
    until(lambda: member.owned == {0}, member)
    member.ask("commit", partition=0, offset=0)
    with pytest.raises(Refused) as refused:
        driver.ask("delete_group", group=group)
    assert refused.value.code == ErrorCode.NON_EMPTY_GROUP
    member.ask("leave")
    driver.ask("delete_group", group=group)
    with pytest.raises(Refused) as refused:
        driver.ask("delete_group", group=group)
    assert refused.value.code == ErrorCode.GROUP_ID_NOT_FOUND

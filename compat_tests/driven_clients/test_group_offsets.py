"""What a group keeps: committed offsets, where its next member goes on, and its lag."""

from __future__ import annotations

from compat_tests.clients.waiting import eventually
from compat_tests.driven_clients.conftest import LONG_SESSION_MS, MakeTopic, NewName, StartDriver
from compat_tests.driven_clients.driver import Driver, Record, until
from compat_tests.driven_clients.ways import either_way


def read_so_far(member: Driver, partition: int) -> list[int]:
    return [record.offset for record in member.records if record.partition == partition]


@either_way()
def test_the_next_member_goes_on_where_the_last_committed(
    protocol: str, driver: Driver, start_driver: StartDriver, make_topic: MakeTopic, new_name: NewName
) -> None:
    topic, group = make_topic(1), new_name()
    driver.produce(topic, [Record(b"%d" % number) for number in range(10)])
    first, second = start_driver(), start_driver()
    first.join(group, topic, LONG_SESSION_MS, protocol=protocol)
    until(lambda: len(first.records) == 10, first)
    first.ask("commit", partition=0, offset=6)
    first.ask("leave")
    second.join(group, topic, LONG_SESSION_MS, protocol=protocol)
    until(lambda: len(second.records) >= 4, second)
    assert read_so_far(second, 0) == [6, 7, 8, 9]


@either_way()
def test_a_member_seeks_back_and_forth(
    protocol: str, driver: Driver, start_driver: StartDriver, make_topic: MakeTopic, new_name: NewName
) -> None:
    topic, group = make_topic(1), new_name()
    driver.produce(topic, [Record(b"%d" % number) for number in range(10)])
    member = start_driver()
    member.join(group, topic, LONG_SESSION_MS, protocol=protocol)
    until(lambda: read_so_far(member, 0) == list(range(10)), member)
    member.ask("seek", partition=0, offset=7)
    until(lambda: read_so_far(member, 0) == [*range(10), 7, 8, 9], member)
    member.ask("seek", partition=0, offset=2)
    until(lambda: read_so_far(member, 0) == [*range(10), 7, 8, 9, *range(2, 10)], member)


@either_way(is_described=True)
def test_lag_is_what_lies_between_commit_and_end(
    protocol: str, driver: Driver, start_driver: StartDriver, make_topic: MakeTopic, new_name: NewName
) -> None:
    topic, group = make_topic(2), new_name()
    driver.produce(topic, [Record(b"%d" % number, partition=number % 2) for number in range(10)])
    member = start_driver()
    member.join(group, topic, LONG_SESSION_MS, protocol=protocol)
    until(lambda: len(member.records) == 10, member)
    member.ask("commit", partition=0, offset=2)
    assert driver.progress(group, topic) == {0: (2, 5), 1: (-1, 5)}
    member.ask("commit", partition=0, offset=5)
    member.ask("commit", partition=1, offset=4)
    assert driver.progress(group, topic) == {0: (5, 5), 1: (4, 5)}
    member.ask("leave")
    eventually(lambda: driver.ask("describe_group", group=group), expected={"state": "Empty", "members": 0})
    assert driver.progress(group, topic) == {0: (5, 5), 1: (4, 5)}

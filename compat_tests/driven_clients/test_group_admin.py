"""Groups as administrators see them: listed, described, their offsets set and deleted, and at last deleted themselves.

Whatever a client cannot do is told by the table in programs.py.
"""

from __future__ import annotations

import pytest

from compat_tests.clients.waiting import eventually
from compat_tests.driven_clients.conftest import LONG_SESSION_MS, MakeTopic, NewName, StartDriver
from compat_tests.driven_clients.driver import CONSUMER, Driver, Record, Refused, until
from compat_tests.driven_clients.ways import either_way
from ottla.wire.errors import ErrorCode


def refusal(driver: Driver, do: str, **fields: object) -> ErrorCode:
    with pytest.raises(Refused) as refused:
        driver.ask(do, **fields)
    return refused.value.code


def listed(driver: Driver, group: str) -> dict[str, str]:
    """What a list of groups tells of one, which no client tells whole."""
    found: dict[str, str] = driver.ask("list_groups")[group]
    return found


@either_way(is_described=True)
def test_a_group_is_listed_and_described(
    protocol: str, driver: Driver, start_driver: StartDriver, make_topic: MakeTopic, new_name: NewName
) -> None:
    topic, group = make_topic(1), new_name()
    assert group not in driver.ask("list_groups")
    of = "consumer" if protocol == CONSUMER else "classic"
    member = start_driver()
    member.join(group, topic, LONG_SESSION_MS, protocol=protocol)
    until(lambda: member.owned == {0}, member)
    eventually(lambda: driver.ask("describe_group", group=group), expected={"state": "Stable", "members": 1})
    assert listed(driver, group).items() <= {"state": "Stable", "type": of}.items()
    member.ask("commit", partition=0, offset=0)
    member.ask("leave")
    eventually(lambda: driver.ask("describe_group", group=group), expected={"state": "Empty", "members": 0})
    assert listed(driver, group).items() <= {"state": "Empty", "type": of}.items()


@either_way(lambda client: client.deletes_groups)
def test_a_group_is_deleted_once_it_is_empty(
    protocol: str, driver: Driver, start_driver: StartDriver, make_topic: MakeTopic, new_name: NewName
) -> None:
    topic, group = make_topic(1), new_name()
    member = start_driver()
    member.join(group, topic, LONG_SESSION_MS, protocol=protocol)
    until(lambda: member.owned == {0}, member)
    member.ask("commit", partition=0, offset=0)
    assert refusal(driver, "delete_group", group=group) is ErrorCode.NON_EMPTY_GROUP
    member.ask("leave")
    driver.ask("delete_group", group=group)
    assert refusal(driver, "delete_group", group=group) is ErrorCode.GROUP_ID_NOT_FOUND
    assert group not in driver.ask("list_groups")


@either_way(lambda client: client.sets_offsets)
def test_offsets_are_set_while_a_group_has_no_members(
    protocol: str, driver: Driver, start_driver: StartDriver, make_topic: MakeTopic, new_name: NewName
) -> None:
    topic, group = make_topic(1), new_name()
    driver.produce(topic, [Record(b"%d" % number) for number in range(5)])
    driver.ask("set_committed", group=group, topic=topic, partition=0, offset=1)
    member = start_driver()
    member.join(group, topic, LONG_SESSION_MS, protocol=protocol)
    until(lambda: len(member.records) >= 4, member)
    assert [record.offset for record in member.records] == [1, 2, 3, 4]
    refused = refusal(driver, "set_committed", group=group, topic=topic, partition=0, offset=3)
    assert refused in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.NONE)  # kafkajs names it by its own
    assert driver.progress(group, topic) == {0: (1, 5)}
    member.ask("leave")
    driver.ask("set_committed", group=group, topic=topic, partition=0, offset=3)
    assert driver.progress(group, topic) == {0: (3, 5)}


@either_way(lambda client: client.deletes_offsets)
def test_offsets_are_deleted_once_nobody_subscribes(
    protocol: str, driver: Driver, start_driver: StartDriver, make_topic: MakeTopic, new_name: NewName
) -> None:
    topic, group = make_topic(2), new_name()
    member = start_driver()
    member.join(group, topic, LONG_SESSION_MS, protocol=protocol)
    until(lambda: member.owned == {0, 1}, member)
    for partition in (0, 1):
        member.ask("commit", partition=partition, offset=0)
    where = {"group": group, "topic": topic, "partition": 0}
    assert refusal(driver, "delete_committed", **where) is ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
    member.ask("leave")
    driver.ask("delete_committed", **where)
    assert driver.progress(group, topic) == {0: (-1, 0), 1: (0, 0)}

"""Groups: two members share a topic, and one comes, leaves, crashes, freezes, comes back.

A member is a process. What it owns follows from what its client told; no test asks how long anything took.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from compat_tests.driven_clients.conftest import LONG_SESSION_MS, SHORT_SESSION_MS, MakeTopic, StartDriver
from compat_tests.driven_clients.driver import COOPERATIVE, Driver, Record, until
from compat_tests.driven_clients.programs import CLIENTS, Client

PARTITIONS = 4
ALL = set(range(PARTITIONS))


def owns_all(member: Driver) -> None:
    until(lambda: member.owned == ALL, member)


def share(first: Driver, second: Driver) -> None:
    """Wait until each has half of all partitions, and no partition has two owners."""
    until(lambda: len(first.owned) == len(second.owned) == 2 and first.owned | second.owned == ALL, first, second)


def only_for(can: Callable[[Client], bool]) -> pytest.MarkDecorator:
    """Run a test for those clients only that can do what it is about."""
    able = [client for client in CLIENTS if can(client)]
    return pytest.mark.parametrize("client", able, ids=lambda client: client.name, indirect=True)


def test_members_share_when_one_joins_and_one_has_all_when_the_other_leaves(
    driver: Driver, start_driver: StartDriver, make_topic: MakeTopic, new_name: Callable[[], str]
) -> None:
    topic, group = make_topic(PARTITIONS), new_name()
    first, second = start_driver(), start_driver()
    first.join(group, topic, LONG_SESSION_MS)
    owns_all(first)
    second.join(group, topic, LONG_SESSION_MS)
    share(first, second)
    assert set(first.given_up) == ALL, "eager members give up everything before they share anew"
    assert driver.ask("describe_group", group=group) == {"state": "Stable", "members": 2}
    driver.produce(topic, [Record(b"shared", partition=partition) for partition in range(PARTITIONS)])
    until(lambda: len(first.records) == len(second.records) == 2, first, second)
    assert {record.partition for record in first.records} == first.owned
    assert {record.partition for record in second.records} == second.owned
    second.ask("leave")
    owns_all(first)
    assert second.owned == set()


@only_for(lambda client: client.is_cooperative)
def test_cooperative_members_keep_what_does_not_move(
    driver: Driver, start_driver: StartDriver, make_topic: MakeTopic, new_name: Callable[[], str]
) -> None:
    topic, group = make_topic(PARTITIONS), new_name()
    first, second = start_driver(), start_driver()
    first.join(group, topic, LONG_SESSION_MS, protocol=COOPERATIVE)
    owns_all(first)
    second.join(group, topic, LONG_SESSION_MS, protocol=COOPERATIVE)
    share(first, second)
    assert set(first.given_up) == second.owned
    kept = set(first.owned)
    second.ask("leave")
    owns_all(first)
    assert not kept & set(first.given_up)


def test_a_member_that_crashes_is_missed_after_its_session(
    start_driver: StartDriver, make_topic: MakeTopic, new_name: Callable[[], str]
) -> None:
    topic, group = make_topic(PARTITIONS), new_name()
    first, second = start_driver(), start_driver()
    first.join(group, topic, LONG_SESSION_MS)
    second.join(group, topic, SHORT_SESSION_MS)
    share(first, second)
    second.kill()
    owns_all(first)


def test_a_member_that_freezes_loses_its_partitions_and_comes_back(
    driver: Driver, start_driver: StartDriver, make_topic: MakeTopic, new_name: Callable[[], str]
) -> None:
    topic, group = make_topic(PARTITIONS), new_name()
    first, second = start_driver(), start_driver()
    first.join(group, topic, LONG_SESSION_MS)
    second.join(group, topic, SHORT_SESSION_MS)
    share(first, second)
    with second.frozen():
        owns_all(first)
        assert driver.ask("describe_group", group=group) == {"state": "Stable", "members": 1}
    share(first, second)


@only_for(lambda client: client.has_static_members)
def test_a_static_member_comes_back_within_its_session_and_nobody_else_notices(
    driver: Driver, start_driver: StartDriver, make_topic: MakeTopic, new_name: Callable[[], str]
) -> None:
    topic, group = make_topic(PARTITIONS), new_name()
    first, second = start_driver(), start_driver()
    first.join(group, topic, LONG_SESSION_MS, instance_id="first")
    owns_all(first)
    second.join(group, topic, LONG_SESSION_MS, instance_id="second")
    share(first, second)
    owned, given_up = set(second.owned), list(first.given_up)
    second.kill()
    again = start_driver()
    again.join(group, topic, LONG_SESSION_MS, instance_id="second")
    until(lambda: again.owned == owned, again)
    driver.produce(topic, [Record(b"still here", partition=partition) for partition in range(PARTITIONS)])
    until(lambda: len(first.records) == len(again.records) == 2, first, again)
    assert first.given_up == given_up


@only_for(lambda client: client.has_static_members)
def test_a_static_member_that_stays_away_is_missed_after_its_session(
    driver: Driver, start_driver: StartDriver, make_topic: MakeTopic, new_name: Callable[[], str]
) -> None:
    topic, group = make_topic(PARTITIONS), new_name()
    first, second = start_driver(), start_driver()
    first.join(group, topic, LONG_SESSION_MS, instance_id="first")
    second.join(group, topic, SHORT_SESSION_MS, instance_id="second")
    share(first, second)
    second.ask("leave")
    assert driver.ask("describe_group", group=group)["members"] == 2, "a static member does not leave by going"
    owns_all(first)

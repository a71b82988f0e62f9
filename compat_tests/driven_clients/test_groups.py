"""Groups: two members share a topic, and one comes, leaves, crashes, freezes.

A member is a process. What it owns follows from what its client told; no test asks how long anything took.
"""

from __future__ import annotations

from compat_tests.clients.waiting import eventually
from compat_tests.driven_clients.conftest import LONG_SESSION_MS, SHORT_SESSION_MS, MakeTopic, NewName, StartDriver
from compat_tests.driven_clients.driver import CONSUMER, COOPERATIVE, EAGER, Driver, Record, until
from compat_tests.driven_clients.programs import Client
from compat_tests.driven_clients.sharing import ALL, PARTITIONS, owns_all, partitions_read, share
from compat_tests.driven_clients.ways import either_way, ways


@ways(EAGER, is_described=True)
def test_members_share_when_one_joins_and_one_has_all_when_the_other_leaves(
    client: Client,
    protocol: str,
    driver: Driver,
    start_driver: StartDriver,
    make_topic: MakeTopic,
    new_name: NewName,
) -> None:
    topic, group = make_topic(PARTITIONS), new_name()
    first, second = start_driver(), start_driver()
    first.join(group, topic, LONG_SESSION_MS, protocol=protocol)
    owns_all(first)
    second.join(group, topic, LONG_SESSION_MS, protocol=protocol)
    share(first, second)
    assert set(first.given_up) == ALL, "eager members give up everything before they share anew"
    assert driver.ask("describe_group", group=group) == {"state": "Stable", "members": 2}
    driver.produce(topic, [Record(b"shared", partition=partition) for partition in range(PARTITIONS)])
    until(lambda: first.owned <= partitions_read(first) and second.owned <= partitions_read(second), first, second)
    if not client.lets_go_late:
        assert (partitions_read(first), partitions_read(second)) == (first.owned, second.owned)
    second.ask("leave")
    owns_all(first)
    assert second.owned == set()


@ways(COOPERATIVE, CONSUMER, is_described=True)
def test_cooperative_members_keep_what_does_not_move(
    protocol: str, driver: Driver, start_driver: StartDriver, make_topic: MakeTopic, new_name: NewName
) -> None:
    topic, group = make_topic(PARTITIONS), new_name()
    first, second = start_driver(), start_driver()
    first.join(group, topic, LONG_SESSION_MS, protocol=protocol)
    owns_all(first)
    second.join(group, topic, LONG_SESSION_MS, protocol=protocol)
    share(first, second)
    assert set(first.given_up) == second.owned
    eventually(lambda: driver.ask("describe_group", group=group), expected={"state": "Stable", "members": 2})
    driver.produce(topic, [Record(b"shared", partition=partition) for partition in range(PARTITIONS)])
    until(lambda: len(first.records) == len(second.records) == 2, first, second)
    kept = set(first.owned)
    second.ask("leave")
    owns_all(first)
    assert not kept & set(first.given_up)
    assert second.owned == set()


@either_way()
def test_a_member_that_crashes_is_missed_after_its_session(
    protocol: str, start_driver: StartDriver, make_topic: MakeTopic, impatient_group: str
) -> None:
    topic = make_topic(PARTITIONS)
    first, second = start_driver(), start_driver()
    first.join(impatient_group, topic, LONG_SESSION_MS, protocol=protocol)
    second.join(impatient_group, topic, SHORT_SESSION_MS, protocol=protocol)
    share(first, second)
    second.kill()
    owns_all(first)


@either_way(is_described=True)
def test_a_member_that_freezes_loses_its_partitions_and_comes_back(
    protocol: str, driver: Driver, start_driver: StartDriver, make_topic: MakeTopic, impatient_group: str
) -> None:
    topic = make_topic(PARTITIONS)
    first, second = start_driver(), start_driver()
    first.join(impatient_group, topic, LONG_SESSION_MS, protocol=protocol)
    second.join(impatient_group, topic, SHORT_SESSION_MS, protocol=protocol)
    share(first, second)
    with second.frozen():
        owns_all(first)
        asked = {"state": "Stable", "members": 1}
        eventually(lambda: driver.ask("describe_group", group=impatient_group), expected=asked)
    share(first, second)

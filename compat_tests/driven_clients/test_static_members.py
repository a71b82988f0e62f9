"""Static members (KIP-345): they come back to what they had, are missed when they stay away, and there is one of each.

In the classic protocol a newcomer takes the place of the member that had its name; in the new one it is turned away.
"""

from __future__ import annotations

from compat_tests.driven_clients.conftest import LONG_SESSION_MS, SHORT_SESSION_MS, MakeTopic, NewName, StartDriver
from compat_tests.driven_clients.driver import CONSUMER, EAGER, Driver, Record, until
from compat_tests.driven_clients.programs import Client
from compat_tests.driven_clients.sharing import PARTITIONS, owns_all, share
from compat_tests.driven_clients.ways import either_way, ways
from ottla.wire.errors import ErrorCode


def has_static_members(client: Client) -> bool:
    return client.has_static_members


@ways(EAGER, can=has_static_members)
def test_a_static_member_comes_back_within_its_session_and_nobody_else_notices(
    protocol: str, driver: Driver, start_driver: StartDriver, make_topic: MakeTopic, new_name: NewName
) -> None:
    topic, group = make_topic(PARTITIONS), new_name()
    first, second = start_driver(), start_driver()
    first.join(group, topic, LONG_SESSION_MS, protocol=protocol, instance_id="first")
    owns_all(first)
    second.join(group, topic, LONG_SESSION_MS, protocol=protocol, instance_id="second")
    share(first, second)
    owned, given_up = set(second.owned), list(first.given_up)
    second.kill()
    again = start_driver()
    again.join(group, topic, LONG_SESSION_MS, protocol=protocol, instance_id="second")
    until(lambda: again.owned == owned, again)
    driver.produce(topic, [Record(b"still here", partition=partition) for partition in range(PARTITIONS)])
    until(lambda: len(first.records) == len(again.records) == 2, first, again)
    assert first.given_up == given_up


@ways(CONSUMER, can=lambda client: client.has_static_members and client.leaves_for_a_while)
def test_a_static_member_that_left_comes_back_and_nobody_else_notices(
    protocol: str, driver: Driver, start_driver: StartDriver, make_topic: MakeTopic, new_name: NewName
) -> None:
    """One that did not say that it leaves for a while would be waited for: its name is not free."""
    topic, group = make_topic(PARTITIONS), new_name()
    first, second = start_driver(), start_driver()
    first.join(group, topic, LONG_SESSION_MS, protocol=protocol, instance_id="first")
    owns_all(first)
    second.join(group, topic, LONG_SESSION_MS, protocol=protocol, instance_id="second")
    share(first, second)
    owned, given_up = set(second.owned), list(first.given_up)
    second.ask("leave")
    again = start_driver()
    again.join(group, topic, LONG_SESSION_MS, protocol=protocol, instance_id="second")
    until(lambda: again.owned == owned, again)
    driver.produce(topic, [Record(b"still here", partition=partition) for partition in range(PARTITIONS)])
    until(lambda: len(first.records) == len(again.records) == 2, first, again)
    assert first.given_up == given_up


@either_way(lambda client: client.has_static_members and not client.leaves_for_good, is_described=True)
def test_a_static_member_that_stays_away_is_missed_after_its_session(
    protocol: str, driver: Driver, start_driver: StartDriver, make_topic: MakeTopic, impatient_group: str
) -> None:
    topic = make_topic(PARTITIONS)
    first, second = start_driver(), start_driver()
    first.join(impatient_group, topic, LONG_SESSION_MS, protocol=protocol, instance_id="first")
    second.join(impatient_group, topic, SHORT_SESSION_MS, protocol=protocol, instance_id="second")
    share(first, second)
    second.ask("leave")
    members = driver.ask("describe_group", group=impatient_group)["members"]
    assert members == 2, "a static member does not leave by going"
    owns_all(first)


@ways(EAGER, can=has_static_members, is_described=True)
def test_a_second_member_of_the_same_name_takes_the_place_of_the_first(
    client: Client,
    protocol: str,
    driver: Driver,
    start_driver: StartDriver,
    make_topic: MakeTopic,
    new_name: NewName,
) -> None:
    topic, group = make_topic(PARTITIONS), new_name()
    first, second = start_driver(), start_driver()
    first.join(group, topic, LONG_SESSION_MS, protocol=protocol, instance_id="only")
    owns_all(first)
    second.join(group, topic, LONG_SESSION_MS, protocol=protocol, instance_id="only")
    owns_all(second)
    if client.tells_what_fenced_it:
        until(lambda: ErrorCode.FENCED_INSTANCE_ID in first.refusals, first, second)
    assert driver.ask("describe_group", group=group) == {"state": "Stable", "members": 1}
    assert not second.refusals


@ways(CONSUMER, can=has_static_members, is_described=True)
def test_a_second_member_of_the_same_name_is_turned_away(
    protocol: str, driver: Driver, start_driver: StartDriver, make_topic: MakeTopic, new_name: NewName
) -> None:
    topic, group = make_topic(PARTITIONS), new_name()
    first, second = start_driver(), start_driver()
    first.join(group, topic, LONG_SESSION_MS, protocol=protocol, instance_id="only")
    owns_all(first)
    second.join(group, topic, LONG_SESSION_MS, protocol=protocol, instance_id="only")
    until(lambda: ErrorCode.UNRELEASED_INSTANCE_ID in second.refusals, first, second)
    driver.produce(topic, [Record(b"mine", partition=partition) for partition in range(PARTITIONS)])
    until(lambda: len(first.records) == PARTITIONS, first, second)
    assert driver.ask("describe_group", group=group) == {"state": "Stable", "members": 1}
    assert not second.owned

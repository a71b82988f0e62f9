"""Connections are counted in all, by listener and by host, and whoever leaves makes room."""

from __future__ import annotations

import pytest

from ottla.config.broker import BrokerConfig
from ottla.config.loading import load
from ottla.server.connection_limits import ConnectionLimits

ONE, OTHER = "PLAINTEXT", "OTHER"
TWO_LISTENERS = {
    "listeners": "PLAINTEXT://:0,OTHER://:0",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,OTHER:PLAINTEXT,CONTROLLER:PLAINTEXT",
}


def config(texts: dict[str, str] | None = None, **keys: str) -> BrokerConfig:
    return load({**(texts or {}), **{name.replace("_", "."): value for name, value in keys.items()}}, {}).config


class Connection:
    def __init__(self, active_at: float) -> None:
        self.active_at = active_at
        self.why: str | None = None

    def cut_off(self, why: str) -> None:
        self.why = why


def limits_of(count_max: int | None = None, **connections: list[Connection]) -> ConnectionLimits:
    limits = ConnectionLimits(count_max)
    for name, them in (connections or {ONE: []}).items():
        limits.add_listener(name, them)
    return limits


# How many


def test_the_configuration_bounds_them_all() -> None:
    limits = limits_of()
    two = config(max_connections="2")
    assert [limits.admit(ONE, host, two) for host in "abc"] == [True, True, False]
    limits.leave(ONE, "a")
    assert limits.admit(ONE, "c", two)
    assert len(limits) == 2
    assert limits.admit(ONE, "c", config(max_connections="3"))  # a limit that was raised holds at once


def test_the_descriptors_bound_them_as_well() -> None:
    limits = limits_of(1)
    assert [limits.admit(ONE, host, config()) for host in "ab"] == [True, False]


def test_each_host_has_its_own_count_and_may_have_its_own_limit() -> None:
    limits = limits_of(PLAINTEXT=[], OTHER=[])
    some = config(TWO_LISTENERS, max_connections_per_ip="1", max_connections_per_ip_overrides="10.0.0.2:2,::1:0")
    assert [limits.admit(listener, "10.0.0.1", some) for listener in (ONE, OTHER)] == [True, False]
    assert [limits.admit(listener, "10.0.0.2", some) for listener in (ONE, OTHER, ONE)] == [True, True, False]
    assert not limits.admit(ONE, "::1", some)
    limits.leave(ONE, "10.0.0.1")
    assert limits.admit(OTHER, "10.0.0.1", some)


def test_nobody_leaves_who_was_not_admitted() -> None:
    with pytest.raises(AssertionError, match="nobody"):
        limits_of().leave(ONE, "nobody")


# On one listener


def test_a_listener_may_have_its_own_limit() -> None:
    limits = limits_of(PLAINTEXT=[], OTHER=[])
    some = config(TWO_LISTENERS | {"listener.name.other.max.connections": "1"})
    assert [limits.admit(OTHER, "a", some) for _ in range(2)] == [True, False]
    assert [limits.admit(ONE, "a", some) for _ in range(2)] == [True, True]
    limits.leave(OTHER, "a")
    assert limits.admit(OTHER, "b", some)


def test_where_brokers_have_their_own_listener_they_push_out_who_is_idle_longest_elsewhere() -> None:
    idle, busy, broker = Connection(1.0), Connection(2.0), Connection(0.0)
    limits = limits_of(PLAINTEXT=[broker], OTHER=[busy, idle], CONTROLLER=[Connection(0.0)])
    one = config(TWO_LISTENERS, max_connections="1")
    assert limits.admit(OTHER, "a", one)
    assert not limits.admit(OTHER, "a", one)
    assert limits.admit(ONE, "a", one)
    assert (idle.why, busy.why, broker.why) == ("max.connections is reached, and another broker has come", None, None)
    assert limits.admit("CONTROLLER", "a", one)


def test_where_all_come_to_one_listener_nobody_is_pushed_out() -> None:
    idle = Connection(1.0)
    limits = limits_of(PLAINTEXT=[idle], CONTROLLER=[])
    one = config(max_connections="1")
    assert [limits.admit(ONE, "a", one) for _ in range(2)] == [True, False]
    assert idle.why is None


def test_the_limit_of_its_own_listener_holds_for_brokers_too() -> None:
    limits = limits_of(PLAINTEXT=[], OTHER=[])
    none = config(TWO_LISTENERS | {"listener.name.plaintext.max.connections": "0"})
    assert not limits.admit(ONE, "a", none)


# How fast


def test_a_broker_and_a_listener_may_each_have_a_rate() -> None:
    some = config(
        TWO_LISTENERS | {"listener.name.other.max.connection.creation.rate": "1"}, max_connection_creation_rate="4"
    )
    limits = limits_of(PLAINTEXT=[], OTHER=[])
    limits.accepted(OTHER, some, 100.0)
    assert limits.seconds_to_wait(OTHER, some, 100.0) == 1.0
    for _ in range(8):
        limits.accepted(ONE, some, 100.0)
    assert limits.seconds_to_wait(OTHER, some, 100.0) == 1.5  # nine in all, of which four came by right


def test_the_rate_of_the_broker_does_not_bind_brokers() -> None:
    some = config(TWO_LISTENERS, max_connection_creation_rate="1", inter_broker_listener_name=ONE)
    limits = limits_of(PLAINTEXT=[], OTHER=[])
    limits.accepted(OTHER, some, 100.0)
    assert limits.seconds_to_wait(OTHER, some, 100.0) == 1.0
    assert limits.seconds_to_wait(ONE, some, 100.0) == 0.0

"""Connections are counted in all and by host, and whoever leaves makes room."""

from __future__ import annotations

import resource

import pytest

from ottla.config.broker import BrokerConfig
from ottla.config.loading import load
from ottla.server.connection_limits import ConnectionLimits, connections_max


def config(**keys: str) -> BrokerConfig:
    return load({name.replace("_", "."): value for name, value in keys.items()}, {}).config


def test_the_configuration_bounds_them_all() -> None:
    limits = ConnectionLimits(None)
    two = config(max_connections="2")
    assert [limits.admit(host, two) for host in "abc"] == [True, True, False]
    limits.leave("a")
    assert limits.admit("c", two)
    assert len(limits) == 2
    assert limits.admit("c", config(max_connections="3"))  # a limit that was raised holds at once


def test_the_descriptors_bound_them_as_well() -> None:
    limits = ConnectionLimits(1)
    assert [limits.admit(host, config()) for host in "ab"] == [True, False]


def test_each_host_has_its_own_count_and_may_have_its_own_limit() -> None:
    limits = ConnectionLimits(None)
    some = config(max_connections_per_ip="1", max_connections_per_ip_overrides="10.0.0.2:2,::1:0")
    assert [limits.admit("10.0.0.1", some) for _ in range(2)] == [True, False]
    assert [limits.admit("10.0.0.2", some) for _ in range(3)] == [True, True, False]
    assert not limits.admit("::1", some)
    limits.leave("10.0.0.1")
    assert limits.admit("10.0.0.1", some)


def test_nobody_leaves_who_was_not_admitted() -> None:
    with pytest.raises(AssertionError, match="nobody"):
        ConnectionLimits(None).leave("nobody")


def test_a_quarter_of_the_descriptors_is_kept_for_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda which: (1024, 4096))
    assert connections_max() == 768
    monkeypatch.setattr(resource, "getrlimit", lambda which: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert connections_max() is None

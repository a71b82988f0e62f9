"""A configuration is loaded whole: what is unknown is warned about, what is wrong is an error."""

from __future__ import annotations

import pytest

from ottla.config.loading import load
from ottla.config.values import ConfigError


def test_what_no_key_knows_is_a_warning_with_a_guess() -> None:
    static = {"log.retention.m": "5", "my.plugin.setting": "x", "listener.name.plaintext.ssl.keystore.type": "PEM"}
    assert load(static, {}).warnings == [
        "log.retention.m is not a key and has no effect; did you mean log.retention.ms?",
        "my.plugin.setting is not a key and has no effect",
    ]


def test_a_wrong_value_names_key_value_and_what_is_allowed() -> None:
    with pytest.raises(ConfigError, match=r"log\.segment\.bytes: '5' is not allowed: it must be at least 1048576"):
        load({"log.segment.bytes": "5"}, {})


def test_odd_but_allowed_settings_are_warned_about() -> None:
    static = {"broker.heartbeat.interval.ms": "5000", "process.roles": "broker", "controller.listener.names": "C1,C2"}
    warnings = load(static | {"controller.quorum.bootstrap.servers": "c:1"}, {}).warnings
    assert [warning.partition(" ")[0] for warning in warnings] == [
        "broker.heartbeat.interval.ms",
        "controller.listener.names:",
    ]


def test_importing_it_needs_nothing_slow() -> None:
    import subprocess
    import sys

    code = "import sys, ottla.config.loading; print(*sorted(sys.modules))"
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    slow = {"argparse", "asyncio", "difflib", "ipaddress", "json", "logging", "socket", "trio", "ottla.wire.schema"}
    assert slow & set(finished.stdout.split()) == set()

"""Configurations are shown with their sources, set and put back."""

from __future__ import annotations

from ottla.commands.config_commands import COLUMNS, entry_row, source_name
from ottla.commands.terminal import Table
from ottla.wire.messages.configs import DescribeConfigsResponse
from tests.commands.command_line import CommandLine
from tests.commands.sample_logs import plain


def test_values_of_a_topic_are_set_shown_and_put_back(ottla: CommandLine, orders: str) -> None:
    (inherited,) = ottla.ok("configs", "describe", "topic", orders, "--json").rows
    # A new cluster has it, by eligible leader replicas (KIP-966).
    assert (inherited["name"], inherited["source"]) == ("min.insync.replicas", "DYNAMIC_DEFAULT_BROKER_CONFIG")
    told = ottla.ok("configs", "set", "topic", orders, "retention.ms=1000", "cleanup.policy=compact,delete")
    assert told.err == f"topic {orders}: 2 values set\n"
    rows = {row["name"]: row for row in ottla.ok("configs", "describe", "topic", orders, "--json").rows}
    assert {name: row["value"] for name, row in rows.items()} == {
        "retention.ms": "1000",
        "cleanup.policy": "compact,delete",
        "min.insync.replicas": "1",
    }
    assert rows["cleanup.policy"]["source"] == "DYNAMIC_TOPIC_CONFIG"
    assert rows["cleanup.policy"]["synonyms"][-1] == {
        "name": "log.cleanup.policy",
        "value": "delete",
        "source": "DEFAULT_CONFIG",
    }
    ottla.ok("configs", "delete", "topic", orders, "retention.ms", "cleanup.policy")
    assert ottla.ok("configs", "describe", "topic", orders, "--json").rows == [inherited]


def test_defaults_are_shown_if_asked_for(ottla: CommandLine, orders: str) -> None:
    everything = {row["name"] for row in ottla.ok("configs", "describe", "topic", orders, "--all", "--json").rows}
    assert {"retention.ms", "cleanup.policy", "max.message.bytes"} <= everything
    (one,) = ottla.ok("configs", "describe", "topic", orders, "retention.ms", "--json").rows
    assert (one["name"], one["source"]) == ("retention.ms", "DEFAULT_CONFIG")
    told = ottla("configs", "describe", "topic", orders, "no.such.key")
    assert (told.status, "has no key no.such.key" in told.err) == (1, True)


def test_brokers_and_their_defaults_are_configured(ottla: CommandLine) -> None:
    (listeners,) = ottla.ok("configs", "describe", "broker", "1", "listeners", "--json").rows
    assert listeners["source"] == "STATIC_BROKER_CONFIG"
    ottla.ok("configs", "set", "broker", "default", "log.segment.bytes=2000000")
    (row,) = ottla.ok("configs", "describe", "broker", "default", "log.segment.bytes", "--json").rows
    assert (row["value"], row["source"]) == ("2000000", "DYNAMIC_DEFAULT_BROKER_CONFIG")
    ottla.ok("configs", "delete", "broker", "default", "log.segment.bytes")


def test_mistakes_are_told_with_the_way_out(ottla: CommandLine, orders: str) -> None:
    told = ottla("configs", "set", "topic", orders, "retention.ms=soon")
    assert (told.status, "INVALID_CONFIG" in told.err) == (1, True)
    assert "did you mean" in ottla("configs", "describe", "topic", orders[:-1]).err
    told = ottla("configs", "describe", "broker", "77")
    assert (told.status, "`ottla cluster info`" in told.err) == (1, True)
    assert ottla("configs", "describe", "broker", "first").status == 2
    assert ottla("configs", "set", "topic", orders, "retention.ms").status == 2


def test_a_table_shows_what_would_hold_and_no_secret() -> None:
    synonyms = [
        DescribeConfigsResponse.DescribeConfigsSynonym(name="a", value="2", source=1),
        DescribeConfigsResponse.DescribeConfigsSynonym(name="log.a", value=None, source=99),
    ]
    entries = [
        DescribeConfigsResponse.DescribeConfigsResourceResult(
            name="a", value="2", read_only=False, config_source=1, is_sensitive=False, synonyms=synonyms
        ),
        DescribeConfigsResponse.DescribeConfigsResourceResult(
            name="password", value="x", read_only=True, config_source=4, is_sensitive=True, synonyms=[]
        ),
    ]
    terminal, stream = plain()
    with Table(terminal, COLUMNS) as table:
        for entry in entries:
            table.row(entry_row(entry))
    assert stream.getvalue().splitlines()[1:] == [
        "a         2         DYNAMIC_TOPIC_CONFIG   (SOURCE_99)",
        "password  (secret)  STATIC_BROKER_CONFIG  -",
    ]
    assert source_name(5) == "DEFAULT_CONFIG"

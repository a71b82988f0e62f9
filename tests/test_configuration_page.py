"""docs/configuration.md says what the declarations of today say."""

from __future__ import annotations

from ottla.config.broker import BrokerConfig
from ottla.config.declared.client_metrics import ClientMetricsKeys
from ottla.config.declared.group import GroupConfigKeys
from ottla.config.declared.topic import TopicConfigKeys
from tools import configuration


def test_the_page_is_current() -> None:
    written = configuration.PAGE.read_text(encoding="utf-8")
    assert written == configuration.page(), "run: python -m tools.configuration"


def test_every_key_has_one_row() -> None:
    lines = configuration.page().partition("\n## ")[2].splitlines()
    rows = [line.split("`")[1] for line in lines if line.startswith("| `")]
    declared = [
        name for keys in (BrokerConfig, TopicConfigKeys, GroupConfigKeys, ClientMetricsKeys) for name in keys.keys
    ]
    assert sorted(rows) == sorted(declared)


def test_every_row_has_as_many_cells_as_the_head() -> None:
    lines = [line.replace("\\|", "") for line in configuration.page().splitlines() if line.startswith("| `")]
    lines = [line for line in lines if line.count("|") != 4]  # those of the introduction
    assert {line.count("|") for line in lines} == {7}


def test_a_key_that_nobody_reads_says_so() -> None:
    rows = {line.split("`")[1]: line for line in configuration.page().splitlines() if line.startswith("| `")}
    assert "*No effect.*" in rows["remote.log.storage.system.enable"]
    bound = "group.consumer.min.session.timeout.ms"
    for read in ("log.dirs", "log.retention.hours", "retention.ms", "compression.type", "num.partitions", bound):
        assert "*No effect.*" not in rows[read], read

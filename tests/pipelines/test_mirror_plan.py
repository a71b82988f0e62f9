"""What a mirror copies: topics, settings, offsets."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ottla.client.configs import ConfigSource
from ottla.client.metadata import TopicPartition
from ottla.commands import CommandFailed, UsageError
from ottla.pipelines.mirror_plan import Range, check_arguments, chosen, copied_configs, unfinished

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)


def described(**counts: int) -> list[Any]:
    return [
        SimpleNamespace(name=name, partitions=[None] * count, is_internal=name.startswith("_"))
        for name, count in counts.items()
    ]


def test_topics_are_chosen_by_name() -> None:
    assert chosen(described(a=2, b=1), ["b"], None) == {"b": 1}
    with pytest.raises(CommandFailed, match="there is no topic order; did you mean orders"):
        chosen(described(orders=1), ["order"], None)


def test_a_pattern_means_whole_names_and_nothing_that_kafka_keeps_for_itself() -> None:
    topics = described(orders=2, orders2=1, _orders=5)
    assert chosen(topics, [], "orders") == {"orders": 2}
    assert chosen(topics, [], ".*orders.*") == {"orders": 2, "orders2": 1}
    assert chosen(topics, ["_orders"], None) == {"_orders": 5}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (([], None, None), "their names, or --pattern"),
        ((["a"], ".*", None), "their names, or --pattern"),
        (([], "(", None), "--pattern: missing"),
        ((["a"], None, "["), "--groups: unterminated"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(arguments: Any, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        check_arguments(*arguments)


def test_arguments_that_fit_are_taken() -> None:
    check_arguments(["a"], None, None)
    check_arguments([], "a.*", "g.*")


def entry(name: str, value: str | None, source: ConfigSource = ConfigSource.DYNAMIC_TOPIC_CONFIG) -> Any:
    return SimpleNamespace(name=name, value=value, config_source=source)


def test_what_a_topic_itself_is_set_to_is_copied() -> None:
    entries = [
        entry("cleanup.policy", "compact"),
        entry("retention.ms", "1000"),
        entry("segment.bytes", "1000", ConfigSource.DEFAULT_CONFIG),
        entry("flush.ms", "1000", ConfigSource.STATIC_BROKER_CONFIG),
        entry("message.timestamp.type", "LogAppendTime"),
        entry("min.insync.replicas", "2"),
        entry("leader.replication.throttled.replicas", "*"),
        entry("remote.storage.enable", "true"),
        entry("preallocate", None),
    ]
    assert copied_configs(entries, {}) == {"cleanup.policy": "compact", "retention.ms": "1000"}
    assert copied_configs(entries[:2], {"retention.ms": "-1"}) == {"cleanup.policy": "compact", "retention.ms": "-1"}


def test_the_longest_way_to_go_comes_first_and_who_is_there_not_at_all() -> None:
    ranges = {A0: Range(5, 10), A1: Range(0, 100), B0: Range(3, 50)}
    assert list(unfinished(ranges, {}).items()) == [(A1, Range(0, 100)), (B0, Range(3, 50)), (A0, Range(5, 10))]
    assert unfinished(ranges, {A1: 100, B0: 49, A0: 2}) == {A0: Range(5, 10), B0: Range(49, 50)}
    assert not unfinished({A0: Range(7, 7)}, {})

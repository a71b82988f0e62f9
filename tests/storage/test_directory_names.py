"""Directory names: Kafka's, and nothing that leads out of the log directory (failure class 18)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.storage.directory_names import (
    DirectoryKind,
    check_topic_name,
    current_name,
    deleted_name,
    future_name,
    parse,
    stray_name,
    topics_collide,
)
from ottla.wire.errors import ErrorCode, KafkaError

UNIQUE_ID = "0123456789abcdef" * 2
TOPICS = st.from_regex(r"[a-zA-Z0-9._-]{1,249}", fullmatch=True).filter(lambda topic: topic not in (".", ".."))
PARTITIONS = st.integers(0, 2**31 - 1)


@pytest.mark.parametrize("topic", ["a", "a.b_c-D9", "...", "-", "a" * 249, "__consumer_offsets"])
def test_kafkas_topic_names_are_allowed(topic: str) -> None:
    check_topic_name(topic)


@pytest.mark.parametrize(
    "topic",
    ["", ".", "..", "a" * 250, "a/b", "../a", "a\0", "a b", "a\n", "ä", "\u0661", "a\\b", "a:b", "~", "a\u2028"],
)
def test_nothing_else_becomes_a_file_name(topic: str) -> None:
    for build in (
        check_topic_name,
        lambda topic: current_name(topic, 0),
        lambda topic: stray_name(topic, 0, UNIQUE_ID),
    ):
        with pytest.raises(KafkaError) as caught:
            build(topic)
        assert caught.value.code is ErrorCode.INVALID_TOPIC_EXCEPTION


def test_names_that_metrics_could_not_tell_apart_collide() -> None:
    assert topics_collide("a.b", "a_b")
    assert not topics_collide("a.b", "a-b")


@given(TOPICS, PARTITIONS)
def test_a_name_says_its_topic_and_partition(topic: str, partition: int) -> None:
    assert parse(current_name(topic, partition)) == (topic, partition, DirectoryKind.CURRENT)


@given(TOPICS, PARTITIONS)
def test_renamed_directories_fit_and_say_what_they_are(topic: str, partition: int) -> None:
    for build, kind in ((deleted_name, DirectoryKind.DELETED), (stray_name, DirectoryKind.STRAY)):
        name = build(topic, partition, UNIQUE_ID)
        assert len(name) <= 255
        assert name.endswith(f"-{partition}.{UNIQUE_ID}{kind.value}")
        parsed = parse(name)
        assert topic.startswith(parsed.topic)
        assert parsed[1:] == (partition, kind)


def test_a_future_replica_keeps_its_whole_topic() -> None:
    name = future_name("a-1", 12, UNIQUE_ID)
    assert name == f"a-1-12.{UNIQUE_ID}-future"
    assert parse(name) == ("a-1", 12, DirectoryKind.FUTURE)
    with pytest.raises(KafkaError, match="too long"):
        future_name("a" * 249, 0, UNIQUE_ID)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "a",
        "-",
        "a-",
        "-0",
        "a-x",
        "a-+1",
        "a--1x",
        "a-2147483648",
        "a-99999999999",
        "a-0.x",
        "a-0-delete",
        "a-0.-delete",
        "a.b-delete",
        "a-x.b-delete",
        "a b-0",
        "a-0.b c-delete",
        "../a-0",
        "a-\u0661",
        "remote-log-index-cache",
    ],
)
def test_a_foreign_directory_is_told_apart(name: str) -> None:
    with pytest.raises(ValueError, match="directory"):
        parse(name)


def test_a_topic_may_look_like_a_suffix() -> None:
    assert parse("a-delete-0") == ("a-delete", 0, DirectoryKind.CURRENT)
    assert parse("a.b-delete-0.x-delete") == ("a.b-delete", 0, DirectoryKind.DELETED)

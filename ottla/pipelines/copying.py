"""What `replay` and `mirror` share: the clients of the target, and its topics made and grown.

Topics are made with at least the partitions that are to be written; what a topic is set to is the caller's.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import NamedTuple

from ottla.client.blocking import Client
from ottla.client.configs import Resource, ResourceType, describe_configs
from ottla.client.settings import Settings
from ottla.client.topic_admin import (
    BROKER_DEFAULT,
    NewTopic,
    create_topic,
    describe_topics,
    grow_topic,
    is_served,
    wait_until,
)
from ottla.commands import UsageError
from ottla.commands.asking import asking
from ottla.commands.hints import failure
from ottla.pipelines import PipelineFailed
from ottla.wire.compression import Codec
from ottla.wire.errors import ErrorCode, KafkaError

BATCH_BYTES = 524_288
MAX_MESSAGE_BYTES = "max.message.bytes"
CODECS = {codec.name.lower(): codec for codec in Codec}


class Writing(NamedTuple):
    """How executors write to the target: goes to them with each task."""

    bootstrap: str
    timeout_ms: int
    codec: Codec
    batch_bytes: int


def opened(bootstrap: str, timeout_seconds: float, option: str) -> AbstractContextManager[Client]:
    """A client of the cluster that an option names, for the driver. Its errors are told with a way out."""
    return asking(argparse.Namespace(bootstrap_server=bootstrap, timeout=timeout_seconds), option=option)


@contextmanager
def executor_client(bootstrap: str, timeout_ms: int) -> Iterator[Client]:
    """The same for an executor, where an error is to be sent home as a sentence."""
    settings = Settings(client_id="ottla-pipeline", retry_timeout_ms=timeout_ms)
    try:
        with Client(bootstrap, settings) as client:
            yield client
    except KafkaError as error:
        raise PipelineFailed(str(failure(error))) from error


def writing(parsed: argparse.Namespace, bootstrap: str) -> Writing:
    return Writing(bootstrap, int(parsed.timeout * 1000), CODECS[parsed.compression], BATCH_BYTES)


def renames(pairs: Sequence[tuple[str, str]], topics: Sequence[str]) -> dict[str, str]:
    """By topic, the one that it is written to. UsageError where two would become one, or none is meant."""
    given = dict(pairs)
    for topic in given:
        if topic not in topics:
            raise UsageError(f"--rename {topic}={given[topic]}: no topic {topic} is copied")
    named = {topic: given.get(topic, topic) for topic in topics}
    taken: dict[str, str] = {}
    for topic, other in named.items():
        if other in taken:
            raise UsageError(f"{taken[other]} and {topic} would both be written to {other}; see --rename")
        taken[other] = topic
    return named


class WantedTopic(NamedTuple):
    """A topic of the target as it has to be before something is written to it."""

    name: str
    partition_count: int
    configs: Mapping[str, str]


def prepare_topics(client: Client, wanted: Sequence[WantedTopic], replication_factor: int | None) -> list[str]:
    """Make those that are missing and grow those that are too small; returns what was done, in sentences."""
    there = {topic.name: len(topic.partitions) for topic in client.call(describe_topics)}
    done = []
    for topic in wanted:
        count = there.get(topic.name)
        if count is None:
            _make(client, topic, replication_factor or BROKER_DEFAULT)
            done.append(f"made topic {topic.name} with {topic.partition_count} partitions")
        elif count < topic.partition_count:
            client.call(grow_topic, topic.name, topic.partition_count)
            done.append(f"topic {topic.name} has {topic.partition_count} partitions now, not {count}")
        is_whole = partial(is_served, partition_count=topic.partition_count)
        if count is None or count < topic.partition_count:
            client.call(wait_until, topic.name, is_whole, "with its leaders")
    return done


def _make(client: Client, topic: WantedTopic, replication_factor: int) -> None:
    try:
        client.call(create_topic, NewTopic(topic.name, topic.partition_count, replication_factor, topic.configs))
    except KafkaError as error:
        if error.code != ErrorCode.TOPIC_ALREADY_EXISTS:  # somebody was faster
            raise


def batch_bytes_of(client: Client, topic: str) -> int:
    """How large a batch may be, by the topic's own limit."""
    (entry,) = client.call(describe_configs, Resource(ResourceType.TOPIC, topic), [MAX_MESSAGE_BYTES])
    return min(BATCH_BYTES, int(entry.value or BATCH_BYTES))

"""Fetch sessions (KIP-227): what is told, what is left out because it has not changed, and sessions that are over."""

from __future__ import annotations

from typing import Any

from compat_tests.scenarios.batches import batch
from compat_tests.scenarios.fetch import partition
from compat_tests.scenarios.reading import topic_key
from compat_tests.scenarios.scenario import Area
from compat_tests.scenarios.stage import Stage
from ottla.wire.messages.fetch import FetchRequest

AREA = Area("fetch sessions")
VERSIONS = (7, 12, 13, 18)
FULL, NO_SESSION = 0, -1


class Session:
    """One session of one client, at one version."""

    def __init__(self, stage: Stage, version: int) -> None:
        self.stage = stage
        self.version = version
        self.id = 0
        self.epoch = FULL

    def fetch(self, topics: dict[str, list[dict[str, Any]]], forgotten: dict[str, list[int]] | None = None) -> Any:
        fields = {
            "max_wait_ms": 0,
            "session_id": self.id,
            "session_epoch": self.epoch,
            "topics": [{**self.key(topic), "partitions": asked} for topic, asked in topics.items()],
            "forgotten_topics_data": [
                {**self.key(topic), "partitions": asked} for topic, asked in (forgotten or {}).items()
            ],
        }
        found = self.stage.ask(FetchRequest, self.version, fields)
        if found is not None and not found.error_code:
            self.id, self.epoch = found.session_id, self.epoch + 1
        return found

    def key(self, topic: str) -> dict[str, Any]:
        return topic_key(self.stage, topic, self.version, "topic")


def opened(stage: Stage, version: int) -> tuple[Session, str]:
    """A session with two partitions, the first of which has a record."""
    topic = stage.topic(partitions=3)
    stage.produce(topic, batch(b"a"))
    session = Session(stage, version)
    session.fetch({topic: [partition(0), partition(0, 1)]})
    return session, topic


@AREA.at(FetchRequest, versions=VERSIONS)
def what_has_not_changed_is_left_out(stage: Stage, version: int) -> None:
    session, topic = opened(stage, version)
    session.fetch({})
    session.fetch({topic: [partition(1)]})
    session.fetch({})
    stage.produce(topic, batch(b"b"), partition=1)
    session.fetch({})
    session.fetch({topic: [partition(1, 1)]})
    session.fetch({})


@AREA.at(FetchRequest, versions=VERSIONS)
def partitions_come_and_go(stage: Stage, version: int) -> None:
    session, topic = opened(stage, version)
    stage.produce(topic, batch(b"c"), partition=2)
    session.fetch({topic: [partition(0, 2)]})
    session.fetch({}, {topic: [0, 2]})
    stage.produce(topic, batch(b"d"), partition=0)
    session.fetch({})


@AREA.at(FetchRequest, versions=VERSIONS)
def errors_are_told_again_and_again(stage: Stage, version: int) -> None:
    session, topic = opened(stage, version)
    session.fetch({topic: [partition(99), partition(0, 7)]})
    session.fetch({})


@AREA.at(FetchRequest, {"an old one": 1, "one to come": 9, "a negative one": -5}, versions=VERSIONS)
def a_wrong_epoch(stage: Stage, version: int, epoch: int) -> None:
    session, topic = opened(stage, version)
    session.fetch({})
    session.epoch = epoch
    session.fetch({topic: [partition(0)]})


@AREA.at(FetchRequest, versions=VERSIONS)
def a_session_that_nobody_has(stage: Stage, version: int) -> None:
    session, topic = opened(stage, version)
    session.id += 1
    session.fetch({topic: [partition(0)]})


@AREA.at(FetchRequest, versions=VERSIONS)
def a_session_that_is_closed(stage: Stage, version: int) -> None:
    session, topic = opened(stage, version)
    known, session.epoch = session.id, NO_SESSION
    session.fetch({topic: [partition(0)]})
    session.id, session.epoch = known, 1
    session.fetch({})


@AREA.at(FetchRequest, versions=VERSIONS)
def a_session_that_begins_anew(stage: Stage, version: int) -> None:
    session, topic = opened(stage, version)
    known, session.epoch = session.id, FULL
    session.fetch({topic: [partition(0, 1)]})
    session.id, session.epoch = known, 1
    session.fetch({})


@AREA.at(FetchRequest, versions=VERSIONS)
def no_session_at_all(stage: Stage, version: int) -> None:
    topic = stage.topic()
    session = Session(stage, version)
    session.epoch = NO_SESSION
    session.fetch({topic: [partition(0)]})


@AREA.at(FetchRequest, versions=VERSIONS)
def a_session_with_nothing_in_it(stage: Stage, version: int) -> None:
    session = Session(stage, version)
    session.fetch({})
    session.fetch({})


@AREA.at(FetchRequest, versions=(7, 12))
def an_unknown_topic_in_a_session(stage: Stage, version: int) -> None:
    session, topic = opened(stage, version)
    named = {"topic": "no-such-topic", "partitions": [partition(0)]}
    fields = {"max_wait_ms": 0, "session_id": session.id, "session_epoch": 1, "topics": [named]}
    stage.ask(FetchRequest, version, fields)
    session.epoch = 2
    session.fetch({topic: [partition(1)]})


@AREA.at(FetchRequest, versions=(13, 18))
def an_unknown_id_in_a_session(stage: Stage, version: int) -> None:
    session, _ = opened(stage, version)
    named = {"topic_id": bytes(range(16)), "partitions": [partition(0)]}
    fields = {"max_wait_ms": 0, "session_id": session.id, "session_epoch": 1, "topics": [named]}
    stage.ask(FetchRequest, version, fields)
    session.epoch = 2
    session.fetch({})

"""Fixtures for pytest: `kafka_broker`, one for the whole run, and `kafka_topic`, a new one for every test.

Loaded by pytest wherever Ottla is installed, so it imports nothing that costs. Whoever wants other settings overrides
the fixture `kafka_settings`; whoever wants another topic marks the test:

    @pytest.mark.kafka_topic(partitions=3, configs={"cleanup.policy": "compact"})
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import count
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from ottla.testing import Broker
    from ottla.testing.settings import Setting

MARKER = "kafka_topic(partitions=1, configs=None): what the topic of the fixture kafka_topic is like"
# Kafka's names may have 249 characters.
STEM_CHARS_MAX = 200

_numbers = count(1)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)


def pytest_collection_finish(session: pytest.Session) -> None:
    """What a broker needs is loaded by another process while the first tests run."""
    wants_broker = any("kafka_broker" in getattr(item, "fixturenames", ()) for item in session.items)
    if wants_broker and not session.config.option.collectonly:
        from ottla.testing import forking

        forking.prepare()


@pytest.fixture(scope="session")
def kafka_settings() -> Mapping[str, Setting]:
    """Settings of the broker that all tests share; override it to have others."""
    return {}


@pytest.fixture(scope="session")
def kafka_broker(kafka_settings: Mapping[str, Setting]) -> Iterator[Broker]:
    """A Kafka broker for the whole run; `kafka_broker.bootstrap_servers` is where clients find it."""
    from ottla.testing import Broker

    with Broker(kafka_settings) as broker:
        yield broker


@pytest.fixture
def kafka_topic(kafka_broker: Broker, request: pytest.FixtureRequest) -> Iterator[str]:
    """The name of a topic that nobody has used before; it goes with the test, if the broker is still there then."""
    marker = request.node.get_closest_marker("kafka_topic")
    name = topic_name(request.node.name, next(_numbers))
    kafka_broker.create_topic(name, **({} if marker is None else marker.kwargs))
    yield name
    if kafka_broker.is_running:
        kafka_broker.delete_topic(name)


def topic_name(test: str, number: int) -> str:
    """A name that tells which test it is for."""
    stem = re.sub(r"[^a-zA-Z0-9._-]+", "-", test)[:STEM_CHARS_MAX].strip("-")
    return f"{stem}-{number}"

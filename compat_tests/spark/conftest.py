"""Spark's `kafka` format: every test here runs on Ottla and on Apache Kafka, so each expectation is proven."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from compat_tests.clients.confluent_face import Confluent, ConfluentAdmin
from compat_tests.side_by_side import Side
from compat_tests.spark.kafka_format import KafkaFormat

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


@pytest.fixture(params=["ottla", "kafka"])
def broker(request: pytest.FixtureRequest) -> Side:
    side: Side = request.getfixturevalue(f"{request.param}_side")
    return side


@pytest.fixture
def admin(broker: Side) -> ConfluentAdmin:
    return ConfluentAdmin(broker.bootstrap)


@pytest.fixture
def client(broker: Side) -> Confluent:
    """The client that writes what Spark reads and reads what Spark wrote."""
    return Confluent(broker.bootstrap)


@pytest.fixture
def new_name(request: pytest.FixtureRequest) -> Iterator[str]:
    """Names of topics that do not exist, told by the test they are for."""
    stem = re.sub(r"[^a-zA-Z0-9]+", "-", request.node.name).strip("-")[:150]
    return (f"{stem}.{number}" for number in itertools.count(1))


@pytest.fixture
def kafka(spark: SparkSession, broker: Side, new_name: Iterator[str], tmp_path: Path) -> Iterator[KafkaFormat]:
    """The format on this broker. Queries that the test leaves running are stopped."""
    kafka = KafkaFormat(spark, broker.bootstrap, new_name, tmp_path)
    yield kafka
    for query in kafka.session.streams.active:
        query.stop()


@pytest.fixture(params=["admin", "consumer"])
def offset_fetching(request: pytest.FixtureRequest, kafka: KafkaFormat) -> str:
    """Spark asks for offsets by its admin client or, as it used to, by a consumer that joins a group."""
    way: str = request.param
    kafka.fetch_offsets_by(way)
    return way

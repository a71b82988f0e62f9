"""What tests on Spark share: one Spark session, one Ottla and one Apache Kafka for all tests of a worker.

compat_tests/conftest.py hands the fixtures to every directory, so that a worker has one of each. Nothing is started
before a test asks for it. A test has topics of its own, and leaves the session's configuration as it was.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from compat_tests.side_by_side import KafkaSide, OttlaSide, Side, a_side
from ottla.pipelines.connector import ENVIRONMENT
from ottla.pipelines.session import open_session
from tests import jvm

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Four tasks at once: a continuous query holds one for every partition.
MASTER = "local[4]"
OPTIONS = {
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    # A short life is not worth the best compiler.
    "spark.driver.defaultJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


# What a topic no longer keeps is gone soon; topics keep everything unless they say otherwise.
SOON_RETIRED = {"log.retention.check.interval.ms": "200", "log.initial.task.delay.ms": "100"}


def spark_environment() -> dict[str, str]:
    """What processes that open sessions of their own find the connector by: the jars that are pinned for the tests."""
    return {ENVIRONMENT: str(jvm.jars("spark-kafka"))}


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in spark_environment().items():
            patch.setenv(name, value)
        with open_session("tests", MASTER, OPTIONS) as session:
            yield session


@pytest.fixture(scope="session")
def ottla_side(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Side]:
    with a_side(OttlaSide, tmp_path_factory.mktemp("spark") / "ottla", SOON_RETIRED) as side:
        yield side


@pytest.fixture(scope="session")
def kafka_side(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Side]:
    with a_side(KafkaSide, tmp_path_factory.mktemp("spark") / "kafka", SOON_RETIRED) as side:
        yield side

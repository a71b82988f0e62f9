"""What holds for every test beside a real Kafka: the rules of tests/conftest.py, on which targets scenarios run, what
tests on Spark share, and that kafka-python is silent of its sockets."""

from __future__ import annotations

import pytest

from compat_tests.spark.fixtures import kafka_side, ottla_side, spark
from tests.conftest import pytest_make_collect_report, pytest_runtest_makereport
from tests.kafka_python import kafka

__all__ = ["kafka", "kafka_side", "ottla_side", "pytest_make_collect_report", "pytest_runtest_makereport", "spark"]

# The directories whose tests have PySpark in their own process.
ON_SPARK = {"spark", "pipelines"}


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("compat")
    group.addoption("--target", help="play scenarios on this target alone; see compat_tests/targets.py")
    group.addoption("--compare", help="compare these two targets, separated by a comma")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """PySpark leaves the sockets that rows come by to the garbage collector, which Python warns of."""
    for item in items:
        if ON_SPARK & set(item.path.parts):
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"))

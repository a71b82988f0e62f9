"""The fixtures in a pytest of their own, as a user has them: found without being named, and nothing left behind."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ottla.testing.pytest_plugin import STEM_CHARS_MAX, topic_name
from tests.testing.own_pytest import run_pytest


def test_topics_are_new_and_like_the_test_wants_them(tmp_path: Path) -> None:
    said, status = run_pytest(
        tmp_path,
        test_it="""
            import kafka
            import pytest

            seen = []

            def partitions(broker, topic):
                with kafka.KafkaConsumer(bootstrap_servers=broker.bootstrap_servers) as consumer:
                    return consumer.partitions_for_topic(topic)

            @pytest.mark.parametrize("number", ["a/b", "c"])
            def test_plain(kafka_broker, kafka_topic, number):
                assert kafka_topic.startswith("test_plain-")
                assert partitions(kafka_broker, kafka_topic) == {0}
                seen.append(kafka_topic)

            @pytest.mark.kafka_topic(partitions=3)
            def test_marked(kafka_broker, kafka_topic):
                assert partitions(kafka_broker, kafka_topic) == {0, 1, 2}
                assert len(set(seen)) == 2
                assert not any(partitions(kafka_broker, topic) for topic in seen)

            def test_that_ends_its_broker(kafka_broker, kafka_topic):
                kafka_broker.kill()
        """,
        conftest="""
            import pytest

            @pytest.fixture(scope="session")
            def kafka_settings():
                return {"auto.create.topics.enable": False}
        """,
    )
    assert (status, said.splitlines()[-1].split(" in ")[0]) == (0, "4 passed"), said


def test_settings_reach_the_broker(tmp_path: Path) -> None:
    said, status = run_pytest(
        tmp_path,
        test_it="def test_it(kafka_broker): ...",
        conftest="""
            import pytest

            @pytest.fixture(scope="session")
            def kafka_settings():
                return {"num.partition": 3}
        """,
    )
    assert status == pytest.ExitCode.TESTS_FAILED
    assert "did you mean num.partitions?" in said


@pytest.mark.parametrize(
    ("what", "status"),
    [
        ("assert False", pytest.ExitCode.TESTS_FAILED),
        ("raise KeyboardInterrupt", pytest.ExitCode.INTERRUPTED),
        ("raise SystemExit(7)", pytest.ExitCode.TESTS_FAILED),
        ("kafka_broker.kill()", pytest.ExitCode.OK),
    ],
)
def test_a_run_that_goes_wrong_leaves_nothing(tmp_path: Path, what: str, status: int) -> None:
    text = f"""
        import pathlib

        def test_it(kafka_broker, kafka_topic):
            pathlib.Path("pid").write_text(str(kafka_broker._host.process_id))
            {what}
    """
    said, found = run_pytest(tmp_path, test_it=text)
    assert found == status, said
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "tests" / "pid").read_text()), 0)


def test_what_brokers_are_forked_from_is_started_early_and_only_for_who_wants_one(tmp_path: Path) -> None:
    for name, fixture, is_there in (("with", "kafka_broker", True), ("without", "request", False)):
        (tmp_path / name).mkdir()
        said, status = run_pytest(
            tmp_path / name,
            test_it=f"""
                import sys

                def test_before():
                    forking = sys.modules.get("ottla.testing.forking")
                    assert (forking is not None and forking._server is not None) == {is_there}

                def test_it({fixture}): ...
            """,
        )
        assert status == 0, said


def test_loading_the_plugin_costs_nothing() -> None:
    program = (
        "import socket, sys, pytest; before = set(sys.modules); import ottla.testing.pytest_plugin;"
        "print(*set(sys.modules) - before)"
    )
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    parts = ("broker", "failures", "pytest_plugin", "settings")
    assert set(loaded) == {"ottla", "ottla.testing", *(f"ottla.testing.{part}" for part in parts)}


@pytest.mark.parametrize(
    ("test", "name"),
    [
        ("test_it", "test_it-7"),
        ("test_it[a/b-ä ö]", "test_it-a-b-7"),
        ("x" * 300, "x" * STEM_CHARS_MAX + "-7"),
    ],
)
def test_a_topic_is_named_after_its_test(test: str, name: str) -> None:
    found = topic_name(test, 7)
    assert found == name
    assert re.fullmatch(r"[a-zA-Z0-9._-]{1,249}", found)

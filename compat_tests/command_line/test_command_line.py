"""Ottla's command line against Ottla and against Apache Kafka 4.3.1: every command says the same of both.

What it should say is told by the tests of the commands; here is shown that it holds for Kafka as well.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from pathlib import Path

import pytest

from compat_tests.command_line.answers import NAMES, Answer, answers_of
from compat_tests.kafka_process import CLUSTER_ID, SINGLE_NODE, KafkaNode
from tests.commands.command_line import CommandLine
from tests.server.node_process import a_node

pytestmark = pytest.mark.jvm

PROPERTIES = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "3",
    "offsets.topic.replication.factor": "1",
    "log.cleaner.enable": "false",
    "auto.create.topics.enable": "false",
}
# Kafka's node has these from its launcher.
LOG_PROPERTIES = {key: value for key, value in SINGLE_NODE.items() if key.startswith("log.")}
OWN_PROPERTIES = {**LOG_PROPERTIES, **PROPERTIES, "cluster.id": CLUSTER_ID}

Answers = dict[str, tuple[Answer, Answer]]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    """What both answered, Ottla first."""
    directory: Path = tmp_path_factory.mktemp("command-line")
    words = [word for key, value in OWN_PROPERTIES.items() for word in (f"--{key}", value)]
    kafka = KafkaNode(directory / "kafka", PROPERTIES, is_standalone=True)
    kafka.format()
    with contextlib.ExitStack() as stack:
        ottla = stack.enter_context(a_node(directory / "ottla", *words))
        stack.enter_context(kafka.running())
        of_ottla = answers_of(CommandLine(ottla.address))
        of_kafka = answers_of(CommandLine(kafka.bootstrap))
        assert piped(kafka.bootstrap) == piped(ottla.address)
    return {name: (of_ottla[name], of_kafka[name]) for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_a_command_says_the_same_of_both(answers: Answers, name: str) -> None:
    of_ottla, of_kafka = answers[name]
    assert of_ottla == of_kafka


def test_most_commands_succeed_and_mistakes_do_not(answers: Answers) -> None:
    """Two nodes that answer nothing would answer the same."""
    failed = {name for name, (of_ottla, _) in answers.items() if of_ottla.status}
    expected = ("again", "wrong", "too many", "too much", "nowhere", "shrink", "unknown", "nobody", "with members")
    assert {name for name in NAMES if any(word in name for word in expected)} - {"empty list again"} == failed


def test_a_name_is_used_once() -> None:
    assert len(NAMES) == len(set(NAMES))


def piped(bootstrap: str) -> tuple[str, int]:
    """A pipe of real processes: what one writes the other reads, and `head` ends both."""
    ottla = f"{sys.executable} -m ottla"
    command = (
        f"set -e; export OTTLA_BOOTSTRAP_SERVERS={bootstrap}; {ottla} topics create piped 2>&1; "
        f"seq 20000 | {ottla} produce piped --quiet; {ottla} consume piped | {ottla} produce piped --quiet; "
        f"{ottla} consume piped | wc -l; {ottla} consume piped 2>&1 | head -2"
    )
    done = subprocess.run(
        ["bash", "-c", command], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, check=False
    )
    return done.stdout, done.returncode

"""Apache Kafka's own command line tools against Ottla and against Apache Kafka: every one prints the same.

A command of the table in commands.py is a test. All run in one JVM, first those that ask running nodes, then those that
look into the directories of nodes that have been stopped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import pytest

from compat_tests.kafka_tools.answers import Answers, all_answers
from compat_tests.kafka_tools.commands import DIRECTORY_COMMANDS, RUNNING_COMMANDS
from compat_tests.kafka_tools.tool_jvm import a_tool_jvm
from compat_tests.side_by_side import IMPATIENT_GROUPS, both_running

pytestmark = pytest.mark.jvm

# Compared by a test of its own: Ottla does not serve all of Kafka's requests.
API_VERSIONS = "broker_api_versions"
COMPARED = [
    command.name
    for command in (*RUNNING_COMMANDS, *DIRECTORY_COMMANDS)
    if command.name and command.name != API_VERSIONS
]
# What the broker of one node serves to producers, consumers and admin clients.
SERVED = {
    *range(4),
    *range(8, 17),
    *range(18, 24),
    *(32, 33, 34, 35, 37, 42, 43, 44, 47, 55, 57, 60, 61, 65, 66, 68, 69, 74, 75),
}


@pytest.fixture(scope="session")
def printed(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    directory = tmp_path_factory.mktemp("kafka-tools")
    with both_running(directory, IMPATIENT_GROUPS) as sides, a_tool_jvm() as tools:
        return all_answers(tools, sides, directory)


@pytest.mark.parametrize("command", COMPARED)
def test_a_tool_prints_what_it_prints_of_kafka(printed: Answers, command: str) -> None:
    ottla, kafka = printed[command]
    assert ottla.lines == kafka.lines
    assert ottla.status == kafka.status


def test_clients_use_the_same_versions_as_with_kafka(printed: Answers) -> None:
    ottla, kafka = (usable_versions(answer.lines) for answer in printed[API_VERSIONS])
    assert ottla.keys() >= SERVED
    assert ottla == {key: kafka[key] for key in ottla}


def usable_versions(lines: Iterable[str]) -> dict[int, int]:
    found = (re.search(r"\((\d+)\): .*\[usable: (\d+)\]", line) for line in lines)
    return {int(match[1]): int(match[2]) for match in found if match}


def test_every_command_has_a_name_of_its_own() -> None:
    """A name that occurs twice would hide an answer."""
    assert len(COMPARED) == len(set(COMPARED))

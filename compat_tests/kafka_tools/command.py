"""What a command line is that is given to Ottla and to Apache Kafka, and the tools that many of them run."""

from __future__ import annotations

from typing import NamedTuple

TOOLS = "org.apache.kafka.tools."
CONSOLE_PRODUCER = TOOLS + "ConsoleProducer"
CONSOLE_CONSUMER = TOOLS + "consumer.ConsoleConsumer"
SETTLE = "Settle"

SERVER = "--bootstrap-server {bootstrap} "


class Command(NamedTuple):
    """One run of a tool. `only` is a pattern of the lines that count, if not all do.

    It is a test if it has a name; what has none only makes the next ones possible. `until` is for a tool that may look
    before it has read everything: it runs again until a line is like that.
    """

    name: str
    tool: str
    line: str
    given: str = ""
    only: str = ""
    until: str = ""
    is_unordered: bool = False
    is_alone: bool = False


def settled_topic(name: str, partitions: int) -> Command:
    return Command("", SETTLE, f"{{bootstrap}} topic {name} {partitions}")


def settled_config(kind: str, name: str, key: str, value: str) -> Command:
    return Command("", SETTLE, f"{{bootstrap}} config {kind} {name} {key} {value}")


def settled_feature(name: str, level: int) -> Command:
    return Command("", SETTLE, f"{{bootstrap}} feature {name} {level}")

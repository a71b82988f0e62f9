"""What every tool printed about both nodes, made comparable: ids, ports, times, paths and sizes are masked.

It knows how commands are filled in and run, and what in their answers is of this run only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from compat_tests.kafka_process import CLUSTER_ID
from compat_tests.kafka_tools.command import Command
from compat_tests.kafka_tools.commands import DIRECTORY_COMMANDS, RUNNING_COMMANDS
from compat_tests.kafka_tools.group_commands import RESETS
from compat_tests.kafka_tools.tool_jvm import Printed, ToolJvm
from compat_tests.side_by_side import Side

DELETIONS = {"version": 1, "partitions": [{"topic": "tools", "partition": 0, "offset": 2}]}

# For a producer: what is sent at once goes into one batch, however busy the machine is; its end does not wait for that.
PATIENT = "linger.ms=30000\n"

# What differs from run to run, and what it becomes.
MASKS = (
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "UUID"),
    (re.compile(rf"\b(?!{CLUSTER_ID})(?=[\w-]*[0-9A-Z])[\w-]{{22}}(?![\w-])"), "ID"),
    (re.compile(r"127\.0\.0\.1:\d+"), "127.0.0.1:PORT"),
    (re.compile(r"\b1[6-9]\d{11}\b"), "TIME"),
    (re.compile(r"(127\.0\.0\.1) \d+"), r"\1 PORT"),
    (re.compile(r'"(size|avg_throughput)":[\d.]+'), r'"\1":NUMBER'),
    (re.compile(r"\b(size|position|crc): \d+"), r"\1: NUMBER"),
    (re.compile(r"\b(port|epoch|leaderEpoch|partitionEpoch)=\d+"), r"\1=NUMBER"),
    (re.compile(r"\b(HighWatermark|Epoch):( +)\d+"), r"\1:\2NUMBER"),
    (re.compile(r"^(\d\s+ID\s+)\d+\s+"), r"\1NUMBER "),
    (re.compile(r"\d+ ms ago +"), "AGO"),
    # When it began and ended, how fast it was: what counts is how much was read.
    (re.compile(r"^\d{4}-[^,]*, \d{4}-[^,]*, ([\d.]+), [\d.]+, (\d+), .*"), r"\1 MB, \2 records"),
    (re.compile(r"(records sent), .*"), r"\1"),
    # A node that was stopped: Kafka's has said so to its controller.
    (re.compile(r"\bleader=-?\d+"), "leader=NUMBER"),
    (re.compile(r"(supportedFeatures)=\{.*"), r"\1"),
    # The words of a refusal are each broker's own.
    (re.compile(r"^(Error while executing \w+ command)\b.*"), r"\1"),
    (re.compile(r"^(Error: Executing consumer group command failed due to [\w.]+): .*"), r"\1"),
)

TRIES_MAX = 50

Answers = dict[str, tuple[Printed, Printed]]


def all_answers(tools: ToolJvm, sides: Sequence[Side], directory: Path) -> Answers:
    """Run the whole table on both; at its end both nodes have been stopped."""
    deletions = directory / "deletions.json"
    deletions.write_text(json.dumps(DELETIONS), encoding="utf-8")
    resets = directory / "resets.csv"
    resets.write_text(RESETS, encoding="utf-8")
    patient = directory / "patient.properties"
    patient.write_text(PATIENT, encoding="utf-8")
    files = {"deletions": str(deletions), "resets": str(resets), "patient": str(patient)}
    found = [answers(tools, side, RUNNING_COMMANDS, files) for side in sides]
    for side in sides:
        side.stop()
    for side, answered in zip(sides, found, strict=True):
        answered |= answers(tools, side, DIRECTORY_COMMANDS, files)
    ottla, kafka = found
    return {name: (ottla[name], kafka[name]) for name in kafka}


def answers(tools: ToolJvm, side: Side, commands: Iterable[Command], files: Mapping[str, str]) -> dict[str, Printed]:
    places = {
        "bootstrap": side.bootstrap,
        "controllers": side.controllers,
        "config": str(side.config_path),
        "logs": str(side.log_dir),
        **files,
    }
    found = {}
    for command in commands:
        words = [word.format_map(places) for word in command.line.split()]
        printed = run(tools, command, words)
        if command.name:
            found[command.name] = comparable(printed, command, side)
        else:
            assert printed.status == 0, (words, printed.lines)
    return found


def run(tools: ToolJvm, command: Command, words: Sequence[str]) -> Printed:
    if command.is_alone:
        return tools.run_alone(command.tool, words)
    for _ in range(TRIES_MAX):
        printed = tools.run(command.tool, words, command.given)
        if not command.until or any(command.until in line for line in printed.lines):
            break
    return printed


def comparable(printed: Printed, command: Command, side: Side) -> Printed:
    counting = re.compile(command.only)
    lines = [masked(line, side) for line in printed.lines if counting.search(line)]
    return Printed(printed.status, sorted(lines) if command.is_unordered else lines)


def masked(line: str, side: Side) -> str:
    line = line.replace(str(side.log_dir), "LOGS").replace(str(side.config_path), "CONFIG")
    for pattern, mask in MASKS:
        line = pattern.sub(mask, line)
    return line

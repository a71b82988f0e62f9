"""The Java scenarios, run: one JVM per client and broker, which prints what each scenario learned.

It knows the families of scenarios, which client can run which, and the lines that Scenarios.java prints. What the
answers mean, and whether they are right, it does not know.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from compat_tests.side_by_side import Side
from tests import jvm

HERE = Path(__file__).resolve().parent
# Far beyond what a busy machine takes: it ends a run that hangs.
SECONDS_MAX = 900
FAMILIES = (
    "ProducerScenarios",
    "ConsumerScenarios",
    "TopicScenarios",
    "ConfigScenarios",
    "ClusterScenarios",
    "ChangeScenarios",
)
# Their scenarios mostly wait for members and brokers, so they run beside each other.
GROUP_FAMILIES = ("GroupScenarios", "GroupOffsetScenarios", "GroupAdminScenarios")
SHARED = ("Scenarios", "World", "Reading", "Configs", "GroupMember", "DoomedMember")
_SCENARIO = re.compile(r'ALL\.put\("(\w+)"(?: \+ (\w+))?')
_LOOP = re.compile(r"for \(String (\w+) : List\.of\(([^)]*)\)\) \{\s+ALL")


@dataclass(frozen=True)
class Client:
    """A release of kafka-clients, and the families that it can run."""

    name: str
    jars: str
    families: tuple[str, ...]
    families_together: tuple[str, ...]

    def scenarios(self) -> list[str]:
        """The names of all scenarios, as the sources have them."""
        return [name for family in self.all_families for name in scenario_names(source(family))]

    @property
    def all_families(self) -> tuple[str, ...]:
        return (*self.families, *self.families_together)

    def classpath(self) -> str:
        jars = f"{jvm.jars(self.jars)}/*"
        classes = jvm.compile_java([source_path(name) for name in (*SHARED, *self.all_families)], jars)
        return f"{classes}:{jars}"


CLIENTS = (
    Client("3.9", "kafka-clients-3.9", (*FAMILIES, "Before4Scenarios"), GROUP_FAMILIES),
    Client("4.4", "kafka-clients", (*FAMILIES, "Since4Scenarios"), (*GROUP_FAMILIES, "ConsumerProtocolScenarios")),
)


@dataclass
class Outcome:
    """What one scenario said, and how it failed if it did."""

    answers: list[str] = field(default_factory=list)
    failure: str = ""


def source_path(name: str) -> Path:
    return HERE / f"{name}.java"


def source(name: str) -> str:
    return source_path(name).read_text(encoding="utf-8")


def scenario_names(text: str) -> list[str]:
    """Names that are put into ALL; those that end in a variable, once for each of its values."""
    values = {name: re.findall(r'"([^"]*)"', listed) for name, listed in _LOOP.findall(text)}
    names = []
    for name, variable in _SCENARIO.findall(text):
        names += [name + value for value in values[variable]] if variable else [name]
    return names


def run(client: Client, side: Side) -> dict[str, Outcome]:
    """Run all scenarios of a client against one broker, and restart that broker when they ask for it."""
    prefix = f"c{client.name.replace('.', '')}-"
    process = jvm.java(
        client.classpath(),
        "Scenarios",
        *(side.bootstrap, side.controllers, prefix, *client.families, "together", *client.families_together),
        jvm_options=("-XX:TieredStopAtLevel=1",),
    )
    watchdog = threading.Timer(SECONDS_MAX, process.kill)
    watchdog.start()
    try:
        assert process.stdout is not None
        assert process.stdin is not None
        lines = []
        for line in process.stdout:
            lines.append(line.rstrip("\n"))
            if lines[-1] == "restart":
                side.stop()
                side.start()
                process.stdin.write("restarted\n")
                process.stdin.flush()
        assert process.wait(SECONDS_MAX) == 0, lines[-20:]
        assert lines[-1] == "done", lines[-20:]
    finally:
        watchdog.cancel()
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            pipe.close()
    return outcomes(lines)


def outcomes(lines: Sequence[str]) -> dict[str, Outcome]:
    found: dict[str, Outcome] = {}
    current = Outcome()
    for line in lines:
        kind, _, text = line.partition(" ")
        if kind == "scenario":
            current = found[text] = Outcome()
        elif kind == "answer":
            current.answers += unescaped(text).split("\n")
        elif kind == "failed":
            current.failure = unescaped(text)
    return found


def unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda match: "\n" if match[1] == "n" else match[1], text)

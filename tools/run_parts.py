"""Run the parts of the gate one after another and say what each took: `run_parts.py gate | fast | ...`.

The table PARTS is the gate. A part is a few commands; all parts run, whatever failed before. A part whose tools are
missing does not run and is named at the end; with CI=true that is a failure. A part that runs much longer than its
budget is stopped. The last line is the sum: `N passed, M failed`.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
JVM = ("java", "javac", "mvn")
ENGINE = ("docker", "dockerd", "docker-compose", "debootstrap")
# For a network of its own; that takes root as well, without which its tests are skipped.
NAMESPACES = ("ip", "nsenter", "setpriv", "unshare")
# The budget is what a part should take on two idle cores; a busy machine may take longer, a hung test does not end.
STOP_AFTER_BUDGETS = 4

Command = tuple[str, ...]


@dataclass(frozen=True)
class Part:
    """Commands that stand or fall together, with the minutes they may take and the programs they need."""

    name: str
    budget_minutes: float
    commands: tuple[Command, ...]
    needs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """What became of a part; `missing` names the programs for want of which it did not run."""

    part: Part
    seconds: float = 0.0
    passed: int = 0
    failed: int = 0
    missing: tuple[str, ...] = ()


def python(*arguments: str) -> Command:
    return (sys.executable, "-m", *arguments)


def tests(markers: str, *arguments: str) -> Command:
    return python("pytest", "-q", "-p", "no:cacheprovider", "-m", markers, *arguments)


# Marks divide the tests into parts: each test is in one, and a new test file is in one without being named here.
UNIT = "not jvm and not packaging and not soak"
JAVA = "jvm and not soak"
# A file's tests share what is expensive to start.
LOADFILE = "--dist=loadfile"

LINT = Part("lint", 1, (python("ruff", "check", "."), python("ruff", "format", "--check", "."), python("mypy")))
BROKER_TESTS = (
    "tests/server",
    "tests/cluster",
    "tests/config",
    "tests/client",
    "tests/commands",
    "tests/testing",
    "tests/pipelines",
)
STORAGE_TESTS = ("tests/storage", "tests/test_mutants.py")
GROUP_TESTS = ("tests/coordinators",)
SIMULATION_TESTS = ("tests/simulation",)
FAULT_TESTS = ("tests/faults",)
# What has no part of its own is in this one, so that nothing is left out.
ELSEWHERE = tuple(
    f"--ignore={path}"
    for path in ("tests/wire", *STORAGE_TESTS, *BROKER_TESTS, *GROUP_TESTS, *SIMULATION_TESTS, *FAULT_TESTS)
)
PROJECT = Part("project", 1, (tests(UNIT, "tests", *ELSEWHERE),))
WIRE = Part(
    "wire",
    2,
    (tests(UNIT, "tests/wire", "-n2", "--dist=worksteal", "--cov=ottla.wire", "--cov-branch", "--cov-fail-under=100"),),
)
COMPAT_WIRE = Part("wire-kafka", 1, (tests(JAVA, "tests/wire", "-n2", LOADFILE),), needs=JVM)
STORAGE = Part("storage", 3, (tests(UNIT, *STORAGE_TESTS, "-n2", "--dist=worksteal"),))
# Each of them runs on Ottla and on Apache Kafka. kcat, Go and Node are not needed: without them their tests are skipped
# and named.
CLIENT_TESTS = (
    "compat_tests/clients",
    "compat_tests/command_line",
    "compat_tests/driven_clients",
    "compat_tests/java_applications",
    "compat_tests/java_clients",
    "compat_tests/kafka_tools",
)
GROUP_SCRIPTS = "compat_tests/test_group_scripts.py"
CONTAINER_TESTS = "compat_tests/containers"
# Kafka's tools on clusters of Ottla, and clusters of both.
CLUSTER_TESTS = "compat_tests/clusters"
# The kafka format on Ottla and on Apache Kafka, and the pipelines; each worker has a Spark and one broker of each kind.
# Files come in this order: of the pipelines some are one long test, which else would come last, several to one worker.
SPARK_TESTS = ("compat_tests/pipelines", "compat_tests/spark", "--no-loadscope-reorder")
# All scenarios on Ottla and on Apache Kafka, compared; as tests on Ottla alone, since one comparison is enough; and
# brokers with a mistake, which the comparison must tell from a sound one.
SCENARIO_TESTS = (
    "compat_tests/test_comparison.py",
    "compat_tests/test_raw_requests.py",
    "compat_tests/test_scenarios.py",
    "compat_tests/test_broker_mutants.py",
)
COMPAT = Part("compat", 3, (python("compat_tests"), tests("not soak", *SCENARIO_TESTS, "--target=ottla")), needs=JVM)
STORAGE_KAFKA = Part(
    "storage-kafka",
    3,
    (
        tests(
            "not soak",
            "compat_tests",
            *(f"--ignore={path}" for path in (*CLIENT_TESTS, *SCENARIO_TESTS, *SPARK_TESTS)),
            *(f"--ignore={path}" for path in (GROUP_SCRIPTS, CONTAINER_TESTS, CLUSTER_TESTS)),
            "-n2",
            LOADFILE,
        ),
        tests(JAVA, "tests/storage"),
    ),
    needs=JVM,
)
CLUSTER_KAFKA = Part("cluster-kafka", 2.5, (tests("not soak", CLUSTER_TESTS, "-n2", LOADFILE),), needs=JVM)
CLIENTS = Part("clients", 10, (tests("not soak", *CLIENT_TESTS, "-n2", LOADFILE),), needs=JVM)
GROUPS = Part("groups", 1, (tests(UNIT, *GROUP_TESTS, "-n2", "--dist=worksteal"),))
GROUPS_KAFKA = Part(
    "groups-kafka", 1, (tests(JAVA, *GROUP_TESTS, "-n2", LOADFILE), tests("not soak", GROUP_SCRIPTS)), needs=JVM
)
# What happened in them is counted, and printed at the end.
SIMULATION = Part("simulation", 5, (tests(UNIT, *SIMULATION_TESTS, "-n2", "--dist=worksteal"),))
# Real processes, killed, paused and cut off. One after another: each has all cores, and prints what it counted.
FAULTS = Part("faults", 4, (tests("not soak", *FAULT_TESTS),), needs=(*JVM, *NAMESPACES))
BROKER = Part("broker", 3, (tests(UNIT, *BROKER_TESTS, "-n2", "--dist=worksteal"),))
BROKER_KAFKA = Part(
    "broker-kafka",
    1,
    (
        tests(
            JAVA,
            "tests",
            "--ignore=tests/wire",
            "--ignore=tests/storage",
            "--ignore=tests/coordinators",
            "--ignore=tests/faults",
            "-n2",
            LOADFILE,
        ),
    ),
    needs=JVM,
)
# One process: an engine is started for all of them. Its images are made here if they are not in the cache.
CONTAINERS = Part("containers", 5, (tests("not soak", CONTAINER_TESTS),), needs=(*ENGINE, *JVM))
SPARK = Part("spark", 12, (tests("not soak", *SPARK_TESTS, "-n2", LOADFILE),), needs=JVM)
PACKAGING = Part("packaging", 1, (tests("packaging and not soak", "tests"),))
WIRE_FAST = Part("wire", 1, (tests(UNIT, "tests/wire", "-n2", "--dist=worksteal", "--hypothesis-profile=fast"),))
SOAK = Part(
    "soak",
    180,
    (tests("soak", "tests", "-n2", "--hypothesis-profile=soak"), tests("soak", GROUP_SCRIPTS)),
    needs=(*JVM, *NAMESPACES),
)

PARTS = {
    "gate": (
        *(
            LINT,
            PROJECT,
            WIRE,
            COMPAT_WIRE,
            STORAGE,
            STORAGE_KAFKA,
            BROKER,
            BROKER_KAFKA,
            SIMULATION,
            FAULTS,
            GROUPS,
            GROUPS_KAFKA,
            CLUSTER_KAFKA,
        ),
        *(COMPAT, CLIENTS, CONTAINERS, SPARK, PACKAGING),
    ),
    "fast": (LINT, PROJECT, WIRE_FAST),
    "soak": (SOAK,),
    "lint": (LINT,),
    "faults": (FAULTS,),
    "compat": (COMPAT,),
    "containers": (CONTAINERS,),
    "spark": (SPARK,),
}


def main(arguments: Sequence[str]) -> int:
    if len(arguments) != 1 or arguments[0] not in PARTS:
        print(f"usage: run_parts.py {' | '.join(PARTS)}", file=sys.stderr)
        return 2
    ci = os.environ.get("CI") == "true"
    outcomes = [run(part, ci=ci) for part in PARTS[arguments[0]]]
    print("\n" + report(outcomes, ci=ci), flush=True)
    return 1 if any(outcome.failed for outcome in outcomes) else 0


def run(part: Part, *, ci: bool, which: Callable[[str], str | None] = shutil.which) -> Outcome:
    """Run every command of a part, even after one failed; in CI a part that cannot run has failed."""
    missing = tuple(program for program in part.needs if which(program) is None)
    if missing:
        return Outcome(part, failed=int(ci), missing=missing)
    print(f"\n== {part.name} ==", flush=True)
    started = time.monotonic()
    counts = [run_command(command, part.budget_minutes * 60 * STOP_AFTER_BUDGETS) for command in part.commands]
    seconds = time.monotonic() - started
    return Outcome(part, seconds, sum(passed for passed, _ in counts), sum(failed for _, failed in counts))


def run_command(command: Command, seconds_max: float) -> tuple[int, int]:
    """Run one command, show what it prints, and return how much passed and failed in it."""
    print(f"$ {' '.join(('python', *command[1:]) if command[0] == sys.executable else command)}", flush=True)
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,  # so that stopping it stops what it started
    )
    assert process.stdout is not None
    watchdog = threading.Timer(seconds_max, stop, (process, f"stopped after {seconds_max / 60:.0f} minutes"))
    watchdog.start()
    lines = []
    try:
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line)
        return counted(lines, process.wait())
    finally:
        watchdog.cancel()
        if process.poll() is None:
            stop(process, "interrupted")
            process.wait()
        process.stdout.close()


def stop(process: subprocess.Popen[str], why: str) -> None:
    print(f"run_parts: {why}", flush=True)
    os.killpg(process.pid, signal.SIGKILL)


SUMMARY = re.compile(r"^=*\s*\d+ (?:passed|failed|errors?|skipped|deselected|warnings?|xfailed|xpassed)\b.* in [\d.]+s")


def counted(lines: Sequence[str], status: int) -> tuple[int, int]:
    """How much passed and failed: by pytest's last summary, otherwise the command counts as one.

    The exit status has the last word: coverage that is too low fails a run in which every test passed.
    """
    summaries = [line for line in lines if SUMMARY.match(line)]
    if not summaries:
        return (1, 0) if status == 0 else (0, 1)
    counts = {word: int(number) for number, word in re.findall(r"(\d+) (passed|failed|error)", summaries[-1])}
    failed = counts.get("failed", 0) + counts.get("error", 0)
    return counts.get("passed", 0), failed or int(status != 0)


def report(outcomes: Sequence[Outcome], *, ci: bool) -> str:
    """The table of parts, what did not run, and the sum."""
    lines = [f"{'part':<14}{'minutes':>8}{'budget':>8}{'passed':>8}{'failed':>8}"]
    for outcome in outcomes:
        row = f"{outcome.part.name:<14}{outcome.seconds / 60:>8.1f}{outcome.part.budget_minutes:>8g}"
        lines.append(f"{row}{outcome.passed:>8}{outcome.failed:>8}" + ("  NOT RUN" if outcome.missing else ""))
    lines.append(f"{'all':<14}{sum(outcome.seconds for outcome in outcomes) / 60:>8.1f}")
    for outcome in outcomes:
        if outcome.missing:
            blame = " (a failure, because CI=true)" if ci else ""
            lines.append(f"not run: {outcome.part.name}, for want of {', '.join(outcome.missing)}{blame}")
    passed, failed = sum(outcome.passed for outcome in outcomes), sum(outcome.failed for outcome in outcomes)
    return "\n".join([*lines, f"{passed} passed, {failed} failed"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

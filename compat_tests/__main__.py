"""`python -m compat_tests`: play all scenarios on Ottla and on Apache Kafka 4.3.1, print the comparison, and judge it.

    python -m compat_tests                                   Ottla and Apache Kafka from Maven's jars
    python -m compat_tests --compare ottla,kafka-container   any two targets; see compat_tests/targets.py
    python -m compat_tests --target external                 one target: the scenarios are played to their end
    python -m compat_tests --only fetch                      areas or scenarios whose name has this in it

The exit status is 0 if nothing differs but what compat_tests/exemptions.py excuses, all of that was needed, every
scenario could be played, and every API was asked as it must be.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from compat_tests.client_matrix import CLIENTS
from compat_tests.comparison import Comparison, Observation, compare, failed, observe_all
from compat_tests.coverage_of_apis import lacking
from compat_tests.exemptions import EXEMPTIONS
from compat_tests.scenarios import AREAS, SCENARIOS
from compat_tests.scenarios.scenario import Scenario, by_wants
from compat_tests.scenarios.stage import Place
from compat_tests.targets import DEFAULT_COMPARE, NoSuchTarget, chosen, opened, played_on

Observations = dict[str, dict[str, Observation]]
PROBLEMS_SHOWN_MAX = 40


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m compat_tests", description="Compare what brokers answer.")
    parser.add_argument("--target", help="play on one target")
    parser.add_argument("--compare", help="two targets, separated by a comma")
    parser.add_argument("--only", default="", help="scenarios whose name has this in it")
    options = parser.parse_args(arguments)
    started = time.monotonic()
    try:
        names = chosen(options.target, options.compare)
        scenarios = played_on(names, [scenario for scenario in SCENARIOS if options.only in scenario.id])
        with tempfile.TemporaryDirectory(prefix="compat-") as directory:
            observations, missing = play(names, scenarios, Path(directory))
    except NoSuchTarget as error:
        print(f"compat: {error}", file=sys.stderr)
        return 2
    problems = [f"{name}: {which}: {why}" for name in names for which, why in failed(observations[name]).items()]
    outcome = Comparison(scenarios)
    if len(names) > 1:
        ours, theirs = (observations[name] for name in names)
        excuses = EXEMPTIONS if names[0] == DEFAULT_COMPARE[0] else ()
        outcome = compare(scenarios, ours, theirs, excuses)
        if len(scenarios) == len(SCENARIOS):
            problems += [
                f"an exception that nothing needs: {one.reason}" for one in excuses if not outcome.excused[one]
            ]
            problems += missing
    print(report(names, outcome))
    for problem in (*map(str, outcome.differences), *problems)[:PROBLEMS_SHOWN_MAX]:
        print(f"\n{problem}")
    bad = len(outcome.differing) + len(problems)
    print(f"\n{len(scenarios) - len(outcome.differing)} passed, {bad} failed in {time.monotonic() - started:.1f}s")
    return 1 if bad else 0


def play(names: Sequence[str], scenarios: Sequence[Scenario], directory: Path) -> tuple[Observations, list[str]]:
    """All scenarios on all targets at once; and what the first of them was not asked.

    Scenarios that want something of the configuration have targets of their own.
    """
    with contextlib.ExitStack() as stack:
        roles: list[tuple[str, list[Scenario], Place]] = []
        for number, (wants, part) in enumerate(by_wants(scenarios).items()):
            (own := directory / str(number)).mkdir()
            roles += [(name, part, stack.enter_context(opened(name, own, wants))) for name in names]
        with ThreadPoolExecutor(max(len(roles), 1)) as pool:
            played = list(pool.map(lambda role: observe_all(role[1], role[2]), roles))
    observations: Observations = {name: {} for name in names}
    for (name, _, _), observed in zip(roles, played, strict=True):
        observations[name] |= observed
    return observations, lacking({asked for name, _, place in roles if name == names[0] for asked in place.asked})


def report(names: Sequence[str], outcome: Comparison) -> str:
    """The comparison by area, the exceptions with their reasons, and the counts."""
    lines = [f"compared: {' and '.join(names)}", "", f"{'area':<24}{'scenarios':>10}{'differ':>8}"]
    for area in AREAS:
        played = [scenario.id for scenario in outcome.scenarios if scenario.area == area.name]
        if played:
            lines.append(f"{area.name:<24}{len(played):>10}{sum(one in outcome.differing for one in played):>8}")
    if outcome.excused:
        lines += ["", "differences that stay, how many, and why:"]
        lines += [f"{count:>6}  {one.reason}" for one, count in outcome.excused.items()]
    counts = f"{len(outcome.scenarios)} scenarios, {len(CLIENTS)} clients, {len(outcome.excused)} exceptions"
    return "\n".join([*lines, "", counts, f"clients: {', '.join(CLIENTS)}"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

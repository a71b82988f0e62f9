"""The bench of the broker works: its verdicts are right, and it runs, on Ottla alone and with next to nothing to send.

No figure is looked at beyond being there; what they are is nobody's promise here.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bench.broker.figures import Comparison, Figure, at_least, at_most
from bench.broker.machine_memory import free_bytes, meminfo_bytes, page_cache
from bench.broker.processes import cpu_seconds, memory_mb, tree
from bench.broker.rows import all_rows

ROOT = Path(__file__).resolve().parent.parent
SECONDS_MAX = 60


@pytest.mark.parametrize(
    ("figure", "ottla", "kafka", "verdict"),
    [
        (Figure("rate", "records/s", at_least(1.0), at_least(1.5)), (150.0,), (100.0,), "goal"),
        (Figure("rate", "records/s", at_least(1.0), at_least(1.5)), (149.0,), (100.0,), "below goal"),
        (Figure("rate", "records/s", at_least(1.0), at_least(1.5)), (99.0,), (100.0,), "MISSED"),
        (Figure("rate", "records/s", at_least(1.0)), (100.0,), (100.0,), "reached"),
        (Figure("cpu", "CPU s/million", at_most(0.6)), (0.61,), (1.0,), "MISSED"),
        (Figure("memory", "MB", at_most(150, "MB")), (151.0,), (), "MISSED"),
        (Figure("memory", "MB", at_most(150, "MB")), (149.0,), (10.0,), "reached"),
        (Figure("rate", "records/s", at_least(1.0)), (100.0,), (), ""),
        (Figure("memory", "MB"), (100.0,), (1.0,), ""),
    ],
)
def test_the_verdict_is_that_of_the_targets(
    figure: Figure, ottla: tuple[float, ...], kafka: tuple[float, ...], verdict: str
) -> None:
    assert Comparison("row", figure, ottla, kafka).verdict == verdict


def test_the_ratio_is_that_of_the_medians() -> None:
    one = Comparison("row", Figure("rate", "records/s"), (10.0, 90.0, 20.0), (10.0, 5.0, 1000.0))
    assert one.ratio == 2.0
    assert one.pair_ratios == [1.0, 18.0, 0.02]


def test_every_row_has_a_name_of_its_own_and_makes_a_topic_of_it() -> None:
    rows = all_rows()
    assert len({row.name for row in rows}) == len(rows)
    assert len({row.topic for row in rows}) == len(rows)
    assert [row.topic for row in rows if not re.fullmatch("[a-zA-Z0-9-]{1,200}", row.topic)] == []


def test_what_a_process_and_its_children_cost_is_counted() -> None:
    # The shell waits for a child, and the child for us; before that, the child works.
    program = (
        "import sys; sum(range(3_000_000)); kept = bytearray(b'x') * (32 << 20); print('done', flush=True); input()"
    )
    with subprocess.Popen(
        ["sh", "-c", '"$0" -c "$1"; true', sys.executable, program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as shell:
        assert shell.stdout is not None
        assert shell.stdout.readline() == b"done\n"
        assert len(tree(shell.pid)) == 2
        assert cpu_seconds(shell.pid) > 0.01
        assert memory_mb(shell.pid) > 32
        shell.communicate(b"\n")


def test_it_runs_on_ottla_alone(tmp_path: Path) -> None:
    result = tmp_path / "result.json"
    done = subprocess.run(
        [
            *(sys.executable, "-m", "bench.broker", "--only", "ottla", "--warm-up", "0", "--scale", "0.001"),
            *("--no-fill-memory", "--repeat", "2", "--rows", "10 in flight|librdkafka .* 100 B", "--json", str(result)),
            *("--directory", str(tmp_path)),
        ],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    written = json.loads(result.read_text("utf-8"))
    assert written["failed"] == {}
    measured = {(one["row"], one["figure"]): one["ottla"] for one in written["rows"]}
    assert {row for row, _ in measured} == {
        "one-record requests, 10 in flight",
        "librdkafka produce 100 B, none",
        "librdkafka consume 100 B, none",
    }
    assert [figures for figures in measured.values() if len(figures) != 2 or min(figures) <= 0] == []
    assert "| librdkafka produce 100 B, none | records/s |" in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"], "it cleans up behind itself"


def test_the_page_cache_is_filled_until_no_more_memory_goes(tmp_path: Path) -> None:
    free = iter([100 << 20, 92 << 20, 84 << 20, 83 << 20, 83 << 20, 82 << 20])
    with page_cache(tmp_path, free_bytes=lambda: next(free), step_bytes=8 << 20) as filled:
        assert filled.fill() == 24 << 20
        assert filled.fill() == 8 << 20, "some of it may have become free since"
    assert not list(tmp_path.iterdir())


def test_what_is_free_is_what_the_system_says() -> None:
    told = "MemTotal: 100 kB\nMemFree:     42 kB\nMemAvailable:   70 kB\n"
    assert meminfo_bytes(told, "MemFree") == 42 << 10
    assert meminfo_bytes(told, "Mem") == 0
    assert free_bytes() > 0

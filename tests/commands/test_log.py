"""`ottla log` on the command line: arguments, help, errors and exit statuses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ottla import cli
from ottla.commands import log
from ottla.commands.terminal import Terminal
from ottla.storage.files import Disk
from tests.commands.sample_logs import FIRST, SECOND, content, orders, spoil

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def partition(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    orders(tmp_path)
    return Path("orders-0")


@pytest.mark.parametrize("command", ["dump", "verify", "find", "rebuild-index"])
def test_every_command_has_help_with_an_example(command: str, capsys: Captured) -> None:
    with pytest.raises(SystemExit) as stopped:
        cli.main(["log", command, "--help"])
    assert stopped.value.code == 0
    assert f"example: ottla log {command} data/" in capsys.readouterr().out


def test_dump_takes_its_options_from_the_command_line(partition: Path, capsys: Captured) -> None:
    arguments = ["--records", "--offset", "1", "--count", "1", "--json", "--show-secrets", "--width", "0"]
    assert cli.main(["log", "dump", "orders-0", *arguments]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["type"], row.get("value")) for row in rows] == [("batch", None), ("record", "second")]


def test_verify_says_by_its_status_whether_there_is_damage(partition: Path, capsys: Captured) -> None:
    assert cli.main(["log", "verify", "orders-0"]) == 0
    spoil(partition / f"{FIRST}.log", 100, b"!")
    assert cli.main(["log", "verify", "orders-0", "--records"]) == 1
    assert capsys.readouterr().out.endswith("orders-0: damaged, 1 finding\n")


def test_find_takes_an_offset_or_a_time(partition: Path, capsys: Captured) -> None:
    assert cli.main(["log", "find", "orders-0", "--offset", "0"]) == 0
    assert cli.main(["log", "find", "orders-0", "--timestamp", "2023-11-14T22:13:24Z"]) == 0
    assert capsys.readouterr().out.count(". record") == 2


def test_rebuild_index_puts_things_right(partition: Path, capsys: Captured) -> None:
    before = content(partition)
    (partition / f"{SECOND}.timeindex").unlink()
    assert cli.main(["log", "rebuild-index", "orders-0", "--interval-bytes", "100"]) == 0
    assert content(partition) == before
    assert cli.main(["log", "rebuild-index", "orders-0"]) == 0
    assert "had 2 entries; now 0 entries" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["find", "orders-0"], "one of the arguments --offset --timestamp is required"),
        (["find", "orders-0", "--offset", "-1"], "'-1' is not a number from 0 on"),
        (["find", "orders-0", "--offset", "x"], "'x' is not a number from 0 on"),
        (["find", "orders-0", "--timestamp", "soon"], "'soon' is neither milliseconds since 1970 nor a time such as"),
        (["dump"], "the following arguments are required"),
        ([], "the following arguments are required: COMMAND"),
    ],
)
def test_what_cannot_be_parsed_is_told_with_status_2(arguments: list[str], told: str, capsys: Captured) -> None:
    with pytest.raises(SystemExit) as stopped:
        cli.main(["log", *arguments])
    assert stopped.value.code == 2
    assert told in capsys.readouterr().err


def test_what_is_not_there_is_told_with_status_2(tmp_path: Path, capsys: Captured) -> None:
    assert cli.main(["log", "verify", str(tmp_path / "missing")]) == 2
    assert capsys.readouterr().err == f"ottla: {tmp_path}/missing does not exist\n"


def test_an_error_of_the_system_is_told_in_one_line(
    partition: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: str, *arguments: object) -> int:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "open", refuse)
    assert cli.main(["log", "dump", f"orders-0/{FIRST}.log"]) == 2
    assert capsys.readouterr().err == f"ottla: orders-0/{FIRST}.log: Permission denied\n"


def test_a_reader_that_has_left_is_no_error_of_the_system() -> None:
    def write(disk: Disk, terminal: Terminal) -> int:
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        log._on_the_disk(write)


def test_commands_that_only_look_change_nothing(partition: Path, capsys: Captured) -> None:
    (partition / f"{SECOND}.timeindex").unlink()
    before = content(partition)
    for arguments in (["dump", "orders-0"], ["verify", "orders-0"], ["find", "orders-0", "--timestamp", "0"]):
        cli.main(["log", *arguments])
    assert content(partition) == before


def test_a_reader_that_leaves_early_sees_no_traceback(partition: Path) -> None:
    command = [sys.executable, "-m", "ottla", "log", "dump", "--records", *["orders-0"] * 200]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1

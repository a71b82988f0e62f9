"""The command line: what it prints, with which status, and that it never shows a traceback."""

from __future__ import annotations

import subprocess
import sys

import pytest

import ottla
from ottla import cli, wire
from ottla.commands import CommandFailed

Captured = pytest.CaptureFixture[str]


def test_version_is_printed(capsys: Captured) -> None:
    with pytest.raises(SystemExit) as stopped:
        cli.main(["--version"])
    assert stopped.value.code == 0
    assert capsys.readouterr().out == f"ottla {ottla.__version__}\n"


def test_help_names_every_command(capsys: Captured) -> None:
    with pytest.raises(SystemExit) as stopped:
        cli.main(["--help"])
    assert stopped.value.code == 0
    printed = capsys.readouterr().out
    commands = (
        "serve",
        "topics",
        "produce",
        "consume",
        "groups",
        "configs",
        "cluster",
        "describe-codec",
        "log",
        "pipeline",
    )
    assert [name for name in commands if f"    {name}" not in printed] == []


def test_a_failure_is_told_with_status_1_and_ctrl_c_with_130(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    for error, status, told in ((CommandFailed("no\033"), 1, "ottla: no\\x1b\n"), (KeyboardInterrupt(), 130, "")):

        def failing(parsed: object, error: BaseException = error) -> int:
            raise error

        monkeypatch.setattr(cli, "describe_codec", failing)
        assert cli.main(["describe-codec", "x", "1"]) == status
        assert capsys.readouterr().err == told


def test_a_time_before_now_is_joined_to_its_option_and_nothing_else_is() -> None:
    assert cli.joined(["consume", "t", "--since", "-10m", "-n", "-1"]) == ["consume", "t", "--since=-10m", "-n", "-1"]
    assert cli.joined(["--since", "--until", "-f"]) == ["--since", "--until", "-f"]


@pytest.mark.parametrize("arguments", [[], ["no-such-command"], ["describe-codec", "FetchRequest", "new"]])
def test_what_cannot_be_parsed_is_told_with_status_2(arguments: list[str], capsys: Captured) -> None:
    with pytest.raises(SystemExit) as stopped:
        cli.main(arguments)
    assert stopped.value.code == 2
    assert "usage: ottla" in capsys.readouterr().err


def test_serve_tells_a_wrong_value_with_its_key_and_what_is_allowed(capsys: Captured) -> None:
    assert cli.main(["serve", "--num.partitions", "0"]) == 2
    told = capsys.readouterr().err
    assert told.startswith("ottla: num.partitions")
    assert "0" in told


def test_only_serve_takes_settings(capsys: Captured) -> None:
    assert cli.main(["describe-codec", "FetchRequest", "17", "--num.partitions", "1"]) == 2
    assert capsys.readouterr().err == "ottla: --num.partitions is not an argument of this command\n"


def test_describe_codec_prints_source_that_compiles(capsys: Captured) -> None:
    assert cli.main(["describe-codec", "FetchRequest", "17"]) == 0
    printed = capsys.readouterr().out
    compile(printed, "FetchRequest v17", "exec")
    assert printed.endswith("\n")
    assert printed.rstrip("\n") == wire.describe_codec("FetchRequest", 17).rstrip("\n")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("fetch", "; did you mean FetchRequest or FetchResponse?"),
        ("fetchrequest", "; did you mean FetchRequest"),
        ("FechRequest", "; did you mean FetchRequest"),
        ("TopicRecrod", "; did you mean TopicRecord"),
        ("zzzzzzzz", "'zzzzzzzz'\n"),
    ],
)
def test_an_unknown_message_is_told_with_what_was_meant(typed: str, meant: str, capsys: Captured) -> None:
    assert cli.main(["describe-codec", typed, "1"]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"ottla: no message is called {typed!r}")
    assert meant in told


def test_an_unknown_version_is_told_with_the_range(capsys: Captured) -> None:
    assert cli.main(["describe-codec", "FetchRequest", "99"]) == 2
    told = capsys.readouterr().err
    assert "4-18" in told
    assert "99" in told


def test_the_module_runs_as_a_program_without_loading_the_protocol() -> None:
    loaded = "[name for name in sys.modules if name.startswith(('ottla.wire', 'trio'))]"
    code = f"import sys, ottla.cli; ottla.cli.parser(); print({loaded})"
    assert run([sys.executable, "-c", code]).stdout == b"[]\n"
    assert run([sys.executable, "-m", "ottla", "--version"]).stdout.decode() == f"ottla {ottla.__version__}\n"


def test_a_reader_that_leaves_early_sees_no_traceback() -> None:
    command = [sys.executable, "-m", "ottla", "describe-codec", "FetchRequest", "17"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1


def run(command: list[str]) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(command, capture_output=True, check=True)

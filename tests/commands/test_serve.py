"""`ottla serve` up to the node: what was set, what is told, and with which status. The node has tests of its own."""

from __future__ import annotations

import gc
import importlib.util
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import trio

from ottla import cli
from ottla.commands import EXIT_FAILED, EXIT_OK, UsageError, serve
from ottla.server import node as node_module
from ottla.server.node import Node
from ottla.server.quorum import QuorumFailed
from ottla.wire.errors import ErrorCode, KafkaError

Captured = pytest.CaptureFixture[str]
HERE = ("--listeners", "PLAINTEXT://127.0.0.1:0")


def test_words_win_over_the_file(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    path.write_text("num.partitions=3\nlog.dirs=/somewhere\n")
    settings = serve.read_settings(str(path), ["--num.partitions", "4", "--node.id=2"])
    assert settings == {"num.partitions": "4", "log.dirs": "/somewhere", "node.id": "2"}
    assert serve.read_settings(None, []) == {}


def test_in_a_container_variables_win_over_the_mounted_file_and_words_over_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "server.properties"
    monkeypatch.setattr("ottla.config.container.MOUNTED_PROPERTIES", str(path))
    monkeypatch.setenv("KAFKA_NUM_PARTITIONS", "4")
    assert serve.read_settings(None, [], in_container=True)["num.partitions"] == "4"
    path.write_text("num.partitions=3\nlog.dirs=/somewhere\n")
    settings = serve.read_settings(None, ["--node.id=2"], in_container=True)
    assert (settings["num.partitions"], settings["log.dirs"], settings["node.id"]) == ("4", "/somewhere", "2")
    assert serve.read_settings(None, ["--num.partitions=5"], in_container=True)["num.partitions"] == "5"
    assert socket.gethostname() in settings["advertised.listeners"]
    assert serve.read_settings(None, []) == {}


def test_a_file_that_is_not_there_is_told(tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / "server.properties"
    assert cli.main(["serve", "--config", str(path)]) == 2
    assert capsys.readouterr().err == f"ottla: {path} cannot be read: No such file or directory\n"


def test_words_that_make_no_sense_are_told() -> None:
    with pytest.raises(UsageError, match="nonsense"):
        serve.read_settings(None, ["nonsense"])


def test_a_wrong_value_is_told_with_key_value_and_what_is_allowed(capsys: Captured) -> None:
    assert cli.main(["serve", "--num.partitions", "none"]) == 2
    told = capsys.readouterr().err
    assert told.startswith("ottla: num.partitions")
    assert "none" in told


def test_a_port_in_use_is_status_1_and_one_line(tmp_path: Path, capsys: Captured) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        words = ["serve", "--log.dirs", str(tmp_path), "--listeners", f"PLAINTEXT://{place}"]
        assert cli.main(words) == EXIT_FAILED
    told = capsys.readouterr()
    assert told.err == f"ottla: listener PLAINTEXT cannot listen on {place}: Address already in use\n"
    assert not told.out


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_node_says_where_it_serves_and_stops_on_a_signal(
    number: signal.Signals, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The signal comes when the node has said that it serves."""
    announce = serve.announce

    def announce_and_signal(node: Node) -> None:
        announce(node)
        os.kill(os.getpid(), number)

    monkeypatch.setattr(serve, "announce", announce_and_signal)
    thresholds = gc.get_threshold()
    assert cli.main(["serve", "--log.dirs", str(tmp_path), *HERE, "--no.such.key", "1"]) == EXIT_OK
    told = capsys.readouterr()
    assert told.out.startswith("ottla: cluster ")
    assert "node 1 serves PLAINTEXT://127.0.0.1:" in told.out
    assert "no.such.key is not a key" in told.err
    assert (tmp_path / ".kafka_cleanshutdown").exists()
    assert (gc.get_threshold(), gc.get_freeze_count()) == (thresholds, 0)  # as it was before


@pytest.mark.parametrize("words", [("--ephemeral",), ("--ottla.ephemeral", "true")])
def test_an_ephemeral_node_keeps_everything_in_a_directory_that_goes(
    words: tuple[str, ...], capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    used: list[str] = []

    async def note(config: object, started: object, loaded: object) -> None:
        used.extend(config.log_directories)  # type: ignore[attr-defined]
        raise OSError("that is enough")

    monkeypatch.setattr(node_module, "serve", note)
    assert cli.main(["serve", *words, *HERE]) == EXIT_FAILED
    assert capsys.readouterr().err == "ottla: that is enough\n"
    (directory,) = used
    assert Path(directory).name.startswith("ottla-")
    assert not Path(directory).exists()


def test_what_ends_a_node_is_told_once(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(config: object, started: object, loaded: object) -> None:
        async with trio.open_nursery() as nursery:
            for error in (
                QuorumFailed("the disk is gone"),
                QuorumFailed("the disk is gone"),
                KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "full"),
            ):
                nursery.start_soon(raising, error)

    async def raising(error: Exception) -> None:
        raise error

    monkeypatch.setattr(node_module, "serve", fail)
    assert cli.main(["serve", "--ephemeral", *HERE]) == EXIT_FAILED
    told = sorted(capsys.readouterr().err.splitlines())
    assert told[0] == "ottla: the disk is gone" or told[1] == "ottla: the disk is gone"
    assert len(told) == 2


def test_a_mistake_of_ours_is_not_told_as_the_worlds(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(config: object, started: object, loaded: object) -> None:
        raise AssertionError("a mistake")

    monkeypatch.setattr(node_module, "serve", fail)
    with pytest.raises(AssertionError, match="a mistake"):
        cli.main(["serve", "--ephemeral", *HERE])


# What `ottla serve` has no use for before it serves; each took a part of the start until it was left for later.
NOT_BEFORE_IT_SERVES = (
    "ottla.client",
    "ottla.commands.asking",
    "ottla.commands.cluster",
    "ottla.commands.configs",
    "ottla.commands.consume",
    "ottla.commands.groups",
    "ottla.commands.log",
    "ottla.commands.produce",
    "ottla.commands.topics",
    "ottla.coordinators",
    "ottla.server.cleaning_child",
    "ottla.server.cleaning_process",
    "ottla.server.coordinating",
    "ottla.server.gauges",
    "ottla.server.handlers.api_versions",
    "ottla.server.handlers.every_route",
    "ottla.server.handlers.fetch",
    "ottla.server.handlers.groups",
    "ottla.server.handlers.produce",
    "ottla.server.http_status",
    "ottla.storage.cleaner.rewrite",
    "ottla.testing",
    "asyncio",
    "cramjam",
    "email",
    "http",
    "multiprocessing",
    "re2",
    "unittest",
    "uuid",
    "xxhash",
)
SERVE_AND_TELL = """
import os, signal, sys
from ottla import cli
from ottla.commands import serve

def announce(node):
    print(*sys.modules)
    os.kill(os.getpid(), signal.SIGTERM)

from ottla.server import later  # loads trio, and nothing else of ours
later.PATIENCE_SECONDS = 3600.0
serve.announce = announce
sys.exit(cli.main(sys.argv[1:]))
"""


def test_a_start_loads_nothing_that_can_wait(tmp_path: Path) -> None:
    words = ["serve", "--log.dirs", str(tmp_path), *HERE]
    finished = subprocess.run(
        [sys.executable, "-c", SERVE_AND_TELL, *words], capture_output=True, text=True, timeout=60, check=True
    )
    loaded = set(finished.stdout.split())
    assert "ottla.server.node" in loaded
    assert [name for name in NOT_BEFORE_IT_SERVES if name in loaded] == []


def test_what_must_not_be_loaded_exists() -> None:
    """A name that is misspelt would never be found to be loaded."""
    optional = {name for name in NOT_BEFORE_IT_SERVES if importlib.util.find_spec(name) is None}
    assert optional == set()

"""What `ottla format` leaves in directories. That Kafka's storage tool leaves the same: compat_tests/test_format.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from ottla.cluster.bootstrap import BOOTSTRAP_FILE_NAME, BOOTSTRAP_SNAPSHOT, METADATA_LOG_DIRECTORY
from ottla.cluster.image.snapshot_file import read_snapshot
from ottla.storage.files import OsDisk
from ottla.storage.meta_properties import read_meta_properties
from ottla.wire.primitives import uuid_text
from tests.commands.command_line import CommandLine

CLUSTER_ID = "b3R0bGEtY29tcGF0LTAwMQ"
OWN_ID = "JEXY6aqzQY-32P5TStzaFg"
CONTROLLERS = f"1@127.0.0.1:9193:{OWN_ID},2@localhost:9194:MvDxzVmcRsaTz33bUuRU6A"
SNAPSHOT = f"{METADATA_LOG_DIRECTORY}/{BOOTSTRAP_SNAPSHOT.file_name}"
WORDS = (
    "format",
    "--node.id", "1",
    "--process.roles", "broker,controller",
    "--listeners", "PLAINTEXT://127.0.0.1:9192,CONTROLLER://127.0.0.1:9193",
    "--controller.listener.names", "CONTROLLER",
    "--controller.quorum.bootstrap.servers", "127.0.0.1:9193",
    "--log.dirs",
)  # fmt: skip


@pytest.fixture
def ottla() -> CommandLine:
    return CommandLine("nobody:1")


def files(path: Path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}


def test_every_directory_gets_its_files_and_the_first_one_the_voters(ottla: CommandLine, tmp_path: Path) -> None:
    dirs = f"{tmp_path}/a,{tmp_path}/b"
    told = ottla.ok(*WORDS, dirs, "-t", CLUSTER_ID, "--initial-controllers", CONTROLLERS)
    assert told.lines == [f"cluster {CLUSTER_ID}, node 1", f"formatted {tmp_path}/a", f"formatted {tmp_path}/b"]
    assert set(files(tmp_path / "a")) == {"meta.properties", BOOTSTRAP_FILE_NAME, SNAPSHOT}
    assert set(files(tmp_path / "b")) == {"meta.properties", BOOTSTRAP_FILE_NAME}
    first, second = (read_meta_properties(OsDisk(), str(tmp_path / name)) for name in "ab")
    assert first is not None
    assert second is not None
    assert (first.cluster_id, first.node_id, uuid_text(first.directory_id or b"")) == (CLUSTER_ID, 1, OWN_ID)
    assert second.directory_id not in (None, first.directory_id)
    voters = read_snapshot((tmp_path / "a" / SNAPSHOT).read_bytes()).voters
    assert voters is not None
    assert [one.voter_id for one in voters.voters] == [1, 2]


def test_who_joins_gets_no_voters_and_who_is_alone_one(ottla: CommandLine, tmp_path: Path) -> None:
    ottla.ok(*WORDS, str(tmp_path / "joins"), "-t", CLUSTER_ID, "--no-initial-controllers")
    assert SNAPSHOT not in files(tmp_path / "joins")
    told = ottla.ok(*WORDS, str(tmp_path / "alone"), "--standalone")
    meta = read_meta_properties(OsDisk(), str(tmp_path / "alone"))
    assert meta is not None
    assert told.lines[0] == f"cluster {meta.cluster_id}, node 1"
    assert len(meta.cluster_id) == 22, "a new id was made"
    assert SNAPSHOT in files(tmp_path / "alone")


def test_what_is_formatted_is_refused_or_skipped_and_never_touched(ottla: CommandLine, tmp_path: Path) -> None:
    ottla.ok(*WORDS, str(tmp_path / "a"), "-t", CLUSTER_ID, "--standalone")
    before = files(tmp_path / "a")
    again = ottla(*WORDS, f"{tmp_path}/a,{tmp_path}/b", "-t", CLUSTER_ID, "--standalone")
    assert (again.status, "--ignore-formatted" in again.err) == (1, True)
    assert not (tmp_path / "b").exists()
    more = ottla.ok(*WORDS, f"{tmp_path}/a,{tmp_path}/b", "--ignore-formatted", "--standalone")
    assert more.lines == [f"cluster {CLUSTER_ID}, node 1", f"formatted {tmp_path}/b"]
    told = ottla.ok(*WORDS, f"{tmp_path}/a,{tmp_path}/b", "--ignore-formatted", "--standalone")
    assert told.lines == ["all directories are formatted already"]
    other = ottla(*WORDS, f"{tmp_path}/a,{tmp_path}/c", "-t", "another-cluster", "-g", "-s")
    assert (other.status, "cluster.id is" in other.err) == (1, True)
    assert files(tmp_path / "a") == before


def test_mistakes_are_told_and_nothing_is_written(ottla: CommandLine, tmp_path: Path) -> None:
    home = tmp_path / "a"
    for words in ((), ("-s", "--feature", "x"), ("-I", "1@one"), ("-s", "--num.io.threads", "none")):
        assert ottla(*WORDS, str(home), *words).status == 2, words
    assert not home.exists()
    (tmp_path / "file").write_text("")
    told = ottla(*WORDS, str(tmp_path / "file" / "below"), "-s")
    assert (told.status, "cannot be formatted" in told.err) == (1, True)


def test_a_key_that_is_not_known_is_told(ottla: CommandLine, tmp_path: Path) -> None:
    told = ottla.ok(*WORDS, str(tmp_path / "a"), "-s", "--no.such.key", "1")
    assert "no.such.key is not a key" in told.err

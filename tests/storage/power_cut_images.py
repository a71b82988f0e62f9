"""Power cuts on a real file system: a loop-mounted ext4 image, copied while its newest changes are only in memory.

`python -m tests.storage.power_cut_images DIRECTORY COUNT` tries what files.py promises, then runs so many histories.
Each lives in a process of its own on the mounted image and tells the parent through a pipe what it is about to do; the
parent kills it at some point and copies the image as it is. What the page cache holds is not in the copy: mounting that
one is what a machine would do after the power came back. Then the checks of recovery_checks.py.

Must run as root, and in a mount namespace of its own (`unshare --mount`): when the last process in it ends, however it
ends, nothing is mounted any more.
"""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import IO

from ottla.storage import segment
from ottla.storage.files import OsDisk
from ottla.storage.offset_checkpoint import RECOVERY_POINTS
from tests.storage import recovery_checks
from tests.storage.histories import History
from tests.storage.log_model import Model

IMAGE_BYTES = 48 << 20
# So that nothing but syncs lets the journal reach the disk (see mount's manual page, ext4).
COMMIT_SECONDS = 300
STEPS_MAX = 400
MESSAGES_MAX = 300
AHEAD_BYTES = 16 << 10
SIZE = struct.Struct(">I")
ROOT = Path(__file__).resolve().parent.parent.parent


# -- the history, in a process of its own -----------------------------------------------------------------------------


def live(root: str, seed: int) -> None:
    """Take steps, and write the state of the model to standard output whenever it changes."""
    if seed % 2:
        take_room_early()
    history = History(OsDisk(), Random(seed), root)
    pipe = sys.stdout.buffer

    def tell() -> None:
        message = pickle.dumps(history.state())
        pipe.write(SIZE.pack(len(message)) + message)
        pipe.flush()

    history.witness = tell
    for _ in range(STEPS_MAX):
        history.step()


def take_room_early() -> None:
    """Logs as small as these take room ahead, from their first byte on."""
    segment.SIZE_BYTES_MIN = 0
    segment.room_ahead = lambda size_bytes, free_bytes: AHEAD_BYTES


# -- the parent -------------------------------------------------------------------------------------------------------


@dataclass
class Mounted:
    """An image and where it is mounted."""

    image: Path
    directory: Path

    def mount(self, options: str) -> None:
        self.directory.mkdir(exist_ok=True)
        run("mount", "-o", options, str(self.image), str(self.directory))

    def unmount(self) -> None:
        run("umount", str(self.directory))


def run(*command: str) -> None:
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, capture_output=True, text=True)


class PowerCuts:
    """A mounted image on which things are done, and copies of it as they would be found after a power cut."""

    def __init__(self, directory: Path) -> None:
        self.living = Mounted(directory / "living.img", directory / "living")
        self.after = Mounted(directory / "after.img", directory / "after")
        with self.living.image.open("wb") as image:
            image.truncate(IMAGE_BYTES)
        run("mkfs.ext4", "-q", str(self.living.image))
        self.living.mount(f"loop,commit={COMMIT_SECONDS}")

    @contextmanager
    def cut(self) -> Iterator[Path]:
        """The file system as it is on the disk at this moment."""
        run("cp", "--sparse=always", str(self.living.image), str(self.after.image))
        self.after.mount("loop")
        try:
            yield self.after.directory
        finally:
            self.after.unmount()


def check_histories(cuts: PowerCuts, seeds: range) -> None:
    for seed in seeds:
        root = cuts.living.directory / f"h{seed}"
        state = killed_history(root, seed)
        with cuts.cut() as found:
            end_offset = check(found / root.name, seed, state)
        model = state["model"]
        assert isinstance(model, Model)
        say(f"seed {seed}: {model.version.end_offset} appended, {model.flushed_offset} flushed, {end_offset} found")
        shutil.rmtree(root)


def check_promises(cuts: PowerCuts) -> None:
    """What ottla/storage/files.py calls durable is; and what it does not, is lost, or the test would prove nothing."""
    disk = OsDisk()
    living = str(cuts.living.directory)
    for content in (b"old", b"new"):
        disk.replace(f"{living}/replaced", content)
        with cuts.cut() as found:
            assert (found / "replaced").read_bytes() == content, f"replaced with {content!r}, then the power went"
    synced, unsynced = (disk.open(f"{living}/{name}", create=True) for name in ("synced", "unsynced"))
    for file in (synced, unsynced):
        file.write_at(0, (b"bytes",), 5)
    ahead = disk.open(f"{living}/ahead", create=True)
    ahead.reserve(0, 1 << 20)
    ahead.write_at(0, (b"into room that was there",), 24)
    for file in (synced, ahead):
        file.sync()
    disk.sync_directory(living)
    unsynced.write_at(0, (b"later",), 5)
    disk.rename(f"{living}/replaced", f"{living}/renamed")
    with cuts.cut() as found:
        assert (found / "synced").read_bytes() == b"bytes"
        assert (found / "ahead").read_bytes() == b"into room that was there"
        assert (found / "unsynced").read_bytes() != b"later"
        assert not (found / "renamed").exists()


def killed_history(root: Path, seed: int) -> dict[str, object]:
    """Let a history live for a while, then kill it; returns what it last said."""
    child = subprocess.Popen(
        (sys.executable, "-m", "tests.storage.power_cut_images", "live", str(root), str(seed)),
        stdout=subprocess.PIPE,
        cwd=ROOT,
    )
    assert child.stdout is not None
    state: dict[str, object] | None = None
    try:
        for _ in range(Random(seed).randint(5, MESSAGES_MAX)):
            message = next_message(child.stdout)
            if message is None:
                break
            state = message
    finally:
        child.send_signal(signal.SIGKILL)
        while (message := next_message(child.stdout)) is not None:
            state = message  # what it did between our decision and its end
        child.stdout.close()
        status = child.wait()
    assert status in (0, -signal.SIGKILL), f"the history of seed {seed} failed"
    assert state is not None
    return state


def next_message(pipe: IO[bytes]) -> dict[str, object] | None:
    """None at the end; a message that is cut off was never said."""
    head = pipe.read(SIZE.size)
    if len(head) < SIZE.size:
        return None
    (size_bytes,) = SIZE.unpack(head)
    message = pipe.read(size_bytes)
    if len(message) < size_bytes:
        return None
    state: dict[str, object] = pickle.loads(message)
    return state


def check(root: Path, seed: int, state: dict[str, object]) -> int:
    """Open what is left, look at it, open it once more; returns where the log ends."""
    history = History.resumed(OsDisk(), Random(seed), str(root), state)
    recovery_point = history.checkpointed(RECOVERY_POINTS)
    history.open()
    recovery_checks.check_recovered(history, recovery_point, history.log.end_offset, is_whole=False)
    end_offset = history.log.end_offset
    before = files(root)
    history.directory.abandon()
    history.open()
    assert files(root) == before, "recovery run twice gives other bytes"
    history.directory.abandon()
    return end_offset


def files(root: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main(arguments: list[str]) -> None:
    if arguments[0] == "live":
        live(arguments[1], int(arguments[2]))
        return
    assert os.geteuid() == 0, "mounting takes root"
    directory = Path(arguments[0])
    try:
        cuts = PowerCuts(directory)
        check_promises(cuts)
        check_histories(cuts, range(int(arguments[1])))
        cuts.living.unmount()
    finally:
        # After a failure something may still be mounted; it goes with the namespace.
        for image in directory.glob("*.img"):
            with suppress(OSError):
                image.unlink()


if __name__ == "__main__":
    main(sys.argv[1:])

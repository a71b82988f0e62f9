"""The fake disk is like a real one until the power goes, then as bad as a real one may be, and never worse.

First it runs beside `OsDisk`. Then come the rules of a power cut, each with what must hold under all seeds and what
must be seen under some; the faults; and small stores with a mistake each, which the fake disk has to find.
"""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

from ottla.storage.files import Disk, File, Lock, OsDisk
from tests.storage import fake_disk
from tests.storage.fake_disk import PAGE_BYTES, SECTOR_BYTES, FakeDisk, FakeFile, Inode, NameLoss, PowerCut

SEEDS = range(200)

# -- beside the operating system's disk -------------------------------------------------------------------------------

MODEL_STEPS = 1500
PATHS = ["a", "b", "d", "d", "d", "d/a", "d/b", "d/e", "d/e", "d/e/a", "d/e/c", "f", "f/a", "none/a", "./a", "d//e"]


def outcome(call: Callable[[], object]) -> object:
    try:
        return call()
    except OSError as error:
        return errno.errorcode[error.errno or 0]


class Twins:
    """The same steps on a real directory and on the fake disk, the answers compared."""

    def __init__(self, seed: int, root: Path) -> None:
        self.random = Random(seed)
        self.real, self.fake = OsDisk(), FakeDisk(seed)
        self.root = str(root)
        self.files: list[tuple[File, File]] = []
        self.locks: list[tuple[Lock, Lock]] = []

    def path(self) -> str:
        return self.random.choice(PATHS)

    def both(self, step: Callable[[Disk, str], object]) -> None:
        expected = outcome(lambda: step(self.real, self.root + "/"))
        found = outcome(lambda: step(self.fake, "/"))
        assert found == expected, self.fake.story()

    def step(self) -> None:
        steps = [self.open, self.use_file, self.use_file, self.use_file, self.names, self.names, self.whole, self.lock]
        self.random.choice(steps)()

    def open(self) -> None:
        path, create, writable = self.path(), self.random.random() < 0.7, self.random.random() < 0.8
        if not writable and os.path.isdir(f"{self.root}/{path}"):
            return  # The fake disk is stricter here, on purpose.
        opened: list[File] = []
        self.both(lambda disk, root: opened.append(disk.open(root + path, create=create, writable=writable)))
        if opened:
            real, fake = opened
            self.files.append((real, fake))
        if len(self.files) > 8:
            for file in self.files.pop(0):
                file.close()

    def use_file(self) -> None:
        if not self.files:
            return
        real, fake = self.random.choice(self.files)
        position, size = self.random.choices([self.random.randint(0, 20_000), -1], [20, 1], k=2)
        buffers = [self.random.randbytes(self.random.randint(0, 5_000)) for _ in range(self.random.randint(0, 3))]
        total = sum(map(len, buffers))
        uses: list[Callable[[File], object]] = [
            lambda file: file.write_at(abs(position), buffers, total),
            lambda file: file.write_at(file.size(), buffers, total),
            lambda file: file.read_at(position, size),
            lambda file: file.truncate(position),
            lambda file: file.size(),
            lambda file: file.map()[:],
            lambda file: file.sync(),
        ]
        use = self.random.choice(uses)
        self.both(lambda disk, root: use(real if disk is self.real else fake))
        if self.random.random() < 0.05:
            for file in (real, fake):
                file.close()
                assert outcome(file.size) == outcome(file.modified_ms) == "EBADF"
                assert outcome(lambda: file.read_at(0, 1)) == "EBADF"  # noqa: B023
            self.files.remove((real, fake))

    def names(self) -> None:
        path, other, time_ms = self.path(), self.path(), self.random.randint(0, 1 << 40)
        named: list[Callable[[Disk, str], object]] = [
            lambda disk, root: disk.rename(root + path, root + other),
            lambda disk, root: disk.rename(root + path, root + other),
            lambda disk, root: disk.remove(root + path),
            lambda disk, root: disk.make_directory(root + path),
            lambda disk, root: disk.make_directory(root + path),
            lambda disk, root: disk.make_directory(root + path),
            lambda disk, root: disk.remove_directory(root + path),
            lambda disk, root: disk.exists(root + path),
            lambda disk, root: listing(disk, root + path),
            lambda disk, root: disk.free_bytes(root + path) > 0,
            lambda disk, root: touch(disk, root, path, time_ms),
        ]
        if not os.path.isfile(f"{self.root}/{path}"):  # Here too.
            named.append(lambda disk, root: disk.sync_directory(root + path))
        self.both(self.random.choice(named))

    def whole(self) -> None:
        path, data = self.path(), self.random.randbytes(self.random.randint(0, 9_000))
        whole: list[Callable[[Disk, str], object]] = [
            lambda disk, root: disk.read(root + path),
            lambda disk, root: disk.replace(root + path, data),
        ]
        self.both(self.random.choice(whole))

    def lock(self) -> None:
        if self.locks and self.random.random() < 0.5:
            for held in self.locks.pop(self.random.randrange(len(self.locks))):
                held.release()
            return
        path = self.path()
        locks: list[Lock] = []
        self.both(lambda disk, root: locks.append(disk.lock(root + path)))
        if locks:
            real, fake = locks
            self.locks.append((real, fake))

    def close(self) -> None:
        for pair in self.files:
            for file in pair:
                file.close()
        for held in self.locks:
            for lock in held:
                lock.release()


def listing(disk: Disk, directory: str) -> list[tuple[str, bool, int]]:
    entries = disk.scan(directory)
    return [(entry.name, entry.is_directory, 0 if entry.is_directory else entry.size_bytes) for entry in entries]


def touch(disk: Disk, root: str, path: str, modified_ms: int) -> list[int]:
    disk.set_modified(root + path, modified_ms)
    above, name = os.path.split(os.path.normpath(root + path))
    return [entry.modified_ms for entry in disk.scan(above) if entry.name == name]


def tree(disk: Disk, directory: str) -> Iterator[tuple[str, bytes]]:
    for entry in disk.scan(directory):
        path = f"{directory.rstrip('/')}/{entry.name}"
        if entry.is_directory:
            yield path, b"a directory"
            yield from tree(disk, path)
        else:
            yield path, disk.read(path)


@pytest.mark.parametrize("seed", range(4))
def test_without_faults_it_answers_like_the_operating_system(seed: int, tmp_path: Path) -> None:
    twins = Twins(seed, tmp_path)
    for number in range(MODEL_STEPS):
        twins.step()
        if number % 50 == 0:
            assert dict(tree(twins.fake, "/")) == {
                path.removeprefix(twins.root): data for path, data in tree(twins.real, twins.root)
            }, twins.fake.story()
    twins.close()
    twins.fake.kill()
    used_bytes = twins.fake.used_bytes
    assert used_bytes == sum(map(len, twins.fake.files().values()))


# -- what a power cut does to bytes -----------------------------------------------------------------------------------


def saved(disk: FakeDisk, path: str, data: bytes) -> FakeFile:
    """A file whose bytes and name are on the disk."""
    disk.make_directory(os.path.dirname(path))
    file = disk.open(path, create=True)
    append(file, data)
    file.sync()
    sync_names(disk, path)
    return file


def append(file: File, data: bytes) -> None:
    file.write_at(file.size(), (data,), len(data))


def sync_names(disk: FakeDisk, path: str) -> None:
    while path not in {"", "/"}:
        path = os.path.dirname(path)
        disk.sync_directory(path)


def after_crash(history: Callable[[FakeDisk], object], seed: int, names: NameLoss | None = None) -> dict[str, bytes]:
    disk = FakeDisk(seed)
    history(disk)
    disk.crash(names=names)
    return disk.files()


def content_after_crash(change: Callable[[FakeFile], object], data: bytes = b"") -> set[bytes]:
    """Whatever a synced file with this content may hold when it is changed and the power goes."""

    def history(disk: FakeDisk) -> None:
        change(saved(disk, "/d/x", data))

    return {after_crash(history, seed)["/d/x"] for seed in SEEDS}


def pages(text: str) -> bytes:
    return b"".join(letter.encode() * PAGE_BYTES for letter in text)


def test_what_was_synced_survives_every_power_cut() -> None:
    def change(file: FakeFile) -> None:
        append(file, b"and more")
        file.truncate(3)
        file.sync()

    assert content_after_crash(change, b"whole") == {b"who"}


def test_an_unsynced_write_is_there_or_not_or_torn() -> None:
    contents = content_after_crash(lambda file: append(file, pages("xyz")), b"a")
    whole = b"a" + pages("xyz")
    assert all(content.startswith(b"a") and len(content) <= len(whole) for content in contents)
    assert {b"a", whole} < contents
    assert any(content != whole and whole.startswith(content) and len(content) > 1 for content in contents), "prefix"
    assert any(len(content) == len(whole) and content[1:PAGE_BYTES].strip(b"x") for content in contents), "a hole"
    first, third = slice(1, PAGE_BYTES), slice(2 * PAGE_BYTES + 1, 3 * PAGE_BYTES)
    assert any(not content[first].strip(b"\0") and b"z" in content[third] for content in contents), "the third first"


def test_pages_may_be_torn_between_sectors() -> None:
    contents = content_after_crash(lambda file: file.write_at(0, (pages("n"),), PAGE_BYTES), pages("o"))
    torn = [content for content in contents if content not in {pages("n"), pages("o")}]
    assert torn
    for content in torn:
        sectors = {content[start : start + SECTOR_BYTES] for start in range(0, PAGE_BYTES, SECTOR_BYTES)}
        assert sectors == {b"n" * SECTOR_BYTES, b"o" * SECTOR_BYTES}
    assert any(content.startswith(b"o") for content in torn), "not only a first part"


def test_the_bytes_around_an_unsynced_write_survive() -> None:
    for content in content_after_crash(lambda file: file.write_at(100, (b"n" * 50,), 50), b"o" * 300):
        assert content[:100] + content[150:] == b"o" * 250
        assert content[100:150] in {b"n" * 50, b"o" * 50}


def test_a_write_into_a_hole_leaves_zeros_before_it() -> None:
    contents = content_after_crash(lambda file: file.write_at(10_000, (b"end",), 3), b"a")
    assert all(not content[1:10_000].strip(b"\0") for content in contents)
    assert {b"a", b"a" + bytes(9_999) + b"end"} < contents


def test_an_unsynced_truncation_happened_or_not() -> None:
    assert content_after_crash(lambda file: file.truncate(3), b"whole" * 2000) >= {b"who", b"whole" * 2000}


def test_a_file_that_grew_by_truncation_holds_zeros() -> None:
    contents = content_after_crash(lambda file: file.truncate(5000), b"a")
    assert {b"a", b"a" + bytes(4999)} < contents
    assert all(content == b"a" + bytes(len(content) - 1) for content in contents)


def test_pages_that_a_truncation_freed_never_mix_with_those_that_came_after() -> None:
    def change(file: FakeFile) -> None:
        file.truncate(0)
        append(file, pages("nnnn"))

    contents = content_after_crash(change, pages("oooo"))
    assert pages("oooo") in contents
    assert pages("nnnn") in contents
    assert not any(b"o" in content and b"n" in content for content in contents)


def test_a_truncation_that_did_not_happen_may_be_followed_by_a_write_that_did() -> None:
    def change(file: FakeFile) -> None:
        file.truncate(1000)
        append(file, b"n" * 1000)

    contents = content_after_crash(change, b"o" * 3000)
    assert all(content.startswith(b"o" * 1000) for content in contents)
    assert {b"o" * 1000, b"o" * 3000, b"o" * 1000 + b"n" * 1000} < contents
    assert any(len(content) == 3000 and b"n" in content for content in contents), "written where the file is still long"


@pytest.mark.parametrize("seed", range(100))
def test_every_sector_is_as_it_was_at_some_time_and_the_size_between_two_that_were(seed: int) -> None:
    random = Random(seed)
    inode = Inode(0)
    inode.change(0, random.randbytes(random.randrange(20_000)))
    inode.sync()
    versions = [bytes(inode.seen)]
    for _ in range(random.randint(1, 12)):
        if random.random() < 0.3:
            inode.change(random.randrange(len(inode.seen) + 5000), None)
        else:
            inode.change(random.randrange(len(inode.seen) + 5000), random.randbytes(random.randint(1, 9_000)))
        versions.append(bytes(inode.seen))
    inode.lose(random)
    stored = bytes(inode.stored)
    sizes = [len(version) for version in versions]
    between = zip(sizes, sizes[1:] or sizes, strict=False)
    assert any(min(one, two) <= len(stored) <= max(one, two) for one, two in between)
    padded = [version.ljust(max(sizes), b"\0") for version in versions]
    for start in range(0, len(stored), SECTOR_BYTES):
        sector = stored[start : start + SECTOR_BYTES]
        # A write may end inside the last sector of a file, and what is behind it was lost.
        kept = sector.rstrip(b"\0") if start + SECTOR_BYTES >= len(stored) else sector
        assert any(version[start : start + len(kept)] == kept for version in padded), f"sector at {start}"


def test_modification_times_are_never_promised() -> None:
    def modified_ms(seed: int) -> int:
        disk = FakeDisk(seed)
        file = saved(disk, "/d/x", b"a")
        disk.set_modified("/d/x", 7)
        file.sync()
        disk.crash()
        return disk.scan("/d")[0].modified_ms

    assert {modified_ms(seed) for seed in SEEDS} == {0, 7}


def test_a_write_sets_the_modification_time() -> None:
    disk = FakeDisk()
    file = saved(disk, "/d/x", b"a")
    disk.now_ms = 5
    append(file, b"b")
    assert disk.scan("/d")[0].modified_ms == file.modified_ms() == 5


# -- what a power cut does to names -----------------------------------------------------------------------------------


def names_after_crash(history: Callable[[FakeDisk], object], loss: NameLoss | None) -> set[tuple[str, ...]]:
    return {tuple(sorted(after_crash(history, seed, loss))) for seed in SEEDS}


def create(disk: FakeDisk, *paths: str) -> None:
    for path in paths:
        disk.open(path, create=True).close()


def test_a_synced_file_is_lost_with_its_unsynced_name() -> None:
    def history(disk: FakeDisk) -> None:
        file = disk.open("/x", create=True)
        append(file, b"precious")
        file.sync()

    assert names_after_crash(history, NameLoss.ALL) == {()}
    assert names_after_crash(history, None) == {(), ("/x",)}


def test_a_synced_name_does_not_save_unsynced_bytes() -> None:
    def history(disk: FakeDisk) -> None:
        append(disk.open("/x", create=True), b"precious")
        disk.sync_directory("/")

    contents = {after_crash(history, seed)["/x"] for seed in SEEDS}
    assert {b"", b"precious"} < contents


def test_new_names_are_lost_all_or_the_latest_or_any() -> None:
    def history(disk: FakeDisk) -> None:
        create(disk, "/a", "/b", "/c")

    in_order = {(), ("/a",), ("/a", "/b"), ("/a", "/b", "/c")}
    assert names_after_crash(history, NameLoss.ALL) == {()}
    assert names_after_crash(history, NameLoss.LATEST) == in_order
    assert names_after_crash(history, NameLoss.ANY) == in_order | {("/b",), ("/c",), ("/b", "/c"), ("/a", "/c")}


@pytest.mark.parametrize("loss", NameLoss)
def test_a_rename_leaves_the_old_or_the_new_and_never_neither(loss: NameLoss) -> None:
    def history(disk: FakeDisk) -> None:
        saved(disk, "/d/x", b"old")
        saved(disk, "/d/x.tmp", b"new")
        disk.rename("/d/x.tmp", "/d/x")

    outcomes = [after_crash(history, seed, loss) for seed in SEEDS]
    assert {"/d/x": b"old", "/d/x.tmp": b"new"} in outcomes
    assert all(files in ({"/d/x": b"old", "/d/x.tmp": b"new"}, {"/d/x": b"new"}) for files in outcomes)
    assert ({"/d/x": b"new"} in outcomes) == (loss is not NameLoss.ALL)


def test_a_renamed_file_that_was_not_synced_may_be_empty_under_its_new_name() -> None:
    def history(disk: FakeDisk) -> None:
        saved(disk, "/d/x", b"old")
        append(disk.open("/d/x.tmp", create=True), b"new")
        disk.rename("/d/x.tmp", "/d/x")
        disk.sync_directory("/d")

    assert {after_crash(history, seed)["/d/x"] for seed in SEEDS} >= {b"", b"new"}


def test_a_removed_file_may_come_back_until_its_directory_is_synced() -> None:
    def history(disk: FakeDisk) -> None:
        saved(disk, "/d/x", b"old").close()
        disk.remove("/d/x")

    def synced(disk: FakeDisk) -> None:
        history(disk)
        disk.sync_directory("/d")

    assert names_after_crash(history, None) == {(), ("/d/x",)}
    assert after_crash(history, 0, NameLoss.ALL) == {"/d/x": b"old"}
    assert names_after_crash(synced, None) == {()}


def test_a_new_directory_is_lost_with_all_in_it_unless_the_one_above_is_synced() -> None:
    def history(disk: FakeDisk) -> None:
        disk.make_directory("/d/e")
        append(file := disk.open("/d/e/x", create=True), b"precious")
        file.sync()
        disk.sync_directory("/d/e")

    def synced(disk: FakeDisk) -> None:
        history(disk)
        disk.sync_directory("/d")
        disk.sync_directory("/")

    assert names_after_crash(history, NameLoss.ALL) == {()}
    assert names_after_crash(history, None) == {(), ("/d/e/x",)}
    assert names_after_crash(synced, None) == {("/d/e/x",)}


def test_a_sync_covers_one_directory_and_what_its_names_build_on() -> None:
    def history(disk: FakeDisk) -> None:
        saved(disk, "/d/x", b"")
        saved(disk, "/e/x", b"")
        create(disk, "/d/a", "/e/a", "/d/b")
        disk.rename("/d/a", "/d/c")
        disk.sync_directory("/d")

    assert names_after_crash(history, NameLoss.ALL) == {("/d/b", "/d/c", "/d/x", "/e/x")}


@pytest.mark.parametrize("synced", ["", "/d", "/e", "/e/new"])
def test_a_file_that_moves_to_another_directory_is_in_one_of_them(synced: str) -> None:
    def history(disk: FakeDisk) -> None:
        saved(disk, "/d/x", b"precious")
        disk.make_directory("/e/new")
        create(disk, "/d/other")
        disk.rename("/d/x", "/e/new/x")
        if synced:
            disk.sync_directory(synced)

    for seed in SEEDS:
        files = after_crash(history, seed)
        assert [data for path, data in files.items() if path.endswith("/x")] == [b"precious"]


def test_a_renamed_directory_keeps_its_content_under_either_name() -> None:
    def history(disk: FakeDisk) -> None:
        saved(disk, "/t-0/x", b"1")
        disk.rename("/t-0", "/t-0.delete")

    assert names_after_crash(history, None) == {("/t-0/x",), ("/t-0.delete/x",)}


def test_a_directory_may_be_found_half_removed() -> None:
    def history(disk: FakeDisk) -> None:
        for name in ("x", "y", "z"):
            saved(disk, f"/d/e/{name}", b"1")
        disk.make_directory("/d/e/f")
        disk.sync_directory("/d/e")
        disk.remove_directory("/d/e")

    seen = names_after_crash(history, NameLoss.ANY)
    assert {("/d/e/x",), ("/d/e/y",), ("/d/e/z",), ()} < seen


@pytest.mark.parametrize("synced", ["", "/d", "/f"])
@pytest.mark.parametrize("loss", NameLoss)
def test_a_directory_does_not_take_with_it_what_was_moved_out_of_it(loss: NameLoss, synced: str) -> None:
    def history(disk: FakeDisk) -> None:
        saved(disk, "/f/y", b"")
        saved(disk, "/d/e/x", b"precious")
        disk.rename("/d/e/x", "/f/x")
        disk.remove_directory("/d/e")
        if synced:
            disk.sync_directory(synced)

    assert names_after_crash(history, loss) <= {("/d/e/x", "/f/y"), ("/f/x", "/f/y")}


def test_a_file_renamed_twice_has_one_of_its_names() -> None:
    def history(disk: FakeDisk) -> None:
        saved(disk, "/d/a", b"")
        disk.rename("/d/a", "/d/b")
        disk.rename("/d/b", "/d/c")

    assert names_after_crash(history, NameLoss.ANY) == {("/d/a",), ("/d/b",), ("/d/c",)}


@pytest.mark.parametrize("seed", SEEDS)
def test_a_replace_that_returned_survives_and_one_cut_off_is_whole_or_not_there(seed: int) -> None:
    disk = FakeDisk(seed)
    disk.make_directory("/d")
    disk.sync_directory("/")
    disk.replace("/d/x", b"one")
    disk.crash_after(1 + seed % 6)
    with pytest.raises(PowerCut):
        disk.replace("/d/x", b"two")
    disk.crash()
    assert disk.read("/d/x") in {b"one", b"two"}
    disk.replace("/d/x", b"three")
    disk.crash()
    assert disk.read("/d/x") == b"three"


# -- the cut itself ---------------------------------------------------------------------------------------------------


def some_of_everything(disk: FakeDisk) -> None:
    disk.make_directory("d")
    disk.sync_directory("")
    file = disk.open("d/x", create=True)
    append(file, pages("abc"))
    file.sync()
    file.truncate(5000)
    disk.set_modified("d/x", 5)
    file.close()
    disk.rename("d/x", "d/y")
    disk.replace("d/x", b"1")
    disk.remove("d/x")
    disk.remove_directory("d")


def test_the_power_can_be_cut_in_every_change() -> None:
    disk = FakeDisk()
    some_of_everything(disk)
    count = disk.operation_count
    assert count == 17
    done = {line.split()[1] for line in disk.journal}
    assert done == fake_disk.CHANGES
    for number in range(1, count + 1):
        disk = FakeDisk(number)
        disk.crash_after(number)
        with pytest.raises(PowerCut, match=f"in operation {number}, "):
            some_of_everything(disk)
        assert disk.operation_count == number
        disk.crash()
        some_of_everything(disk)
    disk = FakeDisk()
    disk.crash_after(count + 1)
    some_of_everything(disk)


def test_the_operation_in_which_the_power_goes_may_be_done_or_not() -> None:
    def names(seed: int) -> tuple[str, ...]:
        disk = FakeDisk(seed)
        create(disk, "/x")
        disk.crash_after(1)
        with suppress(PowerCut):
            disk.sync_directory("/")
        disk.crash(names=NameLoss.ALL)
        return tuple(disk.files())

    assert {names(seed) for seed in SEEDS} == {(), ("/x",)}


def test_without_power_nothing_works_but_closing() -> None:
    disk = FakeDisk()
    file = saved(disk, "/d/x", b"a")
    lock = disk.lock("/d/.lock")
    disk.crash_after(1)
    with pytest.raises(PowerCut):
        append(file, b"b")
    uses: list[Callable[[], object]] = [
        file.size,
        file.sync,
        lambda: file.read_at(0, 1),
        lambda: disk.open("/d/x"),
        lambda: disk.scan("/d"),
        lambda: disk.exists("/d"),
        lambda: disk.make_directory("/d"),
        lambda: disk.rename("/d/x", "/d/y"),
    ]
    for use in uses:
        with pytest.raises(PowerCut):
            use()
    file.close()
    lock.release()


def test_no_handler_of_exceptions_catches_a_power_cut() -> None:
    assert not issubclass(PowerCut, Exception)


@pytest.mark.parametrize("end", [FakeDisk.crash, FakeDisk.kill])
def test_open_files_and_locks_die_with_the_process(end: Callable[[FakeDisk], None]) -> None:
    disk = FakeDisk()
    file = saved(disk, "/d/x", b"a")
    old = disk.lock("/d/x")
    with pytest.raises(BlockingIOError):
        disk.lock("/d/x")
    end(disk)
    uses: list[Callable[[], object]] = [
        file.size,
        file.sync,
        file.map,
        lambda: file.read_at(0, 1),
        lambda: file.write_at(0, (b"a",), 1),
        lambda: file.truncate(0),
    ]
    assert [outcome(use) for use in uses] == ["EBADF"] * len(uses)
    file.close()
    disk.lock("/d/x")
    old.release()
    with pytest.raises(BlockingIOError):
        disk.lock("/d/x")


def test_a_killed_process_loses_nothing_that_it_wrote() -> None:
    disk = FakeDisk()
    append(disk.open("/x", create=True), b"unsynced")
    disk.kill()
    assert disk.files() == {"/x": b"unsynced"}


def test_the_same_seed_gives_the_same_story() -> None:
    def run(seed: int) -> tuple[str, dict[str, bytes]]:
        disk = FakeDisk(seed)
        for number in range(5):
            file = saved(disk, f"/d/{number}", pages("ab"))
            append(file, pages("cd"))
            create(disk, f"/d/{number}.tmp")
        disk.crash()
        return disk.story(), disk.files()

    assert run(3) == run(3)
    assert run(3) != run(4)


def test_a_crash_may_be_given_its_own_chance() -> None:
    def run(seed: int) -> dict[str, bytes]:
        disk = FakeDisk(0)
        append(saved(disk, "/d/x", b""), pages("abcdef"))
        disk.crash(Random(seed))
        return disk.files()

    assert run(1) == run(1)
    assert len({run(seed)["/d/x"] for seed in SEEDS}) > 10


def test_the_story_tells_what_happened() -> None:
    disk = FakeDisk(7)
    file = disk.open("/x", create=True)
    append(file, b"abc")
    disk.flip("/x", 1)
    disk.fail("sync")
    with pytest.raises(OSError, match="Input/output error"):
        file.sync()
    disk.rename("/x", "/y")
    disk.crash(names=NameLoss.ALL)
    assert disk.story().splitlines() == [
        "FakeDisk(seed=7)",
        "1 create /x",
        "2 write /x 0+3",
        "spoil /x 1+1",
        "3 sync /x",
        "failed: Input/output error",
        "4 rename /y from x",
        "power cut, unsynced names lost: all",
    ]


# -- faults -----------------------------------------------------------------------------------------------------------


def test_a_full_disk_takes_what_fits_and_then_fails() -> None:
    disk = FakeDisk()
    file = saved(disk, "/d/x", b"12345")
    disk.leave_free(4)
    assert disk.free_bytes("/") == 4
    with pytest.raises(OSError, match="No space left") as failure:
        file.write_at(3, (b"abc", b"defgh"), 8)
    assert failure.value.errno == errno.ENOSPC
    assert file.read_at(0, 20) == b"123abcdef"
    assert disk.free_bytes("/") == 0
    with pytest.raises(OSError, match="No space left"):
        file.write_at(100, (b"a",), 1)
    file.write_at(0, (b"replaced!",), 9)  # what takes no more room goes on
    assert file.size() == 9


def test_truncation_and_removal_make_room_again() -> None:
    disk = FakeDisk()
    one, two = saved(disk, "/d/1", b"12345"), saved(disk, "/d/2", b"12345")
    disk.leave_free(0)
    one.truncate(2)
    assert disk.free_bytes("/d") == 3
    two.close()
    disk.remove("/d/2")
    assert disk.free_bytes("/d") == 8
    disk.remove("/d/1")
    assert disk.free_bytes("/d") == 8, "somebody has it open"
    one.close()
    assert disk.free_bytes("/d") == 10
    disk.replace("/d/3", b"1234567890")
    disk.heal()
    disk.replace("/d/3", b"12345678901")


def test_a_replace_without_room_leaves_the_old_content() -> None:
    disk = FakeDisk()
    disk.replace("/x", b"old")
    disk.leave_free(2)
    with pytest.raises(OSError, match="No space left"):
        disk.replace("/x", b"new")
    assert disk.files() == {"/x": b"old", "/x.tmp": b"ne"}


def test_the_nth_operation_on_a_path_fails_once_or_for_ever() -> None:
    disk = FakeDisk()
    log, index = saved(disk, "/d/x.log", b"a"), saved(disk, "/d/x.index", b"a")
    disk.fail("read", "*.log", nth=2)
    disk.fail("sync", "*.index", forever=True, error=errno.ENOSPC)
    assert [outcome(lambda: log.read_at(0, 1)) for _ in range(4)] == [b"a", "EIO", b"a", b"a"]
    assert [outcome(index.sync) for _ in range(3)] == ["ENOSPC"] * 3
    assert outcome(log.sync) is None
    assert index.read_at(0, 1) == b"a"
    disk.heal()
    assert outcome(index.sync) is None


@pytest.mark.parametrize("operation", sorted(fake_disk.CHANGES | {"read"}))
def test_every_kind_of_operation_can_fail(operation: str) -> None:
    def history() -> None:
        some_of_everything(disk)
        disk.replace("x", b"1")
        disk.read("x")

    disk = FakeDisk()
    disk.fail(operation, error=errno.EDQUOT)
    assert outcome(history) == "EDQUOT"


def test_a_rename_that_fails_is_known_by_its_target_and_changes_nothing() -> None:
    disk = FakeDisk()
    disk.replace("/x", b"old")
    disk.fail("rename", "/x")
    assert outcome(lambda: disk.replace("/x", b"new")) == "EIO"
    assert disk.files() == {"/x": b"old", "/x.tmp": b"new"}


def test_a_failed_write_has_written_a_part() -> None:
    def written(seed: int) -> bytes:
        disk = FakeDisk(seed)
        file = disk.open("/x", create=True)
        disk.fail("write")
        assert outcome(lambda: append(file, b"abc")) == "EIO"
        return file.read_at(0, 10)

    assert {written(seed) for seed in SEEDS} == {b"", b"a", b"ab", b"abc"}


@pytest.mark.parametrize("drops", [True, False])
def test_a_sync_after_a_failed_one_succeeds_and_saves_nothing(drops: bool) -> None:
    def contents(seed: int) -> tuple[bytes, bytes]:
        disk = FakeDisk(seed)
        disk.failed_sync_drops_pages = drops
        file = saved(disk, "/d/x", b"old")
        append(file, b"new")
        disk.fail("sync")
        assert outcome(file.sync) == "EIO"
        file.sync()
        before = file.read_at(0, 10)
        disk.crash()
        return before, disk.read("/d/x")

    pairs = {contents(seed) for seed in SEEDS}
    if drops:
        assert all(before == after for before, after in pairs)
        assert (b"old", b"old") in pairs
    else:
        assert {before for before, _ in pairs} == {b"oldnew"}
        assert {b"old", b"oldnew"} < {after for _, after in pairs}


def test_whether_a_failed_sync_drops_pages_is_chance_unless_said() -> None:
    def size(seed: int) -> int:
        disk = FakeDisk(seed)
        file = saved(disk, "/d/x", b"")
        append(file, b"new")
        disk.fail("sync")
        outcome(file.sync)
        assert disk.used_bytes == file.size()
        return file.size()

    assert {size(seed) for seed in SEEDS} >= {0, 3}


@pytest.mark.parametrize("synced", [True, False])
def test_spoilt_bytes_stay_spoilt(synced: bool) -> None:
    disk = FakeDisk()
    file = saved(disk, "/d/x", b"\xff" * 8)
    file.write_at(0, (b"\x0f" * 8,), 8)
    if synced:
        file.sync()
    disk.flip("/d/x", 1)
    disk.flip("/d/x", 2, 0x80)
    disk.zero("/d/x", 4, 3)
    spoilt = b"\x0f\x0e\x8f\x0f\0\0\0\x0f"
    assert file.read_at(0, 8) == spoilt
    file.sync()
    disk.crash()
    assert disk.read("/d/x") == spoilt


def test_only_bytes_that_are_there_can_be_spoilt() -> None:
    disk = FakeDisk()
    saved(disk, "/d/x", b"abc")
    with pytest.raises(AssertionError, match="has 3 bytes"):
        disk.zero("/d/x", 2, 2)


# -- what the protocol leaves open ------------------------------------------------------------------------------------


def test_it_is_a_disk_of_files_without_descriptors() -> None:
    disk: Disk = FakeDisk()
    file = disk.open("/x", create=True)
    with pytest.raises(io.UnsupportedOperation):
        file.fileno()


def test_a_directory_is_no_file_and_a_file_no_directory() -> None:
    disk = FakeDisk()
    saved(disk, "/d/x", b"")
    assert outcome(lambda: disk.open("/d", writable=False)) == "EISDIR"
    assert outcome(lambda: disk.sync_directory("/d/x")) == "ENOTDIR"
    assert outcome(lambda: disk.scan("")) == "ENOENT"


def test_a_wrong_sum_of_buffers_or_position_is_the_callers_mistake() -> None:
    file = FakeDisk().open("/x", create=True)
    with pytest.raises(AssertionError, match="3 bytes given, 4 announced"):
        file.write_at(0, (b"abc",), 4)
    with pytest.raises(AssertionError, match="write at -1"):
        file.write_at(-1, (b"abc",), 3)


# -- it finds mistakes ------------------------------------------------------------------------------------------------


class Store:
    """Keeps one value, safely: a temporary file, synced, renamed, and the directory synced."""

    def __init__(self, disk: FakeDisk) -> None:
        self.disk = disk
        disk.make_directory("/s")
        disk.sync_directory("/")

    def save(self, value: bytes) -> None:
        self.write("/s/value.tmp", value)
        self.disk.rename("/s/value.tmp", "/s/value")
        self.disk.sync_directory("/s")

    def write(self, path: str, value: bytes) -> None:
        file = self.disk.open(path, create=True)
        file.truncate(0)
        append(file, value)
        file.sync()
        file.close()

    def load(self) -> bytes:
        return self.disk.read("/s/value") if self.disk.exists("/s/value") else b""


class NeverSyncsTheDirectory(Store):
    def save(self, value: bytes) -> None:
        self.write("/s/value.tmp", value)
        self.disk.rename("/s/value.tmp", "/s/value")


class NeverSyncsTheDirectoryAbove(Store):
    def __init__(self, disk: FakeDisk) -> None:
        self.disk = disk
        disk.make_directory("/s")


class NeverSyncsTheFile(Store):
    def write(self, path: str, value: bytes) -> None:
        file = self.disk.open(path, create=True)
        file.truncate(0)
        append(file, value)
        file.close()


class RenamesBeforeTheSync(Store):
    def save(self, value: bytes) -> None:
        file = self.disk.open("/s/value.tmp", create=True)
        append(file, value)
        self.disk.rename("/s/value.tmp", "/s/value")
        file.sync()
        file.close()
        self.disk.sync_directory("/s")


class WritesInPlace(Store):
    def save(self, value: bytes) -> None:
        self.write("/s/value", value)
        self.disk.sync_directory("/s")


class RemovesBeforeTheRename(Store):
    def save(self, value: bytes) -> None:
        self.write("/s/value.tmp", value)
        if self.disk.exists("/s/value"):
            self.disk.remove("/s/value")
        self.disk.rename("/s/value.tmp", "/s/value")
        self.disk.sync_directory("/s")


class KeepsTheOldTemporaryFile(Store):
    """Does not truncate: a longer value that a crash left behind shines through."""

    def write(self, path: str, value: bytes) -> None:
        file = self.disk.open(path, create=True)
        file.write_at(0, (value,), len(value))
        file.sync()
        file.close()


class TriesASyncAgain(Store):
    def write(self, path: str, value: bytes) -> None:
        file = self.disk.open(path, create=True)
        file.truncate(0)
        append(file, value)
        try:
            file.sync()
        except OSError:
            file.sync()
        file.close()


VALUES = [b"", *(bytes([64 + number]) * (5000 - 1200 * number) for number in range(1, 4))]


def loses_data(kind: type[Store], seed: int, *, cut: int, failing: bool = False) -> bool:
    """Run to the cut, crash, go on with the next value: is one that was saved gone, or one there that never was?"""
    disk = FakeDisk(seed)
    disk.crash_after(cut)
    if failing:
        disk.fail("sync", nth=2)
    saved_last = 0
    left = iter(range(1, len(VALUES)))
    for _ in range(2):
        with suppress(PowerCut, OSError):
            store = kind(disk)
            for number in left:
                store.save(VALUES[number])
                saved_last = number
        disk.crash()
        if Store(disk).load() not in VALUES[saved_last:]:
            return True
    return False


def cuts_and_seeds() -> Iterator[tuple[int, int]]:
    return ((cut, 1000 * seed + cut) for seed in range(10) for cut in range(1, 30))


def test_a_store_that_does_it_right_loses_nothing_wherever_the_power_goes() -> None:
    wrong = [
        (cut, seed, failing)
        for cut, seed in cuts_and_seeds()
        for failing in (False, True)
        if loses_data(Store, seed, cut=cut, failing=failing)
    ]
    assert wrong == []


@pytest.mark.parametrize(
    "mistake",
    [
        NeverSyncsTheDirectory,
        NeverSyncsTheDirectoryAbove,
        NeverSyncsTheFile,
        RenamesBeforeTheSync,
        WritesInPlace,
        RemovesBeforeTheRename,
        KeepsTheOldTemporaryFile,
    ],
)
def test_a_store_with_a_mistake_is_found_out(mistake: type[Store]) -> None:
    assert any(loses_data(mistake, seed, cut=cut) for cut, seed in cuts_and_seeds())


def test_a_store_that_tries_a_failed_sync_again_is_found_out() -> None:
    assert any(loses_data(TriesASyncAgain, seed, cut=cut, failing=True) for cut, seed in cuts_and_seeds())

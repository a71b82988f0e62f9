"""A disk in memory that does to `ottla.storage` what a POSIX file system may do to it.

`FakeDisk` has the shape of `ottla.storage.files.Disk` and answers like `OsDisk`, errors included; test_fake_disk.py
runs the two side by side. A test can then take the disk away: cut the power, fill it up, make it fail, spoil its bytes.
All chance comes from one seed. It knows nothing of logs, and is not safe to use from several threads.

What a power cut leaves, when nothing was synced in between:
- Bytes. Pages (4 KiB) reach the disk in any order, each as it stood after any of the changes made to it, and may be
  torn between sectors (512 bytes, atomic). The size may have grown without the bytes: zeros are there instead.
  Truncations happen in their order or not at all; one that did not happen may bring old bytes back.
- Names. `NameLoss` says how creations, renames and removals are lost; each is whole or did not happen. A file's `sync`
  says nothing about its name: synced bytes are lost with an unsynced name.
- Modification times are never promised.

Stricter than Linux, to catch mistakes: a directory can not be opened as a file, nor a file synced as a directory.
"""

from __future__ import annotations

import enum
import errno
import io
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from random import Random

from ottla.storage.files import Buffer, Entry, OsEntry

PAGE_BYTES = 4096
SECTOR_BYTES = 512
JOURNAL_LINES_MAX = 10_000
CHANGES = {
    *("create", "write", "truncate", "sync", "rename", "remove"),
    *("make_directory", "remove_directory", "sync_directory", "set_modified"),
}


class PowerCut(BaseException):
    """The power went off inside an operation. No `except Exception` of the code under test may catch this."""


class NameLoss(enum.Enum):
    """What becomes of names that were created, renamed or removed since their directory was synced."""

    ALL = "all"  # nothing of it happened
    LATEST = "latest"  # the first few happened: a file system with an ordered journal
    ANY = "any"  # some happened, where they do not build on one that did not


def failure(number: int, path: str) -> OSError:
    return OSError(number, os.strerror(number), path)


# -- bytes ------------------------------------------------------------------------------------------------------------

# A write is (position, data), a truncation (size, None).
Change = tuple[int, bytes | None]


def apply(image: bytearray, change: Change) -> None:
    position, data = change
    if position > len(image):
        image.extend(bytes(position - len(image)))
    if data is None:
        del image[position:]
    else:
        image[position : position + len(data)] = data


def changed_in_order(stored: bytearray, pending: Sequence[Change], random: Random) -> bytearray:
    """The first changes, then perhaps the first part of a write."""
    image = bytearray(stored)
    whole_count = random.randrange(len(pending) + 1)
    for change in pending[:whole_count]:
        apply(image, change)
    if whole_count == len(pending):
        return image
    position, data = pending[whole_count]
    if data is not None:
        end = position + random.randint(0, len(data))
        if end < len(image):  # Bytes that were there before change by sectors; a file grows by bytes.
            end -= end % SECTOR_BYTES
        if end > position:
            apply(image, (position, data[: end - position]))
    return image


def changed_page_by_page(stored: bytearray, pending: Sequence[Change], random: Random) -> bytearray:
    """Every page as it was after any of the changes to it, under a size that the file had at some time."""
    sizes = [len(stored)]
    changes_of_page: dict[
        int, list[int]
    ] = {}  # Changes have the numbers 1 to n; version 0 of a page is the stored one.
    cuts: list[int] = []
    for number, (position, data) in enumerate(pending, 1):
        end = sizes[-1] if data is None else position + len(data)
        if data is None and position < end:
            cuts.append(number)
        sizes.append(position if data is None else max(sizes[-1], end))
        for page in range(position // PAGE_BYTES, -(-end // PAGE_BYTES)):
            changes_of_page.setdefault(page, []).append(number)

    # Truncations are the journal's: they happen in order, and a size is one of the time between two of them.
    done_count = random.randrange(len(cuts) + 1)
    done, undone = cuts[:done_count], cuts[done_count:]
    first, last = (done[-1] if done else 0), (undone[0] - 1 if undone else len(pending))
    number = random.randint(first, last)
    size = sizes[number]
    if number > first and random.getrandbits(1):
        size = random.randint(sizes[number - 1], size)

    image = stored[:size]
    image.extend(bytes(size - len(image)))
    for page, numbers in changes_of_page.items():
        start = page * PAGE_BYTES
        if start >= size:
            continue
        # A truncation that happened left zeros behind it, on the disk. One that did not happen freed no page, so that
        # nothing later can be found in the pages beyond it; the page that it cut in two may have been written since.
        oldest = max((n for n in numbers if n in done), default=0)
        beyond = min((n for n in numbers if n in undone and pending[n - 1][0] <= start), default=len(pending) + 1)
        versions = [n for n in (0, *numbers) if oldest <= n < beyond]
        content = page_version(stored, pending, start, numbers, random.choice(versions))
        if random.randrange(4) == 0:
            other = page_version(stored, pending, start, numbers, random.choice(versions))
            for sector in range(0, PAGE_BYTES, SECTOR_BYTES):
                if random.getrandbits(1):
                    content[sector : sector + SECTOR_BYTES] = other[sector : sector + SECTOR_BYTES]
        image[start : start + PAGE_BYTES] = content[: size - start]
    return image


def page_version(
    stored: bytearray, pending: Sequence[Change], start: int, numbers: Sequence[int], version: int
) -> bytearray:
    """The page at `start` after the changes up to this one, zeros behind the end of the file."""
    page = stored[start : start + PAGE_BYTES]
    page.extend(bytes(PAGE_BYTES - len(page)))
    for number in numbers:
        if number > version:
            break
        position, data = pending[number - 1]
        if data is None:
            kept = max(0, position - start)
            page[kept:] = bytes(PAGE_BYTES - kept)
        else:
            low, high = max(position, start), min(position + len(data), start + PAGE_BYTES)
            page[low - start : high - start] = data[low - position : high - position]
    return page


class Inode:
    """A file without its name: its bytes as programs see them, as the disk has them, and what lies between."""

    __slots__ = (
        "linked",
        "locked_in",
        "modified_ms",
        "opened_count",
        "pending",
        "reserved_end",
        "seen",
        "stored",
        "stored_ms",
    )

    def __init__(self, now_ms: int) -> None:
        self.seen = bytearray()
        self.stored = bytearray()
        self.pending: list[Change] = []
        self.modified_ms = self.stored_ms = now_ms
        self.linked = True
        self.opened_count = 0
        self.reserved_end = 0  # what it says is not promised, and nothing depends on it
        self.locked_in = -1  # the boot in which somebody took the lock

    def change(self, position: int, data: bytes | None) -> None:
        apply(self.seen, (position, data))
        self.pending.append((position, data))

    def sync(self) -> None:
        for change in self.pending:
            apply(self.stored, change)
        self.pending.clear()

    def lose(self, random: Random) -> None:
        """Some of what is pending reaches the disk, the rest never will."""
        how = random.randrange(5) if self.pending else 0
        if how == 1:
            self.sync()
        elif how == 2:
            self.stored = changed_in_order(self.stored, self.pending, random)
        elif how > 2:
            self.stored = changed_page_by_page(self.stored, self.pending, random)
        self.pending.clear()

    def forget(self) -> None:
        """Nothing is left but what is stored."""
        self.seen = bytearray(self.stored)


# -- names ------------------------------------------------------------------------------------------------------------


class Directory:
    """Names, as programs see them and as the disk has them."""

    __slots__ = ("modified_ms", "seen", "stored")

    def __init__(self, now_ms: int) -> None:
        self.seen: dict[str, Node] = {}
        self.stored: dict[str, Node] = {}
        self.modified_ms = now_ms


Node = Inode | Directory


@dataclass(slots=True, eq=False)
class Edit:
    """In `directory`, `name` meant `before` and then `after`; None is no such name."""

    directory: Directory
    name: str
    before: Node | None
    after: Node | None

    def store(self) -> None:
        if self.after is None:
            self.directory.stored.pop(self.name, None)
        else:
            self.directory.stored[self.name] = self.after


# The edits of one operation happen together.
Edits = tuple[Edit, ...]


def crosses(edits: Edits) -> bool:
    return any(edit.directory is not edits[0].directory for edit in edits)


def replaced(edits: Edits) -> Iterator[Node]:
    """What has lost its only name."""
    for edit in edits:
        if edit.before is not None and all(edit.before is not other.after for other in edits):
            yield edit.before


def may_happen(edits: Edits) -> bool:
    """Whether the disk is as these edits found it."""
    if any(edit.directory.stored.get(edit.name) is not edit.before for edit in edits):
        return False
    return not any(isinstance(node, Directory) and node.stored for node in replaced(edits))


def store_names(pending: Sequence[Edits], loss: NameLoss, random: Random) -> None:
    """Let a power cut choose among the operations on names that no sync has covered."""
    if loss is NameLoss.LATEST:
        for edits in pending[: random.randint(0, len(pending))]:
            for edit in edits:
                edit.store()
    if loss is not NameLoss.ANY:
        return
    all_so_far = True
    for edits in pending:
        # A move between directories happens only with all before it: else a file could go where a lost directory was.
        if random.getrandbits(1) and may_happen(edits) and (all_so_far or not crosses(edits)):
            for edit in edits:
                edit.store()
        else:
            all_so_far = False


def store_names_of(directory: Directory, pending: Sequence[Edits]) -> list[Edits]:
    """Sync a directory: store the edits in it, and those they build on. The rest stays pending and is returned."""
    directories: set[Node] = {directory}
    synced: list[Edits] = []
    rest: list[Edits] = []
    everything = False
    for edits in reversed(pending):
        if everything or any(edit.directory in directories for edit in edits):
            synced.append(edits)
            directories.update(replaced(edits))  # A directory goes after what was in it.
            everything = everything or crosses(edits)
        else:
            rest.append(edits)
    for edits in reversed(synced):
        for edit in edits:
            edit.store()
    return rest[::-1]


# -- the disk ---------------------------------------------------------------------------------------------------------


class FakeFile:
    __slots__ = ("_boot", "_disk", "_inode", "_writable", "path")

    def __init__(self, disk: FakeDisk, path: str, inode: Inode, writable: bool) -> None:
        self.path = path
        self._disk = disk
        self._inode: Inode | None = inode
        self._writable = writable
        self._boot = disk.boot_count
        inode.opened_count += 1

    def _alive(self) -> Inode:
        self._disk.check_power()
        if self._inode is None or self._boot != self._disk.boot_count:
            raise failure(errno.EBADF, self.path)
        return self._inode

    def fileno(self) -> int:
        raise io.UnsupportedOperation(f"{self.path} is in memory, read it with read_at")

    def size(self) -> int:
        return len(self._alive().seen)

    def modified_ms(self) -> int:
        return self._alive().modified_ms

    def read_at(self, position: int, size_bytes: int) -> bytes:
        if position < 0 or size_bytes < 0:
            raise failure(errno.EINVAL, self.path)
        inode = self._alive()
        self._disk.check_fault("read", self.path)
        return bytes(memoryview(inode.seen)[position : position + size_bytes])

    def write_at(self, position: int, buffers: Sequence[Buffer], size_bytes: int) -> None:
        data = b"".join(buffers)
        assert len(data) == size_bytes, f"{self.path}: {len(data)} bytes given, {size_bytes} announced"
        # Linux takes -1 for "wherever the descriptor's cursor is" (pwritev2), so that no error would tell.
        assert position >= 0, f"{self.path}: write at {position}"
        inode = self._alive()
        if not self._writable:
            raise failure(errno.EBADF, self.path)
        if data:
            self._disk.write(self.path, inode, position, data)

    def truncate(self, size_bytes: int) -> None:
        if size_bytes < 0:
            raise failure(errno.EINVAL, self.path)
        inode = self._alive()
        if not self._writable:
            raise failure(errno.EINVAL, self.path)
        self._disk.truncate(self.path, inode, size_bytes)

    def reserve(self, position: int, size_bytes: int) -> None:
        self._alive().reserved_end = position + size_bytes

    def give_back(self) -> None:
        self._alive().reserved_end = 0

    def sync(self) -> None:
        self._disk.sync(self.path, self._alive())

    def map(self) -> bytes:
        """A copy: later writes do not show in it, as they may in a mapping."""
        return self.read_at(0, self.size())

    def close(self) -> None:
        """Harmless on a file that is closed or dead, so that `finally` can unwind after a power cut."""
        inode, self._inode = self._inode, None
        if inode is not None and self._boot == self._disk.boot_count:
            inode.opened_count -= 1
            self._disk.reclaim(inode)


class FakeLock:
    def __init__(self, disk: FakeDisk, inode: Inode) -> None:
        self._disk = disk
        self._inode = inode
        self._boot = disk.boot_count

    def release(self) -> None:
        if self._inode.locked_in == self._boot == self._disk.boot_count:
            self._inode.locked_in = -1


@dataclass(slots=True)
class Fault:
    operation: str
    pattern: str
    left_count: int
    forever: bool
    error: int


class FakeDisk:
    """The file system. Paths without a leading slash start at the root too."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self.random = Random(seed)
        self.now_ms = 0
        self.operation_count = 0  # of changes; the n-th is where crash_after(n) on a new disk cuts the power
        self.boot_count = 0
        self.capacity_bytes = 1 << 40
        self.used_bytes = 0
        # After a failed sync, is the file as it is on the disk (True), or does it look as if all were well?
        self.failed_sync_drops_pages: bool | None = None
        self.journal: deque[str] = deque(maxlen=JOURNAL_LINES_MAX)
        self._root = Directory(0)
        self._pending_names: list[Edits] = []
        self._faults: list[Fault] = []
        self._cut_at: int | None = None
        self._powered = True

    # What tests do to it.

    def crash(self, random: Random | None = None, names: NameLoss | None = None) -> None:
        """Cut the power, if it is on, and start again: open files and locks are gone, and what was not stored."""
        random = random or self.random
        loss = names or random.choice(list(NameLoss))
        store_names(self._pending_names, loss, random)
        self._pending_names.clear()
        self._boot(f"power cut, unsynced names lost: {loss.value}")
        self._powered = True
        self._cut_at = None
        for directory in self._directories():
            directory.seen = dict(directory.stored)
        for inode in self._inodes():
            inode.lose(random)
            inode.forget()
            inode.linked = True
            inode.modified_ms = inode.stored_ms = random.choice((inode.modified_ms, inode.stored_ms))
        self._count_used()

    def kill(self) -> None:
        """End the process but not the machine: open files and locks are gone, nothing else."""
        self._boot("kill")
        self._count_used()

    def crash_after(self, count: int) -> None:
        """Raise PowerCut in the count-th change from now, which may be done, half done or not. Then call `crash`."""
        assert count > 0, count
        self._cut_at = self.operation_count + count

    def fail(
        self, operation: str, pattern: str = "*", *, nth: int = 1, forever: bool = False, error: int = errno.EIO
    ) -> None:
        """Let the nth such operation on a path like this fail, and with `forever` all after it.

        A rename is known by its target. A failed write has written some of its bytes, a failed sync has lost what it
        did not write.
        """
        assert operation in CHANGES or operation == "read", operation
        self._faults.append(Fault(operation, pattern, nth, forever, error))

    def heal(self) -> None:
        """No more faults, and room enough."""
        self._faults.clear()
        self.capacity_bytes = 1 << 40

    def reserved_end(self, path: str) -> int:
        """Up to where room is reserved for a file; 0 if none is."""
        return self._inode(path, create=False).reserved_end

    def leave_free(self, free_bytes: int) -> None:
        """Fill up the disk but for this many bytes."""
        self.capacity_bytes = self.used_bytes + free_bytes

    def flip(self, path: str, position: int, mask: int = 1) -> None:
        """Flip bits of one byte, on the disk and in memory."""
        self._spoil(path, position, 1, lambda byte: byte ^ mask)

    def zero(self, path: str, position: int, size_bytes: int) -> None:
        """Zero a range, on the disk and in memory."""
        self._spoil(path, position, size_bytes, lambda byte: 0)

    def files(self) -> dict[str, bytes]:
        """Every file there is, by its path from the root."""
        return {path: bytes(node.seen) for path, node in self._tree() if isinstance(node, Inode)}

    def story(self) -> str:
        """What happened, for the report of a failure."""
        return "\n".join([f"FakeDisk(seed={self.seed})", *self.journal])

    # What the code under test does with it.

    def open(self, path: str, *, create: bool = False, writable: bool = True) -> FakeFile:
        return FakeFile(self, path, self._inode(path, create), writable)

    def scan(self, directory: str) -> list[Entry]:
        entries: list[Entry] = []
        for name, node in sorted(self._directory(directory).seen.items()):
            is_directory = isinstance(node, Directory)
            size_bytes = 0 if isinstance(node, Directory) else len(node.seen)
            entries.append(
                OsEntry(name, is_directory=is_directory, size_bytes=size_bytes, modified_ms=node.modified_ms)
            )
        return entries

    def exists(self, path: str) -> bool:
        try:
            self._node(path)
        except OSError:
            return False
        return True

    def read(self, path: str) -> bytes:
        inode = self._inode(path, create=False)
        self.check_fault("read", path)
        return bytes(inode.seen)

    def replace(self, path: str, data: bytes) -> None:
        temporary = path + ".tmp"
        file = self.open(temporary, create=True)
        try:
            file.truncate(0)
            file.write_at(0, (data,), len(data))
            file.sync()
        finally:
            file.close()
        self.rename(temporary, path)
        self.sync_directory(os.path.dirname(path))

    def rename(self, source: str, target: str) -> None:
        old_directory, old_name = self._parent(source)
        new_directory, new_name = self._parent(target)
        node = old_directory.seen.get(old_name)
        there = new_directory.seen.get(new_name)
        if node is None:
            raise failure(errno.ENOENT, source)
        if node is there:
            return
        if isinstance(node, Directory) and any(above is node for above in self._above(target)):
            raise failure(errno.EINVAL, target)
        if isinstance(there, Directory) and any(above is there for above in self._above(source)):
            raise failure(errno.ENOTEMPTY, target)
        if isinstance(there, Directory) and not isinstance(node, Directory):
            raise failure(errno.EISDIR, target)
        if isinstance(there, Inode) and not isinstance(node, Inode):
            raise failure(errno.ENOTDIR, target)
        if isinstance(there, Directory) and there.seen:
            raise failure(errno.ENOTEMPTY, target)
        self._relink(
            "rename", target, Edit(old_directory, old_name, node, None), Edit(new_directory, new_name, there, node)
        )

    def remove(self, path: str) -> None:
        inode = self._inode(path, create=False)
        directory, name = self._parent(path)
        self._relink("remove", path, Edit(directory, name, inode, None))

    def remove_directory(self, path: str) -> None:
        directory = self._directory(path)
        names = list(directory.seen)
        self.random.shuffle(names)
        for name in names:
            child = os.path.join(path, name)
            if isinstance(directory.seen[name], Directory):
                self.remove_directory(child)
            else:
                self.remove(child)
        parent, name = self._parent(path)
        self._relink("remove_directory", path, Edit(parent, name, directory, None))

    def make_directory(self, path: str) -> None:
        node = self._node("/")
        names = parts(path)
        for depth, name in enumerate(names, 1):
            if not isinstance(node, Directory):
                raise failure(errno.ENOTDIR, path)
            if name not in node.seen:
                made = "/".join(names[:depth])
                self._relink("make_directory", made, Edit(node, name, None, Directory(self.now_ms)))
            node = node.seen[name]
        if not isinstance(node, Directory):
            raise failure(errno.EEXIST, path)

    def sync_directory(self, path: str) -> None:
        directory = self._directory(path or ".")

        def store() -> None:
            self._pending_names = store_names_of(directory, self._pending_names)

        self._change("sync_directory", path, "", store)

    def set_modified(self, path: str, modified_ms: int) -> None:
        node = self._node(path)

        def touch() -> None:
            node.modified_ms = modified_ms

        self._change("set_modified", path, f"{modified_ms}", touch)

    def free_bytes(self, path: str) -> int:
        self._node(path)
        return max(0, self.capacity_bytes - self.used_bytes)

    def lock(self, path: str) -> FakeLock:
        inode = self._inode(path, create=True)
        if inode.locked_in == self.boot_count:
            raise failure(errno.EAGAIN, path)
        inode.locked_in = self.boot_count
        return FakeLock(self, inode)

    # What open files ask of it.

    def check_power(self) -> None:
        if not self._powered:
            raise PowerCut("the power is off")

    def check_fault(self, operation: str, path: str) -> None:
        error = self._fault(operation, path)
        if error is not None:
            raise failure(error, path)

    def write(self, path: str, inode: Inode, position: int, data: bytes) -> None:
        def put(size_bytes: int) -> None:
            end_max = max(len(inode.seen), self.capacity_bytes - self.used_bytes + len(inode.seen))
            fitting = data[: max(0, min(size_bytes, end_max - position))]
            if fitting:
                self._change_bytes(inode, position, fitting)
            if len(fitting) < size_bytes:
                raise failure(errno.ENOSPC, path)

        self._change(
            "write",
            path,
            f"{position}+{len(data)}",
            lambda: put(len(data)),
            lambda: put(self.random.randint(0, len(data))),
        )

    def truncate(self, path: str, inode: Inode, size_bytes: int) -> None:
        self._change("truncate", path, f"{size_bytes}", lambda: self._change_bytes(inode, size_bytes, None))

    def sync(self, path: str, inode: Inode) -> None:
        def fail() -> None:
            # The pages that could not be written count as clean from here on: no later sync tries again.
            inode.lose(self.random)
            drops = self.failed_sync_drops_pages
            if self.random.getrandbits(1) if drops is None else drops:
                self.used_bytes += len(inode.stored) - len(inode.seen)
                inode.forget()

        self._change("sync", path, "", inode.sync, fail)

    def reclaim(self, inode: Inode) -> None:
        """The bytes of a file are free when it has neither a name nor a reader."""
        if not inode.linked and inode.opened_count == 0:
            self.used_bytes -= len(inode.seen)

    # Within.

    def _change(
        self,
        operation: str,
        path: str,
        detail: str,
        whole: Callable[[], None],
        part: Callable[[], None] = lambda: None,
    ) -> None:
        """Every change comes through here: counted, noted, and failing or cut off if a test wants it so."""
        self.check_power()
        self.operation_count += 1
        self.journal.append(f"{self.operation_count} {operation} {path} {detail}".rstrip())
        error = self._fault(operation, path)
        cut = self._cut_at is not None and self.operation_count >= self._cut_at
        if error is not None or (cut and self.random.getrandbits(1)):
            part()
        else:
            whole()
        if cut:
            self._powered = False
            self.journal.append("the power is off")
            raise PowerCut(f"in operation {self.operation_count}, {operation} {path}")
        if error is not None:
            self.journal.append(f"failed: {os.strerror(error)}")
            raise failure(error, path)

    def _fault(self, operation: str, path: str) -> int | None:
        for fault in self._faults:
            if fault.operation == operation and fnmatchcase(path, fault.pattern):
                fault.left_count -= 1
                if fault.left_count == 0 or (fault.left_count < 0 and fault.forever):
                    return fault.error
        return None

    def _relink(self, operation: str, path: str, *edits: Edit) -> None:
        def relink() -> None:
            for edit in edits:
                if edit.after is None:
                    del edit.directory.seen[edit.name]
                else:
                    edit.directory.seen[edit.name] = edit.after
            self._pending_names.append(edits)
            for node in replaced(edits):
                if isinstance(node, Inode):
                    node.linked = False
                    self.reclaim(node)

        self._change(operation, path, f"from {edits[0].name}" if operation == "rename" else "", relink)

    def _change_bytes(self, inode: Inode, position: int, data: bytes | None) -> None:
        self.used_bytes -= len(inode.seen)
        inode.change(position, data)
        self.used_bytes += len(inode.seen)
        inode.modified_ms = self.now_ms

    def _spoil(self, path: str, position: int, size_bytes: int, spoil: Callable[[int], int]) -> None:
        inode = self._inode(path, create=False)
        assert 0 <= position <= len(inode.seen) - size_bytes, f"{path} has {len(inode.seen)} bytes"
        for image in (inode.seen, inode.stored):
            for at in range(position, min(position + size_bytes, len(image))):
                image[at] = spoil(image[at])
        if inode.pending:  # What is on its way to the disk must not undo the damage.
            inode.pending.append((position, bytes(inode.seen[position : position + size_bytes])))
        self.journal.append(f"spoil {path} {position}+{size_bytes}")

    def _boot(self, event: str) -> None:
        self.boot_count += 1
        self.journal.append(event)

    def _count_used(self) -> None:
        self.used_bytes = 0
        for inode in self._inodes():
            inode.opened_count = 0
            self.used_bytes += len(inode.seen)

    def _directories(self) -> Iterator[Directory]:
        """From the root down, as stored."""
        waiting = [self._root]
        while waiting:
            directory = waiting.pop()
            yield directory
            waiting += [node for node in directory.stored.values() if isinstance(node, Directory)]

    def _inodes(self) -> Iterator[Inode]:
        return (node for _, node in self._tree() if isinstance(node, Inode))

    def _tree(self) -> Iterator[tuple[str, Node]]:
        waiting: list[tuple[str, Directory]] = [("", self._root)]
        while waiting:
            above, directory = waiting.pop()
            for name, node in directory.seen.items():
                yield f"{above}/{name}", node
                if isinstance(node, Directory):
                    waiting.append((f"{above}/{name}", node))

    def _above(self, path: str) -> Iterator[Node]:
        """The directories on the way to a path."""
        node: Node = self._root
        for name in parts(path)[:-1]:
            assert isinstance(node, Directory), "its parent was found"
            node = node.seen[name]
            yield node

    def _node(self, path: str) -> Node:
        self.check_power()
        if not path:
            raise failure(errno.ENOENT, path)
        node: Node = self._root
        for name in parts(path):
            if not isinstance(node, Directory):
                raise failure(errno.ENOTDIR, path)
            below = node.seen.get(name)
            if below is None:
                raise failure(errno.ENOENT, path)
            node = below
        return node

    def _directory(self, path: str) -> Directory:
        node = self._node(path)
        if not isinstance(node, Directory):
            raise failure(errno.ENOTDIR, path)
        return node

    def _parent(self, path: str) -> tuple[Directory, str]:
        names = parts(path)
        assert names, f"{path!r} has no name in a directory"
        return self._directory("/" + "/".join(names[:-1])), names[-1]

    def _inode(self, path: str, create: bool) -> Inode:
        directory, name = self._parent(path)
        if create and name not in directory.seen:
            self._relink("create", path, Edit(directory, name, None, Inode(self.now_ms)))
        node = directory.seen.get(name)
        if node is None:
            raise failure(errno.ENOENT, path)
        if isinstance(node, Directory):
            raise failure(errno.EISDIR, path)
        return node


def parts(path: str) -> list[str]:
    names = [name for name in path.split("/") if name not in {"", "."}]
    assert ".." not in names, f"{path}: the fake disk does not go up"
    return names

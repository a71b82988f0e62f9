"""`ottla log dump`: what the files of a partition hold, as tables or as one JSON object per line.

Text and JSON are made of the same rows, which `batch_rows` and `small_file_rows` read. Files are opened for reading
only. One that is damaged is shown as far as it goes, and the exit status says so.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ottla.commands import EXIT_FAILED, EXIT_OK, UsageError
from ottla.commands.batch_rows import BATCH_COLUMNS, batch_rows, damage_row, line_text
from ottla.commands.partition_files import (
    CHECKPOINT_SUFFIX,
    LEFTOVERS,
    PartitionFiles,
    SegmentFiles,
    identity_of,
    look_at,
)
from ottla.commands.small_file_rows import BY_NAME, BY_SUFFIX, DAMAGED, SmallFile, size_of
from ottla.commands.stored_records import METADATA_TOPIC, decoder_for
from ottla.commands.terminal import Row, Table, Terminal
from ottla.commands.text_form import compact_json, count_text
from ottla.storage.files import Disk
from ottla.storage.segment import LOG_SUFFIX, SEGMENT_SUFFIXES

_NUMBERED = re.compile(r"[0-9]{20}(\.[a-z]+)", re.ASCII)
_BROKEN = ("damage", "unreadable")


class DumpOptions(NamedTuple):
    """`from_offset` and `count_max` concern batches, or records where these are shown; None is no limit."""

    with_records: bool = False
    from_offset: int | None = None
    count_max: int | None = None
    width: int = 60
    as_json: bool = False
    show_secrets: bool = False

    @property
    def logs_only(self) -> bool:
        """Whoever looks for records wants no indexes in between."""
        return self.with_records or self.from_offset is not None or self.count_max is not None


def dump(disk: Disk, paths: Sequence[str], options: DumpOptions, terminal: Terminal) -> int:
    """Show every file; the exit status says whether all could be read."""
    shown = _Dump(disk, options, terminal)
    for file in [file for path in paths for file in _files(disk, path, options)]:
        if not shown.has_enough:
            shown.file(file)
    return EXIT_OK if shown.is_fine else EXIT_FAILED


class _Dump:
    """A dump while it is being written: how much of it is still wanted, and whether all was well so far."""

    def __init__(self, disk: Disk, options: DumpOptions, terminal: Terminal) -> None:
        self.disk = disk
        self.options = options
        self.terminal = terminal
        self.left_count = options.count_max
        self.is_fine = True
        self.is_first = True

    @property
    def has_enough(self) -> bool:
        return self.left_count is not None and self.left_count <= 0

    def file(self, path: str) -> None:
        kind = self.kind_of(path)
        rows = self.counted(self.guarded(path, kind))
        if self.options.as_json:
            for row in rows:
                self.terminal.line(compact_json({"file": path} | row))
            return
        if not self.is_first:
            self.terminal.line()
        self.is_first = False
        self.terminal.line(self.terminal.bold(f"{path}  ({count_text(size_of(self.disk, path), 'byte')})"))
        with Table(self.terminal, kind.columns) as table:
            for row in rows:
                if row["type"] in ("batch", "entry"):
                    table.row(row)
                else:
                    text = line_text(row, self.options.width)
                    table.line(self.terminal.bad(text) if row["type"] in _BROKEN else text)

    def guarded(self, path: str, kind: SmallFile) -> Iterator[Row]:
        """The rows of a file; what is wrong with it as a last one."""
        try:
            yield from kind.rows(self.disk, path)
        except DAMAGED as error:
            yield damage_row(None, str(error))

    def counted(self, rows: Iterator[Row]) -> Iterator[Row]:
        """The rows until there are enough."""
        counted = "record" if self.options.with_records else "batch"
        for row in rows:
            yield row
            if row["type"] in _BROKEN or row.get("isIntact") is False:
                self.is_fine = False
            if row["type"] == counted and self.left_count is not None:
                self.left_count -= 1
                if self.has_enough:
                    return

    def kind_of(self, path: str) -> SmallFile:
        name = os.path.basename(path)
        if name in BY_NAME:
            return BY_NAME[name]
        for leftover in LEFTOVERS:
            name = name.removesuffix(leftover)
        if name.endswith((LOG_SUFFIX, CHECKPOINT_SUFFIX)):
            return SmallFile(BATCH_COLUMNS, self.batches)
        form = _NUMBERED.fullmatch(name)
        if form is None or form[1] not in BY_SUFFIX:
            known = ", ".join(["*.log", *(f"*{known}" for known in BY_SUFFIX), "*.checkpoint", *BY_NAME])
            raise UsageError(f"{path} is no file that can be shown: known are {known}")
        return BY_SUFFIX[form[1]]

    def batches(self, disk: Disk, path: str) -> Iterator[Row]:
        identity = identity_of(os.path.dirname(os.path.abspath(path)))
        topic = METADATA_TOPIC if path.endswith(CHECKPOINT_SUFFIX) else None if identity is None else identity.topic
        file = disk.open(path, writable=False)
        try:
            yield from batch_rows(
                file,
                from_offset=self.options.from_offset or 0,
                with_records=self.options.with_records,
                decode=decoder_for(topic, show_secrets=self.options.show_secrets),
            )
        finally:
            file.close()


def _files(disk: Disk, path: str, options: DumpOptions) -> list[str]:
    """The files to be shown for what the user named: itself, or those of a partition's directory."""
    try:
        disk.scan(path)
    except FileNotFoundError:
        raise UsageError(f"{path} does not exist") from None
    except NotADirectoryError:
        return [path]
    files = look_at(disk, path)
    if options.logs_only:
        return [segment.path(LOG_SUFFIX) for segment in _segments_from(files, options.from_offset)]
    shown = [files.path(name) for name in BY_NAME if name in files.names]
    for segment in files.segments:
        shown += [segment.path(suffix) for suffix in SEGMENT_SUFFIXES if suffix in segment.sizes]
    return shown + [files.path(name) for name in files.names if name.endswith((".snapshot", CHECKPOINT_SUFFIX))]


def _segments_from(files: PartitionFiles, offset: int | None) -> list[SegmentFiles]:
    base_offsets = [segment.base_offset for segment in files.segments]
    return files.segments[max(0, bisect_right(base_offsets, offset or 0) - 1) :]

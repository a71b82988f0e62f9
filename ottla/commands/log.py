"""`ottla log`: looking into the files of a partition, and putting its indexes right. The arguments and their help.

Loads nothing of storage before a command runs. What each command does is in a module of its own.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from ottla.commands import UsageError

if TYPE_CHECKING:
    from ottla.commands.terminal import Terminal
    from ottla.storage.files import Disk

WIDTH = 60

_PARTITION = "a partition's directory, such as data/orders-0"


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Hang `log` and its own commands into the command line."""
    log_parser = commands.add_parser(
        "log",
        help="look into a partition's files",
        description="Look into the files of a partition, whether Ottla or Apache Kafka wrote them.",
    )
    own_commands = log_parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_dump(own_commands)
    _add_verify(own_commands)
    _add_find(own_commands)
    _add_rebuild_index(own_commands)


def _add_dump(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "dump",
        help="show batches, records and indexes",
        description=(
            "Show what is in a partition's directory or in single files: segments, indexes, producer snapshots, leader "
            "epochs. Records of Kafka's own topics (__consumer_offsets, __transaction_state, __share_group_state, "
            "__cluster_metadata) are decoded. Nothing is written."
        ),
        epilog="example: ottla log dump data/orders-0 --records --offset 1000 --count 20",
    )
    parser.add_argument("paths", metavar="DIR|FILE", nargs="+", help=f"{_PARTITION}, or a file in one")
    parser.add_argument("--records", action="store_true", help="show the records in each batch")
    parser.add_argument("--offset", type=_natural, metavar="N", help="begin with the batch that holds this offset")
    parser.add_argument(
        "--count", type=_natural, metavar="N", help="show so many batches, or records with --records, and no more"
    )
    parser.add_argument(
        "--width", type=_natural, metavar="N", default=WIDTH, help=f"cut keys and values here; 0: never ({WIDTH})"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object per line, nothing cut")
    parser.add_argument("--show-secrets", action="store_true", help="show passwords and keys in metadata records")
    parser.set_defaults(command=dump)


def _add_verify(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "verify",
        help="check every byte of a partition",
        description=(
            "Read all of a partition: checksums, offsets, indexes against batches, aborted transactions against "
            "markers, producer snapshots, leader epochs. Says what is wrong, where, and what to do. Nothing is "
            "written. The exit status is 0 if all is well and 1 if there is damage. If a broker is running, the "
            "end of the log may be half written."
        ),
        epilog="example: ottla log verify data/orders-*",
    )
    parser.add_argument("directories", metavar="DIR", nargs="+", help=_PARTITION)
    parser.add_argument("--records", action="store_true", help="unpack and read every record as well (slower)")
    parser.set_defaults(command=verify)


def _add_find(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "find",
        help="show how an offset or a time is looked up",
        description=(
            "Show the way to a record, step by step: segment, index entries, batches passed over, batch, record. "
            "The exit status is 1 if there is none."
        ),
        epilog="example: ottla log find data/orders-0 --timestamp 2026-01-31T12:00:00Z",
    )
    parser.add_argument("directory", metavar="DIR", help=_PARTITION)
    wanted = parser.add_mutually_exclusive_group(required=True)
    wanted.add_argument("--offset", type=_natural, metavar="N", help="the record at this offset, or the next one")
    wanted.add_argument(
        "--timestamp", type=_time, metavar="T", help="the first record not before this: milliseconds or ISO 8601 (UTC)"
    )
    parser.set_defaults(command=find)


def _add_rebuild_index(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "rebuild-index",
        help="make the indexes of a partition anew",
        description=(
            "Make .index, .timeindex and .txnindex anew from the log, and say what changed. The log itself is not "
            "touched. The broker must be stopped."
        ),
        epilog="example: ottla log rebuild-index data/orders-0",
    )
    parser.add_argument("directory", metavar="DIR", help=_PARTITION)
    parser.add_argument(
        "--interval-bytes", type=_natural, metavar="N", help="the topic's index.interval.bytes (4096, Kafka's default)"
    )
    parser.set_defaults(command=rebuild_index)


def _natural(text: str) -> int:
    if not text.isascii() or not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 on")
    return int(text)


def _time(text: str) -> int:
    from ottla.commands.text_form import parse_time

    try:
        return parse_time(text)
    except ValueError as error:
        reason = f"{text!r} is neither milliseconds since 1970 nor a time such as 2026-01-31T12:00:00Z ({error})"
        raise argparse.ArgumentTypeError(reason) from error


def dump(parsed: argparse.Namespace) -> int:
    from ottla.commands.log_dump import DumpOptions
    from ottla.commands.log_dump import dump as run

    options = DumpOptions(
        with_records=parsed.records,
        from_offset=parsed.offset,
        count_max=parsed.count,
        width=parsed.width,
        as_json=parsed.json,
        show_secrets=parsed.show_secrets,
    )
    return _on_the_disk(lambda disk, terminal: run(disk, parsed.paths, options, terminal))


def verify(parsed: argparse.Namespace) -> int:
    from ottla.commands.log_verify import verify as run

    return _on_the_disk(
        lambda disk, terminal: run(disk, parsed.directories, terminal, sys.stderr, with_records=parsed.records)
    )


def find(parsed: argparse.Namespace) -> int:
    from ottla.commands.log_find import find_offset, find_timestamp

    if parsed.timestamp is not None:
        return _on_the_disk(lambda disk, terminal: find_timestamp(disk, parsed.directory, parsed.timestamp, terminal))
    return _on_the_disk(lambda disk, terminal: find_offset(disk, parsed.directory, parsed.offset, terminal))


def rebuild_index(parsed: argparse.Namespace) -> int:
    from ottla.commands.log_rebuild import INTERVAL_BYTES
    from ottla.commands.log_rebuild import rebuild_index as run

    interval_bytes = INTERVAL_BYTES if parsed.interval_bytes is None else parsed.interval_bytes
    return _on_the_disk(
        lambda disk, terminal: run(disk, parsed.directory, terminal, sys.stderr, interval_bytes=interval_bytes),
        writable=True,
    )


def _on_the_disk(command: Callable[[Disk, Terminal], int], *, writable: bool = False) -> int:
    """Run a command with the operating system's files, which it cannot change unless it is made for that."""
    from ottla.commands.disks import ReadOnlyDisk
    from ottla.commands.terminal import Terminal
    from ottla.storage.files import OsDisk

    disk = OsDisk()
    try:
        return command(disk if writable else ReadOnlyDisk(disk), Terminal(sys.stdout))
    except BrokenPipeError:
        raise  # the front knows what to do
    except OSError as error:
        raise UsageError(f"{error.filename}: {error.strerror}") from error

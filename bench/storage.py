"""The log against what the operating system alone can do, in one run: appending, finding, opening, recovering.

Appends are compared with a bare loop of `pwritev` of the same buffers to a file that grows in the same way, reads
with a loop of `sendfile`. Rounds alternate and the best of each counts. Checking a batch (CRC, boundaries of its
records) is what any leader must do and is shown apart, so that the rest can be compared with the bare loop.

    python -m bench.storage [--directory DIR] [--rounds N]
"""

from __future__ import annotations

import argparse
import gc
import os
import socket
import tempfile
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ottla.storage.files import OsDisk
from ottla.storage.log import Log
from ottla.storage.log_config import LogConfig
from ottla.storage.log_loading import open_log
from ottla.storage.log_reading import read
from ottla.storage.open_files import OpenFiles
from ottla.storage.record_check import check_client_batch, single_batch
from ottla.wire.records import BatchBuilder

NOW_MS = 1_700_000_000_000
CONFIG = LogConfig()


def batch_of(record_count: int, value_bytes: int) -> bytes:
    builder = BatchBuilder()
    for number in range(record_count):
        builder.append(None, bytes([number % 256]) * value_bytes, timestamp=NOW_MS + number)
    return builder.build()


def opened(directory: Path, config: LogConfig = CONFIG, *, was_clean: bool = True) -> Log:
    directory.mkdir(exist_ok=True)
    return open_log(OsDisk(), OpenFiles(), str(directory), config, was_clean=was_clean, now_ms=NOW_MS)


@contextmanager
def scratch(parent: str | None) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=parent) as directory:
        yield Path(directory)


def microseconds(work: Callable[[], None], count: int) -> float:
    gc.disable()
    started = time.perf_counter()
    work()
    elapsed = time.perf_counter() - started
    gc.enable()
    return elapsed / count * 1e6


# Appending


def append_round(
    parent: str | None, batch: bytes, group: int, count: int, *, bare_first: bool
) -> tuple[float, float, float]:
    """Microseconds a batch: the bare loop, ours, and the checks in ours.

    Whoever writes second finds the disk busy with what the first wrote, so the order changes from round to round.
    """

    def bare() -> float:
        with scratch(parent) as directory:
            fd = os.open(directory / "bare", os.O_RDWR | os.O_CREAT)

            def write() -> None:
                position = 0
                for _ in range(count // group):
                    position += os.pwritev(fd, [batch] * group, position)

            spent = microseconds(write, count)
            os.close(fd)
            return spent

    def ours() -> float:
        with scratch(parent) as directory:
            log = opened(directory / "t-0")
            log.append(batch, leader_epoch=1, now_ms=NOW_MS)

            def append() -> None:
                for _ in range(count // group):
                    for _ in range(group):
                        log.stage(batch, leader_epoch=1, now_ms=NOW_MS)
                    log.commit()

            return microseconds(append, count)

    def checks() -> None:
        for _ in range(count):
            check_client_batch(single_batch(memoryview(batch), CONFIG.max_message_bytes), CONFIG, NOW_MS)

    if bare_first:
        bare_us, ours_us = bare(), ours()
    else:
        ours_us, bare_us = ours(), bare()
    return bare_us, ours_us, microseconds(checks, count)


def print_appends(parent: str | None, rounds: int) -> None:
    print(f"{'append':28} {'bare':>8} {'ours':>8} {'checks':>8} {'rest':>8}   rest runs at")
    for label, batch, group, count in (
        ("16 KB batches, by eights", batch_of(16, 1000), 8, 4000),
        ("16 KB batches, singly", batch_of(16, 1000), 1, 4000),
        ("1 KB batches, by eights", batch_of(1, 940), 8, 16000),
        ("1 KB batches, singly", batch_of(1, 940), 1, 16000),
    ):
        results = [append_round(parent, batch, group, count, bare_first=number % 2 == 0) for number in range(rounds)]
        bare, ours, checks = (min(column) for column in zip(*results, strict=True))
        rest = ours - checks
        print(f"{label:28} {bare:8.2f} {ours:8.2f} {checks:8.2f} {rest:8.2f}   {bare / rest:.0%} of the bare loop")


# Reading


def print_reads(parent: str | None) -> None:
    with scratch(parent) as directory:
        log = opened(directory / "t-0", LogConfig(segment_bytes=64 << 10))
        batch = batch_of(16, 1000)
        while len(log.segments) < 1000:
            log.stage(batch, leader_epoch=1, now_ms=NOW_MS)
        log.commit()
        log.advance_high_watermark(log.end_offset)
        offsets = [(number * 7919) % log.end_offset for number in range(4000)]

        def find() -> None:
            for offset in offsets:
                read(log, offset, bytes_max=32 << 10, end_offset=log.high_watermark)

        find()
        best = min(microseconds(find, len(offsets)) for _ in range(5))
        print(f"\nread start at a random offset, {len(log.segments)} segments: {best:.1f} microseconds")
    print_sendfile(parent)


def print_sendfile(parent: str | None) -> None:
    with scratch(parent) as directory:
        log = opened(directory / "t-0")
        batch = batch_of(16, 1000)
        for _ in range(8000):
            log.stage(batch, leader_epoch=1, now_ms=NOW_MS)
        log.commit()
        log.advance_high_watermark(log.end_offset)
        size = log.segments.size_bytes
        file = log.segments.active.file

        def bare(sender: socket.socket) -> None:
            position = 0
            while position < size:
                position += os.sendfile(sender.fileno(), file.fileno(), position, min(1 << 20, size - position))

        def ours(sender: socket.socket) -> None:
            offset = 0
            while offset < log.end_offset:
                part = read(log, offset, bytes_max=1 << 20, end_offset=log.high_watermark)
                assert part.file is not None
                position, end = part.position, part.position + part.size_bytes
                while position < end:
                    position += os.sendfile(sender.fileno(), part.file.fileno(), position, end - position)
                offset = part.next_offset

        bare_rate, our_rate = (max(size / drained(work) / 1e6 for _ in range(5)) for work in (bare, ours))
        print(f"sendfile of 1 MB parts: bare {bare_rate:.0f} MB/s, ours {our_rate:.0f} MB/s")


def drained(work: Callable[[socket.socket], None]) -> float:
    """Seconds to send into a socket that a thread empties."""
    sender, receiver = socket.socketpair()

    def drain() -> None:
        buffer = bytearray(1 << 20)
        while receiver.recv_into(buffer):
            pass

    thread = threading.Thread(target=drain)
    thread.start()
    started = time.perf_counter()
    work(sender)
    sender.close()
    thread.join()
    receiver.close()
    return time.perf_counter() - started


# Opening


def print_opening(parent: str | None) -> None:
    with scratch(parent) as directory:
        batch = batch_of(16, 1000)
        for number in range(1000):
            log = opened(directory / f"t-{number}")
            for _ in range(3):
                log.append(batch, leader_epoch=1, now_ms=NOW_MS)
            log.close()
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        logs = [opened(directory / f"t-{number}") for number in range(1000)]
        idle_bytes = (tracemalloc.get_traced_memory()[0] - before) / len(logs)
        tracemalloc.stop()
        del logs
        started = time.perf_counter()
        logs = [opened(directory / f"t-{number}") for number in range(1000)]
        print(f"\n1,000 partitions opened after a clean stop: {time.perf_counter() - started:.2f} s")
        print(f"memory of an idle partition: {idle_bytes / 1024:.1f} KB")
        del logs
    with scratch(parent) as directory:
        log = opened(directory / "t-0")
        for _ in range(30_000):
            log.stage(batch, leader_epoch=1, now_ms=NOW_MS)
            log.commit()
        size = log.segments.size_bytes
        log.close()
        started = time.perf_counter()
        opened(directory / "t-0", was_clean=False)
        elapsed = time.perf_counter() - started
        print(f"recovery of {size / 1e6:.0f} MB in 16 KB batches: {size / elapsed / 1e6:.0f} MB/s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--directory", help="where to write; the default is the system's temporary directory")
    parser.add_argument("--rounds", type=int, default=12, help="rounds of each append (default %(default)s)")
    arguments = parser.parse_args()
    print_appends(arguments.directory, arguments.rounds)
    print_reads(arguments.directory)
    print_opening(arguments.directory)


if __name__ == "__main__":
    main()

"""Small logs for the tests of `ottla log`: made by Ottla's own log, the same bytes in every run.

`orders` has two segments, every kind of batch and two leader epochs; `KAFKA` is what Apache Kafka 4.3.1 wrote.
"""

from __future__ import annotations

import io
from pathlib import Path

from ottla.commands.terminal import Terminal
from ottla.storage.files import OsDisk
from ottla.storage.log import Log
from ottla.storage.log_config import LogConfig
from ottla.storage.log_loading import open_log
from ottla.storage.open_files import OpenFiles
from ottla.storage.partition_metadata import write_topic_id
from ottla.storage.producer_state import AppendOrigin
from ottla.wire.records import BatchBuilder, Codec, EndTransactionMarker, end_transaction_batch

NOW_MS = 1_700_000_000_000  # 2023-11-14T22:13:20Z
KAFKA = Path(__file__).parent / "kafka_4_3_1"
INTERVAL_BYTES = 100
PRODUCER_ID = 7
FIRST = "00000000000000000000"
SECOND = "00000000000000000006"


def new_log(directory: Path) -> Log:
    directory.mkdir(parents=True, exist_ok=True)
    config = LogConfig(index_interval_bytes=INTERVAL_BYTES)
    return open_log(OsDisk(), OpenFiles(), str(directory), config, was_clean=False, now_ms=NOW_MS)


def append(log: Log, *values: bytes | None, codec: Codec = Codec.NONE, at_ms: int = 0, epoch: int = 0) -> None:
    builder = BatchBuilder(codec=codec)
    for number, value in enumerate(values):
        headers = [(b"trace", b"abc")] if number == 0 and value == b"first" else []
        builder.append(b"key", value, timestamp=NOW_MS + at_ms + number, headers=headers)
    log.append(bytearray(builder.build()), leader_epoch=epoch, now_ms=NOW_MS)


def transaction(log: Log, sequence: int, *, is_commit: bool, at_ms: int, epoch: int = 0) -> None:
    """A record of producer 7 and the marker that decides about it."""
    builder = BatchBuilder(producer_id=PRODUCER_ID, producer_epoch=1, base_sequence=sequence, is_transactional=True)
    builder.append(None, b"maybe", timestamp=NOW_MS + at_ms)
    log.append(bytearray(builder.build()), leader_epoch=epoch, now_ms=NOW_MS)
    marker = end_transaction_batch(
        EndTransactionMarker(is_commit, 3), producer_id=PRODUCER_ID, producer_epoch=1, timestamp=NOW_MS + at_ms
    )
    log.append(bytearray(marker), leader_epoch=epoch, now_ms=NOW_MS, origin=AppendOrigin.COORDINATOR)


def orders(directory: Path) -> Path:
    """Offsets 0 to 5 in one segment, 6 to 9 in another; the transaction of 6 and 7 was aborted."""
    partition = directory / "orders-0"
    log = new_log(partition)
    append(log, b"first", b"second")
    append(log, b"third", None, codec=Codec.SNAPPY, at_ms=1000)
    transaction(log, 0, is_commit=True, at_ms=2000)
    log.roll(log.end_offset, NOW_MS)
    transaction(log, 1, is_commit=False, at_ms=3000, epoch=1)
    append(log, b"\xff\x00", b"last", at_ms=4000, epoch=1)
    log.close()
    write_topic_id(OsDisk(), str(partition), bytes(range(16)))
    return partition


def plain(colours: bool = False) -> tuple[Terminal, io.StringIO]:
    """A terminal to write to, and the stream in which to see what was written."""
    stream = io.StringIO()
    return Terminal(stream, colours=colours), stream


class Tty(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def content(directory: Path) -> dict[str, bytes]:
    """Every file of a directory."""
    return {path.name: path.read_bytes() for path in sorted(directory.iterdir())}


def spoil(path: Path, position: int, data: bytes) -> None:
    """Write over some bytes of a file."""
    with path.open("r+b") as file:
        file.seek(position)
        file.write(data)

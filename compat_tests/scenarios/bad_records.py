"""Produce with records that are none: whoever stored them would break every reader. What is refused, and how."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from itertools import product

import cramjam

from compat_tests.scenarios.batches import TIME_MS, batch
from compat_tests.scenarios.produce import produce
from compat_tests.scenarios.reading import read_back
from compat_tests.scenarios.scenario import Area
from compat_tests.scenarios.stage import Stage
from ottla.wire.compression import compress
from ottla.wire.messages.produce import ProduceRequest
from ottla.wire.records import Codec
from ottla.wire.records.batch import ATTRIBUTES_POSITION, CRC_POSITION, HEADER_BYTES, MAGIC_POSITION
from ottla.wire.records.builder import encode_record
from ottla.wire.records.checksum import crc32c
from tests.storage.batches import lz4_batch

AREA = Area("bad records")
LENGTH_POSITION, LAST_DELTA_POSITION, COUNT_POSITION = 8, 23, 57
MAX_TIMESTAMP_POSITION = 35
# A record of one letter, and where the length of its key is.
ONE_LETTER_BYTES, KEY_POSITION = 8, 4
KEY_FROM_END = ONE_LETTER_BYTES - KEY_POSITION


def patched(data: bytes, position: int, value: bytes, *, is_summed: bool = True) -> bytes:
    """A batch with other bytes at a place, its checksum made good again unless told otherwise."""
    made = bytearray(data)
    position %= len(data)  # from the end, if it is negative
    made[position : position + len(value)] = value
    if is_summed:
        made[CRC_POSITION:ATTRIBUTES_POSITION] = struct.pack(">I", crc32c(bytes(made[ATTRIBUTES_POSITION:]), 0))
    return bytes(made)


def with_attributes(attributes: int) -> bytes:
    return patched(batch(b"abc"), ATTRIBUTES_POSITION, struct.pack(">h", attributes))


def with_body(body: bytes, *, codec: Codec = Codec.NONE, count: int = 1) -> bytes:
    """A batch whose records are these bytes."""
    head = bytearray(batch(b"x")[:HEADER_BYTES])
    head[LENGTH_POSITION : LENGTH_POSITION + 4] = struct.pack(">i", HEADER_BYTES - 12 + len(body))
    head[COUNT_POSITION : COUNT_POSITION + 4] = struct.pack(">i", count)
    return patched(bytes(head) + body, ATTRIBUTES_POSITION, struct.pack(">h", codec))


def gzip(records: bytes) -> bytes:
    return compress(Codec.GZIP, records)


def repacked(data: bytes, codec: Codec, body: bytes | None = None) -> bytes:
    """A batch that is not compressed, compressed: as it should be, or so."""
    packed = compress(codec, data[HEADER_BYTES:]) if body is None else body
    sized = data[:LENGTH_POSITION] + struct.pack(">i", HEADER_BYTES - 12 + len(packed)) + data[LENGTH_POSITION + 4 :]
    return patched(sized[:HEADER_BYTES] + packed, ATTRIBUTES_POSITION, struct.pack(">h", codec))


def of_all_lengths() -> bytes:
    """Many records, the last of which says that its key is longer than it is."""
    return patched(batch(*(b"a" * number for number in range(40)), b"a"), -KEY_FROM_END, b"\x40")


def with_an_empty_block() -> bytes:
    """Snappy in three blocks, of which the second has nothing in it."""
    data = batch(b"a" * 100, b"b" * 100)
    records = data[HEADER_BYTES:]
    blocks = (bytes(cramjam.snappy.compress_raw(part)) for part in (records[:130], b"", records[130:]))
    body = compress(Codec.SNAPPY, b"") + b"".join(struct.pack(">i", len(block)) + block for block in blocks)
    return repacked(data, Codec.SNAPPY, body)


def old_message(magic: int) -> bytes:
    """A message set of the format before batches, with one message."""
    time = struct.pack(">q", TIME_MS) if magic == 1 else b""
    content = struct.pack(">bb", magic, 0) + time + struct.pack(">i", -1) + struct.pack(">i", 1) + b"x"
    message = struct.pack(">I", zlib.crc32(content)) + content
    return struct.pack(">qi", 0, len(message)) + message


BAD: dict[str, Callable[[], bytes]] = {
    "a wrong checksum": lambda: patched(batch(b"abc"), CRC_POSITION, b"\0\0\0\1", is_summed=False),
    "a flipped bit": lambda: patched(batch(b"abc"), HEADER_BYTES + 3, b"\xff", is_summed=False),
    "cut short": lambda: batch(b"abc")[:-2],
    "cut in the header": lambda: batch(b"abc")[:30],
    "a few bytes": lambda: b"\0\1\2",
    "zeros": lambda: bytes(100),
    "bytes behind it": lambda: batch(b"abc") + b"\0\0\0",
    "length too small": lambda: patched(batch(b"abc"), LENGTH_POSITION, struct.pack(">i", 10), is_summed=False),
    "length negative": lambda: patched(batch(b"abc"), LENGTH_POSITION, struct.pack(">i", -1), is_summed=False),
    "too many counted": lambda: patched(batch(b"a", b"b"), COUNT_POSITION, struct.pack(">i", 3)),
    "too few counted": lambda: patched(batch(b"a", b"b"), COUNT_POSITION, struct.pack(">i", 1)),
    "none counted": lambda: patched(batch(b"a", b"b"), COUNT_POSITION, struct.pack(">i", 0)),
    "a negative count": lambda: patched(batch(b"a", b"b"), COUNT_POSITION, struct.pack(">i", -1)),
    "a wrong last offset": lambda: patched(batch(b"a", b"b"), LAST_DELTA_POSITION, struct.pack(">i", 5)),
    "a negative last offset": lambda: patched(batch(b"a"), LAST_DELTA_POSITION, struct.pack(">i", -1)),
    "magic 3": lambda: patched(batch(b"abc"), MAGIC_POSITION, b"\3"),
    "magic 0": lambda: old_message(0),
    "magic 1": lambda: old_message(1),
    "magic negative": lambda: patched(batch(b"abc"), MAGIC_POSITION, b"\xff"),
    "a codec that is none": lambda: with_attributes(5),
    "a control batch": lambda: with_attributes(0x20),
    "the log's time": lambda: with_attributes(0x08),
    "a delete horizon": lambda: with_attributes(0x40),
    "an unknown attribute": lambda: with_attributes(0x100),
    "a base offset": lambda: batch(b"a", b"b", base_offset=77),
    "a record longer than the batch": lambda: with_body(b"\x7e\0\0\0\1\1\0"),
    "a record of negative length": lambda: with_body(b"\1\0\0\0\1\1\0"),
    "a key longer than its record": lambda: with_body(b"\x0e\0\0\0\x40\1\0\0"),
    "a record shorter than its length": lambda: with_body(b"\x14\0\0\0\1\2a\0\0\0\0"),
    "negative headers": lambda: with_body(b"\x0e\0\0\0\1\2a\1"),
    "more headers than bytes": lambda: with_body(b"\x0e\0\0\0\1\2a\x7e"),
    "a key longer than its record, behind others": lambda: patched(
        batch(*([b"a"] * 10)), HEADER_BYTES + 5 * ONE_LETTER_BYTES + KEY_POSITION, b"\x40"
    ),
    "a key longer than its record, behind many others": lambda: patched(
        batch(*([b"a"] * 40)), HEADER_BYTES + 30 * ONE_LETTER_BYTES + KEY_POSITION, b"\x40"
    ),
    "a key longer than its record, behind many others of all lengths": of_all_lengths,
    "the same in lz4": lambda: repacked(of_all_lengths(), Codec.LZ4),
    "the same in zstd": lambda: repacked(of_all_lengths(), Codec.ZSTD),
    "headers that are not there, behind two megabytes in zstd": lambda: repacked(
        patched(batch(bytes(2 << 20)), -1, b"\2"), Codec.ZSTD
    ),
    "snappy with an empty block": with_an_empty_block,
    "headers that are not there, behind many others": lambda: patched(
        batch(*([b"a"] * 40)), HEADER_BYTES + 31 * ONE_LETTER_BYTES - 1, b"\2"
    ),
    "bytes behind the records": lambda: with_body(b"\x0e\0\0\0\1\2a\0\0\0\0"),
    "no bytes": lambda: with_body(b""),
    "an emptied batch": lambda: with_body(b"", count=0),
    "another largest time": lambda: patched(batch(b"a"), MAX_TIMESTAMP_POSITION, struct.pack(">q", TIME_MS + 99)),
    "an offset that is not the next": lambda: with_body(b"\x0e\0\0\x0a\1\2a\0"),
    "an offset that is not the next, in gzip": lambda: with_body(gzip(b"\x0e\0\0\x0a\1\2a\0"), codec=Codec.GZIP),
    "an offset below zero": lambda: with_body(b"\x0e\0\0\x03\1\2a\0"),
    "an offset below zero, in gzip": lambda: with_body(gzip(b"\x0e\0\0\x03\1\2a\0"), codec=Codec.GZIP),
    "gzip garbage": lambda: with_body(b"garbage garbage", codec=Codec.GZIP),
    "snappy garbage": lambda: with_body(b"garbage garbage", codec=Codec.SNAPPY),
    "lz4 garbage": lambda: with_body(b"garbage garbage", codec=Codec.LZ4),
    "zstd garbage": lambda: with_body(b"garbage garbage", codec=Codec.ZSTD),
    "gzip cut short": lambda: recounted(batch(*([b"abc"] * 50), codec=Codec.GZIP), -9),
    "snappy cut short": lambda: recounted(batch(*([b"abc"] * 50), codec=Codec.SNAPPY), -9),
    "lz4 cut short": lambda: recounted(batch(*([b"abc"] * 50), codec=Codec.LZ4), -9),
    "zstd cut short": lambda: recounted(batch(*([b"abc"] * 50), codec=Codec.ZSTD), -9),
    "lz4 of linked blocks": lambda: lz4_batch(block_linked=True),
    "too few in gzip": lambda: patched(batch(b"a", b"b", codec=Codec.GZIP), COUNT_POSITION, struct.pack(">i", 3)),
    "too many in gzip": lambda: patched(batch(b"a", b"b", codec=Codec.GZIP), COUNT_POSITION, struct.pack(">i", 1)),
    "transactional without a transaction": lambda: batch(
        b"a", producer_id=6000, producer_epoch=0, base_sequence=0, is_transactional=True
    ),
    "transactional without a producer": lambda: batch(b"a", is_transactional=True),
}


def recounted(data: bytes, end: int) -> bytes:
    """A batch that lost its end, with a length and a checksum that are right."""
    cut = data[:end]
    return patched(cut, LENGTH_POSITION, struct.pack(">i", len(cut) - 12))


@AREA.cases(BAD)
def are_refused(stage: Stage, make: Callable[[], bytes]) -> None:
    """The next good batch is taken, and the log holds what was taken and no more."""
    topic = stage.topic()
    produce(stage, topic, make())
    produce(stage, topic, batch(b"good"))
    read_back(stage, topic)


@AREA.at(
    ProduceRequest,
    {"a wrong checksum": BAD["a wrong checksum"], "magic 1": BAD["magic 1"], "cut short": BAD["cut short"]},
)
def are_refused_at(stage: Stage, version: int, make: Callable[[], bytes]) -> None:
    produce(stage, stage.topic(), make(), version=version)


@AREA.cases({"plain": Codec.NONE, "compressed": Codec.GZIP, "alone": None})
def no_key_in_a_compacted_topic(stage: Stage, codec: Codec | None) -> None:
    topic = stage.topic(configs={"cleanup.policy": "compact"})
    records = (b"a",) if codec is None else ((b"k", b"a"), (None, b"b"), (b"k", b"c"), (None, b"d"))
    produce(stage, topic, batch(*records, codec=codec or Codec.NONE))
    produce(stage, topic, batch((b"k", None)))
    read_back(stage, topic)


@AREA.one
def one_good_and_one_bad_partition(stage: Stage) -> None:
    topic = stage.topic(partitions=2)
    produce(stage, topic, BAD["a wrong checksum"](), batch(b"good"))
    read_back(stage, topic, partition=1)


# Three records that say of their offsets: in reverse, all the same, with a gap, beyond the last.
OFFSETS = {"in reverse": (2, 1, 0), "all the same": (0, 0, 0), "with a gap": (0, 2, 4), "far beyond": (0, 1, 1_000_000)}


def with_offsets(deltas: tuple[int, ...], codec: Codec) -> bytes:
    records = b"".join(encode_record(delta, 7 * index, b"k", b"%d" % index) for index, delta in enumerate(deltas))
    made = with_body(compress(codec, records), codec=codec, count=len(deltas))
    return patched(made, LAST_DELTA_POSITION, struct.pack(">i", len(deltas) - 1))


@AREA.cases(
    {
        f"{what}, {codec.name.lower()} as {wanted}": (deltas, codec, wanted)
        for what, deltas in OFFSETS.items()
        for codec, wanted in product((Codec.NONE, Codec.LZ4), ("producer", "uncompressed", "lz4", "gzip"))
    }
)
def offsets_of_records_are(stage: Stage, case: tuple[tuple[int, ...], Codec, str]) -> None:
    deltas, codec, wanted = case
    topic = stage.topic(configs={"compression.type": wanted})
    produce(stage, topic, with_offsets(deltas, codec))
    produce(stage, topic, batch(b"good"))
    read_back(stage, topic)


@AREA.one
def the_last_offset_of_many_records_of_all_lengths_is_not_the_next(stage: Stage) -> None:
    topic = stage.topic()
    records = [encode_record(number, 0, b"k", bytes(number)) for number in range(40)]
    made = with_body(gzip(b"".join((*records, encode_record(50, 0, b"k", b"v")))), codec=Codec.GZIP, count=41)
    produce(stage, topic, patched(made, LAST_DELTA_POSITION, struct.pack(">i", 40)))
    produce(stage, topic, batch(b"good"))
    read_back(stage, topic)


@AREA.cases({"plain": (Codec.NONE, "producer"), "lz4": (Codec.LZ4, "producer"), "plain as lz4": (Codec.NONE, "lz4")})
def offsets_in_reverse_in_a_compacted_topic(stage: Stage, case: tuple[Codec, str]) -> None:
    codec, wanted = case
    topic = stage.topic(configs={"cleanup.policy": "compact", "compression.type": wanted})
    produce(stage, topic, with_offsets(OFFSETS["in reverse"], codec))
    produce(stage, topic, batch((b"k", b"good")))
    read_back(stage, topic)

"""A record batch of message format v2, as a view over the bytes it lies in.

The 61-byte header is read at once, the records are left alone (see record.py). The bytes may be a request's, a file's
or our own; a batch knows neither log nor topic. Sizes are checked before they are believed: `read_batch` for whoever
may hold half a batch, `iter_batches` for a records field, which must consist of whole ones.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from enum import IntEnum

from ottla.wire.compression import Buffer
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.records.checksum import crc32c

MAGIC = 2
HEADER_BYTES = 61
# What stands before the bytes that batch_length counts: base offset and batch_length itself.
PREFIX_BYTES = 12
MAGIC_POSITION = 16
CRC_POSITION = 17
# The CRC covers everything from here on, so base offset and leader epoch may be rewritten without it (KIP-98).
ATTRIBUTES_POSITION = 21
BATCH_LENGTH_MIN = HEADER_BYTES - PREFIX_BYTES

NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1
NO_SEQUENCE = -1
NO_LEADER_EPOCH = -1
NO_TIMESTAMP = -1

INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1

CODEC_MASK = 0x07
LOG_APPEND_TIME_FLAG = 0x08
TRANSACTIONAL_FLAG = 0x10
CONTROL_FLAG = 0x20
DELETE_HORIZON_FLAG = 0x40

HEADER = struct.Struct(">qiibIhiqqqhii")
# Base offset, batch_length, leader epoch: the part outside the CRC that a leader assigns.
ASSIGNED = struct.Struct(">qii")
_CRC = struct.Struct(">I")
# Attributes to count: the part of the header under the CRC.
CHECKED = struct.Struct(">hiqqqhii")
assert HEADER.size == HEADER_BYTES
assert ATTRIBUTES_POSITION + CHECKED.size == HEADER_BYTES


class TimestampType(IntEnum):
    """Who put the timestamps into a batch."""

    CREATE_TIME = 0
    LOG_APPEND_TIME = 1


class RecordBatch:
    """The header fields of one batch, and where it lies: `view` from `start` up to, not including, `end`.

    The constructor believes the header; go through `read_batch` for bytes that came from elsewhere.
    """

    base_offset: int
    batch_length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    count: int

    __slots__ = (
        "attributes",
        "base_offset",
        "base_sequence",
        "base_timestamp",
        "batch_length",
        "count",
        "crc",
        "end",
        "last_offset_delta",
        "leader_epoch",
        "magic",
        "max_timestamp",
        "producer_epoch",
        "producer_id",
        "start",
        "view",
    )

    def __init__(self, view: memoryview, start: int = 0) -> None:
        self.view = view
        self.start = start
        (
            self.base_offset,
            self.batch_length,
            self.leader_epoch,
            self.magic,
            self.crc,
            self.attributes,
            self.last_offset_delta,
            self.base_timestamp,
            self.max_timestamp,
            self.producer_id,
            self.producer_epoch,
            self.base_sequence,
            self.count,
        ) = HEADER.unpack_from(view, start)
        self.end = start + PREFIX_BYTES + self.batch_length

    def __repr__(self) -> str:
        return f"<RecordBatch {self.base_offset}..{self.last_offset}, {self.count} records, {self.size_bytes} bytes>"

    @property
    def size_bytes(self) -> int:
        """The whole batch, header included."""
        return PREFIX_BYTES + self.batch_length

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.last_offset + 1

    @property
    def last_sequence(self) -> int:
        """The sequence number of the last record; they wrap around after 2**31 - 1."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return (self.base_sequence + self.last_offset_delta) & INT32_MAX

    @property
    def codec(self) -> int:
        """The compression codec's number; not every number is one, see `ottla.wire.compression`."""
        return self.attributes & CODEC_MASK

    @property
    def timestamp_type(self) -> TimestampType:
        is_append_time = self.attributes & LOG_APPEND_TIME_FLAG
        return TimestampType.LOG_APPEND_TIME if is_append_time else TimestampType.CREATE_TIME

    @property
    def is_transactional(self) -> bool:
        return self.attributes & TRANSACTIONAL_FLAG != 0

    @property
    def is_control(self) -> bool:
        return self.attributes & CONTROL_FLAG != 0

    @property
    def has_producer_id(self) -> bool:
        return self.producer_id > NO_PRODUCER_ID

    @property
    def delete_horizon_ms(self) -> int | None:
        """When the cleaner may drop tombstones and markers of this batch; it lives in the base timestamp (KIP-534)."""
        return self.base_timestamp if self.attributes & DELETE_HORIZON_FLAG else None

    @property
    def data(self) -> memoryview:
        """The whole batch."""
        return self.view[self.start : self.end]

    @property
    def records_data(self) -> memoryview:
        """What follows the header: records, compressed or not."""
        return self.view[self.start + HEADER_BYTES : self.end]

    def is_intact(self) -> bool:
        """Whether the CRC fits the bytes."""
        return crc32c(self.view[self.start + ATTRIBUTES_POSITION : self.end], 0) == self.crc

    def check_crc(self) -> None:
        """Raise CORRUPT_MESSAGE unless the CRC fits the bytes."""
        if not self.is_intact():
            raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"the batch at offset {self.base_offset} fails its CRC")

    def assign(self, base_offset: int, leader_epoch: int) -> None:
        """Write base offset and leader epoch into the (writable) bytes. The CRC does not cover them."""
        ASSIGNED.pack_into(self.view, self.start, base_offset, self.batch_length, leader_epoch)
        self.base_offset = base_offset
        self.leader_epoch = leader_epoch

    def assigned_header(self, base_offset: int, leader_epoch: int, append_time: int | None = None) -> bytes:
        """The header with these values, for bytes that cannot be written: send it in front of `records_data`.

        With `append_time` the batch becomes one of LogAppendTime and gets a new CRC; no record is looked at.
        """
        checked, crc = self._checked_and_crc(append_time)
        return header_bytes(base_offset, self.batch_length, leader_epoch, crc, checked)

    def stamp_append_time(self, append_time: int) -> None:
        """Make the (writable) batch one of LogAppendTime: type bit, max timestamp, CRC."""
        checked, crc = self._checked_and_crc(append_time)
        _CRC.pack_into(self.view, self.start + CRC_POSITION, crc)
        self.view[self.start + ATTRIBUTES_POSITION : self.start + HEADER_BYTES] = checked
        self.attributes |= LOG_APPEND_TIME_FLAG
        self.max_timestamp = append_time
        self.crc = crc

    def with_create_time(self, max_timestamp: int) -> RecordBatch:
        """The batch as one of CreateTime with this largest timestamp: itself if it is so, else in bytes of its own.

        Bits of the attributes without a meaning are not carried over, as in Kafka.
        """
        if not self.attributes & LOG_APPEND_TIME_FLAG and self.max_timestamp == max_timestamp:
            return self
        checked = CHECKED.pack(
            self.attributes & (CODEC_MASK | TRANSACTIONAL_FLAG | CONTROL_FLAG | DELETE_HORIZON_FLAG),
            self.last_offset_delta,
            self.base_timestamp,
            max_timestamp,
            self.producer_id,
            self.producer_epoch,
            self.base_sequence,
            self.count,
        )
        crc = crc32c(self.records_data, crc32c(checked, 0))
        header = header_bytes(self.base_offset, self.batch_length, self.leader_epoch, crc, checked)
        return RecordBatch(memoryview(header + self.records_data))

    def _checked_and_crc(self, append_time: int | None) -> tuple[bytes, int]:
        """The header's part under the CRC, with this append time if there is one, and the CRC to go with it."""
        if append_time is None:
            start = self.start + ATTRIBUTES_POSITION
            return bytes(self.view[start : self.start + HEADER_BYTES]), self.crc
        checked = CHECKED.pack(
            self.attributes | LOG_APPEND_TIME_FLAG,
            self.last_offset_delta,
            self.base_timestamp,
            append_time,
            self.producer_id,
            self.producer_epoch,
            self.base_sequence,
            self.count,
        )
        return checked, crc32c(self.records_data, crc32c(checked, 0))


def header_bytes(base_offset: int, batch_length: int, leader_epoch: int, crc: int, checked: bytes) -> bytes:
    """The 61 bytes of a header, from what lies outside the CRC, the CRC, and what it covers."""
    return b"%b%c%b%b" % (ASSIGNED.pack(base_offset, batch_length, leader_epoch), MAGIC, _CRC.pack(crc), checked)


def read_batch(view: memoryview, position: int = 0) -> RecordBatch | None:
    """The batch that begins here, or None where the bytes end before it does; its CRC is not looked at.

    CORRUPT_MESSAGE where no batch can begin so: a log is to be cut there, a request refused.
    """
    if len(view) - position < HEADER_BYTES:
        return None
    batch = RecordBatch(view, position)
    if batch.magic != MAGIC:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"magic {batch.magic} at byte {position}, expected {MAGIC}")
    if batch.batch_length < BATCH_LENGTH_MIN:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"a batch of {batch.size_bytes} bytes at byte {position}")
    if batch.count < 0 or batch.last_offset_delta < 0 or batch.last_offset > INT64_MAX:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"impossible offsets or count of records at byte {position}")
    if batch.end > len(view):
        return None
    return batch


def iter_batches(data: Buffer) -> Iterator[RecordBatch]:
    """The batches of a records field, which must be whole from the first byte to the last."""
    view = memoryview(data)
    position = 0
    while position < len(view):
        batch = read_batch(view, position)
        if batch is None:
            raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"the batch at byte {position} of {len(view)} is cut off")
        yield batch
        position = batch.end

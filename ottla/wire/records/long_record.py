"""The look into a record that is too long to be held in memory: it goes by as it comes out of the codec."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ottla.wire.errors import KafkaError
from ottla.wire.primitives import read_varint, read_varlong
from ottla.wire.records.look import HEADER_BYTES_MIN

NUMBER_BYTES_MAX = 10

# Its deltas of timestamp and offset, and what came behind it.
Long = tuple[int, int, bytes]


class DoesNotFit(Exception):
    """The fields of a record do not come to its length, a number is none, or the bytes end."""


def look_into_long(data: bytes, pieces: Iterator[bytes]) -> Long:
    """What the record says that these bytes begin with and the pieces go on with."""
    stream = _Stream(data, pieces)
    length = stream.number()
    begin = stream.taken_bytes
    stream.skip(1)  # its attributes
    timestamp_delta, offset_delta = stream.number(read_varlong), stream.number()
    for _ in range(2):  # its key and its value
        stream.skip(max(stream.number(), 0))
    header_count = stream.number()
    if not 0 <= header_count * HEADER_BYTES_MIN <= length:
        raise DoesNotFit
    for _ in range(header_count):
        name_bytes = stream.number()
        if name_bytes < 0:
            raise DoesNotFit
        stream.skip(name_bytes)
        stream.skip(max(stream.number(), 0))
    if stream.taken_bytes - begin != length:
        raise DoesNotFit
    return timestamp_delta, offset_delta, stream.rest


class _Stream:
    """Bytes that come in pieces, of which one is held."""

    def __init__(self, data: bytes, pieces: Iterator[bytes]) -> None:
        self._data, self._position, self._pieces = data, 0, pieces
        self.taken_bytes = 0

    @property
    def rest(self) -> bytes:
        return self._data[self._position :]

    def number(self, read: Callable[[bytes, int], tuple[int, int]] = read_varint) -> int:
        while len(self._data) - self._position < NUMBER_BYTES_MAX and (piece := next(self._pieces, b"")):
            self._data, self._position = self.rest + piece, 0
        try:
            value, position = read(self._data, self._position)
        except (IndexError, KafkaError) as error:
            raise DoesNotFit from error
        self.taken_bytes += position - self._position
        self._position = position
        return value

    def skip(self, size_bytes: int) -> None:
        self.taken_bytes += size_bytes
        self._position += size_bytes
        while self._position > len(self._data):
            self._position -= len(self._data)
            self._data = next(self._pieces, b"")
            if not self._data:
                raise DoesNotFit

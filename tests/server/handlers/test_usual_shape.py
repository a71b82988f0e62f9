"""Which partition the bytes of a usual request name."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from ottla.server.handlers.usual_shape import ONE, usual_partition
from ottla.wire.errors import KafkaError
from tests.server.world import TOPIC_ID, a_world, in_trio

INDEX = struct.Struct(">Bi")


@pytest.mark.parametrize("by_id", [True, False])
@in_trio
async def test_bytes_name_a_partition_for_as_long_as_it_is_led(tmp_path: Path, by_id: bool) -> None:
    async with a_world(tmp_path) as world:
        partition = world.partition(1)
        world.partition(topic="__consumer_offsets", topic_id=bytes(15) + b"1")
        name = TOPIC_ID if by_id else b"\2t"
        internal = bytes(15) + b"1" if by_id else b"\x13__consumer_offsets"
        key = name + INDEX.pack(ONE, 1)
        assert usual_partition(world.broker, key, by_id=by_id) is partition
        assert usual_partition(world.broker, key, by_id=by_id) is partition
        for other in (name + INDEX.pack(ONE, 0), name + INDEX.pack(ONE + 1, 1), internal + INDEX.pack(ONE, 0)):
            with pytest.raises(KafkaError):
                usual_partition(world.broker, other, by_id=by_id)
        world.broker.resign("t", TOPIC_ID, 1)
        with pytest.raises(KafkaError):
            usual_partition(world.broker, key, by_id=by_id)

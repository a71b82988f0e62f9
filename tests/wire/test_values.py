"""The values that codecs are compared at: reproducible, at the corners, and not all alike."""

from __future__ import annotations

import random
from collections import defaultdict
from typing import Any

import pytest

from ottla.wire.catalog import messages
from ottla.wire.construction import blank
from ottla.wire.layout import layout
from ottla.wire.messages.fetch import FetchRequest
from ottla.wire.messages.metadata import MetadataResponse
from ottla.wire.records import iter_batches, iter_records
from ottla.wire.schema import Message, Struct
from tests.wire.defaults import default_value
from tests.wire.values import Shape, random_message, record_batch, shapes


def draw(shape: Shape, message: type[Message] = FetchRequest, version: int = 17, seed: int = 1) -> Any:
    return random_message(message, version, random.Random(seed), shape=shape)


def test_a_seed_gives_the_same_message_again() -> None:
    assert draw(Shape.ANY) == draw(Shape.ANY)
    assert draw(Shape.ANY) != draw(Shape.ANY, seed=2)


def test_the_default_shape_is_the_blank_message() -> None:
    assert draw(Shape.DEFAULT) == blank(FetchRequest)


def test_the_corners_are_the_least_and_the_greatest() -> None:
    assert draw(Shape.LOW).max_wait_ms == -(2**31)
    assert draw(Shape.HIGH).max_wait_ms == 2**31 - 1
    assert draw(Shape.HIGH).topics[1].partitions[1].high_watermark == 2**63 - 1


def test_a_huge_message_has_an_array_of_a_hundred_and_more_and_a_string_of_the_greatest_length() -> None:
    huge = [draw(Shape.HUGE, MetadataResponse, 12, seed) for seed in range(20)]
    assert {len(message.brokers) for message in huge} == {126, 127, 128, 320}
    longest = [max(len((topic.name or "").encode()) for topic in message.topics) for message in huge if message.topics]
    assert 32767 in longest or any(len((message.cluster_id or "").encode()) == 32767 for message in huge)


def test_unknown_tags_are_drawn_on_request_in_rising_order() -> None:
    tags = random_message(FetchRequest, 17, random.Random(1), unknown_tags=True).unknown_tags
    assert tags
    assert list(tags) == sorted(tags)
    with pytest.raises(AssertionError, match="carries no tags"):
        random_message(FetchRequest, 4, random.Random(1), unknown_tags=True)


def test_every_shape_is_in_a_sample() -> None:
    assert set(shapes(10)) == set(Shape)
    assert len(shapes(10)) == 10
    with pytest.raises(AssertionError, match="do not fit"):
        shapes(2)


def test_records_are_batches_with_a_right_checksum() -> None:
    (batch,) = iter_batches(record_batch(b"value"))
    assert batch.is_intact()
    assert [bytes(record.value or b"") for record in iter_records(batch, bytes_max=1000)] == [b"value"]


def test_every_nullable_field_is_drawn_null_and_not_and_every_tagged_one_at_its_default_and_not() -> None:
    seen: dict[str, set[object]] = defaultdict(set)
    for message in messages().values():
        version = message.versions.high
        for index, shape in enumerate([Shape.NULL, Shape.HIGH] + [Shape.ANY] * 30):
            note(random_message(message, version, random.Random(index), shape=shape), message, version, seen)
    assert {name for name, states in seen.items() if len(states) < 2} == set()


def note(value: Struct, message: type[Message], version: int, seen: dict[str, set[object]]) -> None:
    at = layout(type(value), message, version)
    for slot in (*at.present, *at.tagged):
        held = getattr(value, slot.name)
        name = f"{type(value).__qualname__}.{slot.name}"
        if slot.nullable:
            seen[f"{name} null"].add(held is None)
        if slot in at.tagged:
            seen[f"{name} default"].add(held == default_value(slot))
        for inner in held if isinstance(held, list) else [held]:
            if isinstance(inner, Struct):
                note(inner, message, version, seen)

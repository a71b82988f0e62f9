"""The hashes are Kafka's, number for number."""

from __future__ import annotations

import random

import pytest

from ottla.coordinators.topic_hash import group_hash, topic_hash
from ottla.wire.primitives import uuid_text
from tests.coordinators import kafka_groups

TOPICS = 200
NAMES = ["a", "orders", "x" * 249, "ümläut", "\N{GRINNING FACE}", "\uffee"]
RACKS = ["", "r1", "eu-west-1a", "ü", "\N{GRINNING FACE}", "\uffee", "," * 300]


def test_no_topics_hash_to_nothing() -> None:
    assert group_hash({}) == 0


def test_every_part_of_a_topic_counts() -> None:
    hashes = {
        topic_hash(bytes(16), "a", [[]]),
        topic_hash(bytes(15) + b"\1", "a", [[]]),
        topic_hash(bytes(16), "b", [[]]),
        topic_hash(bytes(16), "a", [[], []]),
        topic_hash(bytes(16), "a", [["r"]]),
        topic_hash(bytes(16), "a", [["r", "s"]]),
    }
    assert len(hashes) == 6


def test_racks_have_no_order_and_topics_go_by_name() -> None:
    assert topic_hash(bytes(16), "a", [["r", "s"]]) == topic_hash(bytes(16), "a", [["s", "r"]])
    assert group_hash({"a": 1, "b": 2}) == group_hash({"b": 2, "a": 1}) != group_hash({"a": 2, "b": 1})


@pytest.mark.jvm
def test_kafka_computes_the_same() -> None:
    with kafka_groups.running() as kafka:
        hashes: dict[str, int] = {}
        for seed in range(TOPICS):
            chance = random.Random(seed)
            topic_id, name = chance.randbytes(16), chance.choice(NAMES)
            racks = [chance.sample(RACKS, chance.randint(0, 4)) for _ in range(chance.choice([0, 1, 7, 100]))]
            ours = topic_hash(topic_id, name, racks)
            asked = {name: {"id": uuid_text(topic_id), "racks": racks}}
            assert kafka.ask("topic_hash", name=name, topics=asked) == {"hash": ours}, f"seed {seed}"
            hashes[f"{name}{seed}"] = ours
            assert kafka.ask("group_hash", hashes=hashes) == {"hash": group_hash(hashes)}, f"seed {seed}"

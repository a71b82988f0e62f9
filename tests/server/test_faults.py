"""The failure classes that are the broker's, each by its number, and that none is without a test.

13 malformed requests, 15 secrets in logs, 16 buffers used twice, 18 names as paths, 19 floods of connections,
20 fetch sessions, 21 producer ids, 40 offsets of errors, 41 durability. Most tests of a class stand beside what they
test and have its number in their name; here are those that are about the whole.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ottla.storage.directory_identity import Identity
from ottla.storage.log_config import LogConfig
from ottla.storage.log_directories import LogDirectories
from ottla.storage.producer_state import PRODUCERS_MAX
from ottla.wire.errors import ErrorCode
from tests.server.world import (
    NOW_MS,
    PRODUCE,
    TOPIC,
    a_world,
    batch,
    fetched,
    fetching,
    in_trio,
    producing,
    until,
)
from tests.storage.fake_disk import FakeDisk

TESTS = Path(__file__).resolve().parent.parent
DURABILITY = TESTS.parent / "docs" / "durability.md"
CLASSES = (13, 15, 16, 18, 19, 20, 21, 40, 41)
NAMED = re.compile(r"def test_(?:failure_)?class_(\d+)_")
ROW = re.compile(r"\| (-?\d) \| (\d+) \| (kept|may be lost) \| (kept|may be lost) \|")
SEEDS = range(24)


@pytest.mark.parametrize("number", CLASSES)
def test_every_class_of_the_broker_has_a_test_that_names_it(number: int) -> None:
    named = [found for path in TESTS.rglob("test_*.py") for found in NAMED.findall(path.read_text())]
    assert str(number) in named


# 21: producer ids


@in_trio
async def test_class_21_a_flood_of_producer_ids_is_remembered_up_to_a_bound(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        partition = world.partition()
        assert partition.log.producers.producers_max == PRODUCERS_MAX == 100_000
        partition.log.producers.producers_max = 50
        client = await world.connect()
        for producer_id in range(200):
            sent = batch(producer_id=producer_id, producer_epoch=0, base_sequence=0)
            response = await client.ask(producing(sent), PRODUCE)
            assert response.responses[0].partition_responses[0].error_code == 0
        assert len(partition.log.producers.producers) == 50


# 40: an error comes without an offset


@in_trio
async def test_class_40_a_batch_that_is_refused_has_no_offset(tmp_path: Path) -> None:
    async with a_world(tmp_path, {"message.max.bytes": "100"}) as world:
        partition = world.partition()
        world.append(partition, b"a", b"b")
        client = await world.connect()
        damaged = bytearray(batch())
        damaged[-1] ^= 1
        for request in (
            producing(bytes(damaged)),
            producing(None),
            producing(batch(), topic="none"),
            producing(batch(), index=7),
            producing(batch(), acks=5),
        ):
            part = (await client.ask(request, PRODUCE)).responses[0].partition_responses[0]
            assert part.error_code != ErrorCode.NONE
            assert (part.base_offset, part.log_append_time_ms, part.log_start_offset) == (-1, -1, -1)
        assert partition.log.end_offset == 2


@in_trio
async def test_class_40_a_partition_that_cannot_be_read_has_no_offsets(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        world.append(world.partition(), b"a", b"b")
        client = await world.connect()
        for request in (fetching(3), fetching(-5), fetching(indexes=[7]), fetching(leader_epoch=99)):
            (part,) = fetched(await client.ask(request, 12)).values()
            assert part.error_code != ErrorCode.NONE
            assert (part.high_watermark, part.last_stable_offset, part.log_start_offset) == (-1, -1, -1)
            assert not part.records


# 41: durability


def promises() -> list[tuple[int, int, str, str]]:
    """What docs/durability.md says: acks, flush.messages, and what becomes of a record after a kill and a power cut."""
    rows = ROW.findall(DURABILITY.read_text())
    return [(int(acks), int(flush_messages), killed, power) for acks, flush_messages, killed, power in rows]


async def survives(acks: int, flush_messages: int, seed: int, *, is_power_cut: bool) -> bool:
    """Whether a record that was acknowledged, or with acks=0 sent, is still there."""
    disk = FakeDisk(seed)
    path = Path("/data")
    async with a_world(path, disk=disk) as world:
        partition = world.partition(flush_messages=flush_messages)
        client = await world.connect()
        if acks:
            assert (await client.produce(b"precious", acks=acks)).error_code == 0
        elif seed % 2:  # or it was under way when the broker went: the client sees no difference
            await client.send((producing(batch(b"precious"), acks=0), PRODUCE))
            await until(lambda: partition.log.end_offset == 1)
        if is_power_cut:
            disk.crash()
        else:
            disk.kill()
    directories = LogDirectories.open(
        disk, [str(path / "logs")], Identity("cluster", 1), new_directory_id=lambda: bytes(range(16))
    )
    directories.load(lambda topic: LogConfig(), NOW_MS)
    found = directories.logs[(TOPIC, 0)].end_offset
    directories.abandon()
    return found == 1


def test_class_41_the_contract_covers_every_kind_of_acknowledgement() -> None:
    assert {(acks, flush > 1) for acks, flush, _, _ in promises()} >= {
        (acks, is_lazy) for acks in (-1, 1) for is_lazy in (True, False)
    } | {(0, True)}
    assert LogConfig().flush_messages in {flush for _, flush, _, _ in promises()}, "the default is in the table"


@pytest.mark.parametrize("is_power_cut", [False, True], ids=["killed", "power"])
@pytest.mark.parametrize(("acks", "flush_messages", "killed", "power"), promises())
def test_class_41_the_durability_contract_holds(
    acks: int, flush_messages: int, killed: str, power: str, is_power_cut: bool
) -> None:
    """What is said to be kept is always kept; what is said to be lost can be, or the table is too modest."""

    @in_trio
    async def run() -> None:
        kept = [await survives(acks, flush_messages, seed, is_power_cut=is_power_cut) for seed in SEEDS]
        expected = power if is_power_cut else killed
        assert all(kept) == (expected == "kept"), kept

    run()

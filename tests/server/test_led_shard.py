"""A shard's outcomes on a real log: written, replayed, answered when committed; and nobody waits for a lost one."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ottla.coordinators.contract import Answer, Outcome, Record
from ottla.coordinators.settings import GroupSettings
from ottla.coordinators.shard import GroupShard
from ottla.coordinators.topics_view import FixedTopics
from ottla.server.led_shard import LedShard
from ottla.server.partition import Partition
from ottla.server.shard_loading import load
from ottla.wire.compression import Codec
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.stored.classic_group_records import OffsetCommitKey, OffsetCommitValue
from tests.server.handler_world import NOW_MS, World, a_world

TOPIC = "__consumer_offsets"


def commit(offset: int, group: str = "g", metadata: str = "") -> Record:
    key = OffsetCommitKey(group=group, topic="orders", partition=0)
    return Record(key, OffsetCommitValue(offset=offset, metadata=metadata, commit_timestamp=NOW_MS), 4)


class Rig:
    """A shard on the partition of a world, and all that it tells."""

    def __init__(self, world: World, **configs: str) -> None:
        world.topic(TOPIC, configs={"cleanup.policy": "compact"} | configs)
        self.partition: Partition = world.partition(TOPIC)
        self.flushes: list[Partition] = []
        self.gone: list[LedShard] = []
        self.told: list[Any] = []
        self.now_ms = NOW_MS
        self.shard = GroupShard(GroupSettings(), FixedTopics(), lambda: "uuid")
        self.led = LedShard(
            self.partition,
            self.shard,
            lambda: self.now_ms,
            codec=Codec.NONE,
            commit_timeout_ms=5000,
            flush_soon=self.flushes.append,
            when_gone=self.gone.append,
        )

    def ask(self, outcome: Outcome[Any]) -> None:
        self.led.ask(lambda shard, token, now_ms: outcome, self.told.append)

    def flush(self) -> None:
        flush = self.partition.log.begin_flush()
        flush.run()
        self.partition.log.flushed(flush)
        self.partition.flushed()

    def offset(self, group: str = "g") -> int | None:
        found = self.shard.state.offsets.of_group(group).get(("orders", 0))
        return None if found is None else found.offset

    def stored(self) -> GroupShard:
        """What the log says."""
        shard = GroupShard(GroupSettings(), FixedTopics(), lambda: "uuid")
        for _ in load(self.partition, shard):
            pass
        return shard


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    with a_world(tmp_path, {}) as world:
        yield Rig(world)


@pytest.fixture
def synced_rig(tmp_path: Path) -> Iterator[Rig]:
    """Nothing is committed before it is on the disk."""
    with a_world(tmp_path, {}) as world:
        yield Rig(world, **{"flush.messages": "1"})


def test_records_are_written_replayed_and_answered(rig: Rig) -> None:
    rig.ask(Outcome("done", [commit(7), commit(8, "h")]))
    assert rig.told == ["done"]
    assert (rig.offset(), rig.offset("h")) == (7, 8)
    assert rig.partition.log.end_offset == 2
    assert rig.stored().state.offsets.of_group("h") == rig.shard.state.offsets.of_group("h")


def test_records_of_what_is_in_memory_are_written_only(rig: Rig) -> None:
    rig.ask(Outcome("done", [commit(7)], is_replayed=False))
    assert rig.offset() is None
    assert rig.partition.log.end_offset == 1


def test_an_answer_waits_for_what_it_may_have_seen(synced_rig: Rig) -> None:
    rig = synced_rig
    rig.ask(Outcome("written", [commit(7)]))
    rig.ask(Outcome("read"))
    rig.led.ask(_raise(KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)), rig.told.append)
    assert rig.offset() == 7
    assert rig.told == []
    assert rig.flushes == [rig.partition]
    rig.flush()
    assert rig.told[:2] == ["written", "read"]
    assert rig.told[2].code is ErrorCode.UNKNOWN_MEMBER_ID


def test_what_is_not_committed_in_time_is_told_so_and_whoever_comes_later_has_time_of_its_own(synced_rig: Rig) -> None:
    rig = synced_rig
    errors: list[KafkaError | None] = []

    def then(error: KafkaError | None, now_ms: int) -> Outcome[None]:
        errors.append(error)
        return Outcome()

    assert rig.led.next_deadline() is None
    rig.ask(Outcome("written", [commit(7)], then=then))
    rig.ask(Outcome("read"))
    rig.now_ms += 1
    rig.ask(Outcome("later", [commit(8, "h")]))
    assert rig.led.next_deadline() == NOW_MS + 5000
    rig.led.give_up(NOW_MS + 4999)
    assert rig.told == []
    rig.led.give_up(NOW_MS + 5000)
    assert [told.code for told in rig.told] == [ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR]
    assert [error.code for error in errors if error] == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
    assert rig.led.next_deadline() == NOW_MS + 5001
    rig.flush()
    assert rig.told[2:] == ["later"]
    assert (rig.offset(), len(errors), rig.led.next_deadline()) == (7, 1, None)


def test_the_shards_own_deadline_may_be_the_next(synced_rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    rig = synced_rig
    monkeypatch.setattr(rig.shard, "next_deadline", lambda: NOW_MS + 4000)
    assert rig.led.next_deadline() == NOW_MS + 4000
    rig.ask(Outcome("written", [commit(7)]))
    assert rig.led.next_deadline() == NOW_MS + 4000
    monkeypatch.setattr(rig.shard, "next_deadline", lambda: NOW_MS + 6000)
    assert rig.led.next_deadline() == NOW_MS + 5000


def _raise(error: BaseException) -> Any:
    def call(shard: GroupShard, token: Any, now_ms: int) -> Outcome[Any]:
        raise error

    return call


def test_what_follows_the_commit_sees_what_was_written_with_it(synced_rig: Rig) -> None:
    """A flush for one batch may commit another that was written meanwhile, whose state must be there by then."""
    rig = synced_rig
    seen: list[int | None] = []

    def then(error: KafkaError | None, now_ms: int) -> Outcome[None]:
        seen.append(rig.offset("h"))
        return Outcome(records=[commit(9, "i")])

    rig.ask(Outcome("first", [commit(7)], then=then))
    rig.flush()
    assert (seen, rig.offset("i")) == ([None], 9)
    rig.ask(Outcome("second", [commit(8, "h")]))
    assert rig.told == ["first"]
    rig.flush()
    assert rig.told == ["first", "second"]


def test_a_watermark_that_moves_while_records_are_written_waits_for_their_state(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []

    def then(error: KafkaError | None, now_ms: int) -> Outcome[None]:
        order.append(f"then with {rig.offset('h')}")
        return Outcome()

    # Nothing is committed at first; the next write commits both.
    with monkeypatch.context() as patched:
        patched.setattr(Partition, "update_high_watermark", lambda partition, added_bytes: None)
        rig.ask(Outcome("first", [commit(7)], then=then))
    assert rig.told == []
    rig.ask(Outcome("second", [commit(8, "h")]))
    assert order == ["then with 8"]
    assert rig.told == ["first", "second"]


def test_a_batch_that_is_too_large_changes_nothing_and_is_told(tmp_path: Path) -> None:
    with a_world(tmp_path, {}) as world:
        rig = Rig(world, **{"max.message.bytes": "2000"})
        errors: list[KafkaError | None] = []
        others: list[Any] = []
        other = _token(rig, others)

        def then(error: KafkaError | None, now_ms: int) -> Outcome[None]:
            errors.append(error)
            return Outcome()

        refused = Outcome("done", [commit(7, metadata="x" * 3000)], [Answer(other, "for another")], then=then)  # type: ignore[arg-type]
        rig.ask(refused)
        assert rig.told[0].code is ErrorCode.UNKNOWN_SERVER_ERROR
        assert [error.code for error in errors if error] == [ErrorCode.UNKNOWN_SERVER_ERROR]
        assert others == ["for another"]
        assert (rig.offset(), rig.partition.log.end_offset) == (None, 0)
        rig.ask(Outcome("done", [commit(8)]))
        assert (rig.told[1], rig.offset()) == ("done", 8)


def _token(rig: Rig, told: list[Any]) -> Any:
    """A request that is parked."""
    tokens: list[Any] = []

    def call(shard: GroupShard, token: Any, now_ms: int) -> Outcome[Any]:
        tokens.append(token)
        return Outcome()

    rig.led.ask(call, told.append)
    assert told == []
    return tokens[0]


def test_of_its_own_answer_a_request_hears_nothing_if_its_records_are_not_written(tmp_path: Path) -> None:
    with a_world(tmp_path, {}) as world:
        rig = Rig(world, **{"max.message.bytes": "2000"})

        def call(shard: GroupShard, token: Any, now_ms: int) -> Outcome[Any]:
            return Outcome(records=[commit(7, metadata="x" * 3000)], answers=[Answer(token, "joined")])  # type: ignore[arg-type]

        rig.led.ask(call, rig.told.append)
        assert [told.code for told in rig.told] == [ErrorCode.UNKNOWN_SERVER_ERROR]


def test_a_name_that_is_too_long_to_be_stored_changes_nothing_and_is_told(rig: Rig) -> None:
    rig.ask(Outcome("done", [commit(7, "\ufffd" * 20_000)]))
    assert rig.told[0].code is ErrorCode.INVALID_REQUEST
    assert rig.partition.log.end_offset == 0


def test_what_is_not_atomic_goes_in_several_batches(tmp_path: Path) -> None:
    with a_world(tmp_path, {}) as world:
        rig = Rig(world, **{"max.message.bytes": "2000"})
        records = [commit(number, f"group {number}", "x" * 300) for number in range(20)]
        rig.ask(Outcome("refused", records))
        rig.ask(Outcome("done", records, is_atomic=False))
        assert rig.told[0].code is ErrorCode.UNKNOWN_SERVER_ERROR
        assert rig.told[1] == "done"
        assert rig.partition.log.end_offset == 20
        assert [rig.offset(f"group {number}") for number in range(20)] == list(range(20))
        assert rig.stored().state.offsets.groups() == rig.shard.state.offsets.groups()


def test_a_partition_that_is_led_elsewhere_takes_its_shard_along(rig: Rig) -> None:
    waiting: list[Any] = []
    _token(rig, waiting)
    rig.partition.resigned()
    assert [told.code for told in waiting] == [ErrorCode.NOT_COORDINATOR]
    assert rig.gone == [rig.led]
    rig.ask(Outcome("late", [commit(7)]))
    assert rig.told[0].code is ErrorCode.NOT_COORDINATOR
    assert rig.partition.log.end_offset == 0
    rig.led.leave(KafkaError(ErrorCode.NOT_COORDINATOR))
    assert rig.gone == [rig.led]


def test_a_log_that_fails_takes_its_shard_along(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: object) -> None:
        raise OSError(errno.EIO, "the disk is gone")

    monkeypatch.setattr(type(rig.partition.log.segments.active), "append", broken)
    rig.ask(Outcome("done", [commit(7)]))
    assert [told.code for told in rig.told] == [ErrorCode.NOT_COORDINATOR]
    assert rig.gone == [rig.led]
    assert rig.offset() is None


def test_a_request_is_told_once(rig: Rig) -> None:
    told: list[Any] = []
    token = _token(rig, told)
    token.answer("first")
    token.answer("second")
    assert told == ["first"]


def test_our_own_mistake_leaves_nobody_waiting(rig: Rig) -> None:
    with pytest.raises(RuntimeError):
        rig.led.ask(_raise(RuntimeError("a mistake")), rig.told.append)
    rig.partition.resigned()
    assert rig.told == []

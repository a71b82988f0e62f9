"""The controller's driver: state may run ahead of what is committed, answers may not."""

from __future__ import annotations

from typing import Any, NoReturn

from ottla.cluster.controller import ControllerState, Result
from ottla.cluster.image import EMPTY, ConfigType, MetadataLoader
from ottla.server import controlling
from ottla.wire.errors import ErrorCode, KafkaError
from tests.server.metadata_world import MetadataWorld, a_quorum, setting
from tests.server.world import in_trio, until
from tests.storage.fake_disk import FakeDisk


def in_state(world: MetadataWorld) -> str | None:
    """What the controller believes, committed or not."""
    assert world.controller.state is not None
    return world.controller.state.image.config_override(ConfigType.TOPIC, "topic", "retention.ms")


def in_image(world: MetadataWorld) -> str | None:
    return world.quorum.image.config_override(ConfigType.TOPIC, "topic", "retention.ms")


def codes(world: MetadataWorld) -> list[int]:
    return [answer.code for answer in world.answers]


@in_trio
async def test_a_change_is_in_the_state_at_once_and_answered_when_it_is_committed() -> None:
    async with a_quorum(FakeDisk()) as world:
        world.change(setting("1"))
        assert (in_state(world), in_image(world), world.answers) == ("1", None, [])
        await world.settle()
        assert (in_image(world), world.answers) == ("1", ["done"])


@in_trio
async def test_answers_come_in_the_order_of_the_changes() -> None:
    async with a_quorum(FakeDisk()) as world:
        for number in range(5):
            world.change(setting(str(number)), answer=number)
        await world.settle()
        assert world.answers == [0, 1, 2, 3, 4]


@in_trio
async def test_a_question_is_answered_when_what_it_saw_is_committed() -> None:
    async with a_quorum(FakeDisk()) as world:
        world.change(answer="at once")
        assert world.answers == ["at once"]
        world.change(setting("1"), answer="change")
        world.change(answer="saw it")
        assert world.answers == ["at once"]
        await world.settle()
        assert world.answers == ["at once", "change", "saw it"]


@in_trio
async def test_what_the_controller_refuses_writes_nothing() -> None:
    async with a_quorum(FakeDisk()) as world:
        end = world.quorum.end()

        def refuse(state: ControllerState, now_ms: int) -> NoReturn:
            raise KafkaError(ErrorCode.POLICY_VIOLATION, "no")

        world.controller.change(refuse, world.answered)
        assert codes(world) == [ErrorCode.POLICY_VIOLATION]
        assert world.quorum.end() == end


@in_trio
async def test_a_failed_append_replays_nothing() -> None:
    async with a_quorum(FakeDisk()) as world:
        world.disk.leave_free(1000)
        world.change(setting("1"))
        assert codes(world) == [ErrorCode.KAFKA_STORAGE_ERROR]
        assert in_state(world) is None
        world.disk.heal()
        world.change(setting("2"))
        await world.settle()
        assert world.answers[1:] == ["done"]
        assert in_image(world) == "2"


@in_trio
async def test_who_has_lost_the_quorum_is_no_controller() -> None:
    async with a_quorum(FakeDisk()) as world:
        world.change(setting("1"))
        world.controller.deactivated()
        assert codes(world) == [ErrorCode.NOT_CONTROLLER]
        assert world.controller.state is None
        world.change(setting("2"))
        assert codes(world) == [ErrorCode.NOT_CONTROLLER] * 2
        await until(lambda: world.quorum.applied_offset == world.quorum.end().offset)
        world.controller.activated(world.quorum.raft.epoch)
        assert in_state(world) == in_image(world) == "1", "what was appended may well be committed later"


@in_trio
async def test_a_leader_that_does_not_know_yet_that_it_is_none_says_the_same() -> None:
    async with a_quorum(FakeDisk()) as world:
        world.quorum._perform(world.quorum.raft.resign(world.quorum.raft.epoch, world.now_ms))
        state = world.controller.state
        assert state is None
        world.controller.activated(world.quorum.raft.epoch)  # the news has not come yet
        world.change(setting("1"))
        assert codes(world) == [ErrorCode.NOT_CONTROLLER]
        assert in_state(world) is None


@in_trio
async def test_records_that_need_not_be_together_go_into_several_batches(monkeypatch: Any) -> None:
    monkeypatch.setattr(controlling, "RECORDS_PER_BATCH", 2)
    async with a_quorum(FakeDisk()) as world:
        first = world.quorum.end().offset
        world.change(*(setting(str(number)) for number in range(5)), atomic=False)
        last = world.controller.next_offset
        world.change(*(setting(str(number)) for number in range(5)))
        await world.settle()
        counts = [batch.count for batch in world.store.batches(first, world.quorum.end().offset)]
        assert counts == [2, 2, 1, 5]
        assert last == first + 5
        assert in_image(world) == "4"
        assert world.answers == ["done", "done"]


@in_trio
async def test_the_first_controller_writes_the_features_in_one_transaction() -> None:
    async with a_quorum(FakeDisk()) as world:
        assert not world.quorum.is_in_transaction
        assert world.quorum.image.feature_levels["metadata.version"] > 0
        end = world.quorum.end().offset
    async with a_quorum(world.disk) as world:
        assert world.quorum.end().offset == end + 1, "the next one has nothing to add but its epoch's first record"
        assert Result("x", [setting("1")]).without_records().records == []


@in_trio
async def test_one_that_lost_the_quorum_as_it_was_to_begin_does_not_begin() -> None:
    """After a pause one event may bring both: that its first record is committed, and that its time is over."""
    async with a_quorum(FakeDisk()) as world:
        world.quorum._perform(world.quorum.raft.resign(world.quorum.raft.epoch, world.now_ms))
        world.controller._quorum._loader = MetadataLoader(EMPTY)  # so that there is something to be written first
        world.controller.activated(world.quorum.raft.epoch)
        assert world.controller.state is None

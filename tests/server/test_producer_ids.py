"""Producer ids: every one is given once, whoever waits for it and however many do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

from ottla.server.controller_channel import ControllerChannel
from ottla.server.parking import Pending
from ottla.server.producer_ids import ProducerIds
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.transactions import AllocateProducerIdsRequest, AllocateProducerIdsResponse

NODE_ID = 1
BLOCK = 3


class StandInController:
    """Grants blocks when the test says so; refuses at once while it is not active."""

    def __init__(self) -> None:
        self.is_active = True
        self.asked: list[Callable[[Any, KafkaError | None], None]] = []
        self.next_id = 0

    def ask(self, request: AllocateProducerIdsRequest, version: int | None, done: Callable[..., None]) -> None:
        assert (request.broker_id, version) == (NODE_ID, None)
        if not self.is_active:
            done(None, KafkaError(ErrorCode.NOT_CONTROLLER, "not here"))
            return
        self.asked.append(done)

    def grant(self) -> None:
        (done,), self.asked = self.asked, []
        self.next_id += BLOCK
        done(AllocateProducerIdsResponse(producer_id_start=self.next_id - BLOCK, producer_id_len=BLOCK), None)

    def refuse(self) -> None:
        (done,), self.asked = self.asked, []
        done(None, KafkaError(ErrorCode.NOT_CONTROLLER, "the controller has moved"))


class Client:
    """Asks for an id; `got` has what came of it."""

    def __init__(self, ids: ProducerIds) -> None:
        self.got: Any = None
        found = ids.next()
        if isinstance(found, Pending):
            found.place = self
        else:
            self.got = found

    def fill(self, reply: Any) -> None:
        self.got = reply


@pytest.fixture
def controller() -> StandInController:
    return StandInController()


@pytest.fixture
def ids(controller: StandInController) -> ProducerIds:
    return ProducerIds(cast("ControllerChannel", controller), NODE_ID, lambda: 7)


def test_a_block_is_asked_for_once_and_used_up(controller: StandInController, ids: ProducerIds) -> None:
    first, second = Client(ids), Client(ids)
    assert (first.got, second.got) == (None, None)
    controller.grant()
    assert (first.got, second.got, Client(ids).got) == (0, 1, 2)
    assert Client(ids).got is None
    controller.grant()
    assert Client(ids).got == 4


def test_more_may_wait_than_a_block_has_ids(controller: StandInController, ids: ProducerIds) -> None:
    clients = [Client(ids) for _ in range(2 * BLOCK + 1)]
    for _ in range(3):
        controller.grant()
    assert [client.got for client in clients] == list(range(2 * BLOCK + 1))
    assert not controller.asked


def test_a_refusal_is_told_to_all_who_wait_and_the_next_asks_anew(
    controller: StandInController, ids: ProducerIds
) -> None:
    clients = [Client(ids), Client(ids)]
    controller.refuse()
    assert [client.got.code for client in clients] == [ErrorCode.NOT_CONTROLLER] * 2
    again = Client(ids)
    controller.grant()
    assert again.got == 0


def test_who_is_refused_at_once_gets_the_error(controller: StandInController, ids: ProducerIds) -> None:
    controller.is_active = False
    for _ in range(2):
        with pytest.raises(KafkaError) as refused:
            ids.next()
        assert refused.value.code == ErrorCode.NOT_CONTROLLER
    controller.is_active = True
    client = Client(ids)
    controller.grant()
    assert client.got == 0


def test_who_has_gone_is_in_nobodys_way(controller: StandInController, ids: ProducerIds) -> None:
    gone = ids.next()
    assert isinstance(gone, Pending)
    stays = Client(ids)
    gone.abandon()
    controller.grant()
    assert stays.got == 1

"""Every request that only the controller can answer has a function, and no other request has."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from ottla.cluster.controller import ControllerState
from ottla.server.controller_calls import CALLS, Asked, answer
from ottla.server.handlers.controller_requests import ask
from ottla.server.handlers.every_route import CONTROLLER_ROUTES
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.controller import BrokerHeartbeatRequest
from ottla.wire.messages.metadata import MetadataRequest
from tests.server.handler_world import a_world


def test_whatever_a_controllers_listener_hands_on_can_be_answered() -> None:
    handed_on = {route.request for route in CONTROLLER_ROUTES if route.handler is ask}
    assert handed_on
    assert handed_on <= CALLS.keys()


def test_what_is_not_for_the_controller_is_refused() -> None:
    with pytest.raises(KafkaError) as refused:
        answer(cast("ControllerState", None), Asked(MetadataRequest(topics=[]), 12, 0, 0))
    assert refused.value.code is ErrorCode.INVALID_REQUEST


def test_a_heartbeat_is_heard_even_if_it_changes_nothing(tmp_path: Path) -> None:
    with a_world(tmp_path, {}) as world:
        state = world.broker.state
        (broker,) = world.broker.image.brokers.by_id.values()
        beat = BrokerHeartbeatRequest(
            broker_id=broker.id,
            broker_epoch=broker.epoch,
            current_metadata_offset=77,
            want_fence=False,
            want_shut_down=False,
        )
        answer(state, Asked(beat, 2, 100, 12345))
        session = state.sessions.by_id[broker.id]
        assert (session.metadata_offset, session.last_contact_ms) == (77, 12345)

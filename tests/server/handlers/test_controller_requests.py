"""What brokers ask the controller: answered as the core does, refused as a whole in each message's own way."""

from __future__ import annotations

import pytest

from ottla.server.controller_channel import OnBehalf
from ottla.server.envelopes import opened, sealed
from ottla.server.handlers.controller_requests import envelope, envelope_refused
from ottla.server.handlers.every_route import CONTROLLER_ROUTES
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.controller import EnvelopeRequest, UnregisterBrokerRequest
from ottla.wire.messages.fetch import FetchRequest
from ottla.wire.messages.metadata import MetadataRequest
from ottla.wire.messages.topics import CreateTopicsRequest
from tests.server.handler_world import World

FETCH_WITH_ERROR = 7
CLIENT = OnBehalf("User:ANONYMOUS", "127.0.0.1", "client")
CREATE = CreateTopicsRequest(
    topics=[
        CreateTopicsRequest.CreatableTopic(
            name="inside", num_partitions=1, replication_factor=1, assignments=[], configs=[]
        )
    ],
    timeout_ms=1000,
)


def asked(world: World, request: EnvelopeRequest) -> object:
    """The answer to an envelope, when its records are committed."""
    return world.answered(envelope(world.context(0), request))


@pytest.mark.parametrize("route", CONTROLLER_ROUTES, ids=lambda route: route.key.api_name)
def test_every_request_can_be_refused_as_a_whole(route) -> None:  # type: ignore[no-untyped-def]
    refused = route.on_error(None, KafkaError(ErrorCode.NOT_CONTROLLER, "elsewhere"))
    assert refused.error_code == ErrorCode.NOT_CONTROLLER
    first = FETCH_WITH_ERROR if route.request is FetchRequest else route.versions.low
    for version in range(first, route.versions.high + 1):
        assert type(refused).decode(refused.encode(version), version).error_code == ErrorCode.NOT_CONTROLLER


def test_the_request_in_an_envelope_is_answered_inside_of_one(world: World) -> None:
    answer = asked(world, sealed(CREATE, 7, CLIENT))
    assert opened(answer, CREATE, 7).topics[0].error_code == ErrorCode.NONE  # type: ignore[arg-type]
    assert "inside" in world.broker.image.topics.by_name
    again = asked(world, sealed(CREATE, 7, CLIENT))
    assert opened(again, CREATE, 7).topics[0].error_code == ErrorCode.TOPIC_ALREADY_EXISTS  # type: ignore[arg-type]


def test_what_is_not_for_the_controller_is_refused_inside_of_the_envelope(world: World) -> None:
    request = MetadataRequest(topics=[])
    answer = asked(world, sealed(request, 13, CLIENT))
    assert opened(answer, request, 13).error_code == ErrorCode.INVALID_REQUEST  # type: ignore[arg-type]


def test_one_that_is_not_active_opens_no_envelope(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(world.broker.channel, "is_here", False)
    with pytest.raises(KafkaError) as refused:
        envelope(world.context(0), sealed(CREATE, 7, CLIENT))
    assert refused.value.code is ErrorCode.NOT_CONTROLLER
    assert envelope_refused(sealed(CREATE, 7, CLIENT), refused.value).error_code == ErrorCode.NOT_CONTROLLER


def test_a_broker_that_is_not_there_cannot_be_unregistered(world: World) -> None:
    answer = world.ask(UnregisterBrokerRequest(broker_id=77))
    assert answer.error_code == ErrorCode.BROKER_ID_NOT_REGISTERED

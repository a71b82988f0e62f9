"""A request in an envelope is the one that went in, and one that nobody could have put in is refused."""

from __future__ import annotations

import pytest

from ottla.server.controller_channel import OnBehalf
from ottla.server.envelopes import enclosed, opened, reply, sealed
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.controller import EnvelopeRequest, EnvelopeResponse
from ottla.wire.messages.topics import CreateTopicsRequest, CreateTopicsResponse, DeleteTopicsRequest
from ottla.wire.stored.principals import DefaultPrincipalData

REQUEST = CreateTopicsRequest(
    topics=[
        CreateTopicsRequest.CreatableTopic(name="t", num_partitions=1, replication_factor=1, assignments=[], configs=[])
    ],
    timeout_ms=5,
)
ANSWER = CreateTopicsResponse(topics=[CreateTopicsResponse.CreatableTopicResult(name="t", error_message=None)])


@pytest.mark.parametrize("version", range(2, 8))
def test_it_comes_out_as_it_went_in_and_so_does_its_answer(version: int) -> None:
    envelope = EnvelopeRequest.decode(sealed(REQUEST, version, OnBehalf("User:a", "::1", "me")).encode(0), 0)
    inside = enclosed(envelope)
    assert (inside.request, inside.version) == (REQUEST, version)
    answered = EnvelopeResponse.decode(reply(inside, ANSWER).encode(0), 0)
    assert opened(answered, REQUEST, version).topics[0].name == "t"


def test_the_client_goes_along() -> None:
    envelope = sealed(REQUEST, 7, OnBehalf("User:a:b", "10.1.2.3", None))
    assert envelope.client_host_address == bytes([10, 1, 2, 3])
    data = bytes(envelope.request_principal or b"")
    assert data[:2] == b"\0\0", "the version of what follows"
    principal = DefaultPrincipalData.decode(data[2:], 0)
    assert (principal.type, principal.name, principal.token_authenticated) == ("User", "a:b", False)


def test_a_client_without_an_address_has_the_one_of_nobody() -> None:
    assert sealed(REQUEST, 7, OnBehalf("User:a", "unix", None)).client_host_address == bytes(4)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0",
        b"\xff\xff\0\0" + bytes(20),
        b"\0\x13\x00\x63" + bytes(20),
        sealed(REQUEST, 7, OnBehalf("User:a", "::1", "me")).request_data[:-3],
        sealed(REQUEST, 7, OnBehalf("User:a", "::1", "me")).request_data[:9],
    ],
    ids=["nothing", "a byte", "no such api", "no such version", "cut off", "half a header"],
)
def test_what_is_no_request_is_refused(content: bytes) -> None:
    with pytest.raises(KafkaError) as refused:
        enclosed(EnvelopeRequest(request_data=content, request_principal=None, client_host_address=b""))
    assert refused.value.code is ErrorCode.INVALID_REQUEST


def test_an_answer_to_something_else_is_none() -> None:
    inside = enclosed(sealed(REQUEST, 7, OnBehalf("User:a", "::1", None)))
    with pytest.raises(KafkaError):
        opened(EnvelopeResponse(response_data=None), REQUEST, 7)
    with pytest.raises(KafkaError):
        opened(reply(inside, ANSWER), DeleteTopicsRequest(topics=[], timeout_ms=1), 6)

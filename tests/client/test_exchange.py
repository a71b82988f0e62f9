"""Requests as bytes, and answers that have to fit to the last byte."""

from __future__ import annotations

import pytest

from ottla.client.exchange import read_answer, request_bytes
from ottla.client.failures import MalformedAnswer
from ottla.wire.errors import ErrorCode
from ottla.wire.framing import Frame, FrameReader
from ottla.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from ottla.wire.messages.classic_groups import HeartbeatRequest, HeartbeatResponse
from ottla.wire.schema import Response
from tests.client.stub_cluster import read_request, response_bytes


def framed(response: Response, version: int, correlation_id: int) -> Frame:
    reader = FrameReader(1 << 20)
    reader.receive_data(response_bytes(response, version, correlation_id))
    (received,) = reader.frames()
    return received


@pytest.mark.parametrize("version", [0, 4])
def test_a_request_can_be_read_on_the_other_side(version: int) -> None:
    request = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
    reader = FrameReader(1 << 20)
    reader.receive_data(request_bytes(request, version, correlation_id=7, client_id="me"))
    (received,) = reader.frames()
    header, read = read_request(received)
    assert (header.correlation_id, header.client_id, header.request_api_version) == (7, "me", version)
    assert read == request


@pytest.mark.parametrize("version", [0, 4])
def test_an_answer_is_read(version: int) -> None:
    response = HeartbeatResponse(error_code=25)
    assert read_answer(framed(response, version, 7), HeartbeatResponse, version, 7) == response


def test_an_answer_to_another_request_is_refused() -> None:
    with pytest.raises(MalformedAnswer, match="the answer to Heartbeat v4 has correlation id 8, not 7"):
        read_answer(framed(HeartbeatResponse(), 4, 8), HeartbeatResponse, 4, 7)


def test_an_answer_with_bytes_left_over_is_refused() -> None:
    data, start, end = framed(HeartbeatResponse(), 4, 7)
    with pytest.raises(MalformedAnswer, match="2 bytes too many"):
        read_answer(Frame(data + b"xx", start, end + 2), HeartbeatResponse, 4, 7)


def test_an_answer_is_refused_wherever_it_is_cut_off() -> None:
    data, start, end = framed(HeartbeatResponse(), 4, 7)
    for cut in range(start, end):
        with pytest.raises(MalformedAnswer, match="cannot be read"):
            read_answer(Frame(data[:cut], start, cut), HeartbeatResponse, 4, 7)


def test_a_refused_version_of_api_versions_is_read_as_version_0() -> None:
    refusal = ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=[])
    assert read_answer(framed(refusal, 0, 7), ApiVersionsResponse, 5, 7) == refusal


def test_api_versions_that_is_not_refused_is_read_as_it_was_asked() -> None:
    answer = ApiVersionsResponse(api_keys=[], throttle_time_ms=3)
    assert read_answer(framed(answer, 3, 7), ApiVersionsResponse, 3, 7) == answer


def test_api_versions_without_a_body_is_refused() -> None:
    with pytest.raises(MalformedAnswer, match="ApiVersions v5 cannot be read"):
        read_answer(Frame(bytes(3) + b"\7", 0, 4), ApiVersionsResponse, 5, 7)


def test_what_does_not_fit_a_version_is_an_error_of_the_caller() -> None:
    with pytest.raises(Exception, match="ApiVersionsRequest has versions 0-5, not 9"):
        request_bytes(ApiVersionsRequest(), 9, correlation_id=1, client_id=None)

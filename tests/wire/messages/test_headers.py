"""Headers: which version of them a message travels under, and their bytes."""

from __future__ import annotations

import pytest

from ottla.wire.api_keys import ApiKey
from ottla.wire.messages import request_type, response_type
from ottla.wire.messages.headers import RequestHeader, ResponseHeader, request_header_version, response_header_version


@pytest.mark.parametrize(
    ("key", "version", "request_header", "response_header"),
    [
        (ApiKey.PRODUCE, 8, 1, 0),
        (ApiKey.PRODUCE, 9, 2, 1),
        (ApiKey.METADATA, 8, 1, 0),
        (ApiKey.METADATA, 9, 2, 1),
        (ApiKey.SASL_HANDSHAKE, 1, 1, 0),
        (ApiKey.API_VERSIONS, 2, 1, 0),
        (ApiKey.API_VERSIONS, 3, 2, 0),
    ],
)
def test_flexible_messages_travel_under_the_newer_header(
    key: ApiKey, version: int, request_header: int, response_header: int
) -> None:
    assert request_header_version(request_type(key), version) == request_header
    assert response_header_version(response_type(key), version) == response_header


def test_the_client_id_is_never_compact() -> None:
    """The header must be readable before its version is certain (KIP-482)."""
    header = RequestHeader(request_api_key=18, request_api_version=3, correlation_id=7, client_id="me")
    assert header.encode(1) == b"\x00\x12\x00\x03\x00\x00\x00\x07\x00\x02me"
    assert header.encode(2) == b"\x00\x12\x00\x03\x00\x00\x00\x07\x00\x02me\x00"


def test_a_client_need_not_name_itself() -> None:
    data = b"\x00\x12\x00\x03\x00\x00\x00\x07\xff\xff\x00rest"
    header, position = RequestHeader.read(data, 2)
    assert header.client_id is None
    assert data[position:] == b"rest"


def test_a_response_header_is_the_correlation_id() -> None:
    assert ResponseHeader(correlation_id=7).encode(0) == b"\x00\x00\x00\x07"
    assert ResponseHeader(correlation_id=7).encode(1) == b"\x00\x00\x00\x07\x00"

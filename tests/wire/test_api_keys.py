"""The API keys: all that are alive, each with a request and a response of the same versions."""

from __future__ import annotations

import pytest

from ottla.wire.api_keys import ApiKey
from ottla.wire.messages import FAMILIES, request_type, response_type


def test_the_live_keys_of_kafka_4_4() -> None:
    assert sorted(ApiKey) == [*range(4), *range(8, 95)]


def test_a_key_has_the_name_that_the_documentation_uses() -> None:
    assert ApiKey.LIST_OFFSETS.api_name == "ListOffsets"
    assert ApiKey.OFFSET_FOR_LEADER_EPOCH.api_name == "OffsetForLeaderEpoch"


def test_every_key_belongs_to_one_family() -> None:
    listed = [key for keys in FAMILIES.values() for key in keys]
    assert sorted(listed) == sorted(ApiKey)


@pytest.mark.parametrize("key", ApiKey, ids=lambda key: key.api_name)
def test_request_and_response_agree_on_key_and_versions(key: ApiKey) -> None:
    request, response = request_type(key), response_type(key)
    assert request.api_key == response.api_key == key
    assert request.versions == response.versions
    assert request.flexible == response.flexible

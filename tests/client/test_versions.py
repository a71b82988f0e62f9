"""The highest version that both sides know."""

from __future__ import annotations

import pytest

from ottla import __version__
from ottla.client.versions import NegotiatedVersions, fallback_version, introduction
from ottla.wire.api_keys import ApiKey
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.api_versions import ApiVersionsResponse
from ottla.wire.messages.fetch import FetchRequest
from ottla.wire.messages.transactions import InitProducerIdRequest
from ottla.wire.schema import Versions


def offering(**ranges: tuple[int, int]) -> ApiVersionsResponse:
    listed = [
        ApiVersionsResponse.ApiVersion(api_key=ApiKey[name], min_version=low, max_version=high)
        for name, (low, high) in ranges.items()
    ]
    return ApiVersionsResponse(api_keys=listed)


@pytest.mark.parametrize(("offered", "chosen"), [((0, 11), 11), ((4, 99), 18), ((6, 6), 6)])
def test_the_highest_shared_version_is_chosen(offered: tuple[int, int], chosen: int) -> None:
    assert NegotiatedVersions.of(offering(FETCH=offered)).highest(FetchRequest) == chosen


def test_the_caller_may_narrow_the_choice() -> None:
    assert NegotiatedVersions.of(offering(FETCH=(0, 18))).highest(FetchRequest, Versions(0, 12)) == 12


@pytest.mark.parametrize(
    "answer", [offering(), offering(FETCH=(0, 3)), offering(FETCH=(13, 18)), offering(FETCH=(9, 2))]
)
def test_no_shared_version_is_an_error_that_names_both_sides(answer: ApiVersionsResponse) -> None:
    with pytest.raises(KafkaError, match=r"Fetch: the broker has versions .*, not 4-12") as raised:
        NegotiatedVersions.of(answer).highest(FetchRequest, Versions(0, 12))
    assert raised.value.code == ErrorCode.UNSUPPORTED_VERSION


def test_an_unstable_version_is_never_chosen() -> None:
    assert NegotiatedVersions.of(offering(INIT_PRODUCER_ID=(0, 6))).highest(InitProducerIdRequest) == 5


def test_we_say_who_we_are() -> None:
    assert (introduction().client_software_name, introduction().client_software_version) == ("ottla", __version__)


@pytest.mark.parametrize(
    ("refusal", "version"),
    [
        (offering(API_VERSIONS=(0, 3)), 3),
        (offering(), 0),
        (offering(API_VERSIONS=(0, 9)), 4),  # it refused 5 and offers it: at least it is asked something else
        (offering(API_VERSIONS=(7, 9)), 0),
    ],
)
def test_after_a_refusal_the_best_named_version_is_tried(refusal: ApiVersionsResponse, version: int) -> None:
    assert fallback_version(refusal, 5) == version

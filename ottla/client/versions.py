"""Which version of each API both sides of a connection know.

Built from the answer to ApiVersions, then asked for every request that does not name its version. A version that is
unstable on our side is never chosen: who wants it says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ottla import __version__
from ottla.wire.api_keys import ApiKey
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from ottla.wire.schema import ALL_VERSIONS, NO_VERSIONS, Request, Versions

# How we present ourselves (KIP-511).
SOFTWARE_NAME = "ottla"


class NegotiatedVersions:
    """What one broker offers, by API key."""

    def __init__(self, offered: Mapping[int, Versions]) -> None:
        self.offered = offered

    @classmethod
    def of(cls, response: ApiVersionsResponse) -> NegotiatedVersions:
        return cls(_ranges(response.api_keys))

    def shared(self, request: type[Request]) -> Versions:
        """The versions that both sides know; the empty range if there are none."""
        ours = request.versions
        if request.unstable:
            ours = Versions(ours.low, ours.high - 1)
        return ours & self.offered.get(request.api_key, NO_VERSIONS)

    def highest(self, request: type[Request], within: Versions = ALL_VERSIONS) -> int:
        """The version to use, among those that the caller can do with. UNSUPPORTED_VERSION if there is none."""
        usable = self.shared(request) & within
        if usable == NO_VERSIONS:
            offered = self.offered.get(request.api_key, NO_VERSIONS)
            wanted = request.versions & within
            name = request.__name__.removesuffix("Request")
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"{name}: the broker has versions {offered}, not {wanted}")
        return usable.high


def introduction() -> ApiVersionsRequest:
    """The first request on a connection."""
    return ApiVersionsRequest(client_software_name=SOFTWARE_NAME, client_software_version=__version__)


def fallback_version(refusal: ApiVersionsResponse, refused: int) -> int:
    """The version of ApiVersions to try after one was refused: the best that the refusal names, otherwise 0."""
    offered = _ranges(refusal.api_keys).get(ApiKey.API_VERSIONS, NO_VERSIONS)
    usable = offered & Versions(ApiVersionsRequest.versions.low, refused - 1)
    return ApiVersionsRequest.versions.low if usable == NO_VERSIONS else usable.high


def _ranges(listed: Iterable[ApiVersionsResponse.ApiVersion]) -> dict[int, Versions]:
    return {one.api_key: Versions(one.min_version, one.max_version) for one in listed}

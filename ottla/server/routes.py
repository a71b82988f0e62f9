"""What a broker serves: one route per API, declared beside its handler, added up in `handlers/every_route.py`.

ApiVersions, the compatibility table in the docs and the matrix of the tests are computed from the routes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ottla.wire.api_keys import ApiKey
from ottla.wire.errors import KafkaError
from ottla.wire.framing import Frame
from ottla.wire.messages import response_type
from ottla.wire.messages.headers import response_header_version
from ottla.wire.schema import Request, Versions

Handler = Callable[[Any, Any], Any]


def versions(low: int, high: int) -> Versions:
    return Versions(low, high)


class Route(NamedTuple):
    """How one API is served.

    `handler(context, request)` returns the response, a Pending, or None where no answer is due. `on_error` makes the
    response that says the whole request failed. `advertised` differs from `versions` for Produce alone. `quick` is
    tried first, where there is one: told where the client id ends, it answers requests of the usual shape out of their
    bytes, and returns whether it has. What is not told is answered to those who ask all the same.
    """

    request: type[Request]
    versions: Versions
    handler: Handler
    on_error: Callable[[Any, KafkaError], Any]
    advertised: Versions | None = None
    quick: Callable[[Any, Any, Frame, int, int, int, int], bool] | None = None
    is_told: bool = True

    @property
    def key(self) -> ApiKey:
        return ApiKey(self.request.api_key)


class Serving:
    """A route made ready: what dispatch needs for each version, looked up once."""

    __slots__ = ("first_flexible", "handler", "header_versions", "high", "low", "on_error", "quick", "request", "route")

    def __init__(self, route: Route) -> None:
        self.route = route
        self.request = route.request
        self.low, self.high = route.versions
        self.first_flexible = route.request.flexible.low if route.request.flexible.high > 0 else self.high + 1
        self.handler = route.handler
        self.on_error = route.on_error
        self.quick = route.quick
        response = response_type(route.key)
        self.header_versions = {
            version: response_header_version(response, version) for version in range(self.low, self.high + 1)
        }

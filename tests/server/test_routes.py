"""A route knows what dispatch needs for each of its versions."""

from __future__ import annotations

from ottla.server.handlers.every_route import ROUTES
from ottla.server.routes import Route, Serving, versions
from ottla.wire.api_keys import ApiKey
from ottla.wire.messages import response_type
from ottla.wire.messages.api_versions import ApiVersionsRequest
from ottla.wire.messages.headers import request_header_version, response_header_version


def test_a_route_has_the_key_of_its_request() -> None:
    route = Route(ApiVersionsRequest, versions(0, 3), lambda context, request: None, lambda request, error: None)
    assert route.key is ApiKey.API_VERSIONS
    assert route.advertised is None


def test_every_route_made_ready_agrees_with_its_messages() -> None:
    assert len({route.key for route in ROUTES}) == len(ROUTES)
    for route in ROUTES:
        serving = Serving(route)
        assert route.versions.low >= route.request.versions.low
        assert route.versions.high <= route.request.versions.high
        for version in range(serving.low, serving.high + 1):
            is_flexible = request_header_version(route.request, version) == 2
            assert (version >= serving.first_flexible) == is_flexible, (route.key, version)
            expected = response_header_version(response_type(route.key), version)
            assert serving.header_versions[version] == expected

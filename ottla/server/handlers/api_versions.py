"""ApiVersions: what a client may ask here, computed from the routes; the first request on nearly every connection.

Only APIs of this kind of listener are told, by rising key, each at exactly the versions that are served; Produce alone
says more (see there). Features are those that this broker registered with, finalized ones those of the metadata image
(KIP-584).

Versions: from 3 on the client names its software, and a name that is none is INVALID_REQUEST (KIP-511). Below 4
features whose lowest level is 0 are left out, since such clients cannot read them (KAFKA-17011). From 5 on a client
may say whom it means to talk to: if it got somebody else, an address has been given to another node, and it must start
over (KIP-1242). A version that nobody knows is answered by `dispatch`. Not done: unstable versions are never served,
so never told.
"""

from __future__ import annotations

import re

from ottla.cluster.features import KRAFT_VERSION
from ottla.server.context import Context
from ottla.server.routes import Route, Serving, versions
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse

FIRST_VERSION_WITH_SOFTWARE = 3
FIRST_VERSION_WITH_LEVEL_0 = 4
FIRST_VERSION_WITH_NODE = 5
NO_NODE = -1

_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?", re.ASCII)

Supported = ApiVersionsResponse.SupportedFeatureKey
Finalized = ApiVersionsResponse.FinalizedFeatureKey


def api_versions(context: Context, request: ApiVersionsRequest) -> ApiVersionsResponse:
    if context.version >= FIRST_VERSION_WITH_SOFTWARE:
        _check_software(request)
    if context.version >= FIRST_VERSION_WITH_NODE:
        _check_addressee(context, request)
    broker = context.broker
    return ApiVersionsResponse(
        api_keys=[
            _range(serving)
            for _, serving in sorted(broker.serving_on(context.listener_name).items())
            if serving.route.is_told
        ],
        supported_features=_supported_features(context),
        finalized_features_epoch=broker.image.offset,
        finalized_features=_finalized_features(context),
    )


def _check_software(request: ApiVersionsRequest) -> None:
    for text in (request.client_software_name, request.client_software_version):
        if not _SOFTWARE.fullmatch(text):
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"{text[:100]!r} is no name or version of a client's software")


def _check_addressee(context: Context, request: ApiVersionsRequest) -> None:
    broker = context.broker
    if request.cluster_id is not None and request.cluster_id != broker.cluster_id:
        reason = f"this is cluster {broker.cluster_id}, not {request.cluster_id[:100]}"
        raise KafkaError(ErrorCode.REBOOTSTRAP_REQUIRED, reason)
    if request.node_id not in (NO_NODE, broker.config.node_id):
        reason = f"this is node {broker.config.node_id}, not {request.node_id}"
        raise KafkaError(ErrorCode.REBOOTSTRAP_REQUIRED, reason)


def _range(serving: Serving) -> ApiVersionsResponse.ApiVersion:
    told = serving.route.advertised or serving.route.versions
    return ApiVersionsResponse.ApiVersion(api_key=serving.route.key, min_version=told.low, max_version=told.high)


def _supported_features(context: Context) -> list[Supported]:
    registered = context.broker.image.brokers.by_id.get(context.broker.config.node_id)
    features = [] if registered is None else list(registered.features.values())
    return [
        Supported(
            name=feature.name, min_version=feature.min_supported_version, max_version=feature.max_supported_version
        )
        for feature in features
        if feature.min_supported_version or context.version >= FIRST_VERSION_WITH_LEVEL_0
    ]


def _finalized_features(context: Context) -> list[Finalized]:
    """kraft.version is the quorum's own and in no record of the image (KIP-853)."""
    levels = context.broker.image.feature_levels | {KRAFT_VERSION: context.broker.kraft_version}
    return [
        Finalized(name=name, max_version_level=level, min_version_level=level)
        for name, level in levels.items()
        if level > 0
    ]


def refused(request: ApiVersionsRequest, error: KafkaError) -> ApiVersionsResponse:
    return ApiVersionsResponse(error_code=error.code, api_keys=[])


ROUTES = (Route(ApiVersionsRequest, versions(0, 5), api_versions, refused),)

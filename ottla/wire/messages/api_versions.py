"""ApiVersions: what a client may ask of a broker, and which features the cluster has settled on."""

from __future__ import annotations

from ottla.wire.schema import Request, Response, Struct, field, int16, int32, int64


class ApiVersionsRequest(Request, api_key=18, served_on=("broker", "controller"), versions="0-5", flexible="3+"):
    client_software_name: str = field("3+", default="", ignorable=True)
    client_software_version: str = field("3+", default="", ignorable=True)
    cluster_id: str | None = field("5+", default=None, ignorable=True)
    node_id: int32 = field("5+", default=-1, ignorable=True)


class ApiVersionsResponse(Response, api_key=18, versions="0-5", flexible="3+"):
    class ApiVersion(Struct):
        api_key: int16
        min_version: int16
        max_version: int16

    class SupportedFeatureKey(Struct):
        name: str
        min_version: int16
        max_version: int16

    class FinalizedFeatureKey(Struct):
        name: str
        max_version_level: int16
        min_version_level: int16

    error_code: int16 = 0
    api_keys: list[ApiVersion]
    throttle_time_ms: int32 = field("1+", default=0, ignorable=True)
    supported_features: list[SupportedFeatureKey] = field("3+", default=[], tag=0, tagged="3+", ignorable=True)
    finalized_features_epoch: int64 = field("3+", default=-1, tag=1, tagged="3+", ignorable=True)
    finalized_features: list[FinalizedFeatureKey] = field("3+", default=[], tag=2, tagged="3+", ignorable=True)
    zk_migration_ready: bool = field("3+", default=False, tag=3, tagged="3+", ignorable=True)

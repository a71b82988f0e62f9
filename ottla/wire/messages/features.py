"""Feature levels of the cluster (KIP-584)."""

from __future__ import annotations

from ottla.wire.schema import Request, Response, Struct, field, int8, int16, int32


class UpdateFeaturesRequest(Request, api_key=57, served_on=("broker", "controller"), versions="0-2", flexible="0+"):
    class FeatureUpdateKey(Struct):
        feature: str
        max_version_level: int16
        allow_downgrade: bool = field("0", default=False)
        upgrade_type: int8 = field("1+", default=1)

    timeout_ms: int32 = 60000
    feature_updates: list[FeatureUpdateKey]
    validate_only: bool = field("1+", default=False)


class UpdateFeaturesResponse(Response, api_key=57, versions="0-2", flexible="0+"):
    class UpdatableFeatureResult(Struct):
        feature: str
        error_code: int16 = 0
        error_message: str | None

    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: str | None
    results: list[UpdatableFeatureResult] = field("0-1", default=[], ignorable=True)

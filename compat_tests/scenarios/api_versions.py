"""ApiVersions: which APIs a broker serves in which versions, its features, and who may ask."""

from __future__ import annotations

from compat_tests.scenarios.scenario import Area
from compat_tests.scenarios.stage import Stage
from ottla.wire.api_keys import ApiKey
from ottla.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse

AREA = Area("api versions")
SOFTWARE = {"client_software_name": "raw", "client_software_version": "1.0"}
# How it is to ask for a version that nobody knows yet: the answer comes in version 0 (KIP-511).
UNKNOWN_VERSION = 99


@AREA.at(ApiVersionsRequest, versions=(0, 1, 2, 3, 4))
def what_is_served(stage: Stage, version: int) -> None:
    found = stage.quietly(ApiVersionsRequest, version, SOFTWARE)
    stage.note("keys", {name_of(one.api_key): [one.min_version, one.max_version] for one in found.api_keys})
    stage.note("order", [one.api_key for one in found.api_keys] == sorted(one.api_key for one in found.api_keys))
    stage.note("supported", {one.name: [one.min_version, one.max_version] for one in found.supported_features})
    finalized = {one.name: [one.min_version_level, one.max_version_level] for one in found.finalized_features}
    stage.note("finalized", finalized)
    found.api_keys, found.supported_features, found.finalized_features = [], [], []
    stage.saw(ApiVersionsRequest, version, found)


@AREA.at(
    ApiVersionsRequest,
    {
        "no name": ("", "1.0"),
        "no version": ("raw", ""),
        "a blank": ("ra w", "1.0"),
        "a dash in front": ("-raw", "1.0"),
        "a dot behind": ("raw", "1."),
    },
    versions=(3, 4),
)
def software(stage: Stage, version: int, case: tuple[str, str]) -> None:
    name, number = case
    stage.ask(ApiVersionsRequest, version, {"client_software_name": name, "client_software_version": number})


@AREA.one
def a_version_that_nobody_knows(stage: Stage) -> None:
    connection = stage.connection()
    frame = b"\0\x12" + UNKNOWN_VERSION.to_bytes(2, "big") + b"\0\0\0\7" + b"\0\3raw" + b"\0\4raw\x021\0"
    connection.send_bytes(len(frame).to_bytes(4, "big") + frame)
    answer = connection.receive_frame()
    stage.note("number", int.from_bytes(answer[:4], "big"))
    found = ApiVersionsResponse.decode(answer, 0, 4)
    stage.note("error", found.error_code)
    stage.note("told", {name_of(one.api_key): [one.min_version, one.max_version] for one in found.api_keys})
    connection.begin(ApiVersionsRequest(), 0)
    stage.note("afterwards", connection.finish(ApiVersionsResponse, 0).error_code)


def name_of(key: int) -> str:
    return ApiKey(key).name

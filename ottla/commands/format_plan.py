"""What `ottla format` is going to write: identity, feature levels and voters, from a configuration and from words.

Pure but for new ids. The rules are those of Kafka's storage tool: who may be formatted how, and what has to be said. A
controller has to be told where its quorum is: itself (standalone), the controllers that begin together, or elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ottla.cluster.bootstrap import Endpoint, feature_records, voter
from ottla.cluster.features import (
    KRAFT_VERSION,
    METADATA_VERSION,
    METADATA_VERSION_MAX,
    METADATA_VERSION_MIN,
    VersionRange,
    metadata_version_of,
)
from ottla.config.broker import BrokerConfig
from ottla.config.quorum_addresses import NODE_ID_MAX, host_and_port
from ottla.storage.directory_identity import RESERVED_DIRECTORY_IDS
from ottla.wire.primitives import uuid_bytes, uuid_text
from ottla.wire.schema import StoredRecord
from ottla.wire.stored.control_records import VotersRecord

_CONTROLLER = re.compile(r"([0-9]{1,10})@(.+:[0-9]{1,5}):([A-Za-z0-9_-]+)", re.ASCII)
_FEATURE = re.compile(r"([a-z.]+)=([0-9]{1,5})", re.ASCII)


class FormatError(Exception):
    """Why nothing can be formatted so; the message says what can."""


@dataclass(frozen=True)
class Plan:
    """`voters` is empty where the quorum is elsewhere; `directory_id` is that of the metadata log's directory."""

    cluster_id: str
    records: Sequence[StoredRecord]
    voters: Sequence[VotersRecord.Voter]
    directory_id: bytes


def initial_controllers(text: str, listener: str) -> list[VotersRecord.Voter]:
    """ID@HOST:PORT:DIRECTORY_ID,... as voters that are reached at this listener."""
    found: dict[int, VotersRecord.Voter] = {}
    for entry in text.split(","):
        match = _CONTROLLER.fullmatch(entry.strip())
        try:
            if match is None or int(match[1]) > NODE_ID_MAX:
                raise ValueError("it is not of the form ID@HOST:PORT:DIRECTORY_ID")
            host, port = host_and_port(match[2])
            directory_id = uuid_bytes(match[3])
            if int.from_bytes(directory_id, "big") < RESERVED_DIRECTORY_IDS:
                raise ValueError("its directory id is a reserved one")
        except ValueError as error:
            raise FormatError(f"--initial-controllers: {entry.strip()!r}: {error}") from error
        node_id = int(match[1])
        if node_id in found:
            raise FormatError(f"--initial-controllers: node {node_id} is named twice")
        found[node_id] = voter(node_id, directory_id, [Endpoint(listener, host, port)])
    return list(found.values())


def plan(
    config: BrokerConfig,
    served: dict[str, VersionRange],
    new_id: Callable[[], bytes],
    *,
    cluster_id: str | None,
    release: str | None,
    features: Sequence[str],
    is_standalone: bool,
    controllers: str | None,
    joins: bool,
) -> Plan:
    """`controllers` is the text of --initial-controllers; `joins` says that the quorum is elsewhere."""
    _check_quorum(config, is_named=is_standalone or controllers is not None, joins=joins)
    directory_id = new_id()
    voters: list[VotersRecord.Voter] = []
    if is_standalone:
        voters = [voter(config.node_id, directory_id, [_own_endpoint(config)])]
    elif controllers is not None:
        voters = initial_controllers(controllers, config.controller_listener_names[0].upper())
    own = next((one for one in voters if one.voter_id == config.node_id), None)
    return Plan(
        cluster_id or config.cluster_id or uuid_text(new_id()),
        _records(served, release, features, has_voters=bool(voters)),
        voters,
        directory_id if own is None else own.voter_directory_id,
    )


def _check_quorum(config: BrokerConfig, *, is_named: bool, joins: bool) -> None:
    ways = "--standalone, --initial-controllers or --no-initial-controllers"
    if config.controller_quorum_voters:
        if is_named or joins:
            raise FormatError(f"controller.quorum.voters says who votes; without it there are {ways}")
    elif config.is_controller and not is_named and not joins:
        raise FormatError(f"a controller has to be told where its quorum is: say one of {ways}")


def _own_endpoint(config: BrokerConfig) -> Endpoint:
    if not config.is_controller:
        raise FormatError("--standalone is for a controller, and process.roles does not name this role")
    (own, *_) = config.advertised_controller_listeners
    if not own.port:
        raise FormatError(f"{own.name}: a port that the system chooses at every start cannot be written down; name one")
    return Endpoint(own.name, own.host or "localhost", own.port)


def _records(
    served: dict[str, VersionRange], release: str | None, features: Sequence[str], *, has_voters: bool
) -> list[StoredRecord]:
    levels: dict[str, int] = {}
    for entry in features:
        match = _FEATURE.fullmatch(entry)
        if match is None:
            raise FormatError(f"--feature: {entry!r} is not of the form FEATURE=LEVEL")
        levels[match[1]] = int(match[2])
    try:
        metadata_version = METADATA_VERSION_MAX if release is None else metadata_version_of(release)
    except ValueError as error:
        raise FormatError(f"--release-version: {error}") from error
    if METADATA_VERSION in levels:
        if release is not None:
            raise FormatError(
                f"--release-version and --feature {METADATA_VERSION} say the same thing; give one of them"
            )
        metadata_version = levels.pop(METADATA_VERSION)
        if not METADATA_VERSION_MIN <= metadata_version <= METADATA_VERSION_MAX:
            raise FormatError(f"{METADATA_VERSION} {metadata_version} is not one that can be written")
    kraft_version = levels.pop(KRAFT_VERSION, int(has_voters))
    if kraft_version != int(has_voters):
        raise FormatError(f"{KRAFT_VERSION} is 1 where voters are named here, and 0 where they are not")
    try:
        return feature_records(served, metadata_version, levels)
    except ValueError as error:
        raise FormatError(f"--feature: {error}") from error

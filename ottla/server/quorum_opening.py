"""This node's replica of the metadata log, from configuration and directories: formatted, opened, put to work.

Three ways to begin. Alone: the first start makes a quorum of this node, to which others may be added. With
`controller.quorum.voters`: who votes is in the configuration, for good. With `controller.quorum.bootstrap.servers` that
name others: the quorum is elsewhere, and this node joins it, as an observer until it is made a voter (KIP-853).
"""

from __future__ import annotations

import contextlib
import random
import socket
from collections.abc import Callable, Mapping, Sequence

from ottla.cluster.bootstrap import Endpoint
from ottla.cluster.features import VersionRange
from ottla.cluster.raft_config import RaftConfig
from ottla.cluster.voters import Endpoint as VoterEndpoint
from ottla.cluster.voters import VoterSet
from ottla.config.broker import BrokerConfig
from ottla.config.quorum_addresses import bootstrap_servers, voters
from ottla.server.formatting import format_metadata, is_formatted_to_join
from ottla.server.metadata_store import MetadataStore
from ottla.server.quorum import Quorum
from ottla.server.snapshotting import latest_image
from ottla.storage.files import Disk


def open_store(
    disk: Disk,
    config: BrokerConfig,
    features: Mapping[str, VersionRange],
    directory_id: bytes,
    endpoints: Sequence[Endpoint],
    now_ms: int,
) -> MetadataStore:
    """The metadata log on the disk, made if it is not there."""
    names_servers = bool(config.controller_quorum_bootstrap_servers)
    format_metadata(
        disk,
        config.log_directories,
        config.metadata_directory,
        features,
        node_id=config.node_id,
        directory_id=directory_id,
        endpoints=endpoints,
        now_ms=now_ms,
        is_quorum_elsewhere=is_quorum_elsewhere(config, endpoints)
        or (names_servers and is_formatted_to_join(disk, config.metadata_directory)),
    )
    return MetadataStore(
        disk,
        config.metadata_directory,
        now_ms,
        segment_bytes=config.internal_metadata_log_segment_bytes or config.metadata_log_segment_bytes,
        segment_ms=config.metadata_log_segment_ms,
    )


def is_quorum_elsewhere(
    config: BrokerConfig, endpoints: Sequence[Endpoint], is_this_machine: Callable[[str], bool] | None = None
) -> bool:
    """Whether somebody else says who votes: the configuration, or a quorum that this node joins.

    One bootstrap server at a port of our own, on this machine, is us.
    """
    servers = bootstrap_servers(config.controller_quorum_bootstrap_servers)
    if config.controller_quorum_voters or not config.is_controller:
        return True
    own = {(one.host, one.port) for one in endpoints}
    own_ports = {one.port for one in endpoints}
    is_this_machine = is_this_machine or is_own_address
    is_own = len(set(servers)) == 1 and all(
        (host, port) in own or (port in own_ports and is_this_machine(host)) for host, port in servers
    )
    return bool(servers) and not is_own


def is_own_address(host: str) -> bool:
    """Whether a name leads to this machine: by one of its addresses something can be bound here."""
    try:
        found = socket.getaddrinfo(host, 0, type=socket.SOCK_DGRAM)
    except OSError:
        return False
    for family, kind, protocol, _, address in found:
        with contextlib.suppress(OSError), socket.socket(family, kind, protocol) as one:
            one.bind(address)
            return True
    return False


def open_quorum(
    store: MetadataStore,
    config: BrokerConfig,
    cluster_id: str,
    directory_id: bytes,
    endpoints: Sequence[Endpoint],
    now_ms: Callable[[], int],
) -> Quorum:
    listener = config.controller_listener_names[0]
    static = voters(config.controller_quorum_voters).values()
    raft_config = RaftConfig(
        cluster_id=cluster_id,
        node_id=config.node_id,
        directory_id=directory_id,
        listener=listener,
        endpoints={one.listener: VoterEndpoint(one.host, one.port) for one in endpoints},
        static_voters=VoterSet.static({one.node_id: VoterEndpoint(one.host, one.port) for one in static}, listener),
        bootstrap_servers=tuple(
            VoterEndpoint(*one) for one in bootstrap_servers(config.controller_quorum_bootstrap_servers)
        ),
        can_become_voter=config.is_controller,
        is_auto_join_enabled=config.controller_quorum_auto_join_enable,
        is_observer_flushing=config.is_controller,
        election_timeout_ms=config.controller_quorum_election_timeout_ms,
        fetch_timeout_ms=config.controller_quorum_fetch_timeout_ms,
        election_backoff_ms_max=config.controller_quorum_election_backoff_max_ms,
        request_timeout_ms=config.controller_quorum_request_timeout_ms,
        retry_backoff_ms=config.controller_quorum_retry_backoff_ms,
        append_linger_ms=0,
        fetch_bytes_max=config.controller_quorum_fetch_max_bytes,
        fetch_snapshot_bytes_max=config.controller_quorum_fetch_snapshot_max_bytes,
    )
    return Quorum(store, raft_config, random.Random(), now_ms, latest_image(store))

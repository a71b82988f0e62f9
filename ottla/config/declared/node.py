"""Who a node is and how it keeps in touch with its controllers."""

from __future__ import annotations

from ottla.config.checks import at_least, listed
from ottla.config.keys import CLUSTER_WIDE, HIGH, LOW, REQUIRED, Key, KeySet, boolean, integer, long, string, strings
from ottla.config.values import LONG_MAX


class NodeKeys(KeySet):
    """Who a node is and how it keeps in touch with its controllers."""

    node_id: Key[int] = integer("node.id", REQUIRED, at_least(0), importance=HIGH).says(
        "The number by which this node is known in the cluster; no two nodes may share one."
    )

    broker_id = integer("broker.id", -1, importance=HIGH).says(
        "The older name of node.id; where both are given they have to agree."
    )

    process_roles: Key[tuple[str, ...]] = strings(
        "process.roles", REQUIRED, listed("broker", "controller", empty=False), importance=HIGH
    ).says("What this process is: broker, controller, or both.")

    broker_rack = string("broker.rack", None).says(
        "The rack, zone or room this broker stands in: replicas of a partition are spread over racks, and "
        "consumers may read from a replica in their own (KIP-392)."
    )

    initial_broker_registration_timeout_ms = integer("initial.broker.registration.timeout.ms", 60_000).says(
        "How long a starting broker tries to register with the controllers before it gives up and exits."
    )

    broker_heartbeat_interval_ms = integer("broker.heartbeat.interval.ms", 2000).says(
        "How often a broker tells the active controller that it is alive."
    )

    broker_session_timeout_ms = integer("broker.session.timeout.ms", 9000).says(
        "A broker that has sent no heartbeat for this long is fenced: it leads nothing until it is back."
    )

    controlled_shutdown_enable = boolean("controlled.shutdown.enable", True).says(
        "Whether a broker that is told to stop hands over its leaderships first."
    )

    server_max_startup_time_ms = long("server.max.startup.time.ms", LONG_MAX, at_least(0), internal=True).says(
        "How long a start may take in all before it counts as failed; meant for tests."
    )

    num_io_threads = integer("num.io.threads", 8, at_least(1), importance=HIGH, update=CLUSTER_WIDE).says(
        "Accepted for the sake of existing files; requests are handled by one event loop and disk work by a pool "
        "that sizes itself."
    )

    background_threads = integer("background.threads", 10, at_least(1), importance=HIGH, update=CLUSTER_WIDE).says(
        "Accepted for the sake of existing files; background work runs on the event loop and its worker threads."
    )

    request_timeout_ms = integer("request.timeout.ms", 30_000, importance=HIGH).says(
        "How long a request from this node to another may take before it counts as failed."
    )

    config_providers = strings("config.providers", (), listed(), importance=LOW, update=CLUSTER_WIDE).says(
        "Names of providers that would look up values outside of the file; none are offered, so a value such as "
        "${file:...} is taken as it stands."
    )

    unstable_api_versions_enable = boolean("unstable.api.versions.enable", False, importance=HIGH, internal=True).says(
        "Whether versions of APIs that Kafka has not settled yet are offered to clients."
    )

    unstable_feature_versions_enable = boolean(
        "unstable.feature.versions.enable", False, importance=HIGH, internal=True
    ).says("Whether feature levels that Kafka has not settled yet can be set.")

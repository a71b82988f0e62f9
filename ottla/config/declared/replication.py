"""Followers and leaders."""

from __future__ import annotations

from ottla.config.checks import at_least
from ottla.config.keys import CLUSTER_WIDE, HIGH, KeySet, boolean, integer, long, string
from ottla.config.values import LONG_MAX


class ReplicationKeys(KeySet):
    """Followers and leaders."""

    replica_lag_time_max_ms = long("replica.lag.time.max.ms", 30_000, importance=HIGH).says(
        "A follower that has not caught up with its leader for this long leaves the set of replicas in sync."
    )

    replica_socket_timeout_ms = integer("replica.socket.timeout.ms", 30_000, importance=HIGH).says(
        "How long a follower waits for an answer from its leader."
    )

    replica_socket_receive_buffer_bytes = integer(
        "replica.socket.receive.buffer.bytes", 64 << 10, importance=HIGH
    ).says("The receive buffer asked of the system for a follower's connections.")

    replica_fetch_max_bytes = integer("replica.fetch.max.bytes", 1 << 20, at_least(0)).says(
        "The most bytes of one partition that a follower asks for at once; a single larger batch is still sent whole."
    )

    replica_fetch_wait_max_ms = integer("replica.fetch.wait.max.ms", 500, importance=HIGH).says(
        "How long a leader may hold back an answer to a follower while there is nothing new."
    )

    replica_fetch_backoff_ms = integer("replica.fetch.backoff.ms", 1000, at_least(0)).says(
        "How long a follower rests after a failed fetch."
    )

    replica_fetch_min_bytes = integer("replica.fetch.min.bytes", 1, importance=HIGH).says(
        "How many bytes a follower waits for, as long as replica.fetch.wait.max.ms allows."
    )

    replica_fetch_response_max_bytes = integer("replica.fetch.response.max.bytes", 10 << 20, at_least(0)).says(
        "The most bytes that a follower asks for at once, over all partitions."
    )

    num_replica_fetchers = integer("num.replica.fetchers", 1, at_least(1), importance=HIGH, update=CLUSTER_WIDE).says(
        "How many connections a follower opens to each leader."
    )

    num_replica_alter_log_dirs_threads = integer("num.replica.alter.log.dirs.threads", None, importance=HIGH).says(
        "How many replicas move between log directories at the same time; where it is not set, one a directory."
    )

    replica_high_watermark_checkpoint_interval_ms = long(
        "replica.high.watermark.checkpoint.interval.ms", 5000, importance=HIGH
    ).says("How often high watermarks are written down.")

    replica_selector_class = string("replica.selector.class", None).says(
        "How the replica that a consumer should read from is chosen; Kafka's rack-aware selector is known by its "
        "name (KIP-392)."
    )

    follower_fetch_last_tiered_offset_enable = boolean(
        "follower.fetch.last.tiered.offset.enable", False, update=CLUSTER_WIDE
    ).says("Whether an empty follower of a tiered topic starts at the end of what is in remote storage.")

    auto_leader_rebalance_enable = boolean("auto.leader.rebalance.enable", True, importance=HIGH).says(
        "Whether leadership goes back to preferred replicas by itself."
    )

    leader_imbalance_check_interval_seconds = long(
        "leader.imbalance.check.interval.seconds", 300, at_least(1), importance=HIGH
    ).says("How often the controller looks for partitions that are not led by their preferred replica.")

    leader_replication_throttled_rate = long(
        "leader.replication.throttled.rate", LONG_MAX, at_least(0), update=CLUSTER_WIDE
    ).says("How many bytes a second this broker sends to throttled followers; settable at run time only.")

    follower_replication_throttled_rate = long(
        "follower.replication.throttled.rate", LONG_MAX, at_least(0), update=CLUSTER_WIDE
    ).says("How many bytes a second this broker fetches for throttled replicas; settable at run time only.")

    replica_alter_log_dirs_io_max_bytes_per_second = long(
        "replica.alter.log.dirs.io.max.bytes.per.second", LONG_MAX, at_least(0), update=CLUSTER_WIDE
    ).says("How many bytes a second moving replicas between log directories may take; settable at run time only.")

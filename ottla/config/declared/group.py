"""What can be set for one group (KIP-848, KIP-932, KIP-1071)."""

from __future__ import annotations

from ottla.config.checks import SHARE_OFFSET_RESET, at_least, one_of
from ottla.config.keys import KeySet, boolean, integer, string


class GroupConfigKeys(KeySet):
    """What can be set for one group (KIP-848, KIP-932, KIP-1071)."""

    consumer_session_timeout_ms = integer(
        "consumer.session.timeout.ms", 45_000, at_least(1), synonyms=("group.consumer.session.timeout.ms",)
    ).says("A member that sent no heartbeat for this long is removed.")

    consumer_heartbeat_interval_ms = integer(
        "consumer.heartbeat.interval.ms", 5000, at_least(1), synonyms=("group.consumer.heartbeat.interval.ms",)
    ).says("How often members are told to send heartbeats.")

    consumer_assignment_interval_ms = integer(
        "consumer.assignment.interval.ms", 1000, at_least(0), synonyms=("group.consumer.assignment.interval.ms",)
    ).says("How much time lies at least between two assignments.")

    share_session_timeout_ms = integer(
        "share.session.timeout.ms", 45_000, at_least(1), synonyms=("group.share.session.timeout.ms",)
    ).says("A member that sent no heartbeat for this long is removed.")

    share_heartbeat_interval_ms = integer(
        "share.heartbeat.interval.ms", 5000, at_least(1), synonyms=("group.share.heartbeat.interval.ms",)
    ).says("How often members are told to send heartbeats.")

    share_record_lock_duration_ms = integer(
        "share.record.lock.duration.ms", 30_000, at_least(1000), synonyms=("group.share.record.lock.duration.ms",)
    ).says("How long a consumer holds a record that it has not acknowledged yet.")

    share_delivery_count_limit = integer(
        "share.delivery.count.limit", 5, at_least(2), synonyms=("group.share.delivery.count.limit",)
    ).says("How often a record is handed out before it is given up.")

    share_partition_max_record_locks = integer(
        "share.partition.max.record.locks", 2000, at_least(100), synonyms=("group.share.partition.max.record.locks",)
    ).says("How many records of a partition may be held at the same time.")

    share_auto_offset_reset = string("share.auto.offset.reset", "latest", SHARE_OFFSET_RESET).says(
        "Where a share group starts in a partition it has not read: latest, earliest, or by_duration: and how long ago."
    )

    share_isolation_level = string(
        "share.isolation.level", "read_uncommitted", one_of("read_committed", "read_uncommitted")
    ).says("Whether records of transactions that are open or aborted are handed out.")

    share_renew_acknowledge_enable = boolean("share.renew.acknowledge.enable", True).says(
        "Whether consumers may prolong their hold on a record (KIP-1222)."
    )

    share_assignment_interval_ms = integer(
        "share.assignment.interval.ms", 1000, at_least(0), synonyms=("group.share.assignment.interval.ms",)
    ).says("How much time lies at least between two assignments.")

    streams_session_timeout_ms = integer(
        "streams.session.timeout.ms", 45_000, at_least(1), synonyms=("group.streams.session.timeout.ms",)
    ).says("A member that sent no heartbeat for this long is removed.")

    streams_heartbeat_interval_ms = integer(
        "streams.heartbeat.interval.ms", 5000, at_least(1), synonyms=("group.streams.heartbeat.interval.ms",)
    ).says("How often members are told to send heartbeats.")

    streams_num_standby_replicas = integer(
        "streams.num.standby.replicas", 0, at_least(0), synonyms=("group.streams.num.standby.replicas",)
    ).says("How many standby copies each task has.")

    streams_initial_rebalance_delay_ms = integer(
        "streams.initial.rebalance.delay.ms", 3000, at_least(0), synonyms=("group.streams.initial.rebalance.delay.ms",)
    ).says("How long a new group waits for further members before its first assignment.")

    streams_assignment_interval_ms = integer(
        "streams.assignment.interval.ms", 1000, at_least(0), synonyms=("group.streams.assignment.interval.ms",)
    ).says("How much time lies at least between two assignments.")

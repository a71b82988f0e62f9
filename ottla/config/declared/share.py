"""Share groups and the coordinator that keeps their state."""

from __future__ import annotations

from ottla.config.checks import at_least, between, listed
from ottla.config.keys import CLUSTER_WIDE, HIGH, LOW, KeySet, integer, short, string, strings
from ottla.config.values import HOUR_MS


class ShareGroupKeys(KeySet):
    """Share groups and the coordinator that keeps their state."""

    group_share_session_timeout_ms = integer("group.share.session.timeout.ms", 45_000, at_least(1)).says(
        "A member of a share group that sent no heartbeat for this long is removed."
    )

    group_share_min_session_timeout_ms = integer("group.share.min.session.timeout.ms", 45_000, at_least(1)).says(
        "The shortest session timeout that a share group may be given."
    )

    group_share_max_session_timeout_ms = integer("group.share.max.session.timeout.ms", 60_000, at_least(1)).says(
        "The longest session timeout that a share group may be given."
    )

    group_share_heartbeat_interval_ms = integer("group.share.heartbeat.interval.ms", 5000, at_least(1)).says(
        "How often members of share groups are told to send heartbeats."
    )

    group_share_min_heartbeat_interval_ms = integer("group.share.min.heartbeat.interval.ms", 5000, at_least(1)).says(
        "The shortest heartbeat interval that a share group may be given."
    )

    group_share_max_heartbeat_interval_ms = integer("group.share.max.heartbeat.interval.ms", 15_000, at_least(1)).says(
        "The longest heartbeat interval that a share group may be given."
    )

    group_share_max_size = integer("group.share.max.size", 200, between(1, 1000)).says(
        "How many members a share group may have."
    )

    group_share_assignors = strings("group.share.assignors", ("simple",), listed(empty=False)).says(
        "The assignor of share groups: exactly one, and simple is the one there is."
    )

    group_share_assignment_interval_ms = integer(
        "group.share.assignment.interval.ms", 1000, at_least(0), update=CLUSTER_WIDE
    ).says("How much time lies at least between two assignments of a share group.")

    group_share_min_assignment_interval_ms = integer("group.share.min.assignment.interval.ms", 0, at_least(0)).says(
        "The shortest assignment interval that a share group may be given."
    )

    group_share_max_assignment_interval_ms = integer(
        "group.share.max.assignment.interval.ms", 15_000, at_least(0)
    ).says("The longest assignment interval that a share group may be given.")

    group_share_initialize_retry_interval_ms = integer(
        "group.share.initialize.retry.interval.ms", 30_000, at_least(1), importance=LOW, internal=True
    ).says("How long a share partition that could not be initialized waits before the next attempt.")

    group_share_delivery_count_limit = integer("group.share.delivery.count.limit", 5, between(2, 10)).says(
        "How often a record is handed out before it is given up."
    )

    group_share_max_delivery_count_limit = integer("group.share.max.delivery.count.limit", 10, between(5, 25)).says(
        "The highest delivery limit that a share group may be given."
    )

    group_share_min_delivery_count_limit = integer("group.share.min.delivery.count.limit", 2, between(2, 5)).says(
        "The lowest delivery limit that a share group may be given."
    )

    group_share_record_lock_duration_ms = integer(
        "group.share.record.lock.duration.ms", 30_000, between(1000, HOUR_MS)
    ).says("How long a consumer holds a record that it has not acknowledged yet.")

    group_share_min_record_lock_duration_ms = integer(
        "group.share.min.record.lock.duration.ms", 15_000, between(1000, 30_000)
    ).says("The shortest lock duration that a share group may be given.")

    group_share_max_record_lock_duration_ms = integer(
        "group.share.max.record.lock.duration.ms", 60_000, between(30_000, HOUR_MS)
    ).says("The longest lock duration that a share group may be given.")

    group_share_partition_max_record_locks = integer(
        "group.share.partition.max.record.locks", 2000, between(100, 10_000)
    ).says("How many records of a partition may be held at the same time.")

    group_share_max_partition_max_record_locks = integer(
        "group.share.max.partition.max.record.locks", 4000, between(2000, 10_000)
    ).says("The highest number of held records that a share group may be given.")

    group_share_min_partition_max_record_locks = integer(
        "group.share.min.partition.max.record.locks", 100, between(100, 2000)
    ).says("The lowest number of held records that a share group may be given.")

    group_share_max_share_sessions = integer("group.share.max.share.sessions", 2000, at_least(1)).says(
        "How many share sessions a broker holds."
    )

    group_share_persister_class_name = string(
        "group.share.persister.class.name",
        "org.apache.kafka.server.share.persister.DefaultStatePersister",
        internal=True,
    ).says("The Java class that keeps the state of share groups; here it is always the share coordinator.")

    share_fetch_purgatory_purge_interval_requests = integer("share.fetch.purgatory.purge.interval.requests", 1000).says(
        "Accepted for the sake of existing files; a waiting ShareFetch that is done is forgotten at once."
    )

    share_coordinator_state_topic_num_partitions = integer(
        "share.coordinator.state.topic.num.partitions", 50, at_least(1), importance=HIGH
    ).says("How many partitions the share-state topic gets; it must not change later.")

    share_coordinator_state_topic_replication_factor = short(
        "share.coordinator.state.topic.replication.factor", 3, at_least(1), importance=HIGH
    ).says(
        "How many replicas the share-state topic gets; where it is not set, 3 or as many brokers as are alive, "
        "whichever is less."
    )

    share_coordinator_state_topic_min_isr = short(
        "share.coordinator.state.topic.min.isr", 2, at_least(1), importance=HIGH
    ).says(
        "How many replicas of the share-state topic have to be in sync; where it is not set, 2 or as many "
        "replicas as it has, whichever is less."
    )

    share_coordinator_state_topic_segment_bytes = integer(
        "share.coordinator.state.topic.segment.bytes", 100 << 20, at_least(1), importance=HIGH
    ).says("The segment size of the share-state topic.")

    share_coordinator_threads = integer("share.coordinator.threads", 1, at_least(1)).says(
        "Accepted for the sake of existing files; coordinators run on the event loop."
    )

    share_coordinator_snapshot_update_records_per_snapshot = integer(
        "share.coordinator.snapshot.update.records.per.snapshot", 500, between(0, 500)
    ).says("How many updates of a share partition's state are written before it is written whole again.")

    share_coordinator_load_buffer_size = integer(
        "share.coordinator.load.buffer.size", 5 << 20, at_least(1), importance=HIGH
    ).says("How much is read at once while a coordinator loads its partition of the share-state topic.")

    share_coordinator_state_topic_compression_codec = integer(
        "share.coordinator.state.topic.compression.codec", 0, importance=HIGH
    ).says(
        "The number of the codec with which the share-state topic is compressed: 0 none, 1 gzip, 2 snappy, 3 lz4, "
        "4 zstd."
    )

    share_coordinator_append_linger_ms = integer("share.coordinator.append.linger.ms", -1, at_least(-1)).says(
        "How long the share coordinator collects records before it writes them as one batch; -1 adapts to the load."
    )

    share_coordinator_write_timeout_ms = integer(
        "share.coordinator.write.timeout.ms", 5000, at_least(1), importance=HIGH
    ).says("How long a write of share state may wait for its replicas.")

    share_coordinator_state_topic_prune_interval_ms = integer(
        "share.coordinator.state.topic.prune.interval.ms", 300_000, at_least(1), importance=LOW, internal=True
    ).says("How often records that nothing needs any more are deleted from the share-state topic.")

    share_coordinator_cold_partition_snapshot_interval_ms = integer(
        "share.coordinator.cold.partition.snapshot.interval.ms", 300_000, at_least(1), importance=LOW, internal=True
    ).says("How often share partitions that did not change are written whole, so that older records can go.")

    share_coordinator_cached_buffer_max_bytes = integer(
        "share.coordinator.cached.buffer.max.bytes", 1_048_588, at_least(512 << 10), update=CLUSTER_WIDE
    ).says("The largest write buffer that the share coordinator keeps for the next batch.")

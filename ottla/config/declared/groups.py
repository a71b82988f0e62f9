"""Consumer groups of both protocols, streams groups, and committed offsets."""

from __future__ import annotations

from ottla.config.checks import at_least, listed, one_of_any_case
from ottla.config.keys import CLUSTER_WIDE, HIGH, KeySet, integer, long, short, string, strings
from ottla.config.values import INT_MAX


class GroupCoordinatorKeys(KeySet):
    """Consumer groups of both protocols, streams groups, and committed offsets."""

    group_coordinator_rebalance_protocols = strings(
        "group.coordinator.rebalance.protocols",
        ("classic", "consumer", "streams"),
        listed("consumer", "classic", "share", "streams", empty=False),
    ).says("Which kinds of group are served; deprecated, since feature levels say so now.")

    group_coordinator_threads = integer("group.coordinator.threads", 4, at_least(1), importance=HIGH).says(
        "Accepted for the sake of existing files; coordinators run on the event loop."
    )

    group_coordinator_background_threads = integer(
        "group.coordinator.background.threads", 2, at_least(1), importance=HIGH
    ).says("Accepted for the sake of existing files; coordinators run on the event loop.")

    group_coordinator_append_linger_ms = integer("group.coordinator.append.linger.ms", -1, at_least(-1)).says(
        "How long a coordinator collects records before it writes them as one batch; -1 adapts to the load."
    )

    group_coordinator_cached_buffer_max_bytes = integer(
        "group.coordinator.cached.buffer.max.bytes", 1_048_588, at_least(512 << 10), update=CLUSTER_WIDE
    ).says("The largest write buffer that a coordinator keeps for the next batch.")

    offsets_commit_timeout_ms = integer("offsets.commit.timeout.ms", 5000, at_least(1), importance=HIGH).says(
        "How long an offset commit may wait for its replicas."
    )

    offsets_load_buffer_size = integer("offsets.load.buffer.size", 5 << 20, at_least(1), importance=HIGH).says(
        "How much is read at once while a coordinator loads its partition of the offsets topic."
    )

    offsets_topic_replication_factor = short("offsets.topic.replication.factor", 3, at_least(1), importance=HIGH).says(
        "How many replicas the offsets topic gets; where it is not set, 3 or as many brokers as are alive, "
        "whichever is less."
    )

    offsets_topic_num_partitions = integer("offsets.topic.num.partitions", 50, at_least(1), importance=HIGH).says(
        "How many partitions the offsets topic gets; it must not change later."
    )

    offsets_topic_segment_bytes = integer("offsets.topic.segment.bytes", 100 << 20, at_least(1), importance=HIGH).says(
        "The segment size of the offsets topic."
    )

    offsets_topic_compression_codec = integer("offsets.topic.compression.codec", 0, importance=HIGH).says(
        "The number of the codec with which the offsets topic is compressed: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd."
    )

    offset_metadata_max_bytes = integer("offset.metadata.max.bytes", 4 << 10, importance=HIGH).says(
        "The longest note that a consumer may commit with an offset."
    )

    offsets_retention_minutes = integer("offsets.retention.minutes", 10_080, at_least(1), importance=HIGH).says(
        "How long the offsets of a group without members are kept."
    )

    offsets_retention_check_interval_ms = long(
        "offsets.retention.check.interval.ms", 600_000, at_least(1), importance=HIGH
    ).says("How often committed offsets are searched for expired ones.")

    group_min_session_timeout_ms = integer("group.min.session.timeout.ms", 6000).says(
        "The shortest session timeout a member of a classic group may ask for."
    )

    group_max_session_timeout_ms = integer("group.max.session.timeout.ms", 1_800_000).says(
        "The longest session timeout a member of a classic group may ask for."
    )

    group_initial_rebalance_delay_ms = integer("group.initial.rebalance.delay.ms", 3000).says(
        "How long a new classic group waits for further members before its first rebalance."
    )

    group_max_size = integer("group.max.size", INT_MAX, at_least(1)).says("How many members a classic group may have.")

    group_consumer_session_timeout_ms = integer("group.consumer.session.timeout.ms", 45_000, at_least(1)).says(
        "A member of a consumer group that sent no heartbeat for this long is removed."
    )

    group_consumer_min_session_timeout_ms = integer("group.consumer.min.session.timeout.ms", 45_000, at_least(1)).says(
        "The shortest session timeout that a consumer group may be given."
    )

    group_consumer_max_session_timeout_ms = integer("group.consumer.max.session.timeout.ms", 60_000, at_least(1)).says(
        "The longest session timeout that a consumer group may be given."
    )

    group_consumer_heartbeat_interval_ms = integer("group.consumer.heartbeat.interval.ms", 5000, at_least(1)).says(
        "How often members of consumer groups are told to send heartbeats."
    )

    group_consumer_min_heartbeat_interval_ms = integer(
        "group.consumer.min.heartbeat.interval.ms", 5000, at_least(1)
    ).says("The shortest heartbeat interval that a consumer group may be given.")

    group_consumer_max_heartbeat_interval_ms = integer(
        "group.consumer.max.heartbeat.interval.ms", 15_000, at_least(1)
    ).says("The longest heartbeat interval that a consumer group may be given.")

    group_consumer_max_size = integer("group.consumer.max.size", INT_MAX, at_least(1)).says(
        "How many members a consumer group may have."
    )

    group_consumer_assignors = strings("group.consumer.assignors", ("uniform", "range"), listed(empty=False)).says(
        "The assignors that consumer groups may choose from, the first being the default: uniform and range."
    )

    group_consumer_migration_policy = string(
        "group.consumer.migration.policy",
        "bidirectional",
        one_of_any_case("DISABLED", "DOWNGRADE", "UPGRADE", "BIDIRECTIONAL"),
    ).says("Which way groups may change between the classic and the consumer protocol while they have members.")

    group_consumer_assignment_interval_ms = integer(
        "group.consumer.assignment.interval.ms", 1000, at_least(0), update=CLUSTER_WIDE
    ).says("How much time lies at least between two assignments of a consumer group.")

    group_consumer_min_assignment_interval_ms = integer(
        "group.consumer.min.assignment.interval.ms", 0, at_least(0)
    ).says("The shortest assignment interval that a consumer group may be given.")

    group_consumer_max_assignment_interval_ms = integer(
        "group.consumer.max.assignment.interval.ms", 15_000, at_least(0)
    ).says("The longest assignment interval that a consumer group may be given.")

    group_consumer_regex_refresh_interval_ms = integer(
        "group.consumer.regex.refresh.interval.ms", 600_000, at_least(10_000), internal=True
    ).says("How often the regular expressions that groups subscribe with are matched against the topics anew.")

    group_streams_session_timeout_ms = integer("group.streams.session.timeout.ms", 45_000, at_least(1)).says(
        "A member of a streams group that sent no heartbeat for this long is removed."
    )

    group_streams_min_session_timeout_ms = integer("group.streams.min.session.timeout.ms", 45_000, at_least(1)).says(
        "The shortest session timeout that a streams group may be given."
    )

    group_streams_max_session_timeout_ms = integer("group.streams.max.session.timeout.ms", 60_000, at_least(1)).says(
        "The longest session timeout that a streams group may be given."
    )

    group_streams_heartbeat_interval_ms = integer("group.streams.heartbeat.interval.ms", 5000, at_least(1)).says(
        "How often members of streams groups are told to send heartbeats."
    )

    group_streams_min_heartbeat_interval_ms = integer(
        "group.streams.min.heartbeat.interval.ms", 5000, at_least(1)
    ).says("The shortest heartbeat interval that a streams group may be given.")

    group_streams_max_heartbeat_interval_ms = integer(
        "group.streams.max.heartbeat.interval.ms", 15_000, at_least(1)
    ).says("The longest heartbeat interval that a streams group may be given.")

    group_streams_max_size = integer("group.streams.max.size", INT_MAX, at_least(1)).says(
        "How many members a streams group may have."
    )

    group_streams_num_standby_replicas = integer("group.streams.num.standby.replicas", 0, at_least(0)).says(
        "How many standby copies each task of a streams group has."
    )

    group_streams_max_standby_replicas = integer("group.streams.max.standby.replicas", 2, at_least(0)).says(
        "The most standby copies that a streams group may be given."
    )

    group_streams_initial_rebalance_delay_ms = integer(
        "group.streams.initial.rebalance.delay.ms", 3000, at_least(0)
    ).says("How long a new streams group waits for further members before its first assignment.")

    group_streams_assignment_interval_ms = integer(
        "group.streams.assignment.interval.ms", 1000, at_least(0), update=CLUSTER_WIDE
    ).says("How much time lies at least between two assignments of a streams group.")

    group_streams_min_assignment_interval_ms = integer("group.streams.min.assignment.interval.ms", 0, at_least(0)).says(
        "The shortest assignment interval that a streams group may be given."
    )

    group_streams_max_assignment_interval_ms = integer(
        "group.streams.max.assignment.interval.ms", 15_000, at_least(0)
    ).says("The longest assignment interval that a streams group may be given.")

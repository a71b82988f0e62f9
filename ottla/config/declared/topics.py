"""What topics are by default, and who may make and delete them."""

from __future__ import annotations

from ottla.config.checks import GZIP_LEVEL, at_least, between, one_of
from ottla.config.keys import CLUSTER_WIDE, HIGH, LOW, KeySet, boolean, integer, java_class, long, string


class TopicDefaultKeys(KeySet):
    """What topics are by default, and who may make and delete them."""

    auto_create_topics_enable = boolean("auto.create.topics.enable", True, importance=HIGH).says(
        "Whether a topic that a client asks for and that does not exist is created."
    )

    delete_topic_enable = boolean("delete.topic.enable", True, importance=HIGH).says("Whether topics can be deleted.")

    num_partitions = integer("num.partitions", 1, at_least(1)).says(
        "How many partitions a topic gets where its creator does not say."
    )

    default_replication_factor = integer("default.replication.factor", 1).says(
        "How many replicas a partition gets where its creator does not say."
    )

    min_insync_replicas = integer("min.insync.replicas", 1, at_least(1), importance=HIGH, update=CLUSTER_WIDE).says(
        "How many replicas, the leader among them, have to be in sync for a write with acks=all to be accepted."
    )

    unclean_leader_election_enable = boolean(
        "unclean.leader.election.enable", False, importance=HIGH, update=CLUSTER_WIDE
    ).says("Whether a replica that is not in sync may become leader when no other is left, which loses records.")

    unclean_leader_election_interval_ms = long(
        "unclean.leader.election.interval.ms", 300_000, at_least(1), internal=True
    ).says("How often the controller looks for partitions that only an unclean election can revive.")

    message_max_bytes = integer("message.max.bytes", 1_048_588, at_least(0), importance=HIGH, update=CLUSTER_WIDE).says(
        "The largest record batch that is accepted, after compression."
    )

    compression_type = string(
        "compression.type",
        "producer",
        one_of("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
        importance=HIGH,
        update=CLUSTER_WIDE,
    ).says("How batches are stored: as the producer compressed them, uncompressed, or with a certain codec.")

    compression_gzip_level = integer("compression.gzip.level", -1, GZIP_LEVEL, update=CLUSTER_WIDE).says(
        "The level for batches that the broker itself compresses with gzip; -1 is the codec's own default."
    )

    compression_lz4_level = integer("compression.lz4.level", 9, between(1, 17), update=CLUSTER_WIDE).says(
        "The level for batches that the broker itself compresses with lz4."
    )

    compression_zstd_level = integer("compression.zstd.level", 3, between(-131_072, 22), update=CLUSTER_WIDE).says(
        "The level for batches that the broker itself compresses with zstd."
    )

    create_topic_policy_class_name = java_class("create.topic.policy.class.name", None, importance=LOW).says(
        "A Java class that would judge new topics; it cannot run here."
    )

    alter_config_policy_class_name = java_class("alter.config.policy.class.name", None, importance=LOW).says(
        "A Java class that would judge changes of configuration; it cannot run here."
    )

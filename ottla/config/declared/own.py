"""Keys of Ottla's own: what Kafka has no key for. Wherever Kafka has one, that one is used, with Kafka's default."""

from __future__ import annotations

from ottla.config.checks import at_least, between, one_of
from ottla.config.keys import HIGH, KeySet, boolean, integer, long, string


class OwnKeys(KeySet):
    """Keys of Ottla's own: what Kafka has no key for."""

    cluster_id = string("cluster.id", None).says(
        "The cluster this node belongs to: a new directory is formatted with it, and one of another cluster is "
        "refused. Kafka takes it in its storage tool."
    )

    ottla_ephemeral = boolean("ottla.ephemeral", False).says(
        "Whether everything is kept in a temporary directory that is removed at exit; log.dirs is then not used."
    )

    ottla_log_format = string("ottla.log.format", "text", one_of("text", "json")).says(
        "How the node's own log is written: text for people, or one JSON object a line."
    )

    ottla_log_level = string("ottla.log.level", "INFO", one_of("DEBUG", "INFO", "WARN", "ERROR")).says(
        "The least important messages that the node's own log shows."
    )

    ottla_metrics_port = integer("ottla.metrics.port", -1, between(-1, 65535), importance=HIGH).says(
        "The port on which metrics, liveness and readiness are served over HTTP; 0 lets the system choose, -1 is off."
    )

    ottla_metrics_host = string("ottla.metrics.host", "127.0.0.1").says(
        "The address on which metrics are served; empty for every interface."
    )

    ottla_half_received_max_bytes = long("ottla.half.received.max.bytes", 100 << 20, at_least(0)).says(
        "How many bytes of requests that have not come to their end all connections hold together; beyond that, the "
        "one that has held the most for the longest is closed. It gives way to queued.max.request.bytes, where that is "
        "set, and is never less than one request of the largest size."
    )

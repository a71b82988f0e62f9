"""Metrics, telemetry and quotas."""

from __future__ import annotations

from ottla.config.checks import at_least, listed
from ottla.config.keys import CLUSTER_WIDE, LOW, KeySet, integer, java_class, long, string, strings


class MeasureKeys(KeySet):
    """Metrics, telemetry and quotas."""

    metrics_num_samples = integer("metrics.num.samples", 2, at_least(1), importance=LOW).says(
        "Over how many samples rates are measured."
    )

    metrics_sample_window_ms = long("metrics.sample.window.ms", 30_000, at_least(1), importance=LOW).says(
        "How long each of those samples is."
    )

    metric_reporters = strings(
        "metric.reporters",
        ("org.apache.kafka.common.metrics.JmxReporter",),
        listed(),
        importance=LOW,
        update=CLUSTER_WIDE,
    ).says("Java classes that would report metrics; see ottla.metrics.port instead.")

    metrics_recording_level = string("metrics.recording.level", "INFO", importance=LOW).says(
        "How much is measured: INFO, DEBUG or TRACE."
    )

    kafka_metrics_reporters = strings("kafka.metrics.reporters", (), listed(), importance=LOW).says(
        "Java classes that would report older metrics; see ottla.metrics.port instead."
    )

    kafka_metrics_polling_interval_secs = integer(
        "kafka.metrics.polling.interval.secs", 10, at_least(1), importance=LOW
    ).says("How often those reporters would run.")

    telemetry_max_bytes = integer("telemetry.max.bytes", 1 << 20, at_least(1), importance=LOW).says(
        "The most telemetry that a client may push at once (KIP-714)."
    )

    quota_window_num = integer("quota.window.num", 11, at_least(1), importance=LOW).says(
        "Over how many samples the quotas of clients are measured."
    )

    quota_window_size_seconds = integer("quota.window.size.seconds", 1, at_least(1), importance=LOW).says(
        "How long each of those samples is."
    )

    replication_quota_window_num = integer("replication.quota.window.num", 11, at_least(1), importance=LOW).says(
        "Over how many samples the replication quotas are measured."
    )

    replication_quota_window_size_seconds = integer(
        "replication.quota.window.size.seconds", 1, at_least(1), importance=LOW
    ).says("How long each of those samples is.")

    alter_log_dirs_replication_quota_window_num = integer(
        "alter.log.dirs.replication.quota.window.num", 11, at_least(1), importance=LOW
    ).says("Over how many samples the quota for moving replicas between directories is measured.")

    alter_log_dirs_replication_quota_window_size_seconds = integer(
        "alter.log.dirs.replication.quota.window.size.seconds", 1, at_least(1), importance=LOW
    ).says("How long each of those samples is.")

    controller_quota_window_num = integer("controller.quota.window.num", 11, at_least(1), importance=LOW).says(
        "Over how many samples the quotas for creating and deleting topics are measured."
    )

    controller_quota_window_size_seconds = integer(
        "controller.quota.window.size.seconds", 1, at_least(1), importance=LOW
    ).says("How long each of those samples is.")

    client_quota_callback_class = java_class("client.quota.callback.class", None, importance=LOW).says(
        "A Java class that would set quotas; it cannot run here."
    )

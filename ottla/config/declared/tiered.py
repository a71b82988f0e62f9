"""Tiered storage (KIP-405): the keys are known so that files that name them load."""

from __future__ import annotations

from ottla.config.checks import NOT_EMPTY, at_least, between
from ottla.config.keys import CLUSTER_WIDE, LOW, KeySet, boolean, double, integer, long, string
from ottla.config.values import LONG_MAX


class TieredStorageKeys(KeySet):
    """Tiered storage (KIP-405): the keys are known so that files that name them load."""

    remote_log_storage_system_enable = boolean("remote.log.storage.system.enable", False).says(
        "Whether tiered storage is on in this broker."
    )

    remote_log_storage_manager_class_name = string("remote.log.storage.manager.class.name", None, NOT_EMPTY).says(
        "The Java class that moves segments to remote storage."
    )

    remote_log_storage_manager_class_path = string("remote.log.storage.manager.class.path", None).says(
        "Where that class and what it needs are found."
    )

    remote_log_storage_manager_impl_prefix = string(
        "remote.log.storage.manager.impl.prefix", "rsm.config.", NOT_EMPTY
    ).says("Keys that begin with this go to the remote storage manager.")

    remote_log_metadata_manager_class_name = string(
        "remote.log.metadata.manager.class.name",
        "org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager",
        NOT_EMPTY,
    ).says("The Java class that remembers which segments are in remote storage.")

    remote_log_metadata_manager_class_path = string("remote.log.metadata.manager.class.path", None).says(
        "Where that class and what it needs are found."
    )

    remote_log_metadata_manager_impl_prefix = string(
        "remote.log.metadata.manager.impl.prefix", "rlmm.config.", NOT_EMPTY
    ).says("Keys that begin with this go to the remote log metadata manager.")

    remote_log_metadata_manager_listener_name = string(
        "remote.log.metadata.manager.listener.name", None, NOT_EMPTY
    ).says("The listener over which the remote log metadata manager reaches this broker.")

    remote_log_metadata_custom_metadata_max_bytes = integer(
        "remote.log.metadata.custom.metadata.max.bytes", 128, at_least(0), importance=LOW
    ).says("The most that a remote storage plugin may note about a segment.")

    remote_log_index_file_cache_total_size_bytes = long(
        "remote.log.index.file.cache.total.size.bytes", 1 << 30, at_least(1), importance=LOW, update=CLUSTER_WIDE
    ).says("How much disk the indexes fetched from remote storage may take.")

    remote_log_index_file_cache_ttl_ms = long(
        "remote.log.index.file.cache.ttl.ms", 900_000, at_least(-1), importance=LOW, internal=True
    ).says("How long an index fetched from remote storage stays after its last use; -1 for as long as there is room.")

    remote_log_manager_thread_pool_size = integer("remote.log.manager.thread.pool.size", 2, at_least(1)).says(
        "The older name of remote.log.manager.follower.thread.pool.size."
    )

    remote_log_manager_copier_thread_pool_size = integer(
        "remote.log.manager.copier.thread.pool.size", 10, at_least(1), update=CLUSTER_WIDE
    ).says("How many segments are copied to remote storage at the same time.")

    remote_log_manager_expiration_thread_pool_size = integer(
        "remote.log.manager.expiration.thread.pool.size", 10, at_least(1), update=CLUSTER_WIDE
    ).says("How many partitions have expired remote segments removed at the same time.")

    remote_log_manager_follower_thread_pool_size = integer(
        "remote.log.manager.follower.thread.pool.size", 2, at_least(1), update=CLUSTER_WIDE
    ).says("How many followers look up their remote offsets at the same time.")

    remote_log_manager_task_interval_ms = long(
        "remote.log.manager.task.interval.ms", 30_000, at_least(1), importance=LOW
    ).says("How often segments are copied to and removed from remote storage.")

    remote_log_manager_task_retry_backoff_ms = long(
        "remote.log.manager.task.retry.backoff.ms", 500, at_least(1), importance=LOW, internal=True
    ).says("The first wait after remote storage failed.")

    remote_log_manager_task_retry_backoff_max_ms = long(
        "remote.log.manager.task.retry.backoff.max.ms", 30_000, at_least(1), importance=LOW, internal=True
    ).says("The longest wait after remote storage failed repeatedly.")

    remote_log_manager_task_retry_jitter = double(
        "remote.log.manager.task.retry.jitter", 0.2, between(0, 0.5), importance=LOW, internal=True
    ).says("By what share those waits vary at random.")

    remote_log_reader_threads = integer("remote.log.reader.threads", 10, at_least(1), update=CLUSTER_WIDE).says(
        "How many reads from remote storage run at the same time."
    )

    remote_log_reader_max_pending_tasks = integer("remote.log.reader.max.pending.tasks", 100, at_least(1)).says(
        "How many reads from remote storage may wait; further ones fail."
    )

    remote_log_manager_copy_max_bytes_per_second = long(
        "remote.log.manager.copy.max.bytes.per.second", LONG_MAX, at_least(1), update=CLUSTER_WIDE
    ).says("How many bytes a second go to remote storage.")

    remote_log_manager_copy_quota_window_num = integer(
        "remote.log.manager.copy.quota.window.num", 11, at_least(1)
    ).says("Over how many samples that rate is measured.")

    remote_log_manager_copy_quota_window_size_seconds = integer(
        "remote.log.manager.copy.quota.window.size.seconds", 1, at_least(1)
    ).says("How long each of those samples is.")

    remote_log_manager_fetch_max_bytes_per_second = long(
        "remote.log.manager.fetch.max.bytes.per.second", LONG_MAX, at_least(1), update=CLUSTER_WIDE
    ).says("How many bytes a second come from remote storage.")

    remote_log_manager_fetch_quota_window_num = integer(
        "remote.log.manager.fetch.quota.window.num", 11, at_least(1)
    ).says("Over how many samples that rate is measured.")

    remote_log_manager_fetch_quota_window_size_seconds = integer(
        "remote.log.manager.fetch.quota.window.size.seconds", 1, at_least(1)
    ).says("How long each of those samples is.")

    remote_fetch_max_wait_ms = integer("remote.fetch.max.wait.ms", 500, at_least(1), update=CLUSTER_WIDE).says(
        "How long a Fetch may wait for remote storage."
    )

    remote_list_offsets_request_timeout_ms = long(
        "remote.list.offsets.request.timeout.ms", 30_000, at_least(1), update=CLUSTER_WIDE
    ).says("How long a ListOffsets may wait for remote storage.")

    log_local_retention_ms = long("log.local.retention.ms", -2, at_least(-2), update=CLUSTER_WIDE).says(
        "How long records that are in remote storage as well are kept on local disk; -2 means as long as "
        "log.retention.ms says."
    )

    log_local_retention_bytes = long("log.local.retention.bytes", -2, at_least(-2), update=CLUSTER_WIDE).says(
        "How large the local part of a tiered log may grow; -2 means as large as log.retention.bytes says."
    )

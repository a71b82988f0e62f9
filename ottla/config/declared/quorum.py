"""The controllers: their quorum, its timeouts, and the metadata log."""

from __future__ import annotations

from ottla.config.checks import at_least, listed
from ottla.config.keys import HIGH, LOW, REQUIRED, Key, KeySet, boolean, integer, long, string, strings
from ottla.config.quorum_addresses import BOOTSTRAP_SERVERS, QUORUM_VOTERS
from ottla.config.values import DAY_MS, HOUR_MS


class QuorumKeys(KeySet):
    """The controllers: their quorum, its timeouts, and the metadata log."""

    controller_listener_names: Key[tuple[str, ...]] = strings(
        "controller.listener.names", REQUIRED, listed(empty=False), importance=HIGH
    ).says("Names of the listeners that controllers use; a broker calls its controllers on the first of them.")

    controller_quorum_voters = strings("controller.quorum.voters", (), QUORUM_VOTERS, importance=HIGH).says(
        "The controllers as id@host:port, fixed for good: the older way to say who votes, which rules out "
        "changing the voters later."
    )

    controller_quorum_bootstrap_servers = strings(
        "controller.quorum.bootstrap.servers", (), BOOTSTRAP_SERVERS, importance=HIGH
    ).says(
        "Addresses of controllers, host:port, at which a node finds the quorum; who votes is then written in the "
        "metadata log itself (KIP-853)."
    )

    controller_quorum_election_timeout_ms = integer(
        "controller.quorum.election.timeout.ms", 1000, at_least(0), importance=HIGH
    ).says("How long a voter waits for votes before it starts another election.")

    controller_quorum_fetch_timeout_ms = integer(
        "controller.quorum.fetch.timeout.ms", 2000, at_least(0), importance=HIGH
    ).says(
        "A follower that has not heard from the leader for this long stands for election, and a leader that has "
        "heard from no majority resigns."
    )

    controller_quorum_election_backoff_max_ms = integer(
        "controller.quorum.election.backoff.max.ms", 1000, at_least(0), importance=HIGH
    ).says("The longest random wait between elections that nobody won.")

    controller_quorum_append_linger_ms = integer("controller.quorum.append.linger.ms", 25, at_least(0)).says(
        "How long the leader collects metadata records before it writes them as one batch."
    )

    controller_quorum_request_timeout_ms = integer("controller.quorum.request.timeout.ms", 2000, at_least(0)).says(
        "How long a request between controllers may take before it is sent again."
    )

    controller_quorum_retry_backoff_ms = integer(
        "controller.quorum.retry.backoff.ms", 20, at_least(0), importance=LOW
    ).says("The first wait before a failed request between controllers is tried again.")

    controller_quorum_auto_join_enable = boolean("controller.quorum.auto.join.enable", False, importance=LOW).says(
        "Whether a controller that is not a voter yet asks to become one by itself (KIP-853)."
    )

    controller_quorum_fetch_snapshot_max_bytes = integer(
        "controller.quorum.fetch.snapshot.max.bytes", 1 << 20, at_least(1), importance=LOW
    ).says("The largest piece of a snapshot that one FetchSnapshot asks for.")

    controller_quorum_fetch_max_bytes = integer(
        "controller.quorum.fetch.max.bytes", 1 << 20, at_least(1), importance=LOW
    ).says(
        "The most metadata that one Fetch between controllers asks for; a single larger batch is still returned whole."
    )

    sasl_mechanism_controller_protocol = string("sasl.mechanism.controller.protocol", "GSSAPI", importance=HIGH).says(
        "The SASL mechanism with which nodes log in to controllers."
    )

    controller_performance_sample_period_ms = long(
        "controller.performance.sample.period.ms", 60_000, at_least(100), internal=True
    ).says("How often the controller writes a summary of how long its events took.")

    controller_performance_always_log_threshold_ms = long(
        "controller.performance.always.log.threshold.ms", 2000, at_least(0), internal=True
    ).says("A controller event that takes longer than this is logged by itself.")

    metadata_log_max_record_bytes_between_snapshots = long(
        "metadata.log.max.record.bytes.between.snapshots", 20 << 20, at_least(1), importance=HIGH
    ).says("A snapshot of the metadata is taken once this many bytes of records lie beyond the last one.")

    metadata_log_max_snapshot_interval_ms = long(
        "metadata.log.max.snapshot.interval.ms", HOUR_MS, at_least(0), importance=HIGH
    ).says(
        "A snapshot of the metadata is taken at least this often while there are new records; 0 turns the clock off."
    )

    metadata_log_dir = string("metadata.log.dir", None, importance=HIGH).says(
        "Where the metadata log lives; where it is not set, in the first of log.dirs."
    )

    metadata_log_segment_bytes = integer(
        "metadata.log.segment.bytes", 1 << 30, at_least(8 << 20), importance=HIGH
    ).says("The size at which a segment of the metadata log is closed.")

    metadata_log_segment_ms = long("metadata.log.segment.ms", 7 * DAY_MS, importance=HIGH).says(
        "The age at which a segment of the metadata log is closed."
    )

    metadata_max_retention_bytes = long("metadata.max.retention.bytes", 100 << 20, importance=HIGH).says(
        "Old metadata segments and snapshots go once all of them together are larger than this; the newest "
        "snapshot stays."
    )

    metadata_max_retention_ms = long("metadata.max.retention.ms", 7 * DAY_MS, importance=HIGH).says(
        "Old metadata segments and snapshots go once they are older than this; the newest snapshot stays."
    )

    metadata_max_idle_interval_ms = integer("metadata.max.idle.interval.ms", 500, at_least(0), importance=LOW).says(
        "How often an idle active controller writes a record that says nothing, so that followers can tell time "
        "passes; 0 turns it off."
    )

    internal_metadata_log_segment_bytes = integer(
        "internal.metadata.log.segment.bytes", None, importance=LOW, internal=True
    ).says("A smaller segment size for the metadata log than metadata.log.segment.bytes allows; meant for tests.")

    internal_metadata_max_batch_size_in_bytes = integer(
        "internal.metadata.max.batch.size.in.bytes", 8 << 20, importance=LOW, internal=True
    ).says("The largest batch in the metadata log; meant for tests.")

    internal_metadata_delete_delay_millis = long(
        "internal.metadata.delete.delay.millis", 60_000, importance=LOW, internal=True
    ).says("How long deleted metadata files linger before they leave the disk; meant for tests.")

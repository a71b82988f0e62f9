"""Transactions and producers' ids."""

from __future__ import annotations

from ottla.config.checks import at_least
from ottla.config.keys import CLUSTER_WIDE, HIGH, LOW, KeySet, boolean, integer, short
from ottla.config.values import DAY_MS, HOUR_MS


class TransactionKeys(KeySet):
    """Transactions and producers' ids."""

    transaction_state_log_replication_factor = short(
        "transaction.state.log.replication.factor", 3, at_least(1), importance=HIGH
    ).says(
        "How many replicas the transaction topic gets; where it is not set, 3 or as many brokers as are alive, "
        "whichever is less."
    )

    transaction_state_log_min_isr = integer("transaction.state.log.min.isr", 2, at_least(1), importance=HIGH).says(
        "How many replicas of the transaction topic have to be in sync; where it is not set, 2 or as many "
        "replicas as it has, whichever is less."
    )

    transaction_state_log_num_partitions = integer(
        "transaction.state.log.num.partitions", 50, at_least(1), importance=HIGH
    ).says("How many partitions the transaction topic gets; it must not change later.")

    transaction_state_log_segment_bytes = integer(
        "transaction.state.log.segment.bytes", 100 << 20, at_least(1), importance=HIGH
    ).says("The segment size of the transaction topic.")

    transaction_state_log_load_buffer_size = integer(
        "transaction.state.log.load.buffer.size", 5 << 20, at_least(1), importance=HIGH
    ).says("How much is read at once while a coordinator loads its partition of the transaction topic.")

    transaction_max_timeout_ms = integer("transaction.max.timeout.ms", 900_000, at_least(1), importance=HIGH).says(
        "The longest timeout a producer may ask for its transactions."
    )

    transactional_id_expiration_ms = integer(
        "transactional.id.expiration.ms", 7 * DAY_MS, at_least(1), importance=HIGH
    ).says("A transactional id that nobody used for this long is forgotten.")

    transaction_abort_timed_out_transaction_cleanup_interval_ms = integer(
        "transaction.abort.timed.out.transaction.cleanup.interval.ms", 10_000, at_least(1), importance=LOW
    ).says("How often transactions are searched for those that ran out of time.")

    transaction_remove_expired_transaction_cleanup_interval_ms = integer(
        "transaction.remove.expired.transaction.cleanup.interval.ms", HOUR_MS, at_least(1), importance=LOW
    ).says("How often transactional ids are searched for expired ones.")

    transaction_partition_verification_enable = boolean(
        "transaction.partition.verification.enable", True, importance=LOW, update=CLUSTER_WIDE
    ).says(
        "Whether a partition asks the coordinator if a transaction is really open before it takes the first "
        "record of it (KIP-890)."
    )

    transaction_two_phase_commit_enable = boolean("transaction.two.phase.commit.enable", False, importance=LOW).says(
        "Whether producers may open transactions that an outside coordinator decides and that never time out (KIP-939)."
    )

    producer_id_expiration_ms = integer(
        "producer.id.expiration.ms", DAY_MS, at_least(1), importance=LOW, update=CLUSTER_WIDE
    ).says("How long a partition remembers a producer that has written nothing since.")

    producer_id_expiration_check_interval_ms = integer(
        "producer.id.expiration.check.interval.ms", 600_000, at_least(1), importance=LOW, internal=True
    ).says("How often partitions are searched for producers to forget.")

    add_partitions_to_txn_retry_backoff_ms = integer(
        "add.partitions.to.txn.retry.backoff.ms", 20, at_least(1), importance=HIGH
    ).says("How long a broker waits before it asks the transaction coordinator again.")

    add_partitions_to_txn_retry_backoff_max_ms = integer(
        "add.partitions.to.txn.retry.backoff.max.ms", 100, at_least(0), importance=HIGH
    ).says("How long a broker goes on asking the transaction coordinator again.")

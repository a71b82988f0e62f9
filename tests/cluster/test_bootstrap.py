"""What a new cluster starts from. test_against_kafka.py compares it with what Kafka's own tool writes."""

from __future__ import annotations

import pytest

from ottla.cluster import bootstrap
from ottla.cluster.features import VersionRange
from ottla.cluster.image import MetadataLoader
from ottla.cluster.image.snapshot_file import read_snapshot
from ottla.wire.stored.metadata_records import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
)

ELR = {"eligible.leader.replicas.version": VersionRange(0, 1)}


def levels(records: list[object]) -> dict[str, int]:
    return {r.name: r.feature_level for r in records if isinstance(r, FeatureLevelRecord)}


def test_a_feature_that_is_not_served_stays_at_0() -> None:
    served = {"group.version": VersionRange(0, 1), "transaction.version": VersionRange(0, 1)}
    assert levels(bootstrap.feature_records(served)) == {
        "metadata.version": 30,
        "group.version": 1,
        "transaction.version": 1,
    }


def test_an_older_metadata_version_has_the_features_of_its_time() -> None:
    assert levels(bootstrap.feature_records(ELR, 25)) == {"metadata.version": 25}


def test_the_checkpoint_holds_the_features_and_no_voters() -> None:
    records = bootstrap.feature_records(ELR)
    snapshot = read_snapshot(bootstrap.bootstrap_checkpoint(records, timestamp=9))
    assert snapshot.records == records
    assert (snapshot.kraft_version, snapshot.voters, snapshot.last_contained_log_timestamp) == (0, None, 0)


def test_the_first_snapshot_holds_the_one_voter_and_no_record() -> None:
    endpoints = [bootstrap.Endpoint("CONTROLLER", "::1", 9093)]
    data = bootstrap.standalone_snapshot(node_id=4, directory_id=bytes(range(16)), endpoints=endpoints, timestamp=9)
    snapshot = read_snapshot(data)
    assert (snapshot.kraft_version, snapshot.records, snapshot.last_contained_log_timestamp) == (1, [], 9)
    assert snapshot.voters is not None
    assert snapshot.voters.voters == [bootstrap.voter(4, bytes(range(16)), endpoints)]
    assert bootstrap.BOOTSTRAP_SNAPSHOT.file_name == "00000000000000000000-0000000000.checkpoint"


def test_an_empty_log_gets_the_bootstrap_records_in_one_transaction() -> None:
    features = bootstrap.feature_records(ELR)
    records = bootstrap.activation_records(features, metadata_version=0, in_transaction=False, min_insync_replicas=2)
    assert isinstance(records[0], BeginTransactionRecord)
    assert isinstance(records[-1], EndTransactionRecord)
    loader = MetadataLoader()
    loader.load(records, base_offset=1, last_offset=len(records), epoch=1, timestamp_ms=0)
    assert loader.image.feature_levels == {"metadata.version": 30, "eligible.leader.replicas.version": 1}
    assert loader.image.config_overrides(4, "") == {"min.insync.replicas": "2"}


def test_without_elr_no_config_is_fixed() -> None:
    records = bootstrap.activation_records(
        bootstrap.feature_records({}), metadata_version=0, in_transaction=False, min_insync_replicas=2
    )
    assert len(records) == 3


def test_a_log_of_before_transactions_gets_them_bare() -> None:
    features = bootstrap.feature_records({}, 11)
    records = bootstrap.activation_records(features, metadata_version=0, in_transaction=False, min_insync_replicas=1)
    assert records == features


@pytest.mark.parametrize(("in_transaction", "expected"), [(False, []), (True, [AbortTransactionRecord])])
def test_a_transaction_that_the_last_controller_left_open_is_aborted(
    in_transaction: bool, expected: list[type]
) -> None:
    records = bootstrap.activation_records(
        [], metadata_version=30, in_transaction=in_transaction, min_insync_replicas=1
    )
    assert [type(record) for record in records] == expected


def test_a_bootstrap_that_was_cut_off_is_aborted_and_begun_again() -> None:
    records = bootstrap.activation_records(
        bootstrap.feature_records({}), metadata_version=0, in_transaction=True, min_insync_replicas=1
    )
    kinds = [AbortTransactionRecord, BeginTransactionRecord, FeatureLevelRecord, EndTransactionRecord]
    assert [type(record) for record in records] == kinds


def test_levels_can_be_chosen_among_those_that_are_served() -> None:
    assert levels(bootstrap.feature_records(ELR, chosen={"eligible.leader.replicas.version": 0})) == {
        "metadata.version": 30
    }
    with pytest.raises(ValueError, match=r"group.version 1 is not served; it can be 0 to 0"):
        bootstrap.feature_records(ELR, chosen={"group.version": 1})
    with pytest.raises(ValueError, match=r"needs metadata.version 23 or higher"):
        bootstrap.feature_records(ELR, 22, {"eligible.leader.replicas.version": 1})


def test_several_voters_stand_in_the_order_of_their_ids() -> None:
    voters = [bootstrap.voter(id, bytes([id] * 16), [bootstrap.Endpoint("C", "h", id)]) for id in (3, 1, 2)]
    snapshot = read_snapshot(bootstrap.voters_snapshot(voters, timestamp=9))
    assert snapshot.voters is not None
    assert [one.voter_id for one in snapshot.voters.voters] == [1, 2, 3]

"""Records to images: every kind does what it says, and the image before stays as it was."""

from __future__ import annotations

import copy

import pytest

from ottla.cluster.image import EMPTY, MetadataDelta, MetadataImage
from ottla.cluster.metadata_log import RECORD_TYPES, MetadataLogError
from ottla.wire.schema import StoredRecord
from ottla.wire.stored import metadata_records as records
from tests.cluster.metadata_samples import metadata_log


def replayed(image: MetadataImage, *log: StoredRecord) -> MetadataImage:
    delta = MetadataDelta(image)
    for record in log:
        delta.replay(record)
    return delta.apply(image.offset + len(log), 1, 1)


def registration(epoch: int = 5) -> records.RegisterBrokerRecord:
    return records.RegisterBrokerRecord(
        broker_id=1, incarnation_id=bytes(16), broker_epoch=epoch, end_points=[], features=[], rack=None
    )


def test_every_kind_of_record_but_the_marks_of_transactions_is_replayed() -> None:
    log = [record for seed in range(20) for record in metadata_log(seed)]
    assert {type(record).type_id for record in log} == RECORD_TYPES.keys() - {23, 24, 25}
    with pytest.raises(MetadataLogError, match="BeginTransactionRecord"):
        MetadataDelta(EMPTY).replay(records.BeginTransactionRecord())


@pytest.mark.parametrize("seed", range(10))
def test_the_image_before_stays_as_it_was_whatever_comes_after(seed: int) -> None:
    log = metadata_log(seed, 80)
    image = replayed(EMPTY, *log[:40])
    before = copy.deepcopy(image)
    after = replayed(image, *log[40:])
    assert image == before
    assert replayed(EMPTY, *log) == after


def test_an_unchanged_part_is_shared() -> None:
    image = replayed(EMPTY, *metadata_log(4))
    after = replayed(image, records.NoOpRecord())
    assert all(getattr(after, part) is getattr(image, part) for part in ("topics", "brokers", "configs", "acls"))
    assert after.offset == image.offset + 1


def test_a_broker_comes_changes_and_goes() -> None:
    image = replayed(EMPTY, registration())
    assert image.brokers.by_id[1].fenced
    image = replayed(image, records.UnfenceBrokerRecord(id=1, epoch=5))
    assert not image.brokers.by_id[1].fenced
    image = replayed(image, records.FenceBrokerRecord(id=1, epoch=5))
    assert image.brokers.by_id[1].fenced
    assert replayed(image, records.UnregisterBrokerRecord(broker_id=1, broker_epoch=5)).brokers.by_id == {}


@pytest.mark.parametrize(
    "record",
    [
        records.UnfenceBrokerRecord(id=1, epoch=4),
        records.UnfenceBrokerRecord(id=2, epoch=5),
        records.UnregisterBrokerRecord(broker_id=1, broker_epoch=4),
        records.BrokerRegistrationChangeRecord(broker_id=2, broker_epoch=5),
        records.RemoveAccessControlEntryRecord(id=bytes(16)),
        records.RemoveUserScramCredentialRecord(name="a", mechanism=1),
    ],
)
def test_a_record_about_what_is_not_there_is_refused(record: StoredRecord) -> None:
    with pytest.raises(MetadataLogError):
        replayed(replayed(EMPTY, registration()), record)


def test_a_broker_that_went_in_the_same_delta_is_gone() -> None:
    gone = records.UnregisterBrokerRecord(broker_id=1, broker_epoch=5)
    with pytest.raises(MetadataLogError, match="not registered"):
        replayed(EMPTY, registration(), gone, records.FenceBrokerRecord(id=1, epoch=5))


def test_a_topics_configs_go_with_it() -> None:
    topic = records.TopicRecord(name="t", topic_id=b"t" * 16)
    config = records.ConfigRecord(resource_type=2, resource_name="t", name="k", value="v")
    removed = records.RemoveTopicRecord(topic_id=b"t" * 16)
    image = replayed(EMPTY, topic, config)
    assert image.configs
    assert replayed(image, removed).configs == {}
    assert replayed(EMPTY, topic, config, removed).configs == {}
    assert replayed(EMPTY, topic, removed).configs == {}


def test_a_feature_at_0_is_gone_and_the_quorums_own_is_not_kept() -> None:
    def level(name: str, level: int) -> records.FeatureLevelRecord:
        return records.FeatureLevelRecord(name=name, feature_level=level)

    image = replayed(EMPTY, level("group.version", 1), level("kraft.version", 1))
    assert image.feature_levels == {"group.version": 1}
    assert replayed(image, level("group.version", 0), level("share.version", 0)).feature_levels == {}


def test_the_last_value_of_a_resource_takes_the_resource_with_it() -> None:
    def config(value: str | None) -> records.ConfigRecord:
        return records.ConfigRecord(resource_type=2, resource_name="t", name="k", value=value)

    image = replayed(EMPTY, config("v"))
    assert replayed(image, config(None)).configs == {}
    assert replayed(EMPTY, config(None)).configs == {}


def test_the_last_quota_of_an_entity_takes_the_entity_with_it() -> None:
    def quota(remove: bool) -> records.ClientQuotaRecord:
        entity = [records.ClientQuotaRecord.EntityData(entity_type="user", entity_name=None)]
        return records.ClientQuotaRecord(entity=entity, key="k", value=1.0, remove=remove)

    image = replayed(EMPTY, quota(False))
    assert replayed(image, quota(True)).client_quotas == {}
    assert replayed(EMPTY, quota(True)).client_quotas == {}

"""What handlers ask an image."""

from __future__ import annotations

from ottla.cluster.image import ALL_BROKERS, EMPTY, ConfigResource, ConfigType, MetadataDelta, MetadataImage
from ottla.wire.stored.metadata_records import (
    ClientQuotaRecord,
    ConfigRecord,
    FeatureLevelRecord,
    ProducerIdsRecord,
)


def image_of(*records: object) -> MetadataImage:
    delta = MetadataDelta(EMPTY)
    for record in records:
        delta.replay(record)  # type: ignore[arg-type]
    return delta.apply(1, 1, 1)


def config(type: int, name: str, value: str, key: str = "k") -> ConfigRecord:
    return ConfigRecord(resource_type=type, resource_name=name, name=key, value=value)


def test_the_empty_image_answers_everything() -> None:
    assert (EMPTY.offset, EMPTY.metadata_version, EMPTY.elr_enabled, EMPTY.next_producer_id) == (-1, 0, False, 0)
    assert EMPTY.config_overrides(ConfigType.TOPIC, "t") == {}
    assert EMPTY.config_override(ConfigType.TOPIC, "t", "k") is None
    assert EMPTY.topic_config("t", "k", 1) is None
    assert EMPTY.quota_values((("user", "u"),)) == {}
    assert EMPTY.feature_levels == {}


def test_features_are_known_by_name() -> None:
    image = image_of(
        FeatureLevelRecord(name="metadata.version", feature_level=30),
        FeatureLevelRecord(name="eligible.leader.replicas.version", feature_level=1),
    )
    assert (image.metadata_version, image.elr_enabled) == (30, True)
    assert image.feature_levels == {"metadata.version": 30, "eligible.leader.replicas.version": 1}


def test_a_topics_config_is_its_own_else_the_nodes_else_that_of_all_brokers() -> None:
    everyone = config(*ALL_BROKERS, "1")
    node, topic = config(ConfigType.BROKER, "7", "2"), config(ConfigType.TOPIC, "t", "3")
    assert image_of(everyone).topic_config("t", "k", 7) == "1"
    assert image_of(everyone, node).topic_config("t", "k", 7) == "2"
    assert image_of(everyone, node).topic_config("t", "k", 8) == "1"
    assert image_of(everyone, node, topic).topic_config("t", "k", 7) == "3"
    assert image_of(topic).config_overrides(ConfigType.TOPIC, "t") == {"k": "3"}
    assert list(image_of(topic).configs) == [ConfigResource(ConfigType.TOPIC, "t")]


def test_quotas_are_known_by_entity() -> None:
    entity = [
        ClientQuotaRecord.EntityData(entity_type="user", entity_name="u"),
        ClientQuotaRecord.EntityData(entity_type="client-id", entity_name=None),
    ]
    image = image_of(ClientQuotaRecord(entity=entity, key="producer_byte_rate", value=5.0, remove=False))
    assert image.quota_values((("client-id", None), ("user", "u"))) == {"producer_byte_rate": 5.0}


def test_producer_ids_go_on_from_the_last_block() -> None:
    image = image_of(ProducerIdsRecord(broker_id=1, broker_epoch=1, next_producer_id=3000))
    assert image.next_producer_id == 3000

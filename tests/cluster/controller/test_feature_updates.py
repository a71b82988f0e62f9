"""UpdateFeatures: all of the updates or none."""

from __future__ import annotations

import pytest

from ottla.cluster.controller.feature_updates import SAFE_DOWNGRADE, UNSAFE_DOWNGRADE, UPGRADE, update_features
from ottla.cluster.controller.result import Result
from ottla.cluster.features import VersionRange
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.features import UpdateFeaturesRequest, UpdateFeaturesResponse
from ottla.wire.stored.metadata_records import ConfigRecord, FeatureLevelRecord, NoOpRecord, RegisterControllerRecord
from tests.cluster.controller.small_cluster import ELR, SUPPORTED, SmallCluster


def wish(feature: str, level: int, type: int = UPGRADE) -> UpdateFeaturesRequest.FeatureUpdateKey:
    return UpdateFeaturesRequest.FeatureUpdateKey(feature=feature, max_version_level=level, upgrade_type=type)


def update(
    cluster: SmallCluster,
    *wishes: UpdateFeaturesRequest.FeatureUpdateKey,
    version: int = 2,
    validate_only: bool = False,
    **options: object,
) -> Result[UpdateFeaturesResponse]:
    request = UpdateFeaturesRequest(feature_updates=list(wishes), validate_only=validate_only)
    return update_features(cluster.state, request, version, **options)  # type: ignore[arg-type]


def reason(result: Result[UpdateFeaturesResponse]) -> str:
    assert result.response.error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert result.records == []
    assert result.response.error_message is not None
    return result.response.error_message


def controller(controller_id: int, high: int) -> RegisterControllerRecord:
    feature = RegisterControllerRecord.ControllerFeature(
        name="group.version", min_supported_version=0, max_supported_version=high
    )
    other = RegisterControllerRecord.ControllerFeature(
        name="other.version", min_supported_version=0, max_supported_version=9
    )
    return RegisterControllerRecord(
        controller_id=controller_id,
        incarnation_id=bytes(16),
        zk_migration_ready=False,
        end_points=[],
        features=[other, feature],
    )


def test_features_go_up_and_with_the_right_word_down_again() -> None:
    cluster = SmallCluster(features={})
    result = update(cluster, wish("group.version", 1), wish("transaction.version", 2))
    assert (result.response.error_code, result.response.error_message, result.response.results) == (0, None, [])
    (older,) = update(cluster, wish("group.version", 1), version=1).response.results
    assert (older.feature, older.error_code, older.error_message) == ("group.version", 0, "NONE")
    cluster.do(result)
    assert cluster.state.image.feature_level("transaction.version") == 2
    assert "a downgrade was not asked for" in reason(update(cluster, wish("group.version", 0)))
    for type in (SAFE_DOWNGRADE, UNSAFE_DOWNGRADE):
        assert update(cluster, wish("group.version", 0, type)).response.error_code == 0
    assert "no downgrade" in reason(update(SmallCluster(features={}), wish("group.version", 1, SAFE_DOWNGRADE)))


def test_older_versions_of_the_request_are_answered_feature_by_feature() -> None:
    cluster = SmallCluster(features={})
    names = [r.feature for r in update(cluster, wish("group.version", 1), version=1).response.results]
    assert names == ["group.version"]
    cluster.do(update(cluster, wish("group.version", 1)))
    down = UpdateFeaturesRequest.FeatureUpdateKey(feature="group.version", max_version_level=0, allow_downgrade=True)
    assert update(cluster, down, version=0).response.error_code == 0
    assert "not asked for" in reason(update(cluster, wish("group.version", 0), version=0))


def test_one_update_that_fails_fails_them_all() -> None:
    result = update(SmallCluster(features={}), wish("group.version", 1), wish("share.version", 7))
    assert "share.version cannot be 7: this controller supports 0 to 1" in reason(result)


def test_to_validate_is_to_answer_and_to_write_nothing() -> None:
    result = update(SmallCluster(features={}), wish("group.version", 1), validate_only=True)
    assert (result.response.error_code, result.records) == (0, [])


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (wish("group.version", 1, 9), "there is no upgrade type 9"),
        (wish("group.version", -1), "levels begin at 0"),
        (wish("no.such.feature", 1), "this controller supports 0 to 0"),
        (wish("metadata.version", 31), "this controller supports 7 to 30"),
        (wish("metadata.version", 29, SAFE_DOWNGRADE), "going down from 30 could lose metadata"),
        (wish("kraft.version", 0, SAFE_DOWNGRADE), "it is at 1 and cannot go down"),
    ],
)
def test_what_cannot_be_is_refused(asked: UpdateFeaturesRequest.FeatureUpdateKey, why: str) -> None:
    assert why in reason(update(SmallCluster(features={}), asked))


def test_a_downgrade_that_loses_nothing_is_allowed() -> None:
    cluster = SmallCluster(features={}, metadata_version=29)
    cluster.do(update(cluster, wish("metadata.version", 26, SAFE_DOWNGRADE)))
    assert cluster.state.image.metadata_version == 26
    assert update(cluster, wish("metadata.version", 30)).records == [
        FeatureLevelRecord(name="metadata.version", feature_level=30)
    ]


def test_a_level_of_metadata_that_nobody_knows_is_refused() -> None:
    supported = SUPPORTED | {"metadata.version": VersionRange(1, 40)}
    cluster = SmallCluster(0, features={}).with_settings(supported_features=supported)
    assert "levels are 7 to 30" in reason(update(cluster, wish("metadata.version", 31)))


def test_a_feature_needs_what_it_builds_on() -> None:
    cluster = SmallCluster(features={}, metadata_version=22)
    assert "needs metadata.version 23" in reason(update(cluster, wish(ELR, 1)))
    both = update(cluster, wish("metadata.version", 23), wish(ELR, 1))
    assert both.response.error_code == 0


def test_every_broker_and_controller_has_to_support_a_level() -> None:
    cluster = SmallCluster(1, features={})
    features = [f for f in cluster.registration(2).features if f.name != "group.version"]
    cluster.start(2, features=features)
    assert "broker 2 supports 0 to 0" in reason(update(cluster, wish("group.version", 1)))

    cluster = SmallCluster(0, features={}).with_settings(quorum_node_ids=(100, 101))
    assert "controller 101 has not registered yet" in reason(update(cluster, wish("group.version", 1)))
    cluster.replay(controller(100, 0), controller(101, 0))
    assert "controller 101 supports 0 to 0" in reason(update(cluster, wish("group.version", 1)))
    assert "controller 101 supports 0 to 0" in reason(update(cluster, wish("share.version", 1)))
    cluster.replay(controller(101, 1))
    assert update(cluster, wish("group.version", 1)).response.error_code == 0


def test_before_controllers_registered_only_brokers_are_asked() -> None:
    cluster = SmallCluster(0, features={}, metadata_version=14).with_settings(quorum_node_ids=(100, 101))
    assert update(cluster, wish("group.version", 1)).response.error_code == 0


def test_turning_elr_on_fixes_min_isr_for_all_brokers() -> None:
    cluster = SmallCluster(features={}, min_insync_replicas=2)
    own = ConfigRecord(resource_type=4, resource_name="1", name="min.insync.replicas", value="3")
    other = ConfigRecord(resource_type=4, resource_name="2", name="k", value="3")
    cluster.replay(own, other)
    cluster.do(update(cluster, wish(ELR, 1)))
    assert cluster.state.image.elr_enabled
    assert cluster.state.image.config_overrides(4, "") == {"min.insync.replicas": "2"}
    assert cluster.state.image.config_overrides(4, "1") == {}
    assert cluster.state.image.config_overrides(4, "2") == {"k": "3"}
    cluster.do(update(cluster, wish(ELR, 0, SAFE_DOWNGRADE)))
    assert len(update(cluster, wish(ELR, 1)).records) == 1, "it is fixed already"


def test_kraft_version_is_for_the_quorum_to_write() -> None:
    cluster = SmallCluster(features={})
    assert update(cluster, wish("kraft.version", 1)).records == [], "it is there"
    cluster.state.kraft_version = 0
    assert "the quorum cannot change it" in reason(update(cluster, wish("kraft.version", 1)))
    asked: list[int] = []
    assert update(cluster, wish("kraft.version", 1), upgrade_kraft=asked.append).records == [NoOpRecord()]
    assert asked == [1]

    def refuse(level: int) -> None:
        raise KafkaError(ErrorCode.INVALID_UPDATE_VERSION, "not all voters are ready")

    assert "not all voters are ready" in reason(update(cluster, wish("kraft.version", 1), upgrade_kraft=refuse))

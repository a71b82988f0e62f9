"""UpdateFeatures (KIP-584): all of the updates or none.

A level is possible if this controller, every registered broker and every other controller supports it, and what it
builds on is there. Down goes only who says so, and metadata.version only where no record would lose content. Turning
ELR on fixes min.insync.replicas for all brokers, as a new cluster has it from the start (KIP-966). kraft.version is the
quorum's: it is checked here and written by the quorum.
"""

from __future__ import annotations

from collections.abc import Callable

from ottla.cluster.bootstrap import min_insync_replicas_record
from ottla.cluster.controller.draft import Draft
from ottla.cluster.controller.result import Result
from ottla.cluster.controller.state import MIN_INSYNC_REPLICAS, ControllerState
from ottla.cluster.features import (
    CONTROLLER_REGISTRATION_SINCE,
    DISABLED,
    ELIGIBLE_LEADER_REPLICAS_VERSION,
    KRAFT_VERSION,
    METADATA_VERSION,
    METADATA_VERSIONS,
    VersionRange,
    metadata_changed_between,
    reason_not_ready,
)
from ottla.cluster.image import ALL_BROKERS, ConfigType
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.features import UpdateFeaturesRequest, UpdateFeaturesResponse
from ottla.wire.stored.metadata_records import ConfigRecord, FeatureLevelRecord, NoOpRecord, RegisterControllerRecord

UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3

Update = UpdateFeaturesRequest.FeatureUpdateKey
# Raises KafkaError if the quorum cannot take that kraft.version; nothing is written yet.
KRaftUpgrade = Callable[[int], None]


def update_features(
    state: ControllerState, request: UpdateFeaturesRequest, version: int, *, upgrade_kraft: KRaftUpgrade | None = None
) -> Result[UpdateFeaturesResponse]:
    draft = Draft(state, bounded_for="UpdateFeatures")
    proposed = state.image.feature_levels | {
        update.feature: update.max_version_level for update in request.feature_updates
    }
    try:
        if proposed.get(ELIGIBLE_LEADER_REPLICAS_VERSION, 0) and not state.image.elr_enabled:
            _fix_min_insync_replicas(draft)
        for update in request.feature_updates:
            _update(draft, update, _upgrade_type(update, version), proposed, upgrade_kraft)
    except KafkaError as error:
        reason = f"no feature was updated: {error.message}"
        return Result(UpdateFeaturesResponse(error_code=error.code, error_message=reason), [])
    # From version 2 on, success needs no words (KIP-1022).
    done = [] if version > 1 else [_done(update) for update in request.feature_updates]
    result = Result(UpdateFeaturesResponse(error_message=None, results=done), draft.records)
    return result.without_records() if request.validate_only else result


def _done(update: Update) -> UpdateFeaturesResponse.UpdatableFeatureResult:
    # The text that Kafka has for no error.
    return UpdateFeaturesResponse.UpdatableFeatureResult(feature=update.feature, error_message="NONE")


def _upgrade_type(update: Update, version: int) -> int:
    if version == 0:
        return SAFE_DOWNGRADE if update.allow_downgrade else UPGRADE
    return update.upgrade_type


def _update(
    draft: Draft, update: Update, upgrade_type: int, proposed: dict[str, int], upgrade_kraft: KRaftUpgrade | None
) -> None:
    state, name, level = draft.state, update.feature, update.max_version_level
    current = state.kraft_version if name == KRAFT_VERSION else state.image.feature_level(name)
    if upgrade_type not in (UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE):
        raise _invalid(name, level, f"there is no upgrade type {upgrade_type}")
    reason = _reason_not_supported(state, name, level)
    if reason is not None:
        raise _invalid(name, level, reason)
    if level < current and upgrade_type == UPGRADE:
        raise _invalid(name, level, f"it is at {current}, and a downgrade was not asked for")
    if level > current and upgrade_type != UPGRADE:
        raise _invalid(name, level, f"it is at {current}, which is lower: no downgrade")
    if name == KRAFT_VERSION:
        _update_kraft_version(draft, level, current, upgrade_kraft)
        return
    if name == METADATA_VERSION:
        _check_metadata_version(level, current)
    else:
        reason = reason_not_ready(name, level, proposed)
        if reason is not None:
            raise _invalid(name, level, reason)
    draft.add(FeatureLevelRecord(name=name, feature_level=level))


def _check_metadata_version(level: int, current: int) -> None:
    if level not in METADATA_VERSIONS:
        raise _invalid(METADATA_VERSION, level, f"levels are {min(METADATA_VERSIONS)} to {max(METADATA_VERSIONS)}")
    if level < current and metadata_changed_between(current, level):
        raise _invalid(METADATA_VERSION, level, f"going down from {current} could lose metadata")


def _update_kraft_version(draft: Draft, level: int, current: int, upgrade_kraft: KRaftUpgrade | None) -> None:
    if level < current:
        raise _invalid(KRAFT_VERSION, level, f"it is at {current} and cannot go down")
    if level == current:
        return
    if upgrade_kraft is None:
        raise _invalid(KRAFT_VERSION, level, "the quorum cannot change it")
    upgrade_kraft(level)
    draft.add(NoOpRecord())  # so that the answer waits for what the quorum writes before it


def _reason_not_supported(state: ControllerState, name: str, level: int) -> str | None:
    if level < 0:
        return "levels begin at 0"
    local = state.settings.supported_features.get(name, DISABLED)
    if level not in local:
        return f"this controller supports {local}"
    for broker in state.image.brokers.by_id.values():
        if level not in broker.feature_range(name):
            return f"broker {broker.id} supports {broker.feature_range(name)}"
    if state.image.metadata_version < CONTROLLER_REGISTRATION_SINCE:
        return None
    for controller_id, controller in state.image.controllers.items():
        if controller_id != state.settings.node_id and level not in _range(controller, name):
            return f"controller {controller_id} supports {_range(controller, name)}"
    for voter in state.settings.quorum_node_ids:
        if voter != state.settings.node_id and voter not in state.image.controllers:
            return f"controller {voter} has not registered yet"
    return None


def _range(controller: RegisterControllerRecord, name: str) -> VersionRange:
    for feature in controller.features:
        if feature.name == name:
            return VersionRange(feature.min_supported_version, feature.max_supported_version)
    return DISABLED


def _fix_min_insync_replicas(draft: Draft) -> None:
    image = draft.state.image
    if image.config_override(*ALL_BROKERS, MIN_INSYNC_REPLICAS) is None:
        draft.add(min_insync_replicas_record(draft.state.settings.min_insync_replicas))
    for resource, configs in image.configs.items():
        if resource.type == ConfigType.BROKER and resource != ALL_BROKERS and MIN_INSYNC_REPLICAS in configs:
            draft.add(
                ConfigRecord(
                    resource_type=resource.type, resource_name=resource.name, name=MIN_INSYNC_REPLICAS, value=None
                )
            )


def _invalid(name: str, level: int, reason: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_UPDATE_VERSION, f"{name} cannot be {level}: {reason}")

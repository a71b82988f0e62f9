"""What is wrong with a ConsumerGroupHeartbeat whatever the group is like: looked at before any group is."""

from __future__ import annotations

from ottla.coordinators.consumer_group.member import JOINING_EPOCH, LEFT_EPOCH, LEFT_STATIC_EPOCH
from ottla.coordinators.consumer_group.surroundings import offered_assignors
from ottla.coordinators.settings import GroupSettings
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.consumer_groups import ConsumerGroupHeartbeatRequest

# From here on members make their ids themselves.
MEMBER_ID_VERSION_MIN = 1


def check_heartbeat(request: ConsumerGroupHeartbeatRequest, version: int, settings: GroupSettings) -> None:
    """KafkaError(INVALID_REQUEST or UNSUPPORTED_ASSIGNOR) if the request cannot be meant."""
    epoch = request.member_epoch
    if version >= MEMBER_ID_VERSION_MIN or epoch > 0 or epoch == LEFT_EPOCH:
        _not_blank("member id", request.member_id)
    _not_blank("group id", request.group_id)
    _not_blank("instance id", request.instance_id)
    _not_blank("rack id", request.rack_id)
    if epoch == JOINING_EPOCH:
        _check_join(request)
    elif epoch == LEFT_STATIC_EPOCH and request.instance_id is None:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST, "only a static member leaves with epoch -2: the instance id is missing"
        )
    elif epoch < LEFT_STATIC_EPOCH:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"{epoch} is no member epoch")
    if request.server_assignor is not None and request.server_assignor not in offered_assignors(settings):
        raise KafkaError(
            ErrorCode.UNSUPPORTED_ASSIGNOR,
            f"{request.server_assignor:.100} is not among the assignors: {', '.join(offered_assignors(settings))}",
        )


def _check_join(request: ConsumerGroupHeartbeatRequest) -> None:
    if request.rebalance_timeout_ms == -1:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "a member joins with its rebalance timeout")
    if request.topic_partitions is None or request.topic_partitions:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "a member joins without partitions: the list has to be empty")
    if request.subscribed_topic_names is None and request.subscribed_topic_regex is None:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "a member joins with its topic names or its regular expression")


def _not_blank(what: str, value: str | None) -> None:
    if value is not None and not value.strip():
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"the {what} is empty")

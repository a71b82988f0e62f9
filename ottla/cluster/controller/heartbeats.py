"""BrokerHeartbeat, and what follows from its absence.

A heartbeat says how far a broker has read and what it wishes: to be unfenced, fenced, or let go. It is unfenced once
it has read its own registration. It is let go at once if it leads nothing; else it is first taken out of every ISR,
leaders move, and it waits until every active broker has read about that (KIP-631). Whoever receives a heartbeat tells
`Sessions.contact` first.
"""

from __future__ import annotations

from enum import Enum

from ottla.cluster.controller import fail_over
from ottla.cluster.controller.draft import Draft
from ottla.cluster.controller.log_dirs import cordon
from ottla.cluster.controller.result import Result
from ottla.cluster.controller.state import ControllerState
from ottla.cluster.features import CORDONED_LOG_DIRS_SINCE, DIRECTORY_ASSIGNMENT_SINCE
from ottla.cluster.image import Broker
from ottla.wire.messages.controller import BrokerHeartbeatRequest, BrokerHeartbeatResponse


class BrokerState(Enum):
    """What a broker is told to be."""

    FENCED = "may not lead or be in an ISR"
    UNFENCED = "takes part"
    CONTROLLED_SHUTDOWN = "gives up what it leads"
    SHUTDOWN_NOW = "is fenced, and may go"


def heartbeat(state: ControllerState, request: BrokerHeartbeatRequest) -> Result[BrokerHeartbeatResponse]:
    broker = state.broker_at(request.broker_id, request.broker_epoch)
    current, following = _state_of(broker), _next_state(state, broker, request)
    draft = Draft(state)
    if following is not current:
        _enter(draft, broker, following)
    broker = draft.broker(broker.id) or broker
    metadata_version = state.image.metadata_version
    if metadata_version >= DIRECTORY_ASSIGNMENT_SINCE:
        fail_over.take_directories_offline(draft, broker, request.offline_log_dirs)
    if metadata_version >= CORDONED_LOG_DIRS_SINCE:
        cordon(draft, broker, request.cordoned_log_dirs)
    response = BrokerHeartbeatResponse(
        is_caught_up=_is_caught_up(state, request),
        is_fenced=following in (BrokerState.FENCED, BrokerState.SHUTDOWN_NOW),
        should_shut_down=following is BrokerState.SHUTDOWN_NOW,
    )
    return Result(response, draft.records, atomic=False)


def _state_of(broker: Broker) -> BrokerState:
    if broker.fenced:
        return BrokerState.FENCED
    return BrokerState.CONTROLLED_SHUTDOWN if broker.in_controlled_shutdown else BrokerState.UNFENCED


def _next_state(state: ControllerState, broker: Broker, request: BrokerHeartbeatRequest) -> BrokerState:
    current = _state_of(broker)
    if current is BrokerState.FENCED:
        if request.want_shut_down:
            return BrokerState.SHUTDOWN_NOW
        may_take_part = not request.want_fence and _is_caught_up(state, request)
        return BrokerState.UNFENCED if may_take_part else BrokerState.FENCED
    if current is BrokerState.UNFENCED:
        if request.want_fence:
            return BrokerState.SHUTDOWN_NOW if request.want_shut_down else BrokerState.FENCED
        if not request.want_shut_down:
            return BrokerState.UNFENCED
        return BrokerState.CONTROLLED_SHUTDOWN if state.index.leads(broker.id) else BrokerState.SHUTDOWN_NOW
    lowest = state.sessions.lowest_active_offset(state.image)
    have_all_read = lowest is None or lowest >= state.sessions.by_id[broker.id].controlled_shutdown_offset
    may_go = have_all_read and not state.index.leads(broker.id)
    return BrokerState.SHUTDOWN_NOW if may_go else BrokerState.CONTROLLED_SHUTDOWN


def _is_caught_up(state: ControllerState, request: BrokerHeartbeatRequest) -> bool:
    return request.current_metadata_offset >= state.sessions.by_id[request.broker_id].registration_offset


def _enter(draft: Draft, broker: Broker, following: BrokerState) -> None:
    if following is BrokerState.UNFENCED:
        fail_over.unfence(draft, broker)
    elif following is BrokerState.CONTROLLED_SHUTDOWN:
        fail_over.enter_controlled_shutdown(draft, broker)
    elif not broker.fenced:
        fail_over.fence(draft, broker)


def fence_stale_broker(state: ControllerState, now_ms: int) -> Result[int | None]:
    """Fence the broker that has been silent longest, if its session is over; one at a time, so that the next is
    judged by what this one left. The response is its id: call again after replaying, until it is None."""
    broker_id = state.sessions.first_stale(state.image, now_ms)
    if broker_id is None:
        return Result(None, [])
    return Result(broker_id, fence_broker(state, broker_id).records, atomic=False)


def fence_broker(state: ControllerState, broker_id: int) -> Result[None]:
    """For a broker that is known to be gone before its session ends."""
    draft = Draft(state)
    broker = state.image.brokers.by_id.get(broker_id)
    if broker is not None and not broker.fenced:
        fail_over.fence(draft, broker)
    return Result(None, draft.records, atomic=False)

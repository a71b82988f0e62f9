"""The quorum's own requests, handed to its core: votes, epochs, the metadata log and its snapshots, its voters.

DescribeQuorum (KIP-595), AddRaftVoter and RemoveRaftVoter (KIP-853) are for everybody: voters and observers and how far
each has come, as the leader knows, and who votes. A broker passes them on to the leader; a controller that is asked on
its own listener answers for itself, be it that it does not lead. The rest is spoken between controllers, and between
them and brokers. Versions: what differs between them is in the messages; the core knows which carry the nodes'
endpoints (KIP-853). The answer to a Fetch that waits for news stops its line, as everywhere.
"""

from __future__ import annotations

from typing import Any

from ottla.server.context import Context
from ottla.server.handlers.changes import change
from ottla.server.parking import Pending
from ottla.server.routes import Route, versions
from ottla.wire.errors import KafkaError
from ottla.wire.messages.fetch import FetchRequest, FetchResponse
from ottla.wire.messages.quorum import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
    UpdateRaftVoterRequest,
    UpdateRaftVoterResponse,
    VoteRequest,
    VoteResponse,
)
from ottla.wire.schema import Request

FIRST_FETCH = 4


def ask_quorum(context: Context, request: Request) -> Any:
    return context.broker.ask_quorum(request, context.version, context.listener_name)


def ask_leader(context: Context, request: DescribeQuorumRequest | RemoveRaftVoterRequest) -> Pending:
    return change(context, request)


def add_voter(context: Context, request: AddRaftVoterRequest) -> Pending:
    return change(context, request, timeout_ms=request.timeout_ms)


def describe_refused(request: DescribeQuorumRequest, error: KafkaError) -> DescribeQuorumResponse:
    return DescribeQuorumResponse(error_code=error.code, error_message=error.message, topics=[])


def fetch_refused(request: FetchRequest, error: KafkaError) -> FetchResponse:
    return FetchResponse(error_code=error.code, responses=[])


def vote_refused(request: VoteRequest, error: KafkaError) -> VoteResponse:
    return VoteResponse(error_code=error.code, topics=[])


def begin_refused(request: BeginQuorumEpochRequest, error: KafkaError) -> BeginQuorumEpochResponse:
    return BeginQuorumEpochResponse(error_code=error.code, topics=[])


def end_refused(request: EndQuorumEpochRequest, error: KafkaError) -> EndQuorumEpochResponse:
    return EndQuorumEpochResponse(error_code=error.code, topics=[])


def snapshot_refused(request: FetchSnapshotRequest, error: KafkaError) -> FetchSnapshotResponse:
    return FetchSnapshotResponse(error_code=error.code, topics=[])


def add_refused(request: AddRaftVoterRequest, error: KafkaError) -> AddRaftVoterResponse:
    return AddRaftVoterResponse(error_code=error.code, error_message=error.message)


def remove_refused(request: RemoveRaftVoterRequest, error: KafkaError) -> RemoveRaftVoterResponse:
    return RemoveRaftVoterResponse(error_code=error.code, error_message=error.message)


def update_refused(request: UpdateRaftVoterRequest, error: KafkaError) -> UpdateRaftVoterResponse:
    return UpdateRaftVoterResponse(error_code=error.code)


ROUTES = (
    Route(DescribeQuorumRequest, versions(0, 2), ask_leader, describe_refused),
    Route(AddRaftVoterRequest, versions(0, 1), add_voter, add_refused),
    Route(RemoveRaftVoterRequest, versions(0, 0), ask_leader, remove_refused),
)

CONTROLLER_ROUTES = (
    Route(DescribeQuorumRequest, versions(0, 2), ask_quorum, describe_refused),
    Route(FetchRequest, versions(FIRST_FETCH, 18), ask_quorum, fetch_refused),
    Route(VoteRequest, versions(0, 2), ask_quorum, vote_refused),
    Route(BeginQuorumEpochRequest, versions(0, 1), ask_quorum, begin_refused),
    Route(EndQuorumEpochRequest, versions(0, 1), ask_quorum, end_refused),
    Route(FetchSnapshotRequest, versions(0, 1), ask_quorum, snapshot_refused),
    Route(AddRaftVoterRequest, versions(0, 1), ask_quorum, add_refused),
    Route(RemoveRaftVoterRequest, versions(0, 0), ask_quorum, remove_refused),
    Route(UpdateRaftVoterRequest, versions(0, 0), ask_quorum, update_refused),
)

"""ElectLeaders (KIP-460), AlterPartitionReassignments and ListPartitionReassignments (KIP-455).

All three are the controller's: it elects, moves replicas and knows what is on the move. Not done: an election is
answered when it is committed, not when the new leader serves; clients ask again if they come too early.

ElectLeaders versions: 1 has unclean elections and an error for all of it; before, all elections are preferred ones.
AlterPartitionReassignments versions: 1 may forbid that the number of replicas changes (KIP-860).
"""

from __future__ import annotations

from typing import Any

from ottla.server.context import Context
from ottla.server.handlers.changes import change
from ottla.server.parking import Pending
from ottla.server.routes import Route, versions
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.partition_admin import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ElectLeadersRequest,
    ElectLeadersResponse,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)

FIRST_VERSION_WITH_ERROR = 1


def elect_leaders(context: Context, request: ElectLeadersRequest) -> Pending:
    return change(context, request, timeout_ms=request.timeout_ms)


def alter_reassignments(context: Context, request: AlterPartitionReassignmentsRequest) -> Pending:
    return change(context, request, timeout_ms=request.timeout_ms)


def list_reassignments(context: Context, request: ListPartitionReassignmentsRequest) -> Pending:
    return change(context, request)


class ElectionRefused:
    """The answer where all of it failed. Version 0 has no place for that, so that every partition says it there."""

    def __init__(self, request: ElectLeadersRequest, error: KafkaError) -> None:
        self._request = request
        self._error = error

    def pieces(self, version: int) -> list[Any]:
        error = self._error
        results = [
            ElectLeadersResponse.ReplicaElectionResult(
                topic=topic.topic,
                partition_result=[
                    ElectLeadersResponse.PartitionResult(
                        partition_id=index, error_code=error.code, error_message=error.message
                    )
                    for index in topic.partitions
                ],
            )
            for topic in self._request.topic_partitions or ()
        ]
        code = error.code if version >= FIRST_VERSION_WITH_ERROR else ErrorCode.NONE
        return ElectLeadersResponse(error_code=code, replica_election_results=results).pieces(version)


def alter_refused(
    request: AlterPartitionReassignmentsRequest, error: KafkaError
) -> AlterPartitionReassignmentsResponse:
    return AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=request.allow_replication_factor_change,
        error_code=error.code,
        error_message=error.message,
        responses=[],
    )


def list_refused(request: ListPartitionReassignmentsRequest, error: KafkaError) -> ListPartitionReassignmentsResponse:
    return ListPartitionReassignmentsResponse(error_code=error.code, error_message=error.message, topics=[])


ROUTES = (
    Route(ElectLeadersRequest, versions(0, 2), elect_leaders, ElectionRefused),
    Route(AlterPartitionReassignmentsRequest, versions(0, 1), alter_reassignments, alter_refused),
    Route(ListPartitionReassignmentsRequest, versions(0, 0), list_reassignments, list_refused),
)

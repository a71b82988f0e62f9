"""Which APIs were asked at which versions, rightly and wrongly, and which of those that must be were not."""

from __future__ import annotations

from collections.abc import Iterable

from compat_tests.scenarios.scenario import low_middle_high
from compat_tests.scenarios.stage import Asked
from ottla.server.handlers.every_route import ROUTES
from ottla.wire.messages.api_versions import ApiVersionsRequest
from ottla.wire.messages.classic_groups import FindCoordinatorRequest
from ottla.wire.messages.configs import ListConfigResourcesRequest
from ottla.wire.messages.controller import UnregisterBrokerRequest
from ottla.wire.messages.group_admin import DescribeGroupsRequest, ListGroupsRequest
from ottla.wire.messages.group_offsets import OffsetFetchRequest
from ottla.wire.messages.log_dirs import DescribeLogDirsRequest
from ottla.wire.messages.metadata import DescribeClusterRequest
from ottla.wire.messages.partition_admin import ListPartitionReassignmentsRequest
from ottla.wire.messages.quorum import AddRaftVoterRequest, RemoveRaftVoterRequest
from ottla.wire.messages.telemetry import GetTelemetrySubscriptionsRequest, PushTelemetryRequest
from ottla.wire.messages.transaction_admin import DescribeTransactionsRequest, ListTransactionsRequest
from ottla.wire.schema import Request

# What cannot be got wrong up to some version: nothing in the question can be wrong, or the answer has no place for it.
NEVER_WRONG: dict[type[Request], int] = {
    ApiVersionsRequest: 2,
    DescribeClusterRequest: 0,
    DescribeGroupsRequest: 5,
    DescribeLogDirsRequest: 5,
    FindCoordinatorRequest: 0,
    GetTelemetrySubscriptionsRequest: 0,
    ListConfigResourcesRequest: 0,
    ListGroupsRequest: 5,
    ListPartitionReassignmentsRequest: 0,
    ListTransactionsRequest: 2,
    OffsetFetchRequest: 7,
}
# What cannot be got right: transactions that nobody can have yet, a broker that would unregister itself, voters of a
# quorum that is to stay one.
NEVER_RIGHT: set[type[Request]] = {
    AddRaftVoterRequest,
    DescribeTransactionsRequest,
    PushTelemetryRequest,
    RemoveRaftVoterRequest,
    UnregisterBrokerRequest,
}


def lacking(asked: Iterable[Asked]) -> list[str]:
    """Every API at its lowest, its highest and a middle version, answered with and without an error."""
    seen = set(asked)
    missing = []
    for route in ROUTES:
        for version in low_middle_high(route.request):
            if (route.key, version, False) not in seen and route.request not in NEVER_RIGHT:
                missing.append(f"{route.request.__name__} v{version} was never asked rightly")
            if (route.key, version, True) not in seen and version > NEVER_WRONG.get(route.request, -1):
                missing.append(f"{route.request.__name__} v{version} was never asked wrongly")
    return missing

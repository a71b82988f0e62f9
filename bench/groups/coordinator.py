"""Waiting for a broker to coordinate groups: the topic is made when somebody first asks, and read before it counts."""

from __future__ import annotations

import time
from collections.abc import Iterable

from bench.groups.connections import SECONDS_MAX, TooSlow
from compat_tests.raw_requests import RawConnection
from ottla.wire.errors import ErrorCode
from ottla.wire.messages.classic_groups import FindCoordinatorRequest, FindCoordinatorResponse
from ottla.wire.messages.group_admin import DescribeGroupsRequest, DescribeGroupsResponse

FIND_VERSION, DESCRIBE_VERSION = 4, 5
NOT_YET = {
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
}
PAUSE_SECONDS = 0.05


def wait_for_coordinator(address: tuple[str, int], group_ids: Iterable[str]) -> None:
    """Return when the broker knows what became of each of these groups."""
    ids = list(group_ids)
    deadline = time.monotonic() + SECONDS_MAX
    with RawConnection(*address) as connection:
        while not _is_found(connection, ids[0]) or not _are_known(connection, ids):
            if time.monotonic() > deadline:
                raise TooSlow("nobody coordinates groups")
            time.sleep(PAUSE_SECONDS)


def _is_found(connection: RawConnection, group_id: str) -> bool:
    request = FindCoordinatorRequest(key_type=0, coordinator_keys=[group_id])
    found = connection.send(request, FindCoordinatorResponse, FIND_VERSION)
    return found.coordinators[0].error_code == ErrorCode.NONE


def _are_known(connection: RawConnection, group_ids: list[str]) -> bool:
    described = connection.send(DescribeGroupsRequest(groups=group_ids), DescribeGroupsResponse, DESCRIBE_VERSION)
    return not any(group.error_code in NOT_YET for group in described.groups)

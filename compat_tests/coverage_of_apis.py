"""Which APIs were asked at which versions, rightly and wrongly, and which of those that must be were not."""

from __future__ import annotations

from collections.abc import Iterable

from compat_tests.scenarios.scenario import low_middle_high
from compat_tests.scenarios.stage import Asked
from ottla.server.handlers.every_route import ROUTES
from ottla.wire.messages.log_dirs import DescribeLogDirsRequest
from ottla.wire.messages.telemetry import GetTelemetrySubscriptionsRequest, PushTelemetryRequest
from ottla.wire.messages.transaction_admin import DescribeTransactionsRequest, ListTransactionsRequest
from ottla.wire.schema import Request

# What cannot be got wrong, or right: a question without a wrong form, transactions that nobody can have yet.
NEVER_WRONG: set[type[Request]] = {DescribeLogDirsRequest, ListTransactionsRequest, GetTelemetrySubscriptionsRequest}
NEVER_RIGHT: set[type[Request]] = {DescribeTransactionsRequest, PushTelemetryRequest}


def lacking(asked: Iterable[Asked]) -> list[str]:
    """Every API at its lowest, its highest and a middle version, answered with and without an error."""
    seen = set(asked)
    missing = []
    for route in ROUTES:
        for version in low_middle_high(route.request):
            if (route.key, version, False) not in seen and route.request not in NEVER_RIGHT:
                missing.append(f"{route.request.__name__} v{version} was never asked rightly")
            if (route.key, version, True) not in seen and route.request not in NEVER_WRONG:
                missing.append(f"{route.request.__name__} v{version} was never asked wrongly")
    return missing

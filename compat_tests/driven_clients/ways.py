"""Which tests run for which clients. What a client cannot do is no skipped test, but no test."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from compat_tests.driven_clients.driver import CONSUMER, EAGER
from compat_tests.driven_clients.programs import CLIENTS, Client


def ways(
    *protocols: str, can: Callable[[Client], bool] = lambda client: True, is_described: bool = False
) -> pytest.MarkDecorator:
    """Run a test for each client and each of these protocols that it speaks; the test takes `client` and `protocol`.

    `is_described`: the test has the client describe its group.
    """
    found = [
        pytest.param(client, protocol, id=f"{client.name}-{protocol}")
        for client in CLIENTS
        if can(client)
        for protocol in protocols
        if protocol in client.protocols
        and not (is_described and protocol == CONSUMER and not client.describes_new_groups)
    ]
    return pytest.mark.parametrize(("client", "protocol"), found, indirect=True)


def either_way(
    can: Callable[[Client], bool] = lambda client: True, *, is_described: bool = False
) -> pytest.MarkDecorator:
    """Once by the classic protocol, and once more by the new one."""
    return ways(EAGER, CONSUMER, can=can, is_described=is_described)


def clients(can: Callable[[Client], bool]) -> pytest.MarkDecorator:
    """Run a test that is not about groups for each of these clients."""
    found = [client for client in CLIENTS if not client.is_for_groups_only and can(client)]
    return pytest.mark.parametrize("client", found, ids=lambda client: client.name, indirect=True)


def with_codecs(*codecs: str) -> pytest.MarkDecorator:
    """Run a test for each client and each of these codecs that it has; the test takes `client` and `codec`."""
    found = [
        pytest.param(client, codec, id=f"{client.name}-{codec}")
        for client in CLIENTS
        if not client.is_for_groups_only
        for codec in codecs
        if codec in client.codecs
    ]
    return pytest.mark.parametrize(("client", "codec"), found, indirect=["client"])

"""Every route that a node serves: those of the families, added up here and nowhere else.

Importing this loads all handlers, and the coordinators with them. A node does so when it has begun to serve: see
`server/later.py`.
"""

from __future__ import annotations

from ottla.server.handlers import (
    alter_configs,
    api_versions,
    consumer_groups,
    controller_requests,
    delete_records,
    describe_cluster,
    describe_configs,
    describe_topics,
    features,
    fetch,
    find_coordinator,
    group_admin,
    group_offsets,
    groups,
    leaders,
    log_dirs,
    metadata,
    offsets,
    produce,
    producers,
    quorum,
    telemetry,
    topics,
    transactions,
)
from ottla.server.routes import Route

ROUTES: tuple[Route, ...] = (
    *produce.ROUTES,
    *fetch.ROUTES,
    *offsets.ROUTES,
    *metadata.ROUTES,
    *api_versions.ROUTES,
    *topics.ROUTES,
    *delete_records.ROUTES,
    *producers.ROUTES,
    *describe_configs.ROUTES,
    *alter_configs.ROUTES,
    *log_dirs.ROUTES,
    *leaders.ROUTES,
    *quorum.ROUTES,
    *features.ROUTES,
    *describe_cluster.ROUTES,
    *transactions.ROUTES,
    *telemetry.ROUTES,
    *find_coordinator.ROUTES,
    *groups.ROUTES,
    *group_offsets.ROUTES,
    *group_admin.ROUTES,
    *consumer_groups.ROUTES,
    *describe_topics.ROUTES,
    *controller_requests.ROUTES,
)

# Served on controllers' listeners alone, where they go before others of their key.
CONTROLLER_ROUTES: tuple[Route, ...] = (*quorum.CONTROLLER_ROUTES, *controller_requests.CONTROLLER_ROUTES)

"""What a node loads when it has begun to serve: what no first answer needs, and a start need not wait for.

Most handlers, and the coordinators behind them, take as long to import as all the rest of Ottla. They are imported
between two turns of the loop, a few milliseconds' worth at a time; whoever asks for one of them before has it at once,
and waits for it.
"""

from __future__ import annotations

from importlib import import_module

import trio

# In an order in which each finds most of what it imports; the last one imports all that is not named.
MODULES = (
    "ottla.server.handlers.api_versions",
    "ottla.server.handlers.produce",
    "ottla.server.handlers.fetch",
    "ottla.server.handlers.offsets",
    "ottla.server.handlers.producers",
    "ottla.server.handlers.topics",
    "ottla.server.handlers.describe_configs",
    "ottla.server.handlers.alter_configs",
    "ottla.coordinators.contract",
    "ottla.coordinators.settings",
    "ottla.coordinators.offset_store",
    "ottla.coordinators.classic.group",
    "ottla.coordinators.assignors.uniform",
    "ottla.coordinators.consumer_group.member",
    "ottla.coordinators.consumer_group.group",
    "ottla.coordinators.consumer_group.records",
    "ottla.coordinators.consumer_group.heartbeat",
    "ottla.coordinators.shard",
    "ottla.server.coordinating",
    "ottla.server.handlers.groups",
    "ottla.server.handlers.every_route",
)
# Who waited for the node to start is served first; then others get so much time between two modules.
PATIENCE_SECONDS = 0.05
PAUSE_SECONDS = 0.001


async def load_slowly() -> None:
    await trio.sleep(PATIENCE_SECONDS)
    for name in MODULES:
        await trio.sleep(PAUSE_SECONDS)
        import_module(name)

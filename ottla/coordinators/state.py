"""All that the parts of one shard share: groups, offsets, timers, settings, topics.

`groups` and `offsets` are changed by replay; what each protocol keeps in memory only is its own affair.
"""

from __future__ import annotations

from collections.abc import Callable

from ottla.coordinators.group import Group
from ottla.coordinators.offset_store import OffsetStore
from ottla.coordinators.settings import GroupSettings
from ottla.coordinators.timers import Timers
from ottla.coordinators.topics_view import TopicsView


class ShardState:
    """`new_uuid` gives a random UUID as text: luck comes from outside."""

    def __init__(self, settings: GroupSettings, topics: TopicsView, new_uuid: Callable[[], str]) -> None:
        self.settings = settings
        self.topics = topics
        self.new_uuid = new_uuid
        self.timers = Timers()
        self.groups: dict[str, Group] = {}
        self.offsets = OffsetStore()

    def forget_timers(self, group: Group) -> None:
        for key in group.timer_keys():
            self.timers.cancel(key)

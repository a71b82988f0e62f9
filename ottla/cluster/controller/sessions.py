"""When each broker was last heard of, and how far it had read the metadata log: what no record holds.

The only state here that does not come from the log. A new controller begins with a whole session for everyone; it
cannot know who was silent before. A broker may lie about its offset and harms only itself.
"""

from __future__ import annotations

from dataclasses import dataclass

from ottla.cluster.image import Change, MetadataImage


@dataclass(slots=True)
class BrokerSession:
    """Of one incarnation. `controlled_shutdown_offset` is -1 until the broker is shutting down.

    `registration_offset` is that of the last record that registered it: what a broker has to have read to be unfenced.
    """

    epoch: int
    registration_offset: int
    last_contact_ms: int
    metadata_offset: int = -1
    controlled_shutdown_offset: int = -1


class Sessions:
    def __init__(self, image: MetadataImage, *, timeout_ms: int, now_ms: int) -> None:
        self.timeout_ms = timeout_ms
        self.by_id = {
            broker.id: BrokerSession(
                broker.epoch,
                image.offset,
                now_ms,
                controlled_shutdown_offset=image.offset if broker.in_controlled_shutdown else -1,
            )
            for broker in image.brokers.by_id.values()
        }

    def contact(self, broker_id: int, epoch: int, metadata_offset: int, now_ms: int) -> None:
        """A heartbeat came in. Called before it waits for its turn, or a busy controller would fence its brokers."""
        session = self.by_id.get(broker_id)
        if session is not None and session.epoch == epoch:
            session.last_contact_ms = now_ms
            session.metadata_offset = metadata_offset

    def is_live(self, broker_id: int, now_ms: int) -> bool:
        session = self.by_id.get(broker_id)
        return session is not None and now_ms <= session.last_contact_ms + self.timeout_ms

    def first_stale(self, image: MetadataImage, now_ms: int) -> int | None:
        """The unfenced broker that has been silent longest, if that is too long."""
        unfenced = self._unfenced(image)
        if not unfenced:
            return None
        broker_id = min(unfenced, key=lambda id: self.by_id[id].last_contact_ms)
        return None if self.is_live(broker_id, now_ms) else broker_id

    def next_stale_ms(self, image: MetadataImage) -> int | None:
        """When to look again, if nobody is heard of until then."""
        contacts = [self.by_id[id].last_contact_ms for id in self._unfenced(image)]
        return min(contacts) + self.timeout_ms + 1 if contacts else None

    def lowest_active_offset(self, image: MetadataImage) -> int | None:
        """How far every active broker has read; None if there is none."""
        active = [id for id, broker in image.brokers.by_id.items() if broker.is_active]
        return min((self.by_id[id].metadata_offset for id in active), default=None)

    def replayed(self, change: Change, now_ms: int) -> None:
        """Move along with registrations that changed."""
        before = change.delta.image.brokers.by_id
        for broker_id in change.delta.changed_brokers:
            broker, old = change.image.brokers.by_id.get(broker_id), before.get(broker_id)
            if broker is None:
                self.by_id.pop(broker_id, None)
                continue
            session = self.by_id.get(broker_id)
            if session is None or session.epoch != broker.epoch:
                self.by_id[broker_id] = BrokerSession(broker.epoch, change.image.offset, now_ms)
            elif old is None or old.listeners is not broker.listeners:  # the same incarnation registered again
                session.registration_offset = change.image.offset
            self._follow_shutdown(broker_id, broker.in_controlled_shutdown and not broker.fenced, change.image.offset)

    def _follow_shutdown(self, broker_id: int, is_shutting_down: bool, offset: int) -> None:
        session = self.by_id[broker_id]
        if not is_shutting_down:
            session.controlled_shutdown_offset = -1
        elif session.controlled_shutdown_offset < 0:
            session.controlled_shutdown_offset = offset

    def _unfenced(self, image: MetadataImage) -> list[int]:
        return [id for id, broker in image.brokers.by_id.items() if not broker.fenced]

"""Fetch sessions (KIP-227): what a client asked for is remembered, so that it need only say, and be told, what changed.

No clock, no sockets. A session holds the partitions in the order in which they are to be served; a partition that had
data goes to the end, so that a busy one does not starve the others. Slots are bounded: a new session takes the place
of one that is stale, or of a smaller one that has been there long enough (failure class 20). So are the partitions of
all sessions together. A client that gets no slot is answered in full each time, which every client understands.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from typing import NamedTuple

from ottla.server.metrics import TopicTraffic
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.fetch import FetchRequest, FetchResponse

NO_SESSION = 0
INITIAL_EPOCH = 0
FINAL_EPOCH = -1
EPOCH_MAX = ID_MAX = 2**31 - 1
UNKNOWN = -1
# A session remembers whatever its client asks for, be it there or not: a few hundred bytes a partition.
PARTITIONS_MAX = 200_000

PartitionKey = tuple[bytes | str, int]


class Wanted:
    """A partition that a client reads, and what it was told of it last."""

    __slots__ = ("asked", "sent_high_watermark", "sent_log_start_offset", "topic", "topic_id", "traffic")

    def __init__(self, topic: str, topic_id: bytes, asked: FetchRequest.FetchPartition) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.asked = asked
        self.sent_high_watermark = UNKNOWN
        self.sent_log_start_offset = UNKNOWN
        # Where what is read is counted; None while the partition is not led here.
        self.traffic: TopicTraffic | None = None

    def news(self, answer: FetchResponse.PartitionData) -> bool:
        """Whether an answer says anything that the client does not know; what it says is remembered."""
        is_new = (
            bool(answer.records)
            or answer.error_code != ErrorCode.NONE
            or answer.high_watermark != self.sent_high_watermark
            or answer.log_start_offset != self.sent_log_start_offset
            or answer.preferred_read_replica != UNKNOWN
            or answer.diverging_epoch.end_offset != UNKNOWN
        )
        self.sent_high_watermark = answer.high_watermark
        self.sent_log_start_offset = answer.log_start_offset
        if answer.error_code != ErrorCode.NONE:
            self.sent_high_watermark = UNKNOWN  # once the error is gone, that is news
        return is_new


class Session:
    __slots__ = ("created_ms", "epoch", "is_privileged", "session_id", "used_ms", "uses_ids", "wanted")

    def __init__(self, session_id: int, *, uses_ids: bool, is_privileged: bool, now_ms: int) -> None:
        self.session_id = session_id
        self.uses_ids = uses_ids
        self.is_privileged = is_privileged
        self.created_ms = self.used_ms = now_ms
        self.epoch = 1
        self.wanted: dict[PartitionKey, Wanted] = {}

    def update(self, request: FetchRequest) -> None:
        """Take in what an incremental request adds, changes and forgets."""
        for topic in request.topics:
            for asked in topic.partitions:
                key = self.key(topic.topic, topic.topic_id, asked.partition)
                known = self.wanted.get(key)
                if known is None:
                    self.wanted[key] = Wanted(topic.topic, topic.topic_id, asked)
                else:
                    known.asked = asked
        for forgotten in request.forgotten_topics_data:
            for index in forgotten.partitions:
                self.wanted.pop(self.key(forgotten.topic, forgotten.topic_id, index), None)

    def only(self, topic_id: bytes, index: int) -> Wanted | None:
        """This partition, if it is all that the client reads."""
        return self.wanted.get((topic_id, index)) if len(self.wanted) == 1 else None

    @property
    def rank(self) -> tuple[bool, int]:
        """What gives a session the right to its slot."""
        return self.is_privileged, len(self.wanted)

    def key(self, topic: str, topic_id: bytes, index: int) -> PartitionKey:
        return (topic_id if self.uses_ids else topic, index)

    def served(self, wanted: Iterable[Wanted]) -> None:
        """These had data: they go to the end of the line."""
        for one in wanted:
            key = self.key(one.topic, one.topic_id, one.asked.partition)
            if self.wanted.pop(key, None) is not None:
                self.wanted[key] = one

    def next_epoch(self) -> None:
        self.epoch = 1 if self.epoch == EPOCH_MAX else self.epoch + 1


class Fetch(NamedTuple):
    """What a request comes to: the partitions to read, and the session that it belongs to, if any."""

    wanted: list[Wanted]
    session: Session | None
    is_incremental: bool

    @property
    def session_id(self) -> int:
        return NO_SESSION if self.session is None else self.session.session_id


def random_id() -> int:
    return secrets.randbelow(ID_MAX) + 1


class FetchSessions:
    """The sessions of a broker, least recently used first.

    Ids are drawn by lot, so that after a restart a client does not find somebody else's session under its old id.
    """

    def __init__(
        self,
        slots_max: int,
        eviction_ms: int,
        *,
        partitions_max: int = PARTITIONS_MAX,
        new_id: Callable[[], int] = random_id,
    ) -> None:
        self.slots_max = slots_max
        self.eviction_ms = eviction_ms
        self.partitions_max = partitions_max
        self.partition_count = 0
        self._sessions: dict[int, Session] = {}
        self._new_id = new_id

    def __len__(self) -> int:
        return len(self._sessions)

    def open(self, request: FetchRequest, *, uses_ids: bool, is_follower: bool, now_ms: int) -> Fetch:
        """Find, make or close the session of a request. KafkaError: the client must begin a new one."""
        if request.session_epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            self._close(request.session_id)
            session = Session(NO_SESSION, uses_ids=uses_ids, is_privileged=is_follower, now_ms=now_ms)
            session.update(request)
            wanted = list(session.wanted.values())
            has_slot = request.session_epoch == INITIAL_EPOCH and self._begin(session, now_ms)
            return Fetch(wanted, session if has_slot else None, is_incremental=False)
        session = self._find(request, uses_ids=uses_ids)
        self.partition_count -= len(session.wanted)
        session.update(request)
        self.partition_count += len(session.wanted)
        if self.partition_count > self.partitions_max:
            self._close(session.session_id)
            raise KafkaError(ErrorCode.FETCH_SESSION_ID_NOT_FOUND, "the sessions remember as much as they may")
        if not session.wanted:
            self._close(session.session_id)
            return Fetch([], None, is_incremental=False)
        self.go_on(session, now_ms)
        return Fetch(list(session.wanted.values()), session, is_incremental=True)

    def usual(self, session_id: int, epoch: int) -> Session | None:
        """A consumer's session that is at this epoch and knows topics by their ids."""
        session = self._sessions.get(session_id)
        if session is None or session.epoch != epoch or not session.uses_ids or session.is_privileged:
            return None
        return session

    def go_on(self, session: Session, now_ms: int) -> None:
        """A request of this session is served."""
        session.used_ms = now_ms
        self._sessions[session.session_id] = self._sessions.pop(session.session_id)
        session.next_epoch()

    def _find(self, request: FetchRequest, *, uses_ids: bool) -> Session:
        session = self._sessions.get(request.session_id)
        if session is None:
            raise KafkaError(ErrorCode.FETCH_SESSION_ID_NOT_FOUND, f"fetch session {request.session_id}")
        if session.epoch != request.session_epoch:
            reason = f"fetch session {request.session_id} is at epoch {session.epoch}, not {request.session_epoch}"
            raise KafkaError(ErrorCode.INVALID_FETCH_SESSION_EPOCH, reason)
        if session.uses_ids != uses_ids:
            reason = f"fetch session {request.session_id} began {'with' if session.uses_ids else 'without'} topic ids"
            raise KafkaError(ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR, reason)
        return session

    def _begin(self, session: Session, now_ms: int) -> bool:
        """Give a session a slot and an id, if there is one to be had."""
        if self.partition_count + len(session.wanted) > self.partitions_max:
            return False
        if len(self._sessions) >= self.slots_max and not self._evict(session, now_ms):
            return False
        while session.session_id == NO_SESSION or session.session_id in self._sessions:
            session.session_id = self._new_id()
        self._sessions[session.session_id] = session
        self.partition_count += len(session.wanted)
        return True

    def _close(self, session_id: int) -> None:
        session = self._sessions.pop(session_id, None)
        if session is not None:
            self.partition_count -= len(session.wanted)

    def _evict(self, newcomer: Session, now_ms: int) -> bool:
        """Make room; False if every other session has the better right.

        A stale one goes first. Then followers may push out any client, and otherwise whoever reads more partitions may
        push out the one that reads the fewest, of those that have had a slot for long enough.
        """
        oldest = next(iter(self._sessions.values()), None)
        if oldest is not None and now_ms - oldest.used_ms > self.eviction_ms:
            self._close(oldest.session_id)
            return True
        weakest = min(
            (one for one in self._sessions.values() if self._may_push_out(newcomer, one, now_ms)),
            key=lambda one: one.rank,
            default=None,
        )
        if weakest is None or weakest.rank >= newcomer.rank:
            return False
        self._close(weakest.session_id)
        return True

    def _may_push_out(self, newcomer: Session, session: Session, now_ms: int) -> bool:
        is_above = newcomer.is_privileged and not session.is_privileged
        return is_above or now_ms - session.created_ms > self.eviction_ms

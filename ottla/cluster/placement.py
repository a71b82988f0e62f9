"""Where replicas go: striped over brokers and racks, as Kafka's striped placer does.

Three wishes, in this order: a leader on an unfenced broker and leaders spread evenly; the replicas of a partition on
different racks; no rack favoured over another. Lists of brokers and of racks start at a random place and rotate by one
with each partition, so that partition n + 1 leads where n did not; after every unfenced broker had its turn the lists
are shuffled, or else the same brokers would always follow each other. Randomness comes from the caller.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, Protocol

from ottla.wire.errors import ErrorCode, KafkaError


class Randomness(Protocol):
    """What random.Random offers and this layer may use."""

    def randrange(self, stop: int, /) -> int: ...
    def shuffle(self, items: list[Any], /) -> None: ...
    def randbytes(self, count: int, /) -> bytes: ...


class UsableBroker(NamedTuple):
    """A broker that may get replicas. A fenced one may follow, and may not be the first."""

    id: int
    rack: str | None
    fenced: bool


class _Ring:
    """Brokers in a circle. Each turn starts one further on and gives every broker once."""

    def __init__(self, brokers: list[int], random: Randomness) -> None:
        self.brokers = sorted(brokers)
        self._start = random.randrange(len(brokers)) if brokers else 0
        self._given = 0
        self._turn = 0  # only ever rises: a ring that sat a turn out must not take the next for the same

    def next(self, turn: int) -> int | None:
        if not self.brokers:
            return None
        if turn != self._turn:
            self._turn, self._given = turn, 0
            self._start = (self._start + 1) % len(self.brokers)
        if self._given == len(self.brokers):
            return None
        broker = self.brokers[(self._start + self._given) % len(self.brokers)]
        self._given += 1
        return broker


class _Rack:
    def __init__(self, brokers: list[UsableBroker], random: Randomness) -> None:
        self.fenced = _Ring([broker.id for broker in brokers if broker.fenced], random)
        self.unfenced = _Ring([broker.id for broker in brokers if not broker.fenced], random)

    def next(self, turn: int) -> int | None:
        broker = self.unfenced.next(turn)
        return self.fenced.next(turn) if broker is None else broker

    def shuffle(self, random: Randomness) -> None:
        random.shuffle(self.fenced.brokers)
        random.shuffle(self.unfenced.brokers)


class StripedPlacer:
    """Places the partitions of one topic, one after the other."""

    def __init__(self, brokers: Iterable[UsableBroker], random: Randomness) -> None:
        self._random = random
        by_rack: dict[str, list[UsableBroker]] = {}
        count = 0
        for broker in brokers:
            # Brokers without a rack are a rack of their own, in front of all names.
            by_rack.setdefault("" if broker.rack is None else "/" + broker.rack, []).append(broker)
            count += 1
        self._racks = [_Rack(by_rack[name], random) for name in sorted(by_rack)]
        self._broker_count = count
        self._unfenced_count = sum(len(rack.unfenced.brokers) for rack in self._racks)
        self._turn = 0
        self._turns_to_shuffle = self._unfenced_count
        self._first_rack = random.randrange(len(self._racks)) if self._racks else 0

    def check(self, replication_factor: int) -> None:
        """INVALID_REPLICATION_FACTOR where the brokers cannot hold so many replicas."""
        if replication_factor < 1:
            raise _impossible(f"the replication factor is {replication_factor}")
        if self._unfenced_count == 0:
            raise _impossible("no broker is unfenced")
        if replication_factor > self._broker_count:
            raise _impossible(f"a replication factor of {replication_factor} with {self._broker_count} brokers")

    def place(self, replication_factor: int) -> list[int]:
        """The replicas of the next partition, leader first."""
        self.check(replication_factor)
        if self._turns_to_shuffle == 0:
            self._shuffle()
            self._turns_to_shuffle = self._unfenced_count
        self._first_rack %= len(self._racks)
        leader, leader_rack = self._place_leader()
        replicas = [leader]
        rack = self._first_rack
        skip = leader_rack
        while len(replicas) < replication_factor:
            # The leader's rack is passed over once: then every rack has had one replica.
            if rack == skip:
                skip = None
            elif (broker := self._racks[rack].next(self._turn)) is not None:
                replicas.append(broker)
            rack = (rack + 1) % len(self._racks)
        self._turn += 1
        self._turns_to_shuffle -= 1
        self._first_rack += 1
        return replicas

    def _place_leader(self) -> tuple[int, int | None]:
        rack = self._first_rack
        while (leader := self._racks[rack].unfenced.next(self._turn)) is None:
            rack = (rack + 1) % len(self._racks)
        return leader, rack

    def _shuffle(self) -> None:
        self._random.shuffle(self._racks)
        for rack in self._racks:
            rack.shuffle(self._random)


def place(
    brokers: Iterable[UsableBroker], random: Randomness, *, partition_count: int, replication_factor: int
) -> list[list[int]]:
    """The replicas of so many new partitions."""
    placer = StripedPlacer(brokers, random)
    placer.check(replication_factor)
    return [placer.place(replication_factor) for _ in range(partition_count)]


def _impossible(reason: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REPLICATION_FACTOR, f"replicas cannot be placed: {reason}")

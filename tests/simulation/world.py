"""A whole cluster in one thread and one seed: brokers, their disks, a controller, producers, and all that goes wrong.

Checked at every step: what a leader has shown to readers, or acknowledged, never changes; a high watermark does not go
back while its leader leads; whoever may be elected has all that was committed; logs that agree on an epoch at an offset
agree on all before. When the faults are over, everybody catches up and writing goes on (`check_liveness`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from ottla.storage.log import Log
from ottla.wire.records import iter_batches, records_of
from tests.cluster.controller.small_cluster import NODE_ID as CONTROLLER
from tests.simulation.broker import SimulatedBroker, Timing
from tests.simulation.controller import SimulatedController, WhoMayLead
from tests.simulation.network import Network, Weather
from tests.simulation.producer import SimulatedProducer
from tests.storage.batches import content

BROKERS = (1, 2, 3)
PRODUCERS = (201, 202)
FENCING_MS = 50
LIVENESS_MS_MAX = 30_000


@dataclass
class Faults:
    """Chances in a thousand, of one broker in about 20 ms."""

    weather: Weather = field(default_factory=Weather)
    power_cut: int = 0
    kill: int = 0
    stop: int = 0
    pause: int = 0
    flush: int = 0
    partition: int = 0
    balance: int = 0


class World:
    controller: WhoMayLead
    brokers: Mapping[int, SimulatedBroker]
    producers: list[SimulatedProducer]

    def __init__(self, seed: int, timing: Timing) -> None:
        self.dice = Random(seed)
        self.counts: Counter[str] = Counter()
        self.timing = timing
        self.network = Network(self.dice)
        # What readers have been shown: the value at each offset, for ever.
        self.committed: list[bytes] = []
        self._shown: dict[tuple[int, int, int], int] = {}

    def _produce(self) -> None:
        self.producers = [SimulatedProducer(place, self) for place in PRODUCERS]
        for producer in self.producers:
            producer.send()

    # What brokers and producers ask of the world

    def now_ms(self) -> int:
        return self.network.now_ms

    def later(self, broker: SimulatedBroker, delay_ms: int, action: Callable[[], None]) -> None:
        number = broker.number
        self.network.later(delay_ms, lambda: self._at(broker, number, action))

    def ask_broker(
        self,
        broker: SimulatedBroker,
        target: int,
        ask: Callable[[SimulatedBroker], Any],
        done: Callable[[Any], None],
    ) -> None:
        number, asked = broker.number, self.brokers[target]
        self.network.send(
            broker.id,
            target,
            lambda: self._at(asked, asked.number, lambda: self._reply(target, broker, number, ask(asked), done)),
        )

    def _reply(self, source: int, broker: SimulatedBroker, number: int, answer: Any, done: Any) -> None:
        if answer is not None:
            self.network.send(source, broker.id, lambda: self._at(broker, number, lambda: done(answer)))

    def produce(self, place: int, target: int, records: bytes, done: Callable[[Any], None]) -> None:
        broker = self.brokers[target]

        def answer(outcome: Any) -> None:
            self._show(broker)  # it may be leader no more when all is done that it does now, or about to stop
            self.network.send(target, place, lambda: done(outcome))

        self.network.send(
            place, target, lambda: self._at(broker, broker.number, lambda: broker.produce(records, answer))
        )

    def _at(self, broker: SimulatedBroker, number: int, action: Callable[[], None]) -> None:
        """Do something at a broker, if it still lives that life; when it is paused, later."""
        if broker.number != number or not broker.is_up:
            return
        if broker.paused_until_ms > self.now_ms():
            self.network.later(broker.paused_until_ms - self.now_ms(), lambda: self._at(broker, number, action))
            return
        action()
        self._happened(broker)

    def _happened(self, broker: SimulatedBroker) -> None:
        self._check_shown(broker)

    def truncated(self, broker: SimulatedBroker) -> None:
        self.counts["truncations"] += 1

    # Time

    def run(self, duration_ms: int) -> None:
        end_ms = self.now_ms() + duration_ms
        reached: list[bool] = []
        self.network.later(duration_ms, lambda: reached.append(True))
        while not reached:
            self.network.step()
        assert self.now_ms() == end_ms

    def run_until(self, condition: Callable[[], bool], step_ms: int = 20) -> None:
        end_ms = self.now_ms() + LIVENESS_MS_MAX
        while not condition():
            assert self.now_ms() < end_ms, f"not reached: {self.describe()}"
            self.run(step_ms)

    # Faults

    def trouble(self, duration_ms: int, faults: Faults) -> None:
        end_ms = self.now_ms() + duration_ms
        self.network.weather = faults.weather
        while self.now_ms() < end_ms:
            self.run(self.dice.randrange(5, 35))
            for broker in self._everybody():
                if broker.is_up:
                    self._trouble(broker, faults)
            if self._happens(faults.partition):
                self._cut_somewhere()
            if self._happens(faults.balance):
                self._balance()
        self.check_logs()

    def _everybody(self) -> Iterable[SimulatedBroker]:
        return self.brokers.values()

    def _balance(self) -> None:
        """Give leadership back to preferred leaders."""
        raise NotImplementedError

    def _happens(self, chance: int) -> bool:
        return self.dice.randrange(1000) < chance

    def _trouble(self, broker: SimulatedBroker, faults: Faults) -> None:
        if self._happens(faults.flush):
            broker.flush()
        if self._happens(faults.pause):
            self.counts["pauses"] += 1
            broker.paused_until_ms = self.now_ms() + self.dice.randrange(3 * self.timing.session_ms)
        is_power_cut = self._happens(faults.power_cut)
        if is_power_cut or self._happens(faults.kill):
            if self.controller.may_end_uncleanly(broker.id):
                self.crash(broker, is_power_cut=is_power_cut)
        elif self._happens(faults.stop) and broker.epoch >= 0:
            self.counts["clean stops"] += 1
            broker.stop_cleanly()
            self._start_later(broker)

    def crash(self, broker: SimulatedBroker, *, is_power_cut: bool) -> None:
        self.counts["power cuts with unsynced records"] += is_power_cut and broker.has_unsynced_records
        self.counts["kills"] += not is_power_cut
        before = 0 if broker.log is None else broker.log.end_offset
        broker.kill(is_power_cut=is_power_cut)
        self.controller.in_doubt.add(broker.id)
        self._start_later(broker, before)

    def _start_later(self, broker: SimulatedBroker, end_offset: int = 0) -> None:
        def start() -> None:
            self._start(broker)
            self.counts["restarts with less"] += broker.log is not None and broker.log.end_offset < end_offset

        broker.paused_until_ms = 0
        self.network.later(self.dice.randrange(2 * self.timing.session_ms), start)

    def _start(self, broker: SimulatedBroker) -> None:
        broker.start()

    def _cut_somewhere(self) -> None:
        self.counts["partitions"] += 1
        places = self._places()
        self.dice.shuffle(places)
        border = self.dice.randrange(len(places) + 1)
        self.network.cut(places[:border], places[border:], is_one_way=self.dice.randrange(3) == 0)

    def _places(self) -> list[int]:
        raise NotImplementedError

    # What must hold

    def _check_shown(self, broker: SimulatedBroker) -> None:
        if broker.is_serving:
            self._show(broker)

    def _show(self, broker: SimulatedBroker) -> None:
        """What a leader lets readers see is the same for ever, and more and more."""
        partition = broker.partition
        if partition is None:
            return
        log = partition.log
        key = (broker.id, broker.number, partition.leader_epoch)
        before = self._shown.get(key, 0)
        assert log.high_watermark >= before, f"broker {broker.id} shows {before} and then {log.high_watermark}"
        if log.high_watermark == before:
            return
        self._shown[key] = log.high_watermark
        values = values_of(content(log, before))[: log.high_watermark - before]
        known = self.committed[before : log.high_watermark]
        assert values[: len(known)] == known, f"broker {broker.id} shows other records than were shown before"
        if len(values) > len(known):
            self.committed += values[len(known) :]
            assert len(self.committed) == log.high_watermark, f"broker {broker.id} lacks records that it shows"
            self._check_eligible()

    def _check_eligible(self) -> None:
        if not self.committed:
            return
        for id in self.controller.eligible:
            end_offset = self.brokers[id].end_offset
            end = len(self.committed)
            assert end_offset >= end, f"broker {id} may lead and has {end_offset} of {end} committed records"

    def acknowledged(self, offset: int, values: list[bytes]) -> None:
        self.counts["acknowledged"] += len(values)
        found = self.committed[offset : offset + len(values)]
        assert found == values, f"{values} at {offset} are acknowledged, there is {found}"

    def check_logs(self) -> None:
        """Two logs with a batch of the same epoch at the same offset are the same up to there."""
        logs = [batches_of(content(broker.log)) for broker in self.brokers.values() if broker.is_up and broker.log]
        for ours in logs:
            for theirs in logs:
                for position in range(min(len(ours), len(theirs)) - 1, -1, -1):
                    if ours[position][:2] == theirs[position][:2]:
                        assert ours[: position + 1] == theirs[: position + 1], "logs differ below a common batch"
                        break

    def check_liveness(self) -> None:
        """With the faults over all replicas are in sync and equal, and writing goes on."""
        self.network.heal()
        acknowledged = [producer.acknowledged_count for producer in self.producers]
        self.run_until(
            lambda: all(
                producer.acknowledged_count > before + 2
                for producer, before in zip(self.producers, acknowledged, strict=True)
            )
        )
        for producer in self.producers:
            producer.is_done = True
        self.run_until(self._is_settled)
        self.check_logs()
        self._check_exactly_once()

    def _is_settled(self) -> bool:
        if not all(broker.is_up for broker in self._everybody()):
            return False
        if not all(producer.is_idle for producer in self.producers):
            return False
        logs = self._logs()
        is_even = len({(log.end_offset, log.high_watermark) for log in logs}) == 1
        replicas = set(self.controller.partition.replicas)
        return is_even and len(logs) == len(replicas) and set(self.controller.partition.isr) == replicas

    def _logs(self) -> list[Log]:
        logs = [self.brokers[id].log for id in self.controller.partition.replicas]
        return [log for log in logs if log is not None]

    def _check_exactly_once(self) -> None:
        for log in self._logs():
            assert values_of(content(log)) == self.committed, "a replica is not equal to what was committed"
        for producer in self.producers:
            mine = [value for value in self.committed if value.startswith(producer.prefix)]
            wanted = [producer.value(number) for number in range(producer.next_number)]
            assert mine == wanted, f"{producer.prefix!r} wrote {len(wanted)} records in order, there are {mine}"

    def describe(self) -> str:
        known = self.controller.partition
        lines = [f"leader {known.leader} of epoch {known.leader_epoch}, ISR {known.isr}, ELR {known.elr}"]
        return "\n".join([*lines, *map(repr, self._everybody())])


class OneController(World):
    """Three brokers, and a controller that does not fail."""

    controller: SimulatedController

    def __init__(self, seed: int, timing: Timing) -> None:
        super().__init__(seed, timing)
        self.controller = SimulatedController(timing.session_ms, self.now_ms, self.counts)
        self.brokers = {id: SimulatedBroker(id, self, self.dice) for id in BROKERS}
        for broker in self.brokers.values():
            broker.start()
        self._fence()
        self.run_until(lambda: all(broker.is_serving for broker in self.brokers.values()))
        self.controller.create_topic(list(BROKERS))
        self._produce()

    def ask_controller(
        self, broker: SimulatedBroker, ask: Callable[[SimulatedController], Any], done: Callable[[Any], None]
    ) -> None:
        number = broker.number

        def arrive() -> None:
            if broker.number == number and broker.is_up:  # its connection ends with it
                self._reply(CONTROLLER, broker, number, ask(self.controller), done)
                self._check_eligible()

        self.network.send(broker.id, CONTROLLER, arrive)

    def _fence(self) -> None:
        self.controller.fence_the_silent()
        self.network.later(FENCING_MS, self._fence)

    def _balance(self) -> None:
        self.controller.balance()

    def _places(self) -> list[int]:
        return [*BROKERS, CONTROLLER]


def values_of(data: bytes) -> list[bytes]:
    """By offset: nothing is compacted here, and every log begins at 0."""
    return [
        bytes(record.value or b"") for batch in iter_batches(data) for record in records_of(batch, bytes_max=1 << 20)
    ]


def batches_of(data: bytes) -> list[tuple[int, int, bytes]]:
    return [
        (batch.base_offset, batch.leader_epoch, bytes(batch.view[batch.start : batch.end]))
        for batch in iter_batches(data)
    ]

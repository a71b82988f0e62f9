"""Where a run takes place: the directory, the clients, the topics that were made, and how much is to be sent.

It starts what it is asked for when it is first asked, and ends everything when it is left.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import cache, cached_property
from pathlib import Path
from types import TracebackType

from bench.broker import librdkafka_client
from bench.broker.contenders import STARTERS, Broker, Starter, on_cpus
from bench.broker.java_client import JavaClient
from bench.broker.machine_memory import PageCache
from bench.broker.payloads import payload_file, payloads
from bench.broker.processes import cpu_seconds
from ottla.client.blocking import Client

FIRST_RECORD = b"first"


class Lab:
    def __init__(
        self,
        directory: Path,
        scale: float = 1.0,
        broker_cpus: set[int] | None = None,
        properties: Mapping[str, str] | None = None,
        starters: Mapping[str, Starter] = STARTERS,
        page_cache: PageCache | None = None,
    ) -> None:
        """`properties` are for both brokers, beyond those of contenders.py; a page cache is to be filled, if given."""
        self.directory = directory
        self.page_cache = page_cache
        self._properties = properties or {}
        self._starters = starters
        self._scale = scale
        self._broker_cpus = broker_cpus
        self._stack = ExitStack()
        self._numbers = itertools.count(1)
        self._topics: set[tuple[Broker, str]] = set()
        self.payloads = cache(payloads)

    def __enter__(self) -> Lab:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    @cached_property
    def java(self) -> JavaClient:
        return self._stack.enter_context(JavaClient())

    def start(self, name: str, stack: ExitStack | None = None) -> Broker:
        """A new broker in a new directory, which ends with the given stack, or with us."""
        directory = self.directory / f"{name}-{self.number()}"
        with on_cpus(self._broker_cpus):
            return (stack or self._stack).enter_context(self._starters[name](directory, self._properties))

    def number(self) -> int:
        """One that nothing else here has."""
        return next(self._numbers)

    def scaled(self, number: float) -> float:
        return number * self._scale

    def count(self, full_count: int) -> int:
        return max(20, int(self.scaled(full_count)))

    def payload_file(self, size_bytes: int) -> Path:
        return payload_file(self.directory, size_bytes)

    def topic(self, broker: Broker, name: str, partitions: int = 1) -> None:
        """Have the topic there, every partition ready to be written to.

        Kafka names leaders before they lead. On a busy machine, the Java producer that began at once with a hundred
        partitions had batches that expired after two minutes.
        """
        if (broker, name) in self._topics:
            return
        librdkafka_client.create_topic(broker.bootstrap, name, partitions, broker.replication_factor)
        if partitions > 1:
            librdkafka_client.write_everywhere(broker.bootstrap, name, partitions, FIRST_RECORD)
        self._topics.add((broker, name))

    def drop(self, broker: Broker, name: str) -> None:
        if (broker, name) in self._topics:
            librdkafka_client.delete_topic(broker.bootstrap, name)
            self._topics.remove((broker, name))

    def topic_id(self, broker: Broker, name: str) -> bytes:
        with Client(broker.bootstrap) as client:
            topic_id: bytes = client.metadata(name).topic(name).topic_id
            return topic_id


def loaded(broker: Broker, count: int, work: Callable[[], float]) -> dict[str, float]:
    """Run the work, which returns its seconds: records a second, and what a million of them cost the broker."""
    before = cpu_seconds(*broker.pids)
    seconds = work()
    spent = cpu_seconds(*broker.pids) - before
    return {"rate": count / seconds, "cpu": spent / count * 1e6}

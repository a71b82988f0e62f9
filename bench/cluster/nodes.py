"""One node of a cluster as a process: started, ended without a warning, started again where it was before.

Its ports and its directory outlive its processes. Nothing is stopped cleanly, since nothing is kept.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path

from bench.broker.contenders import KAFKA_JVM_OPTIONS, ask_for_metadata
from compat_tests.kafka_process import KafkaNode
from compat_tests.raw_requests import RawConnection
from tests.server.node_process import NodeProcess


class Node(ABC):
    def __init__(self, id: int, bootstrap: str) -> None:
        self.id = id
        self.bootstrap = bootstrap

    @property
    @abstractmethod
    def pid(self) -> int: ...

    @abstractmethod
    def start(self) -> None:
        """Return when it has named itself to a client. For that, most of its cluster must run."""

    @abstractmethod
    def kill(self) -> None:
        """End it as kill -9 does, if it runs."""

    def connected(self) -> RawConnection:
        host, _, port = self.bootstrap.rpartition(":")
        return RawConnection(host, int(port))


class OneOfOttla(Node):
    def __init__(self, id: int, bootstrap: str, settings: Mapping[str, str]) -> None:
        super().__init__(id, bootstrap)
        self._words = [word for key, value in settings.items() for word in (f"--{key}", value)]
        self._process: NodeProcess | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None, "it does not run"
        return self._process.pid

    def start(self) -> None:
        self._process = NodeProcess(*self._words)
        assert self._process.addresses, "it has said where it serves"
        ask_for_metadata(self.bootstrap)

    def kill(self) -> None:
        if self._process is not None:
            self._process.close()
            self._process = None


class OneOfKafka(Node):
    """Its directory is formatted beforehand, by Kafka's own tool."""

    def __init__(self, id: int, bootstrap: str, directory: Path, settings: Mapping[str, str]) -> None:
        super().__init__(id, bootstrap)
        self._node = KafkaNode(directory, settings)
        self._node.jvm_options = KAFKA_JVM_OPTIONS
        self._node.format()

    @property
    def pid(self) -> int:
        return self._node.pid

    def start(self) -> None:
        self._node.start()
        ask_for_metadata(self.bootstrap)

    def kill(self) -> None:
        self._node.kill()

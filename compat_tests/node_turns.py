"""One directory and one server.properties: Apache Kafka and Ottla take turns on them, at one address.

Clients see one broker that goes away and comes back. It knows how each is started on what the other left, stopped and
killed; what is asked and done meanwhile, it does not know. Kafka formats the directory as it likes best, with all its
features on; Ottla with those that it serves.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from compat_tests.kafka_process import HOST, NODE_ID, KafkaNode
from compat_tests.side_by_side import held_port, listening
from tests.server.node_process import ANNOUNCEMENT, NodeProcess

KAFKA, OTTLA = "kafka", "ottla"
SESSION_MS = "600000"
PROPERTIES = {
    # Nothing is cleaned between two looks at a topic, unless its own configuration says so.
    "log.cleaner.min.cleanable.ratio": "1.0",
    # However long a busy machine takes for a start, members are not given up.
    "group.consumer.max.session.timeout.ms": SESSION_MS,
    "group.consumer.session.timeout.ms": SESSION_MS,
}


class Turns:
    """`place` is where the broker is, whichever it is; `printed` is what the last one said in its turn."""

    def __init__(self, directory: Path, ports: list[int], *, is_static: bool) -> None:
        """`is_static`: the configuration names the voters, and not the log."""
        self.place = HOST, ports[0]
        self.bootstrap = f"{HOST}:{ports[0]}"
        controller = f"{HOST}:{ports[1]}"
        voters = (
            {"controller.quorum.voters": f"{NODE_ID}@{controller}"}
            if is_static
            else {"controller.quorum.bootstrap.servers": controller}
        )
        self._node = KafkaNode(directory, {**PROPERTIES, **listening(ports), **voters}, is_standalone=not is_static)
        self.log_dir = self._node.log_dir
        self.printed: list[str] = []
        self._ottla: NodeProcess | None = None

    def format(self, broker: str) -> None:
        if broker == KAFKA:
            self._node.format()
        else:
            self._node.prepare()  # Ottla formats what is empty

    def start(self, broker: str) -> None:
        if broker == KAFKA:
            self._node.start()
            return
        self._ottla = NodeProcess("--config", str(self._node.config_path))
        self._ottla.line(ANNOUNCEMENT)

    def end(self, *, is_clean: bool) -> None:
        if self._ottla is None:
            if is_clean:
                self._node.stop()
            else:
                self._node.kill()
            self.printed = self._node.all_printed()
            return
        if is_clean:
            assert self._ottla.stop() == 0, self._ottla.printed
        else:
            self._ottla.kill()
        self.printed = self._ottla.printed
        self._close_ottla()

    def close(self) -> None:
        self._node.kill()
        self._close_ottla()

    def _close_ottla(self) -> None:
        if self._ottla is not None:
            self._ottla.close()
            self._ottla = None


@contextlib.contextmanager
def a_directory(directory: Path, *, is_static: bool) -> Iterator[Turns]:
    with contextlib.ExitStack() as stack:
        turns = Turns(directory, [stack.enter_context(held_port()) for _ in range(2)], is_static=is_static)
        stack.callback(turns.close)
        yield turns

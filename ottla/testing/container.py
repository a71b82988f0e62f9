"""`OttlaContainer`: Ottla's image, by testcontainers, for tests that live among containers.

It has the face of testcontainers' KafkaContainer. Where nothing needs a container, `Broker` is quicker by far. Images
are built by docker/build.py; nothing here knows how.

A broker has to know under which port the host finds it, and the engine picks that when the container is there. So the
container waits for a small script, which tells it.
"""

from __future__ import annotations

import os
from typing import Any, Self

try:
    from testcontainers.core.container import DockerContainer
    from testcontainers.core.wait_strategies import LogMessageWaitStrategy
except ImportError as error:
    raise ImportError("OttlaContainer needs testcontainers: pip install 'ottla[containers]'") from error

from ottla.testing.settings import Setting, text_of

IMAGE = "ottla"
INTERNAL_PORT = 19092
START_SCRIPT = "/ottla-start.sh"
# The last line of the script: a file that is still being written does not have it.
WHOLE = "# whole"
PROTOCOLS = "PLAINTEXT_HOST:PLAINTEXT,PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT"
START_SECONDS_MAX = 60


class OttlaContainer(DockerContainer):
    """A node in a container: `get_bootstrap_server` for the host, `get_internal_bootstrap_server` for its network."""

    ready = r"node \d+ serves "
    start_command = "/opt/ottla/bin/ottla serve --container"

    def __init__(self, image: str | None = None, port: int = 9092, **kwargs: Any) -> None:
        """The image is `ottla`, or what $OTTLA_IMAGE names, unless it is given."""
        super().__init__(image or os.environ.get("OTTLA_IMAGE") or IMAGE, **kwargs)
        self.port = port
        self.with_exposed_ports(port)
        self.with_setting("listeners", f"PLAINTEXT_HOST://0.0.0.0:{port},PLAINTEXT://0.0.0.0:{INTERNAL_PORT}")
        self.with_setting("listener.security.protocol.map", PROTOCOLS)
        self.with_setting("inter.broker.listener.name", "PLAINTEXT")
        self.with_setting("offsets.topic.num.partitions", 1)
        self.with_setting("group.initial.rebalance.delay.ms", 0)

    def with_setting(self, key: str, value: Setting) -> Self:
        """Set a key of Kafka's configuration, by Kafka's name for it."""
        return self.with_env(variable_of(key), text_of(value))

    def with_cluster_id(self, cluster_id: str) -> Self:
        return self.with_env("CLUSTER_ID", cluster_id)

    def with_kraft(self) -> Self:
        """It has nothing else; tests that were written for KafkaContainer may say so."""
        return self

    def get_bootstrap_server(self) -> str:
        """Where clients of the host find it."""
        return f"{self.get_container_host_ip()}:{self.get_exposed_port(self.port)}"

    def get_internal_bootstrap_server(self) -> str:
        """Where other containers of its network find it."""
        return f"{self._internal_host()}:{INTERNAL_PORT}"

    def start(self, timeout: float = START_SECONDS_MAX) -> Self:
        """Returns when clients can come. A container that does not get so far is removed; the error has its words."""
        waiting = f"until grep -qs '^{WHOLE}$' {START_SCRIPT}; do sleep 0.1; done; exec sh {START_SCRIPT}"
        self._kwargs = {**self._kwargs, "entrypoint": ["sh", "-c", waiting]}
        super().start()
        try:
            self.copy_into_container(self.start_script().encode(), START_SCRIPT)
            ready = LogMessageWaitStrategy(self.ready).with_startup_timeout(int(timeout)).with_poll_interval(0.1)
            ready.wait_until_ready(self)
        except BaseException as error:
            error.add_note(b"".join(self.get_logs()).decode(errors="replace"))
            self.stop()
            raise
        return self

    def stop(self, force: bool = True, delete_volume: bool = True) -> None:
        """Remove it. A second call does nothing."""
        super().stop(force, delete_volume)
        self._container = None

    def start_script(self) -> str:
        internal = f"PLAINTEXT://{self.get_internal_bootstrap_server()}"
        advertised = f"PLAINTEXT_HOST://{self.get_bootstrap_server()},{internal}"
        return f"export KAFKA_ADVERTISED_LISTENERS={advertised}\nexec {self.start_command}\n{WHOLE}\n"

    def _internal_host(self) -> str:
        """Its name in the network it was put into; else the name that it has of itself, the start of its id."""
        if self._network is not None and self._network_aliases:
            return self._network_aliases[0]
        return self.get_container_id()[:12]


def variable_of(key: str) -> str:
    """The variable that sets a key in a container."""
    return "KAFKA_" + key.replace("_", "__").replace("-", "___").replace(".", "_").upper()

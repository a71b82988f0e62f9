"""Apache Kafka's image by testcontainers, with the face of `OttlaContainer`: the official one, or another that starts
as it does.

$OTTLA_KAFKA_IMAGE names the image. The variables make one node, broker and controller, with the settings of
`kafka_process`; features are at the levels that Kafka has on its own.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from compat_tests.kafka_process import CLUSTER_ID, READY, SINGLE_NODE
from ottla.testing.container import OttlaContainer

OFFICIAL_IMAGE = "apache/kafka:4.3.1"
CONTROLLER_PORT = 9093
# What a container sets by itself, and Ottla without being told.
CONTAINERS_OWN = ("listener.security.protocol.map", "controller.listener.names")


class KafkaContainer(OttlaContainer):
    ready = READY
    start_command = "/etc/kafka/docker/run"

    def __init__(self, image: str | None = None, **kwargs: Any) -> None:
        super().__init__(image or os.environ.get("OTTLA_KAFKA_IMAGE") or OFFICIAL_IMAGE, **kwargs)
        listeners = f"{self.env['KAFKA_LISTENERS']},CONTROLLER://:{CONTROLLER_PORT}"
        self.with_setting("listeners", listeners)
        self.with_setting("controller.listener.names", "CONTROLLER")
        self.with_setting("controller.quorum.voters", f"{SINGLE_NODE['node.id']}@localhost:{CONTROLLER_PORT}")
        with_single_node(self)


def with_single_node(container: OttlaContainer, more: Mapping[str, str] | None = None) -> OttlaContainer:
    """The settings that both sides of a comparison have."""
    for key, value in (SINGLE_NODE | dict(more or {})).items():
        if key not in CONTAINERS_OWN:
            container.with_setting(key, value)
    return container.with_cluster_id(CLUSTER_ID)

"""Apache Kafka's image by testcontainers, with the face of `OttlaContainer`: the official one, or another like it.

$OTTLA_KAFKA_IMAGE names the image. The variables make one node, broker and controller, of the configuration that
`side_by_side` has. An image formats its directory with all features on; those that Ottla does not serve are put back
to level 0 once it serves.
"""

from __future__ import annotations

import os
from typing import Any, Self

from compat_tests.kafka_process import CLUSTER_ID, READY, SINGLE_NODE, START_SECONDS_MAX
from compat_tests.raw_requests import RawConnection
from compat_tests.side_by_side import PROPERTIES, UNSERVED_FEATURES
from ottla.testing.container import OttlaContainer
from ottla.wire.messages.features import UpdateFeaturesRequest, UpdateFeaturesResponse

OFFICIAL_IMAGE = "apache/kafka:4.3.1"
CONTROLLER_PORT = 9093
# What a container sets by itself, and Ottla without being told.
CONTAINERS_OWN = ("listener.security.protocol.map", "controller.listener.names")
UPDATE_VERSION = 1
SAFE_DOWNGRADE = 2


class KafkaContainer(OttlaContainer):
    ready = READY
    start_command = "/etc/kafka/docker/run"

    def __init__(self, image: str | None = None, **kwargs: Any) -> None:
        super().__init__(image or os.environ.get("OTTLA_KAFKA_IMAGE") or OFFICIAL_IMAGE, **kwargs)
        with_single_node(self)
        listeners = f"{self.env['KAFKA_LISTENERS']},CONTROLLER://:{CONTROLLER_PORT}"
        self.with_setting("listeners", listeners)
        self.with_setting("controller.listener.names", "CONTROLLER")
        self.with_setting("controller.quorum.voters", f"{SINGLE_NODE['node.id']}@localhost:{CONTROLLER_PORT}")

    def start(self, timeout: float = START_SECONDS_MAX) -> Self:
        super().start(timeout)
        try:
            put_features_back(self.get_bootstrap_server())
        except BaseException:
            self.stop()
            raise
        return self


def with_single_node(container: OttlaContainer) -> OttlaContainer:
    """The settings that both sides of a comparison have."""
    for key, value in (SINGLE_NODE | PROPERTIES).items():
        if key not in CONTAINERS_OWN:
            container.with_setting(key, value)
    return container.with_cluster_id(CLUSTER_ID)


def put_features_back(bootstrap: str) -> None:
    """Finalize at level 0 what Ottla does not serve."""
    updates = [
        UpdateFeaturesRequest.FeatureUpdateKey(feature=name, max_version_level=0, upgrade_type=SAFE_DOWNGRADE)
        for name in UNSERVED_FEATURES
    ]
    host, _, port = bootstrap.rpartition(":")
    with RawConnection(host, int(port)) as connection:
        answer = connection.send(UpdateFeaturesRequest(feature_updates=updates), UpdateFeaturesResponse, UPDATE_VERSION)
    refused = [(result.feature, result.error_message) for result in answer.results if result.error_code]
    assert not answer.error_code, answer.error_message
    assert not refused, refused

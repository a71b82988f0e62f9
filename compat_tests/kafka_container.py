"""Apache Kafka's image by testcontainers, with the face of `OttlaContainer`: the official one, or another like it.

$OTTLA_KAFKA_IMAGE names the image. The variables make one node, broker and controller, of the configuration that
`side_by_side` has. An image formats its directory in its own way: with all features on, and with voters that are not
in the log. Once it serves it is put to what `side_by_side` formats.
"""

from __future__ import annotations

import os
from typing import Any, Self

from compat_tests.kafka_process import CLUSTER_ID, HOST, READY, SINGLE_NODE, START_SECONDS_MAX
from compat_tests.raw_requests import RawConnection
from compat_tests.side_by_side import PROPERTIES, UNSERVED_FEATURES
from ottla.testing.container import OttlaContainer
from ottla.wire.messages.features import UpdateFeaturesRequest, UpdateFeaturesResponse

OFFICIAL_IMAGE = "apache/kafka:4.3.1"
CONTROLLER_PORT = 9093
# What a container sets by itself, and Ottla without being told.
CONTAINERS_OWN = ("listener.security.protocol.map", "controller.listener.names")
UPDATE_VERSION = 1
UPGRADE, SAFE_DOWNGRADE = 1, 2


class KafkaContainer(OttlaContainer):
    ready = READY
    start_command = "/etc/kafka/docker/run"

    def __init__(self, image: str | None = None, **kwargs: Any) -> None:
        super().__init__(image or os.environ.get("OTTLA_KAFKA_IMAGE") or OFFICIAL_IMAGE, **kwargs)
        with_single_node(self)
        listeners = f"{self.env['KAFKA_LISTENERS']},CONTROLLER://:{CONTROLLER_PORT}"
        self.with_setting("listeners", listeners)
        self.with_setting("controller.listener.names", "CONTROLLER")
        self.with_setting("controller.quorum.voters", f"{SINGLE_NODE['node.id']}@{HOST}:{CONTROLLER_PORT}")

    def start(self, timeout: float = START_SECONDS_MAX) -> Self:
        super().start(timeout)
        try:
            settle_features(self.get_bootstrap_server())
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


def settle_features(bootstrap: str) -> None:
    """Level 0 for what Ottla does not serve, and voters in the log."""
    levels = [feature(name, 0, SAFE_DOWNGRADE) for name in UNSERVED_FEATURES]
    with RawConnection(*address(bootstrap)) as connection:
        for updates in (levels, [feature("kraft.version", 1, UPGRADE)]):
            answer = connection.send(
                UpdateFeaturesRequest(feature_updates=updates), UpdateFeaturesResponse, UPDATE_VERSION
            )
            wrong = [(result.feature, result.error_message) for result in answer.results if result.error_code]
            assert (answer.error_code, wrong) == (0, []), answer.error_message


def feature(name: str, level: int, kind: int) -> UpdateFeaturesRequest.FeatureUpdateKey:
    return UpdateFeaturesRequest.FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=kind)


def address(bootstrap: str) -> tuple[str, int]:
    host, _, port = bootstrap.rpartition(":")
    return host, int(port)

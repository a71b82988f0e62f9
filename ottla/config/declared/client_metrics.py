"""What can be set for one telemetry subscription (KIP-714)."""

from __future__ import annotations

from ottla.config.checks import listed
from ottla.config.keys import KeySet, integer, strings


class ClientMetricsKeys(KeySet):
    """What can be set for one telemetry subscription (KIP-714)."""

    metrics = strings("metrics", (), listed()).says(
        "Which metrics clients push, by the beginnings of their names; empty for none, * for all."
    )

    interval_ms = integer("interval.ms", 300_000).says("How often clients push.")

    match = strings("match", (), listed()).says(
        "Which clients are meant, as SELECTOR=PATTERN with selectors such as client_id; empty for all."
    )

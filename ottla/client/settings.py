"""What a client may be told about itself: names, limits, times. Values only; nobody here acts on them.

Each has the default of Kafka's Java client, or says why not.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Settings:
    client_id: str = "ottla"
    # The largest answer that is believed. Kafka's client has no bound; this is what a broker takes by default
    # (socket.request.max.bytes), and twice what a Fetch asks for.
    frame_bytes_max: int = 104_857_600
    # What may come out of one compressed batch.
    batch_bytes_max: int = 268_435_456
    # To connect and to agree on versions.
    connect_timeout_ms: int = 10_000
    # For one answer. A connection that keeps one waiting longer is closed.
    request_timeout_ms: int = 30_000
    # For a request with all its repetitions (Java: default.api.timeout.ms).
    retry_timeout_ms: int = 60_000
    retry_backoff_ms: int = 100
    retry_backoff_ms_max: int = 1_000
    metadata_age_ms_max: int = 300_000
    # Java's clients ask for it; here a mistyped topic is an error.
    auto_create_topics: bool = False

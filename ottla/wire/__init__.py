"""Kafka's protocol: bytes to messages and back, with no sockets, files or clocks.

Importing this costs next to nothing: messages live in `ottla.wire.messages`, what Kafka stores in
`ottla.wire.stored`, record batches in `ottla.wire.records`, and each is loaded when it is asked for.
"""

from __future__ import annotations

from ottla.wire.errors import ErrorCode, KafkaError

__all__ = ["ErrorCode", "KafkaError", "describe_codec", "message_names"]


def describe_codec(name: str, version: int) -> str:
    """The generated source of one message's encoder and decoder. LookupError for a name or version there is not."""
    from ottla.wire.catalog import codec_source

    return codec_source(name, version)


def message_names() -> list[str]:
    """Every declared message, sorted."""
    from ottla.wire.catalog import messages

    return sorted(messages())

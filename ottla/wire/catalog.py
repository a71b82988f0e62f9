"""Every declared message by name, for people and tests. It loads all of them: a broker has no use for it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module

from ottla.wire.decoder import decoder_source
from ottla.wire.encoder import encoder_source
from ottla.wire.messages import FAMILIES
from ottla.wire.schema import Message

STORED = (
    "aborted_transactions",
    "classic_group_records",
    "consumer_group_records",
    "consumer_protocol",
    "control_records",
    "metadata_records",
    "principals",
    "quorum_state",
    "share_group_records",
    "share_state_records",
    "streams_group_records",
    "transaction_records",
)


@cache
def messages() -> dict[str, type[Message]]:
    return {message.__name__: message for message in _declared()}


def _declared() -> Iterator[type[Message]]:
    modules = [f"ottla.wire.messages.{name}" for name in ("headers", *FAMILIES)]
    modules += [f"ottla.wire.stored.{name}" for name in STORED]
    for name in modules:
        module = import_module(name)
        for value in vars(module).values():
            if isinstance(value, type) and issubclass(value, Message) and value.__module__ == name:
                yield value


def codec_source(name: str, version: int) -> str:
    """The source that is compiled for a message at a version."""
    message = messages().get(name)
    if message is None:
        raise LookupError(f"no message is called {name}")
    if version not in message.versions:
        raise LookupError(f"{name} has versions {message.versions}, not {version}")
    return f"{encoder_source(message, version)}\n\n\n{decoder_source(message, version)}\n"

"""How a client's requests fail: everything is a KafkaError, and two kinds of it are told apart by class.

A broker's own errors arrive as numbers in answers; `check` turns them into exceptions that name the thing. Nothing
here decides what is tried again: `code.retriable` does.
"""

from __future__ import annotations

from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.schema import Response


class ConnectionLost(KafkaError):
    """The connection could not be made, or ended before the answer; whether the request was served is not known."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.NETWORK_EXCEPTION, message)


class MalformedAnswer(KafkaError):
    """The peer does not speak the protocol. Trying again would not teach it."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.UNKNOWN_SERVER_ERROR, message)


def check(code: int, thing: str, message: str | None = None) -> None:
    """Raise what a broker reported about a thing; its own words, where it sent any, come last."""
    if code == ErrorCode.NONE:
        return
    error = ErrorCode.of(code)
    number = f" (error {code})" if error != code else ""
    raise KafkaError(error, f"{thing}: {message or error.text}{number}")


def check_whole(response: Response) -> None:
    """Raise the error that stands at the top of an answer, if its kind has one there."""
    name = type(response).__name__.removesuffix("Response")
    check(getattr(response, "error_code", ErrorCode.NONE), name, getattr(response, "error_message", None))

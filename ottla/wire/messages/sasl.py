"""SASL on the wire: choosing a mechanism, then its exchange."""

from __future__ import annotations

from ottla.wire.schema import Request, Response, field, int16, int64


class SaslHandshakeRequest(Request, api_key=17, served_on=("broker", "controller"), versions="0-1"):
    mechanism: str


class SaslHandshakeResponse(Response, api_key=17, versions="0-1"):
    error_code: int16 = 0
    mechanisms: list[str]


class SaslAuthenticateRequest(Request, api_key=36, served_on=("broker", "controller"), versions="0-2", flexible="2+"):
    auth_bytes: bytes = field(secret=True)


class SaslAuthenticateResponse(Response, api_key=36, versions="0-2", flexible="2+"):
    error_code: int16 = 0
    error_message: str | None
    auth_bytes: bytes = field(secret=True)
    session_lifetime_ms: int64 = field("1+", default=0, ignorable=True)

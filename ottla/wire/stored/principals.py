"""A principal as one broker names it to another in a forwarded request."""

from __future__ import annotations

from ottla.wire.schema import StoredRecord


class DefaultPrincipalData(StoredRecord, versions="0", flexible="0+"):
    type: str
    name: str
    token_authenticated: bool

"""A field's default as a value, for tests that fill messages in by hand."""

from __future__ import annotations

from typing import Any

from ottla.wire.construction import blank
from ottla.wire.layout import Nested, Slot
from ottla.wire.schema import BLANK


def default_value(slot: Slot) -> Any:
    """A default that may be changed without harm to anybody else's."""
    if slot.default is BLANK:
        assert isinstance(slot.type, Nested)
        return blank(slot.type.struct)
    return [] if slot.default == [] else slot.default

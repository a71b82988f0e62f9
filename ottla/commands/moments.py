"""Points in time as a person gives them: `2026-01-31T12:00`, milliseconds since 1970, `-10m`, `10 minutes ago`, `now`.

The present comes in as an argument.
"""

from __future__ import annotations

import re

from ottla.commands.text_form import parse_time

_UNITS_MS = {
    "ms": 1,
    "s": 1_000,
    "second": 1_000,
    "m": 60_000,
    "min": 60_000,
    "minute": 60_000,
    "h": 3_600_000,
    "hour": 3_600_000,
    "d": 86_400_000,
    "day": 86_400_000,
    "w": 604_800_000,
    "week": 604_800_000,
}
_BACK = re.compile(r"-(?P<count>[0-9]{1,12})(?P<unit>[a-z]+)|(?P<count2>[0-9]{1,12}) ?(?P<unit2>[a-z]+?)s? ago")


def parse_moment(text: str, now_ms: int) -> int:
    """Milliseconds since 1970. ValueError with what can be written."""
    if text == "now":
        return now_ms
    back = _BACK.fullmatch(text.strip().lower())
    try:
        if back is None:
            return parse_time(text)
        unit = back["unit"] or back["unit2"]
        moment = now_ms - int(back["count"] or back["count2"]) * _UNITS_MS[unit]
    except (ValueError, KeyError):
        raise ValueError(
            f"{text!r} is no time: write 2026-01-31T12:00:00Z, milliseconds since 1970, -10m, '2 hours ago' or now"
        ) from None
    return max(0, moment)

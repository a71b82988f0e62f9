"""Numbers, times and bytes as a person reads them, and times as a person writes them.

Times are UTC in ISO 8601 with milliseconds. Bytes are text where they are printable UTF-8, else hexadecimal. What comes
out is safe on a terminal: nothing in a record can move the cursor or change the colours.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TIMESTAMP_MAX = 2**63 - 1

_MILLISECOND = timedelta(milliseconds=1)
_MILLISECONDS = re.compile(r"-?[0-9]{1,19}", re.ASCII)
# Characters that are written with an escape; every other one must be printable for bytes to count as text.
_ESCAPED = str.maketrans("", "", "\t\n\r")


def time_text(timestamp: int | None) -> str:
    """2024-05-06T07:08:09.123Z; "-" for none, and the plain number for a time beyond the calendar."""
    if timestamp is None or timestamp == -1:
        return "-"
    try:
        moment = EPOCH + timedelta(milliseconds=timestamp)
    except OverflowError:
        return f"{timestamp} ms"
    return moment.isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


def parse_time(text: str) -> int:
    """Milliseconds since 1970, from just these or from ISO 8601, where UTC is meant if no zone is named. ValueError."""
    if _MILLISECONDS.fullmatch(text):
        timestamp = int(text)
    else:
        moment = datetime.fromisoformat(text)
        timestamp = (moment.replace(tzinfo=moment.tzinfo or UTC) - EPOCH) // _MILLISECOND
    if not 0 <= timestamp <= TIMESTAMP_MAX:
        raise ValueError(f"{text} is before 1970 or beyond all timestamps")
    return timestamp


def bytes_json(data: bytes | None) -> Any:
    """Bytes as a JSON value: null, a string, or {"hex": "..."} where they are no text."""
    if data is None:
        return None
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return {"hex": data.hex()}
    return text if text.translate(_ESCAPED).isprintable() else {"hex": data.hex()}


def shown(value: Any, width: int) -> str:
    """What `bytes_json` made, on one line, cut at so many characters; 0 does not cut."""
    if value is None:
        return "null"
    if isinstance(value, str):
        text, size_bytes = json.dumps(value, ensure_ascii=False), len(value.encode())
        end = '"'
    else:
        text, size_bytes = "0x" + value["hex"], len(value["hex"]) // 2
        end = ""
    if not width or len(text) <= width:
        return text
    # An escape is cut whole, so that what is left can still be read as what it is.
    kept = re.sub(r"\\+$", "", text[: max(1, width - 1 - len(end))])
    return f"{kept}…{end} ({count_text(size_bytes, 'byte')})"


def compact_json(value: Any) -> str:
    """JSON on one line, without needless spaces; in ASCII if anything in it should not reach a terminal."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text if text.isprintable() else json.dumps(value, separators=(",", ":"))


def printable(text: str) -> str:
    """Text that a peer chose, with an escape for whatever a terminal might take for an order."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


def count_text(count: int, noun: str, plural: str = "") -> str:
    """`1 byte`, `1,234 bytes`."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def range_text(first: int, last: int) -> str:
    """`7` or `7-9`."""
    return str(first) if first == last else f"{first}-{last}"

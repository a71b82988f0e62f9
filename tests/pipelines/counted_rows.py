"""Rows as Spark would count them, for the tests of what is told of them."""

from __future__ import annotations

from typing import Any


def counted(records: int, **more: Any) -> dict[str, Any]:
    """So many records of ten bytes in ten seconds, half of them late."""
    usual = {
        "topic": "orders",
        "records": records,
        "bytes": records * 10,
        "size_max": 30,
        "sizes": [9, 20],
        "first_ms": 1_700_000_000_000,
        "last_ms": 1_700_000_010_000,
        "late": records // 2,
        "late_max": 12_000,
        "latenesses": [0, 900],
        "keyed": records,
        "keys": 4,
    }
    return usual | more

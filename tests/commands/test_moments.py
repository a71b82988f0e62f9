"""Times as people write them."""

from __future__ import annotations

import pytest

from ottla.commands.moments import parse_moment

NOW_MS = 1_700_000_000_000


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("now", NOW_MS),
        ("-10m", NOW_MS - 600_000),
        ("-250ms", NOW_MS - 250),
        ("-1h", NOW_MS - 3_600_000),
        ("10 minutes ago", NOW_MS - 600_000),
        ("1 day ago", NOW_MS - 86_400_000),
        ("2h ago", NOW_MS - 7_200_000),
        ("3 Weeks ago", NOW_MS - 3 * 604_800_000),
        ("30s ago", NOW_MS - 30_000),
        ("-999999999w", 0),
        ("1699999999999", 1_699_999_999_999),
        ("2023-11-14T22:13:20Z", NOW_MS),
        ("2023-11-14T23:13:20+01:00", NOW_MS),
    ],
)
def test_a_time_is_understood(text: str, moment: int) -> None:
    assert parse_moment(text, NOW_MS) == moment


@pytest.mark.parametrize("text", ["", "tomorrow", "-10", "10m", "-10 parsecs", "10 parsecs ago", "-5", "2023-99-99"])
def test_what_is_no_time_is_told_with_examples(text: str) -> None:
    with pytest.raises(ValueError, match=r"is no time: write 2026-01-31"):
        parse_moment(text, NOW_MS)

"""Each check lets the right values pass, and says what it wants of the others."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.config import checks
from ottla.config.checks import Check, at_least, between, listed, one_of, one_of_any_case

LISTED = listed("a", "b", empty=False)


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (at_least(1), [1, 2, float("nan")], [0, -1, None]),
        (between(0, 1), [0, 0.5, 1], [-0.1, 1.1, None]),
        (one_of("a", "b"), ["a", "b"], ["A", "", None]),
        (one_of_any_case("UP", "DOWN"), ["up", "Down"], ["", "left", None]),
        (listed(), [(), ("x", "y")], [("x", ""), None]),
        (listed(null=True), [None, ()], [("",)]),
        (LISTED, [("a",), ("b", "a")], [(), ("c",), ("a", "c"), None]),
        (checks.NOT_EMPTY, ["x", None], [""]),
        (checks.NOT_NULL, ["x", ""], [None]),
        (checks.GZIP_LEVEL, [-1, 1, 9], [0, 10, -2, None]),
        (checks.THROTTLED_REPLICAS, [(), ("*",), ("1:2", "3:4"), ("",)], [("*", "*"), ("a",), ("1:2:3",)]),
        (
            checks.SHARE_OFFSET_RESET,
            ["latest", "earliest", "by_duration:P1D", "by_duration:PT1H2M3.5S", "by_duration:p1dt1s"],
            ["", None, "none", "by_duration", "by_duration:", "by_duration:P", "by_duration:PT", "by_duration:-PT1H"],
        ),
    ],
    ids=lambda value: value.wants if isinstance(value, Check) else "",
)
def test_a_check_takes_the_good_and_refuses_the_bad(check: Check, good: list[Any], bad: list[Any]) -> None:
    assert [value for value in good if check.complaint(value)] == []
    assert [value for value in bad if not check.complaint(value)] == []
    assert all(check.complaint(value).startswith("must ") for value in bad)


def test_a_wrong_entry_of_a_list_is_named() -> None:
    assert LISTED.complaint(("a", "c")) == "must be a list of a, b, not empty; 'c' is not"

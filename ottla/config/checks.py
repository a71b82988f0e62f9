"""What a value may be: small checks that a declaration carries and that can say what they want.

A check takes a parsed value and returns what is wrong with it, or "" if nothing is; `wants` is its one line in the
docs. None is checked as well: a key without a value has None. Knows no key. Checks that need more than one key are in
`cross_checks`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple


class Check(NamedTuple):
    """`wants` is for people; `complaint` takes a value and returns what is wrong with it or "".

    A `distinct` list loses its repeated entries when it is read, as Kafka's ValidList does (KIP-1161).
    """

    wants: str
    complaint: Callable[[Any], str]
    distinct: bool = False


def at_least(low: float) -> Check:
    """A number not below `low`."""
    wants = f"at least {low}"
    # Written so that NaN passes, as it does in Kafka.
    return Check(wants, lambda value: f"must be {wants}" if value is None or value < low else "")


def between(low: float, high: float) -> Check:
    """A number from `low` to `high`, both included."""
    wants = f"between {low} and {high}"
    return Check(wants, lambda value: f"must be {wants}" if value is None or value < low or value > high else "")


def one_of(*allowed: str) -> Check:
    """One of these words, spelled like this."""
    wants = "one of " + ", ".join(allowed)
    return Check(wants, lambda value: "" if value in allowed else f"must be {wants}")


def one_of_any_case(*allowed: str) -> Check:
    """One of these words, however its letters are cased."""
    wants = "one of " + ", ".join(allowed) + " (in any case)"
    upper = {word.upper() for word in allowed}
    return Check(wants, lambda value: "" if value is not None and value.upper() in upper else f"must be {wants}")


def listed(*allowed: str, empty: bool = True, null: bool = False) -> Check:
    """A list without empty entries, of these words if any are given."""
    wants = "a list of " + (", ".join(allowed) if allowed else "names") + ("" if empty else ", not empty")

    def complaint(value: Any) -> str:
        if value is None:
            return "" if null else "must be set"
        if not value:
            return "" if empty else f"must be {wants}"
        if "" in value:
            return "must not have an empty entry"
        wrong = [entry for entry in value if allowed and entry not in allowed]
        return f"must be {wants}; {wrong[0]!r} is not" if wrong else ""

    return Check(wants, complaint, distinct=True)


NOT_EMPTY = Check("not empty", lambda value: "must not be empty" if value == "" else "")
NOT_NULL = Check("any text", lambda value: "must be set" if value is None else "")
GZIP_LEVEL = Check(
    "-1 or between 1 and 9", lambda value: "" if value in {-1, *range(1, 10)} else "must be -1 or 1 to 9"
)

_REPLICA = r"([0-9]+:[0-9]+)?"  # Kafka lets an empty entry pass
_REPLICAS_WANTED = "* or a list of PARTITION:BROKER"


def _replicas_complaint(value: Any) -> str:
    if value == ("*",) or all(re.fullmatch(_REPLICA, entry, re.ASCII) for entry in value):
        return ""
    return f"must be {_REPLICAS_WANTED}"


THROTTLED_REPLICAS = Check(_REPLICAS_WANTED, _replicas_complaint)

_DURATION = r"\+?P(?=.)(\+?[0-9]+D)?(T(?=.)(\+?[0-9]+H)?(\+?[0-9]+M)?(\+?[0-9]+([.,][0-9]{0,9})?S)?)?"
_RESET_WANTED = "latest, earliest or by_duration:PnDTnHnMn.nS"


def _reset_complaint(value: Any) -> str:
    kind, _, duration = (value or "").partition(":")
    if value in ("latest", "earliest") or (
        kind == "by_duration" and re.fullmatch(_DURATION, duration, re.ASCII | re.IGNORECASE)
    ):
        return ""
    return f"must be {_RESET_WANTED}"


SHARE_OFFSET_RESET = Check(_RESET_WANTED, _reset_complaint)

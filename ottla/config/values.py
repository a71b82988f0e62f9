"""How a configuration value is spelled: text to value and back, as Kafka's ConfigDef does it.

Knows the nine types and nothing about any key. Text comes from files, command lines and peers, so every number is
matched before it is converted: what Java would not read is refused, whatever Python would make of it.
"""

from __future__ import annotations

import re
from enum import IntEnum
from typing import Any


class ConfigError(Exception):
    """A configuration that cannot be used: the message names the key, the value and what is allowed."""


class ConfigType(IntEnum):
    """The types of keys, with the numbers they have in DescribeConfigs (KIP-569)."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class Password:
    """A secret that does not print itself."""

    __slots__ = ("value",)

    HIDDEN = "[hidden]"

    def __init__(self, value: str) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Password) and self.value == other.value

    def __hash__(self) -> int:
        return hash(self.value)

    def __repr__(self) -> str:
        return self.HIDDEN


SHORT_MAX = 2**15 - 1
INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1
DOUBLE_MAX = 1.7976931348623157e308
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS

_WHOLE_MAX = {ConfigType.SHORT: SHORT_MAX, ConfigType.INT: INT_MAX, ConfigType.LONG: LONG_MAX}
_BITS = {ConfigType.SHORT: 16, ConfigType.INT: 32, ConfigType.LONG: 64}
_BLANK = "".join(map(chr, range(33)))  # what Java's String.trim takes away
_SPACE = " \t\n\v\f\r"  # what Java's \s is
_DIGITS_MAX = 19
# Patterns stay texts until they are needed: compiling them takes a millisecond of every start.
_DOUBLE = r"[+-]?(?:NaN|Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[fFdD]?)"

# Java writes a double between these as digits and beyond them with an exponent.
_DIGITS_FROM, _DIGITS_TO = 1e-3, 1e7


def parse(config_type: ConfigType, text: str) -> Any:
    """The value that a text stands for. What cannot be read is a ValueError that says what would have been right."""
    text = text.strip(_BLANK)
    match config_type:
        case ConfigType.STRING | ConfigType.CLASS:
            return text
        case ConfigType.PASSWORD:
            return Password(text)
        case ConfigType.LIST:
            return tuple(entry.strip(_SPACE) for entry in text.split(",")) if text else ()
        case ConfigType.BOOLEAN:
            return _boolean(text)
        case ConfigType.DOUBLE:
            return _double(text)
        case _:
            return _whole(config_type, text)


def _boolean(text: str) -> bool:
    value = {"true": True, "false": False}.get(text.lower())
    if value is None:
        raise ValueError("must be true or false")
    return value


def _whole(config_type: ConfigType, text: str) -> int:
    largest = _WHOLE_MAX[config_type]
    digits = text[1:] if text.startswith(("+", "-")) else text
    significant = digits.lstrip("0")
    if digits.isascii() and digits.isdigit() and len(significant) <= _DIGITS_MAX:
        value = int(significant or "0") * (-1 if text.startswith("-") else 1)
        if -largest - 1 <= value <= largest:
            return value
    raise ValueError(f"must be a whole number of {_BITS[config_type]} bits")


def _double(text: str) -> float:
    if not re.fullmatch(_DOUBLE, text, re.ASCII):
        raise ValueError("must be a number")
    return float(text if text.endswith(("NaN", "Infinity")) else text.rstrip("fFdD"))


def spell(config_type: ConfigType, value: Any) -> str | None:
    """The text of a value, as Kafka shows it; None stays None."""
    if value is None:
        return None
    match config_type:
        case ConfigType.BOOLEAN:
            return "true" if value else "false"
        case ConfigType.LIST:
            return ",".join(value)
        case ConfigType.DOUBLE:
            return double_text(value)
        case ConfigType.PASSWORD:
            return Password.HIDDEN
        case _:
            return str(value)


def double_text(value: float) -> str:
    """A double as Java prints it: 0.5, 100.0, 1.0E7."""
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or _DIGITS_FROM <= abs(value) < _DIGITS_TO:
        return _plain(value)
    digits = repr(value).lower()
    mantissa, _, exponent = digits.partition("e")
    if not exponent:
        mantissa, exponent = _scientific(digits)
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}E{int(exponent)}"


def _plain(value: float) -> str:
    digits = repr(value)
    assert "e" not in digits, "Python's own exponents begin outside of Java's plain range"
    return digits


def _scientific(digits: str) -> tuple[str, str]:
    """The mantissa and exponent of plain digits: 12345678.5 is 1.23456785 and 7."""
    sign = "-" if digits.startswith("-") else ""
    whole, _, fraction = digits.removeprefix("-").partition(".")
    significant = (whole + fraction).lstrip("0")
    exponent = len(whole) - 1 if whole.strip("0") else -len(fraction) + len(significant) - 1
    significant = significant.rstrip("0")
    return f"{sign}{significant[0]}.{significant[1:] or '0'}", str(exponent)

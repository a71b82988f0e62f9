"""Texts become values and back, as Java reads and prints them."""

from __future__ import annotations

import pytest

from ottla.config.values import INT_MAX, LONG_MAX, SHORT_MAX, ConfigType, Password, double_text, parse, spell


@pytest.mark.parametrize(
    ("config_type", "text", "value"),
    [
        (ConfigType.BOOLEAN, " True ", True),
        (ConfigType.BOOLEAN, "FALSE", False),
        (ConfigType.SHORT, str(SHORT_MAX), SHORT_MAX),
        (ConfigType.INT, f"+{INT_MAX}", INT_MAX),
        (ConfigType.INT, "-0007", -7),
        (ConfigType.LONG, str(-LONG_MAX - 1), -LONG_MAX - 1),
        (ConfigType.LONG, "-" + "0" * 5000 + "1", -1),
        (ConfigType.DOUBLE, "1e3", 1000.0),
        (ConfigType.DOUBLE, "+.5d", 0.5),
        (ConfigType.DOUBLE, "-Infinity", float("-inf")),
        (ConfigType.STRING, "\t a b \n", "a b"),
        (ConfigType.STRING, "\u00a0a", "\u00a0a"),
        (ConfigType.CLASS, "a.B", "a.B"),
        (ConfigType.LIST, " ", ()),
        (ConfigType.LIST, " a ,\tb,, c ", ("a", "b", "", "c")),
        (ConfigType.PASSWORD, " secret ", Password("secret")),
    ],
)
def test_a_text_is_read_as_its_type(config_type: ConfigType, text: str, value: object) -> None:
    assert parse(config_type, text) == value


@pytest.mark.parametrize(
    ("config_type", "text"),
    [
        (ConfigType.BOOLEAN, "yes"),
        (ConfigType.SHORT, str(SHORT_MAX + 1)),
        (ConfigType.INT, str(-INT_MAX - 2)),
        (ConfigType.INT, "1_000"),
        (ConfigType.INT, "٣"),
        (ConfigType.INT, "1.0"),
        (ConfigType.INT, ""),
        (ConfigType.INT, "+-1"),
        (ConfigType.LONG, "9" * 5000),
        (ConfigType.DOUBLE, "1_0"),
        (ConfigType.DOUBLE, "inf"),
        (ConfigType.DOUBLE, "nan"),
        (ConfigType.DOUBLE, ""),
    ],
)
def test_a_text_that_java_would_not_read_is_refused(config_type: ConfigType, text: str) -> None:
    with pytest.raises(ValueError, match=r"^must be"):
        parse(config_type, text)


def test_not_a_number_is_read() -> None:
    value = parse(ConfigType.DOUBLE, "NaN")
    assert value != value
    assert double_text(value) == "NaN"


@pytest.mark.parametrize(
    ("config_type", "value", "text"),
    [
        (ConfigType.INT, None, None),
        (ConfigType.BOOLEAN, True, "true"),
        (ConfigType.BOOLEAN, False, "false"),
        (ConfigType.INT, -1, "-1"),
        (ConfigType.LIST, ("a", "b"), "a,b"),
        (ConfigType.LIST, (), ""),
        (ConfigType.STRING, "a", "a"),
        (ConfigType.DOUBLE, 0.5, "0.5"),
        (ConfigType.PASSWORD, Password("secret"), "[hidden]"),
    ],
)
def test_a_value_is_spelled_as_kafka_shows_it(config_type: ConfigType, value: object, text: str | None) -> None:
    assert spell(config_type, value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"),
        (100.0, "100.0"),
        (-0.25, "-0.25"),
        (9999999.5, "9999999.5"),
        (1e7, "1.0E7"),
        (12345678.5, "1.23456785E7"),
        (-123456789012.0, "-1.23456789012E11"),
        (1.5e300, "1.5E300"),
        (0.001, "0.001"),
        (0.0009, "9.0E-4"),
        (-0.00012, "-1.2E-4"),
        (1e-5, "1.0E-5"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
    ],
)
def test_a_double_is_printed_as_java_prints_it(value: float, text: str) -> None:
    assert double_text(value) == text


def test_a_password_does_not_print_itself_and_can_be_compared() -> None:
    secret = Password("secret")
    assert "secret" not in f"{secret} {secret!r}"
    assert secret == Password("secret")
    assert secret != Password("other")
    assert secret != "secret"
    assert len({secret, Password("secret")}) == 1

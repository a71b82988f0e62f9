"""A declaration is a key on its class and a value on its instances."""

from __future__ import annotations

import pytest

from ottla.config.broker import BrokerConfig
from ottla.config.checks import at_least, listed
from ottla.config.group import ClientMetricsConfig, GroupConfig
from ottla.config.keys import (
    REQUIRED,
    Key,
    KeySet,
    boolean,
    double,
    integer,
    java_class,
    long,
    password,
    short,
    string,
    strings,
)
from ottla.config.topic import TopicConfig
from ottla.config.values import ConfigError, ConfigType, Password


class Sample(KeySet):
    """Keys of every type."""

    a_boolean = boolean("a.boolean", False)
    an_int = integer("an.int", 5, at_least(1)).says("A number.")
    an_optional = integer("an.optional", None)
    a_long = long("a.long", 1 << 40)
    a_short = short("a.short", 3)
    a_double = double("a.double", 0.5)
    a_string = string("a.string", "x")
    a_list = strings("a.list", ("x",), listed())
    a_class = java_class("a.class", None)
    a_password = password("a.password")
    a_must: Key[int] = integer("a.must", REQUIRED)


class More(Sample):
    """The same and one more."""

    another = string("another", None)


def test_an_attribute_is_the_key_on_the_class_and_the_value_on_an_instance() -> None:
    sample = Sample({"an.int": 7})
    assert Sample.an_int.name == "an.int"
    assert Sample.an_int.attribute == "an_int"
    assert Sample.an_int.doc == "A number."
    assert (sample.an_int, sample.a_long, sample.an_optional) == (7, 1 << 40, None)
    assert sample.value("a.list") == ("x",)
    assert repr(Sample.an_int) == "<Key an.int>"


def test_an_instance_does_not_change() -> None:
    with pytest.raises(AttributeError, match="an_int"):
        Sample({}).an_int = 3  # type: ignore[misc]


def test_keys_are_inherited() -> None:
    assert set(More.keys) == {*Sample.keys, "another"}
    assert More({"another": "y"}).another == "y"


def test_a_required_value_that_nobody_filled_in_is_our_mistake() -> None:
    assert repr(REQUIRED) == "REQUIRED"
    assert Sample.a_must.default_text is None
    with pytest.raises(AssertionError, match=r"a\.must"):
        assert Sample({}).a_must


def test_texts_are_read_for_the_keys_that_exist() -> None:
    texts = {"an.int": "9", "a.list": "x,y,x", "a.password": "secret", "unknown": "?"}
    assert Sample.read(texts) == {"an.int": 9, "a.list": ("x", "y"), "a.password": Password("secret")}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("an.int", "0", "an.int: '0' is not allowed: it must be at least 1"),
        ("an.int", "x", "an.int: 'x' is not allowed: it must be a whole number of 32 bits"),
        ("a.boolean", "maybe", "a.boolean: 'maybe' is not allowed: it must be true or false"),
        ("a.list", "a,,b", "a.list: 'a,,b' is not allowed: it must not have an empty entry"),
    ],
)
def test_a_wrong_value_is_an_error_that_names_key_value_and_what_is_allowed(name: str, text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Sample.read({name: text})
    assert str(caught.value) == message


def test_a_secret_is_not_named_in_a_complaint() -> None:
    assert "hunter2" not in Sample.a_password.complaint("hunter2", "must be longer")


ALL: list[Key[object]] = [
    key for keys in (BrokerConfig, TopicConfig, GroupConfig, ClientMetricsConfig) for key in keys.keys.values()
]


def test_every_attribute_is_its_kafka_name_with_underscores() -> None:
    assert [key for key in ALL if key.attribute != key.name.replace(".", "_")] == []


def test_every_key_has_one_sentence_that_ends() -> None:
    assert [key for key in ALL if not key.doc or not key.doc[0].isupper() or not key.doc.endswith(".")] == []


def test_every_default_passes_its_own_check() -> None:
    wrong = [
        key
        for key in ALL
        if key.check is not None and key.default is not REQUIRED and key.default is not None
        if key.check.complaint(key.default)
    ]
    assert wrong == []


def test_every_default_can_be_read_back_from_its_text() -> None:
    different = [
        key
        for key in ALL
        if key.default_text is not None and key.config_type is not ConfigType.PASSWORD
        if key.read(key.default_text) != key.default
    ]
    assert different == []

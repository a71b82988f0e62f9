"""What Python programs write becomes what a properties file would say."""

from __future__ import annotations

import pytest

from ottla.config.loading import load, unknown_keys
from ottla.testing.failures import BrokerError
from ottla.testing.settings import DEFAULTS, OURS, texts_of


def test_values_become_texts() -> None:
    texts = texts_of({"a.b": 3, "c": 0.5, "d": "text"}, {"e_f": True, "g": False})
    assert texts == DEFAULTS | {"a.b": "3", "c": "0.5", "d": "text", "e.f": "true", "g": "false"}


def test_keywords_win_over_the_mapping_and_both_over_the_defaults() -> None:
    key = "group.initial.rebalance.delay.ms"
    assert texts_of({}, {})[key] == "0"
    assert texts_of({key: 5}, {})[key] == "5"
    assert texts_of({key: 5}, {key.replace(".", "_"): 7})[key] == "7"


@pytest.mark.parametrize("name", OURS)
def test_what_the_broker_has_from_the_test_cannot_be_set(name: str) -> None:
    with pytest.raises(BrokerError, match=name):
        texts_of({name: "x"}, {})


def test_the_defaults_are_settings() -> None:
    assert unknown_keys(DEFAULTS) == []
    assert load(DEFAULTS, {}).config.group_initial_rebalance_delay_ms == 0

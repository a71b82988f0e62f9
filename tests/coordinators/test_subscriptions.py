"""Names and expressions: what a subscription comes to, and that RE2 means here what it means to Kafka."""

from __future__ import annotations

from collections import Counter

import pytest

from ottla.coordinators.subscriptions import (
    REGEX_BYTES_MAX,
    ResolvedRegex,
    Subscription,
    all_alike,
    all_wanted_names,
    compiled,
    matching,
    wanted_names,
)
from ottla.wire.errors import ErrorCode, KafkaError
from tests.coordinators import kafka_groups

TOPICS = ["orders", "orders-eu", "Orders", "a.b", "a-b", "bills_2", "x" * 249, "aaaaaaaaaaaaaaaaaaaaaaaa!"]
EXPRESSIONS = [
    "orders",
    "orders.*",
    "(?i)orders",
    "a.b",
    r"a\.b",
    "^orders$",
    "order",
    "orders|a-b",
    "(?P<name>or)ders",
    "(?:or)ders",
    r"\w+_\d",
    r"\p{L}+",
    "[[:alpha:]]+",
    "(a+)+",
    "(a*)*!",
    "x{249}",
    "x{2,3}?.*",
    "",
    ".*",
    "(?s).*",
    r"\Qa.b\E",
    "[a-z-]+",
]
BROKEN = ["(", "[a", "a**", "(?=a)", r"(a)\1", "x{1001}", "*", r"\p{Nonsense}", "(?<!a)b", "a{2}{3}{1000}{1000}"]


def resolved(*topics: str) -> ResolvedRegex:
    return ResolvedRegex(frozenset(topics), 1, 1)


def test_the_whole_name_has_to_match() -> None:
    assert matching("orders", TOPICS) == {"orders"}
    assert matching("order", TOPICS) == frozenset()
    assert matching("orders.*", TOPICS) == {"orders", "orders-eu"}


@pytest.mark.parametrize("regex", [*BROKEN, "a" * (REGEX_BYTES_MAX + 1), "(" + "x{1000}" * 1000 + ")"])
def test_what_cannot_be_compiled_is_refused(regex: str) -> None:
    with pytest.raises(KafkaError) as caught:
        compiled(regex)
    assert caught.value.code is ErrorCode.INVALID_REGULAR_EXPRESSION


def test_a_refused_expression_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KafkaError):
        compiled("(")
    assert capfd.readouterr() == ("", "")


def test_names_and_matches_add_up() -> None:
    both = Subscription(frozenset({"bills"}), "o.*")
    assert wanted_names(both, {"o.*": resolved("orders")}) == {"bills", "orders"}
    assert wanted_names(both, {}) == {"bills"}
    assert wanted_names(Subscription(frozenset({"bills"})), {"": resolved("orders")}) == {"bills"}
    assert all_wanted_names([both, Subscription(frozenset({"x"}))], {"o.*": resolved("orders")}) == {
        "bills",
        "orders",
        "x",
    }
    assert all_wanted_names([], {}) == frozenset()


def test_members_are_alike_if_they_want_the_same() -> None:
    a, b = Subscription(frozenset({"a"})), Subscription(frozenset({"b"}))
    regex, mixed = Subscription(frozenset(), "a.*"), Subscription(frozenset({"a"}), "a.*")
    assert all_alike(Counter())
    assert all_alike(Counter({a: 3}))
    assert all_alike(Counter({regex: 2}))
    assert not all_alike(Counter({a: 3, b: 1}))
    assert not all_alike(Counter({a: 1, regex: 1}))
    assert not all_alike(Counter({mixed: 2}))


@pytest.mark.jvm
def test_kafka_matches_the_same_topics() -> None:
    with kafka_groups.running() as kafka:
        for regex in EXPRESSIONS:
            theirs = kafka.ask("matches", regex=regex, names=TOPICS)
            assert theirs["valid"], regex
            assert set(theirs["names"]) == matching(regex, TOPICS), regex
        for regex in BROKEN[:-1]:
            assert not kafka.ask("matches", regex=regex, names=[])["valid"], regex

"""What users write as addresses, and what brokers claim to be ones."""

from __future__ import annotations

import pytest

from ottla.client.addresses import Address, parse_address, parse_addresses


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("localhost", Address("localhost", 9092)),
        ("localhost:1", Address("localhost", 1)),
        (" 10.0.0.1:65535 ", Address("10.0.0.1", 65535)),
        ("[::1]", Address("::1", 9092)),
        ("[fe80::1%eth0]:9093", Address("fe80::1%eth0", 9093)),
    ],
)
def test_an_address_is_read(text: str, address: Address) -> None:
    assert parse_address(text) == address


@pytest.mark.parametrize(
    "text", ["", ":9092", "host:", "host:x", "host:0", "host:65536", "::1", "[::1", "[::1]9", "a b"]
)
def test_what_is_no_address_is_refused_by_name(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not an address|has no port") as refused:
        parse_address(text)
    assert repr(text) in str(refused.value)


def test_several_addresses_keep_their_order_and_lose_repetitions() -> None:
    expected = (Address("b", 9092), Address("a", 1))
    assert parse_addresses("b, a:1,,b:9092") == expected
    assert parse_addresses(["b", "a:1"]) == expected


def test_a_list_without_an_address_is_refused() -> None:
    with pytest.raises(ValueError, match="names no broker"):
        parse_addresses(" , ")


def test_addresses_are_shown_as_they_are_written() -> None:
    assert str(Address("::1", 1)) == "[::1]:1"
    assert str(Address("a", 1)) == "a:1"


@pytest.mark.parametrize(
    "claimed", [Address("", 1), Address("a", 0), Address("a", -1), Address("a\0", 1), Address("a", 65536)]
)
def test_what_a_broker_claims_may_be_unusable(claimed: Address) -> None:
    assert not claimed.is_usable

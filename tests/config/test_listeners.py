"""Listeners are parsed as Kafka parses them, and compared with each other."""

from __future__ import annotations

import pytest

from ottla.config.listeners import (
    Listener,
    SecurityProtocol,
    check_ports,
    listener_name,
    parse_listeners,
    parse_protocol_map,
    with_controllers,
)

PLAIN, TLS = SecurityProtocol.PLAINTEXT, SecurityProtocol.SSL
PROTOCOLS = {"PLAINTEXT": PLAIN, "INTERNAL": PLAIN, "SSL": TLS}


@pytest.mark.parametrize(
    ("text", "listener", "printed"),
    [
        ("PLAINTEXT://:9092", Listener("PLAINTEXT", "", 9092, PLAIN), "PLAINTEXT://:9092"),
        ("plaintext://localhost:0", Listener("PLAINTEXT", "localhost", 0, PLAIN), "PLAINTEXT://localhost:0"),
        ("SSL://[::1]:9093", Listener("SSL", "::1", 9093, TLS), "SSL://[::1]:9093"),
        ("SSL://fe80::1%eth0:9093", Listener("SSL", "fe80::1%eth0", 9093, TLS), "SSL://[fe80::1%eth0]:9093"),
        ("Internal://0.0.0.0:65535", Listener("INTERNAL", "0.0.0.0", 65535, PLAIN), "INTERNAL://0.0.0.0:65535"),
    ],
)
def test_a_listener_has_a_name_a_host_a_port_and_a_protocol(text: str, listener: Listener, printed: str) -> None:
    assert parse_listeners([text], PROTOCOLS) == (listener,)
    assert str(listener) == printed


@pytest.mark.parametrize(
    "text",
    [
        "",
        "PLAINTEXT",
        ":9092",
        "PLAINTEXT:9092",
        "PLAINTEXT://h",
        "PLAINTEXT://h:",
        "PLAINTEXT://h:x",
        "PLAINTEXT://h:65536",
        "PLAINTEXT://h:-1",
        "PLAINTEXT://h:99999999999999999999",
        "PLAINTEXT://a b:1",
        "PLAINTEXT://h/x:1",
    ],
)
def test_what_is_no_listener_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="NAME://HOST:PORT"):
        parse_listeners([text], PROTOCOLS)


def test_a_name_has_to_be_known_and_may_occur_once() -> None:
    with pytest.raises(ValueError, match="EXTERNAL"):
        parse_listeners(["EXTERNAL://:1"], PROTOCOLS)
    with pytest.raises(ValueError, match="twice"):
        parse_listeners(["SSL://:1", "ssl://:2"], PROTOCOLS)


@pytest.mark.parametrize(
    ("hosts", "allowed"),
    [
        (("127.0.0.1", "::1"), True),
        (("::1", "127.0.0.1"), True),
        (("127.0.0.1", "127.0.0.2"), False),
        (("a", "::1"), False),
    ],
)
def test_a_port_is_shared_by_an_ipv4_and_an_ipv6_address_only(hosts: tuple[str, str], allowed: bool) -> None:
    def listen(port: int) -> list[Listener]:
        return [Listener("A", hosts[0], port, PLAIN), Listener("B", hosts[1], port, PLAIN)]

    check_ports(listen(0))
    check_ports([Listener("A", hosts[0], 1, PLAIN), Listener("B", hosts[1], 2, PLAIN)])
    if allowed:
        check_ports(listen(9092))
    else:
        with pytest.raises(ValueError, match="port 9092 twice"):
            check_ports(listen(9092))


def test_a_protocol_map_is_a_list_of_pairs() -> None:
    assert parse_protocol_map(" a:ssl, B : PLAINTEXT ,,") == {"A": TLS, "B": PLAIN}
    assert parse_protocol_map("") == {}


@pytest.mark.parametrize("text", ["A", "A:TELNET", "A:", ":"])
def test_a_protocol_that_does_not_exist_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="NAME:PROTOCOL"):
        parse_protocol_map(text)


def test_controllers_speak_plaintext_while_nothing_is_secured() -> None:
    default = {"PLAINTEXT": PLAIN, "SSL": TLS}
    assert with_controllers(default, ["C", "PLAINTEXT"], ["PLAINTEXT://:1"]) == default | {"C": PLAIN}
    assert with_controllers(default, ["C"], ["SSL://:1"]) == default
    assert with_controllers(default, ["SSL"], ["PLAINTEXT://:1"]) == default


def test_a_name_ends_at_the_first_colon() -> None:
    assert listener_name("abc://[::1]:1") == "ABC"
    with pytest.raises(ValueError, match="NAME://HOST:PORT"):
        listener_name("abc")

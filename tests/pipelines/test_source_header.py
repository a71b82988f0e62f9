"""The header that says where a copied record came from."""

from __future__ import annotations

import pytest

from ottla.pipelines.source_header import FIRST_PRODUCER_ID, KEY, Origin, Source, header_of, source_of

ORIGIN = Origin("b3R0bGEtY29tcGF0LTAwMQ", "orders", 3)


def test_a_header_says_what_it_was_made_of() -> None:
    header = header_of(ORIGIN, 1041)
    assert header == (KEY, b"b3R0bGEtY29tcGF0LTAwMQ/orders/3/1041")
    assert source_of([(b"trace", b"1"), header]) == Source(ORIGIN, 1041)


def test_the_last_header_alone_counts() -> None:
    other = Origin("elsewhere", "orders", 3)
    assert source_of([header_of(ORIGIN, 1), header_of(other, 2)]) == Source(other, 2)
    assert source_of([header_of(ORIGIN, 1), (b"trace", b"1")]) is None


@pytest.mark.parametrize(
    "value", [None, b"", b"orders/3/1", b"c/orders/3/", b"c/orders/x/1", b"c/orders/3/-1", b"c/t/3/" + b"9" * 20]
)
def test_a_value_of_another_form_is_nobodys(value: bytes | None) -> None:
    assert source_of([(KEY, value)]) is None


def test_a_value_that_is_no_text_is_nobodys() -> None:
    assert source_of([(KEY, b"\xff/orders/3/1")]) is None
    assert source_of([]) is None


def test_each_log_has_a_producer_id_that_no_broker_hands_out() -> None:
    origins = [ORIGIN, ORIGIN._replace(partition=4), ORIGIN._replace(cluster="c"), ORIGIN._replace(topic="o")]
    ids = {origin.producer_id(end_offset) for origin in origins for end_offset in (0, 7)}
    assert len(ids) == 8
    assert all(FIRST_PRODUCER_ID <= one < 1 << 63 for one in ids)
    assert ORIGIN.producer_id(0) == Origin(*ORIGIN).producer_id(0)

"""The text that Prometheus reads, as its own parser reads it."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from ottla.server.exposition import (
    COUNTER,
    GAUGE,
    LINES_PER_PIECE_MAX,
    Family,
    Sample,
    alone,
    labels,
    pieces,
)


def text(*families: Family) -> str:
    return "".join(pieces(families))


def test_a_family_is_help_type_and_its_samples() -> None:
    family = Family("x_total", COUNTER, "How many.", [("", labels(topic="t", partition=3), 5), ("", "", 2)])
    assert text(family) == (
        '# HELP x_total How many.\n# TYPE x_total counter\nx_total{topic="t",partition="3"} 5\nx_total 2\n'
    )


def test_no_family_is_no_text() -> None:
    assert text() == ""


@given(value=st.text(st.characters(exclude_categories=["Cs"])))
def test_the_parser_reads_back_whatever_a_label_holds(value: str) -> None:
    family = Family("x", GAUGE, "Help.", [("", labels(a=value, b="end"), 1)])
    (read,) = text_string_to_metric_families(text(family))
    (sample,) = read.samples
    assert sample.labels == {"a": value, "b": "end"}


def test_help_stays_on_its_line() -> None:
    (read,) = text_string_to_metric_families(text(Family("x", GAUGE, "one\\two\nthree", alone(1))))
    assert read.documentation == "one\\two\nthree"


@pytest.mark.parametrize("value", [0, -1, 2**63 - 1, 0.1, 1e-09, math.inf])
def test_the_parser_reads_back_a_value(value: float) -> None:
    (read,) = text_string_to_metric_families(text(Family("x", GAUGE, "Help.", alone(value))))
    assert read.samples[0].value == value


def test_a_long_text_comes_in_pieces_of_bounded_size_and_none_is_lost() -> None:
    samples: list[Sample] = [("", labels(n=number), number) for number in range(3 * LINES_PER_PIECE_MAX)]
    made = list(pieces([Family("x", GAUGE, "Help.", samples), Family("y", GAUGE, "Help.", alone(1))]))
    assert len(made) == 4
    assert max(piece.count("\n") for piece in made) <= LINES_PER_PIECE_MAX + 1
    first, second = text_string_to_metric_families("".join(made))
    assert [sample.value for sample in first.samples] == list(range(3 * LINES_PER_PIECE_MAX))
    assert second.name == "y"


def test_samples_are_read_no_sooner_than_their_piece_is_made() -> None:
    seen: list[int] = []

    def counted() -> Iterator[Sample]:
        for number in range(2 * LINES_PER_PIECE_MAX):
            seen.append(number)
            yield ("", "", number)

    made = pieces([Family("x", GAUGE, "Help.", counted())])
    next(made)
    assert len(seen) < LINES_PER_PIECE_MAX

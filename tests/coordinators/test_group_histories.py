"""Whatever happens to a group: one owner per generation, no commit lost or taken from a zombie, stable at last."""

from __future__ import annotations

import pytest

from tests.coordinators.group_histories import History

HISTORIES = 2_000
SOAK_HISTORIES = range(100_000, 120_000)
BLOCKS = 20
STEPS = 80


@pytest.mark.parametrize("block", range(BLOCKS))
def test_no_history_breaks_a_group(block: int) -> None:
    for seed in range(block, HISTORIES, BLOCKS):
        History(seed).run(STEPS)


@pytest.mark.soak
@pytest.mark.parametrize("block", range(BLOCKS))
def test_no_history_of_many_breaks_a_group(block: int) -> None:
    for seed in SOAK_HISTORIES[block::BLOCKS]:
        History(seed).run(STEPS)

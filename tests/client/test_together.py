"""Questions at the same time: answers in order, and the first failure as it is."""

from __future__ import annotations

from functools import partial

import pytest
import trio

from ottla.client.together import together
from tests.client.stub_cluster import in_trio


async def after(seconds: float, answer: str) -> str:
    await trio.sleep(seconds)
    return answer


@in_trio
async def test_answers_come_in_the_order_of_the_questions_and_all_wait_at_once() -> None:
    started = trio.current_time()
    assert await together([partial(after, 3, "a"), partial(after, 1, "b"), partial(after, 2, "c")]) == ["a", "b", "c"]
    assert trio.current_time() - started == 3
    assert await together([]) == []


@in_trio
async def test_the_first_failure_ends_the_others() -> None:
    finished = []

    async def failing() -> str:
        await trio.sleep(1)
        raise KeyError("first")

    async def slow() -> str:
        await trio.sleep(5)
        finished.append("slow")
        raise ValueError("second")

    with pytest.raises(KeyError, match="first"):
        await together([slow, failing])
    assert finished == []


@in_trio
async def test_whoever_is_cancelled_from_outside_is_cancelled() -> None:
    with trio.move_on_after(1) as scope:
        await together([partial(after, 9, "never")])
    assert scope.cancelled_caught

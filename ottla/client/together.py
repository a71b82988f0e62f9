"""Several questions at once: each runs in a task, and all are done, or have been given up, when this returns.

Knows nothing of Kafka. The first failure cancels the others and comes out as it is, not in a group.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import trio

T = TypeVar("T")


async def together(questions: Sequence[Callable[[], Awaitable[T]]]) -> list[T]:
    """The answers, in the order of the questions."""
    answers: dict[int, T] = {}
    failures: list[Exception] = []

    async def ask(number: int, question: Callable[[], Awaitable[T]], scope: trio.CancelScope) -> None:
        try:
            answers[number] = await question()
        except Exception as error:
            failures.append(error)
            scope.cancel()

    async with trio.open_nursery() as nursery:
        for number, question in enumerate(questions):
            nursery.start_soon(ask, number, question, nursery.cancel_scope)
    if failures:
        raise failures[0]
    return [answers[number] for number in range(len(questions))]

"""Whoever holds the most for the longest goes when there is too much."""

from __future__ import annotations

from ottla.config.loading import load
from ottla.server.half_received import UNCOUNTED_BYTES, HalfReceived, half_received_bytes_max

KB = 1024


class Connection:
    def __init__(self, held: HalfReceived) -> None:
        self.held = held
        self.why = ""

    def cut_off(self, why: str) -> None:
        self.why = why
        self.held.release(self)  # as closing does


def test_the_one_that_has_held_the_most_for_the_longest_goes() -> None:
    held = HalfReceived(100 * KB)
    large_and_old, small_and_older, large_and_new = (Connection(held) for _ in range(3))
    held.hold(small_and_older, 5 * KB, 0.0)
    held.hold(large_and_old, 50 * KB, 5.0)
    held.hold(large_and_new, 45 * KB, 10.0)
    assert not any(one.why for one in (large_and_old, small_and_older, large_and_new))
    held.hold(large_and_new, 46 * KB, 10.1)
    assert large_and_old.why == (
        "it holds 51200 bytes of a request, 5.1 seconds after it began, and all together more than 102400"
    )
    assert not small_and_older.why
    assert not large_and_new.why
    assert (held.held_bytes, len(held)) == (51 * KB, 2)


def test_it_may_be_the_one_that_came_last() -> None:
    held = HalfReceived(100 * KB)
    small, large = Connection(held), Connection(held)
    held.hold(small, 10 * KB, 0.0)
    held.hold(large, 95 * KB, 0.0)
    assert large.why
    assert not small.why


def test_a_request_that_has_come_to_its_end_is_held_no_longer() -> None:
    held = HalfReceived(100 * KB)
    one = Connection(held)
    for number in range(10):
        held.hold(one, 90 * KB, float(number))
        held.hold(one, 0, number + 0.5)
        assert (held.held_bytes, len(held)) == (0, 0)
    held.release(one)
    assert held.held_bytes == 0


def test_a_few_bytes_are_not_counted() -> None:
    held = HalfReceived(0)
    one = Connection(held)
    held.hold(one, UNCOUNTED_BYTES, 0.0)
    assert not one.why
    held.hold(one, UNCOUNTED_BYTES + 1, 0.0)
    assert one.why


def test_the_configuration_says_how_much_and_the_largest_request_is_always_possible() -> None:
    def bytes_max(**keys: str) -> int:
        return half_received_bytes_max(load({name.replace("_", "."): text for name, text in keys.items()}, {}).config)

    assert bytes_max() == (100 << 20) + 4
    assert bytes_max(socket_request_max_bytes="1000", ottla_half_received_max_bytes="5000") == 5000
    assert bytes_max(socket_request_max_bytes="9000", ottla_half_received_max_bytes="5000") == 9004
    assert bytes_max(socket_request_max_bytes="1000", queued_max_request_bytes="7000") == 7000

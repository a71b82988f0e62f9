"""Directory ids that mean something."""

from __future__ import annotations

from ottla.cluster.image.directory_ids import LOST, MIGRATING, UNASSIGNED, is_online, is_reserved

MINE, OTHER = bytes(range(16)), bytes(range(1, 17))


def test_the_first_hundred_ids_are_reserved() -> None:
    assert is_reserved(MIGRATING)
    assert is_reserved(bytes(15) + bytes([99]))
    assert not is_reserved(bytes(15) + bytes([100]))
    assert not is_reserved(MINE)


def test_a_replica_is_reachable_unless_its_directory_is_known_to_be_gone() -> None:
    assert is_online(MINE, [MINE])
    assert not is_online(MINE, [OTHER])
    assert is_online(MINE, []), "the broker registered before directories were recorded"
    assert is_online(UNASSIGNED, [OTHER])
    assert is_online(MIGRATING, [OTHER])
    assert not is_online(LOST, [])

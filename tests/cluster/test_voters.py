"""Sets of voters: who is in them, how they change, and how they are recorded."""

from __future__ import annotations

from ottla.cluster.voters import Endpoint, KRaftVersions, ReplicaKey, Voter, VoterSet
from ottla.wire.stored.control_records import VotersRecord

ONE, TWO, OTHER_TWO = (ReplicaKey(1, b"a" * 16), ReplicaKey(2, b"b" * 16), ReplicaKey(2, b"c" * 16))


def voter(key: ReplicaKey, port: int = 9093) -> Voter:
    return Voter(key, {"CONTROLLER": Endpoint("localhost", port)})


def test_a_node_with_another_directory_is_another_voter() -> None:
    voters = VoterSet([voter(ONE), voter(TWO)])
    assert voters.is_voter(TWO)
    assert not voters.is_voter(OTHER_TWO)
    assert not voters.is_voter(ReplicaKey(3))


def test_a_static_voter_is_known_by_its_id_alone() -> None:
    voters = VoterSet.static({2: Endpoint("localhost", 9093)}, "CONTROLLER")
    assert voters.is_voter(TWO)
    assert voters.is_only_voter(OTHER_TWO)
    assert not voters.is_only_voter(ONE)
    assert voters.endpoints(2) == {"CONTROLLER": Endpoint("localhost", 9093)}
    assert voters.endpoints(1) == {}


def test_voters_come_out_of_their_record_as_they_went_in() -> None:
    voters = VoterSet([Voter(TWO, {"A": Endpoint("h", 1), "B": Endpoint("i", 2)}, KRaftVersions(0, 1)), voter(ONE)])
    read = VotersRecord.decode(voters.to_record().encode(0), 0)
    assert VoterSet.from_record(read) == voters
    assert list(VoterSet.from_record(read).endpoints(2)) == ["A", "B"]


def test_one_voter_is_added_removed_or_updated_at_a_time() -> None:
    one = VoterSet([voter(ONE)])
    both = one.added(voter(TWO))
    assert both is not None
    assert both.keys == [ONE, TWO]
    assert both.ids == [1, 2]
    assert both.added(voter(OTHER_TWO)) is None, "the id is taken"
    assert both.removed(OTHER_TWO) is None, "not that one"
    assert both.removed(ReplicaKey(3)) is None
    assert both.removed(TWO) == one
    assert one.removed(ONE) is None, "the last one stays"
    assert one.updated(voter(TWO)) is None
    updated = both.updated(voter(TWO, 9999))
    assert updated is not None
    assert updated.endpoints(2)["CONTROLLER"].port == 9999
    assert both.needs_update(voter(TWO, 9999))
    assert not both.needs_update(voter(TWO))
    assert not one.needs_update(voter(TWO))


def test_majorities_overlap_if_at_most_one_joins_and_one_leaves() -> None:
    def of(*ids: int) -> VoterSet:
        return VoterSet(Voter(ReplicaKey(id)) for id in ids)

    assert of(1, 2, 3).overlaps(of(1, 2, 3, 4))
    assert of(1, 2, 3).overlaps(of(1, 2, 4))
    assert not of(1, 2, 3).overlaps(of(1))
    assert not of(1).overlaps(of(1, 2, 3))


def test_sets_are_equal_by_content_and_print_their_keys() -> None:
    assert VoterSet([voter(ONE), voter(TWO)]) == VoterSet([voter(TWO), voter(ONE)])
    assert VoterSet() != "nobody"
    assert repr(VoterSet([Voter(ReplicaKey(7)), voter(ONE)])) == "VoterSet(1-YWFhYWFhYWFhYWFhYWFhYQ, 7)"
    assert VoterSet([voter(ONE)]).get(1) == voter(ONE)


def test_a_range_of_versions_holds_numbers_only() -> None:
    assert 1 in KRaftVersions(0, 1)
    assert 2 not in KRaftVersions(0, 1)
    assert "1" not in KRaftVersions(0, 1)

"""Sessions: who was heard of when, and what a new controller believes."""

from __future__ import annotations

from ottla.cluster.controller.registrations import unregister_broker
from ottla.wire.messages.controller import UnregisterBrokerRequest
from tests.cluster.controller.small_cluster import SmallCluster


def test_a_broker_is_live_for_its_whole_session_and_not_longer() -> None:
    cluster = SmallCluster(1)
    sessions = cluster.state.sessions
    assert sessions.is_live(1, cluster.now_ms + 9000)
    assert not sessions.is_live(1, cluster.now_ms + 9001)
    assert not sessions.is_live(7, cluster.now_ms)


def test_a_heartbeat_of_another_incarnation_does_not_count() -> None:
    cluster = SmallCluster(1)
    sessions = cluster.state.sessions
    sessions.contact(1, 12345, 99, cluster.now_ms + 500)
    sessions.contact(7, 1, 99, cluster.now_ms + 500)
    assert sessions.by_id[1].last_contact_ms == cluster.now_ms
    assert list(sessions.by_id) == [1]


def test_the_broker_that_was_silent_longest_is_the_first_stale_one() -> None:
    cluster = SmallCluster(3)
    image, sessions = cluster.state.image, cluster.state.sessions
    for broker_id, contact_ms in ((1, 300), (2, 100), (3, 200)):
        sessions.by_id[broker_id].last_contact_ms = contact_ms
    assert sessions.next_stale_ms(image) == 9101
    assert sessions.first_stale(image, 9100) is None
    assert sessions.first_stale(image, 9101) == 2
    assert sessions.first_stale(image, 99999) == 2


def test_a_fenced_broker_cannot_become_stale() -> None:
    cluster = SmallCluster(1)
    cluster.fence(1)
    assert cluster.state.sessions.next_stale_ms(cluster.state.image) is None
    assert cluster.state.sessions.first_stale(cluster.state.image, 10**9) is None


def test_the_lowest_offset_is_that_of_the_slowest_active_broker() -> None:
    cluster = SmallCluster(3)
    sessions = cluster.state.sessions
    for broker_id, offset in ((1, 30), (2, 10), (3, 20)):
        sessions.by_id[broker_id].metadata_offset = offset
    assert sessions.lowest_active_offset(cluster.state.image) == 10
    cluster.replay(*cluster.heartbeat(2, want_fence=True).records)
    assert sessions.lowest_active_offset(cluster.state.image) == 20
    for broker_id in (1, 3):
        cluster.fence(broker_id)
    assert sessions.lowest_active_offset(cluster.state.image) is None


def test_a_new_controller_gives_everyone_a_whole_session() -> None:
    cluster = SmallCluster(2)
    cluster.create("t", [1, 2])
    cluster.beat(1, want_shut_down=True)
    cluster.now_ms += 50_000
    cluster.fail_over()
    sessions = cluster.state.sessions
    assert sessions.first_stale(cluster.state.image, cluster.now_ms) is None
    assert sessions.by_id[1].controlled_shutdown_offset == cluster.state.image.offset
    assert sessions.by_id[2].controlled_shutdown_offset == -1
    assert sessions.by_id[2].registration_offset == cluster.state.image.offset


def test_a_registration_that_is_amended_has_to_be_read_again() -> None:
    cluster = SmallCluster(1)
    session = cluster.state.sessions.by_id[1]
    first = session.registration_offset
    cluster.beat(1, want_fence=True)
    assert session.registration_offset == first, "a change of a flag is no registration"
    cluster.register(1, rack="elsewhere")
    assert cluster.state.sessions.by_id[1] is session
    assert session.registration_offset == cluster.state.image.offset


def test_a_new_incarnation_has_a_session_of_its_own_and_an_unregistered_broker_none() -> None:
    cluster = SmallCluster(1)
    session = cluster.state.sessions.by_id[1]
    cluster.fence(1)
    cluster.register(1, number=1)
    assert cluster.state.sessions.by_id[1] is not session
    cluster.do(unregister_broker(cluster.state, UnregisterBrokerRequest(broker_id=1)))
    assert cluster.state.sessions.by_id == {}


def test_a_shutdown_that_ends_in_a_fence_is_over() -> None:
    cluster = SmallCluster(2)
    cluster.create("t", [1, 2])
    cluster.beat(1, want_shut_down=True)
    offset = cluster.state.sessions.by_id[1].controlled_shutdown_offset
    assert offset == cluster.state.image.offset
    cluster.beat(2, cordoned_log_dirs=[])
    cluster.beat(1, want_shut_down=True, cordoned_log_dirs=[])
    assert cluster.state.sessions.by_id[1].controlled_shutdown_offset == -1


def test_what_happens_during_a_shutdown_does_not_move_its_offset() -> None:
    cluster = SmallCluster(2)
    cluster.create("t", [1, 2])
    cluster.beat(1, want_shut_down=True)
    offset = cluster.state.sessions.by_id[1].controlled_shutdown_offset
    cluster.beat(2, current_metadata_offset=0)
    assert not cluster.beat(1, want_shut_down=True, cordoned_log_dirs=[]).should_shut_down
    assert cluster.state.image.offset > offset
    assert cluster.state.sessions.by_id[1].controlled_shutdown_offset == offset

"""The bench of groups works: its members know when a group is stable, and it runs, on Ottla alone with a few groups.

No figure is looked at beyond being there; what they are is nobody's promise here.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from bench.groups.classic_member import ClassicGroup
from bench.groups.connections import BadAnswer, Connection, Loop
from bench.groups.consumer_member import ConsumerGroup
from bench.groups.membership import Group, Scene
from bench.groups.rows import MEMORY, TIMES, all_rows, at_share
from ottla.wire.errors import ErrorCode
from ottla.wire.messages.classic_groups import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from ottla.wire.messages.consumer_groups import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse
from ottla.wire.messages.headers import RequestHeader, request_header_version
from ottla.wire.schema import Request, Response

ROOT = Path(__file__).resolve().parent.parent
SECONDS_MAX = 120
TOPIC_ID = bytes(range(16))
R = TypeVar("R", bound=Request)


class Peer:
    """The broker's end of a member's connection, played by hand."""

    def __init__(self) -> None:
        self._here, there = socket.socketpair()
        self._here.settimeout(SECONDS_MAX)
        self.connection = Connection(there)
        self._header = RequestHeader(request_api_key=0, request_api_version=0, correlation_id=0, client_id=None)

    def close(self) -> None:
        self._here.close()
        self.connection.socket.close()

    def asked(self, kind: type[R]) -> R:
        size = int.from_bytes(self._here.recv(4, socket.MSG_WAITALL), "big")
        data = self._here.recv(size, socket.MSG_WAITALL)
        version = int.from_bytes(data[2:4], "big")
        assert int.from_bytes(data[:2], "big") == kind.api_key
        self._header, position = RequestHeader.read(data, request_header_version(kind, version))
        return kind.decode(data, version, position)

    def answer(self, response: Response) -> None:
        tags = b"\0"
        body = tags + response.encode(self._header.request_api_version)
        number = self._header.correlation_id
        self._here.sendall((4 + len(body)).to_bytes(4, "big") + number.to_bytes(4, "big") + body)
        self.connection.receive()


@pytest.fixture
def peer() -> Iterator[Peer]:
    played = Peer()
    yield played
    played.close()


@pytest.fixture
def scene() -> Iterator[Scene]:
    with socket.create_server(("127.0.0.1", 0)) as nobody, Loop(nobody.getsockname()) as loop:
        yield Scene(loop, "topic", TOPIC_ID, partition_count=4)


def begun(group: Group, connection: Connection) -> None:
    group.members = [group.new_member(connection)]
    group.scene.unstable.add(group)
    group.members[0].join()


def joined(error: ErrorCode = ErrorCode.NONE, members: tuple[str, ...] = ()) -> JoinGroupResponse:
    listed = [JoinGroupResponse.JoinGroupResponseMember(member_id=one, metadata=b"") for one in members]
    return JoinGroupResponse(
        error_code=error, generation_id=7, protocol_name="range", leader="me", member_id="me", members=listed
    )


def become_leader(peer: Peer, members: tuple[str, ...]) -> SyncGroupRequest:
    peer.asked(JoinGroupRequest)
    peer.answer(joined(ErrorCode.MEMBER_ID_REQUIRED))
    assert peer.asked(JoinGroupRequest).member_id == "me"
    peer.answer(joined(members=members))
    sync = peer.asked(SyncGroupRequest)
    assert sync.generation_id == 7
    assert [one.member_id for one in sync.assignments] == list(members)
    return sync


def test_a_classic_group_is_stable_once_its_members_have_their_part(scene: Scene, peer: Peer) -> None:
    group = ClassicGroup(scene, "g")
    begun(group, peer.connection)
    sync = become_leader(peer, ("me",))
    assert scene.unstable == {group}
    peer.answer(SyncGroupResponse(assignment=sync.assignments[0].assignment))
    assert scene.unstable == set()
    assert group.members[0].partitions == [0, 1, 2, 3]


def test_a_generation_without_everybody_is_not_stable(scene: Scene, peer: Peer) -> None:
    group = ClassicGroup(scene, "g")
    begun(group, peer.connection)
    sync = become_leader(peer, ("me", "somebody else"))
    peer.answer(SyncGroupResponse(assignment=sync.assignments[0].assignment))
    assert scene.unstable == {group}
    assert group.members[0].partitions == [0, 2]
    peer.asked(HeartbeatRequest)  # it asks at once whether the group rebalances
    peer.answer(HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))
    assert peer.asked(JoinGroupRequest).member_id == "me"


def test_an_error_that_no_member_expects_fails_the_measurement(scene: Scene, peer: Peer) -> None:
    begun(ClassicGroup(scene, "g"), peer.connection)
    peer.asked(JoinGroupRequest)
    with pytest.raises(BadAnswer, match="UNKNOWN_MEMBER_ID instead of NONE"):
        peer.answer(joined(ErrorCode.UNKNOWN_MEMBER_ID))


def test_a_consumer_group_is_stable_once_what_was_given_is_acknowledged(scene: Scene, peer: Peer) -> None:
    group = ConsumerGroup(scene, "g")
    begun(group, peer.connection)
    assert peer.asked(ConsumerGroupHeartbeatRequest).member_epoch == 0
    given = ConsumerGroupHeartbeatResponse.TopicPartitions(topic_id=TOPIC_ID, partitions=[0, 1, 2, 3])
    peer.answer(
        ConsumerGroupHeartbeatResponse(
            member_epoch=3,
            heartbeat_interval_ms=5000,
            assignment=ConsumerGroupHeartbeatResponse.Assignment(topic_partitions=[given]),
        )
    )
    assert scene.unstable == {group}
    said = peer.asked(ConsumerGroupHeartbeatRequest)
    assert said.member_epoch == 3
    assert said.topic_partitions is not None
    assert [one.partitions for one in said.topic_partitions] == [[0, 1, 2, 3]]
    peer.answer(ConsumerGroupHeartbeatResponse(member_epoch=3, heartbeat_interval_ms=5000))
    assert scene.unstable == set()


def test_an_answer_to_something_else_is_noticed(scene: Scene, peer: Peer) -> None:
    begun(ClassicGroup(scene, "g"), peer.connection)
    with pytest.raises(BadAnswer, match="not the answer"):
        peer.answer(joined())  # nothing was read, so that the number is not the request's


def test_the_share_of_figures_is_found() -> None:
    values = [float(number) for number in range(100, 0, -1)]
    assert (at_share(values, 0.5), at_share(values, 0.99), at_share([7.0], 0.99)) == (51.0, 100.0, 7.0)


def test_it_runs_on_ottla_alone(tmp_path: Path) -> None:
    result = tmp_path / "result.json"
    done = subprocess.run(
        [
            *(sys.executable, "-m", "bench.groups", "--only", "ottla", "--warm-up", "0", "--groups", "4"),
            *("--no-fill-memory", "--scale", "0.02", "--repeat", "1"),
            *("--json", str(result), "--directory", str(tmp_path)),
        ],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    written = json.loads(result.read_text("utf-8"))
    assert written["failed"] == {}
    measured = {(one["row"], one["figure"]): one["ottla"] for one in written["rows"]}
    assert {row for row, _ in measured} == {row.name for row in all_rows(4)}
    assert len(measured) == 2 * (len(TIMES) + len(MEMORY))
    assert [figures for figures in measured.values() if len(figures) != 1 or min(figures) <= 0] == []
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"], "it cleans up behind itself"

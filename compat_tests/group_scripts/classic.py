"""Scripts of the classic group protocol, drawn by seed.

A script plays two members of one group, static or not, who come, sync, commit, leave, come back and get it wrong in
every way that can be drawn. After each step the group is described. A JoinGroup that waits stays open on its member's
own connection until the other has joined. Nothing depends on time: timeouts are far longer than a script, and the first
rebalance is not delayed.

The members are two, since the lead goes to the next one in a hash table where it has to be taken over.
"""

from __future__ import annotations

from collections.abc import Callable

from compat_tests.group_scripts.asking import (
    NO_SUCH_GROUP,
    OTHER_TOPIC,
    POLLS_MAX,
    STATIC_VERSION_MIN,
    TIMEOUT_MS,
    TOPIC,
    response_of,
)
from compat_tests.group_scripts.offsets import OffsetQuestions
from compat_tests.raw_requests import RawConnection
from ottla.wire.messages.classic_groups import (
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    SyncGroupRequest,
)
from ottla.wire.messages.group_admin import DescribeGroupsRequest

MEMBERS = 2


def subscription(topic: str) -> bytes:
    name = topic.encode()
    return b"\0\1\0\0\0\1" + len(name).to_bytes(2, "big") + name + b"\xff\xff\xff\xff" + b"\0\0\0\0"


# All share one protocol: members must be able to work together.
PROTOCOLS: tuple[dict[str, bytes], ...] = (
    {"range": subscription(TOPIC)},
    {"range": subscription(TOPIC), "roundrobin": subscription(TOPIC)},
    {"roundrobin": subscription(TOPIC), "range": subscription(TOPIC)},
    {"sticky": subscription(TOPIC), "range": subscription(OTHER_TOPIC)},
    {"sticky": subscription(TOPIC), "roundrobin": subscription(TOPIC), "range": subscription(TOPIC)},
)


class Member:
    """One of the two, as it knows itself. `has_id` without `is_in`: an id was handed out and not used yet."""

    def __init__(self, number: int, connection: RawConnection) -> None:
        self.number = number
        self.connection = connection
        self.instance_id: str | None = None
        self.member_id = ""
        self.generation = -1
        self.protocol = "range"
        self.protocols = PROTOCOLS[0]
        self.is_in = False

    @property
    def has_id(self) -> bool:
        return bool(self.member_id)

    def forget(self) -> None:
        self.member_id, self.generation, self.is_in = "", -1, False


class ClassicScript(OffsetQuestions):
    def __init__(self, seed: int, connections: list[RawConnection], topic_ids: dict[str, bytes]) -> None:
        super().__init__(seed, f"script-{seed}", connections[0], topic_ids)
        self.members = [Member(number, connection) for number, connection in enumerate(connections[1 : 1 + MEMBERS])]
        self.leader = ""
        # What the group should be: the script never asks for what would wait for ever.
        self.is_stable = False
        self.must_rejoin = False
        # As it was described last.
        self.state = ""

    def run(self, steps: int) -> list[str]:
        for _ in range(steps):
            self.luck.choice(STEPS)(self)
            self.describe()
        self.round_of_joins()
        self.round_of_syncs()
        self.describe()
        return self.transcript

    # Joining

    def join_request(self, member: Member) -> JoinGroupRequest:
        protocols = [
            JoinGroupRequest.JoinGroupRequestProtocol(name=name, metadata=metadata)
            for name, metadata in member.protocols.items()
        ]
        return JoinGroupRequest(
            group_id=self.group_id,
            session_timeout_ms=TIMEOUT_MS,
            rebalance_timeout_ms=TIMEOUT_MS,
            member_id=member.member_id,
            group_instance_id=member.instance_id,
            protocol_type="consumer",
            protocols=protocols,
        )

    def join_version(self, member: Member) -> int:
        # Before version 1 there is one timeout only, which the request does not carry twice.
        return max(1, self.version(JoinGroupRequest, is_static=member.instance_id is not None))

    def ask_for_id(self, member: Member) -> None:
        """A dynamic member that has none."""
        version = max(4, self.join_version(member))
        response = self.control.send(self.join_request(member), response_of(JoinGroupRequest), version)
        member.member_id = response.member_id
        self.name(member.member_id, str(member.number))
        self.note(self.join_request(member), response, version)

    def join_together(self, members: list[Member]) -> None:
        """All without whom no rebalance ends join, and are told of the generation. The first has a reason to."""
        versions = {}
        size = sum(member.is_in for member in self.members)
        for member in members:
            versions[member] = self.join_version(member)
            member.connection.begin(self.join_request(member), versions[member])
            size += not member.is_in
            if member is not members[-1]:
                self.wait_until("PreparingRebalance", size)
        for member in members:
            response = member.connection.finish(response_of(JoinGroupRequest), versions[member])
            self.name(response.member_id, str(member.number))
            self.note(self.join_request(member), response, versions[member])
            assert response.error_code == 0, response
            member.member_id, member.generation = response.member_id, response.generation_id
            member.protocol = response.protocol_name or ""
            member.is_in = True
            self.leader = response.leader
        self.is_stable = self.must_rejoin = False

    def wait_until(self, state: str, size: int) -> None:
        """Requests on several connections come in any order: wait for what the one before must lead to."""
        request, kind = DescribeGroupsRequest(groups=[self.group_id]), response_of(DescribeGroupsRequest)
        for _ in range(POLLS_MAX):
            (group,) = self.control.send(request, kind, 0).groups
            if group.group_state == state and len(group.members) == size:
                return
        raise AssertionError(f"{self.group_id} is {group.group_state}, it should become {state}")

    def awaited(self) -> list[Member]:
        """Everybody without whom no rebalance ends."""
        return [member for member in self.members if member.is_in or member.has_id]

    def round_of_joins(self) -> None:
        everybody = self.awaited()
        if not everybody:
            return
        if not any(member.is_in for member in everybody) and self.state != "PreparingRebalance":
            # The first rebalance does not wait for anybody: one after the other.
            self.join_together(everybody[:1])
            everybody = self.awaited()
            if len(everybody) == 1:
                return
        newcomers = [member for member in everybody if not member.is_in]
        if newcomers:
            first = newcomers[0]
        elif self.is_stable or self.must_rejoin:
            (first,) = (member for member in everybody if member.member_id == self.leader)
        else:
            first = self.luck.choice(everybody)
            first.protocols = self.luck.choice([one for one in PROTOCOLS if list(one) != list(first.protocols)])
        self.join_together([first, *(member for member in everybody if member is not first)])

    def come(self) -> None:
        absent = [member for member in self.members if not member.is_in and not member.has_id]
        if not absent:
            return
        member = self.luck.choice(absent)
        member.protocols = self.luck.choice(PROTOCOLS)
        member.instance_id = self.luck.choice([None, f"static-{self.group_id}-{member.number}"])
        if member.instance_id is None:
            self.ask_for_id(member)
            if self.luck.random() < 0.3:
                return
        others = [one for one in self.awaited() if one is not member]
        if not any(one.is_in for one in others):
            for other in others:
                self.leave_one(other)
            others = []
        self.probe()
        self.join_together([member, *others])

    def rejoin(self) -> None:
        if any(member.is_in for member in self.members):
            self.round_of_joins()

    def repeat_join(self) -> None:
        """A follower that says the same again is told the same again."""
        followers = [member for member in self.members if member.is_in and member.member_id != self.leader]
        if followers and not self.must_rejoin:
            member = followers[0]
            self.ask(member.connection, self.join_request(member), self.join_version(member))

    def come_back(self) -> None:
        """A static member was restarted: it knows its name and nothing else."""
        static = [member for member in self.members if member.is_in and member.instance_id is not None]
        if not static or not self.is_stable or len(self.awaited()) != sum(member.is_in for member in self.members):
            return
        member = self.luck.choice(static)
        old_id, member.member_id = member.member_id, ""
        version = self.join_version(member)
        response = member.connection.send(self.join_request(member), response_of(JoinGroupRequest), version)
        member.member_id = response.member_id
        self.name(member.member_id, str(member.number))
        self.note(self.join_request(member), response, version)
        self.leader = member.member_id if self.leader == old_id else self.leader
        stale = HeartbeatRequest(
            group_id=self.group_id,
            generation_id=member.generation,
            member_id=old_id,
            group_instance_id=member.instance_id,
        )
        self.ask(self.control, stale, self.version(HeartbeatRequest, is_static=True))

    # Syncing

    def sync_request(self, member: Member, version: int, generation: int | None = None) -> SyncGroupRequest:
        assignments = [
            SyncGroupRequest.SyncGroupRequestAssignment(member_id=one.member_id, assignment=b"for %d" % one.number)
            for one in self.members
            if one.is_in and member.member_id == self.leader
        ]
        return SyncGroupRequest(
            group_id=self.group_id,
            generation_id=member.generation if generation is None else generation,
            member_id=member.member_id,
            group_instance_id=member.instance_id if version >= STATIC_VERSION_MIN[SyncGroupRequest] else None,
            protocol_type="consumer" if version >= 5 else None,
            protocol_name=member.protocol if version >= 5 else None,
            assignments=assignments,
        )

    def round_of_syncs(self) -> None:
        if self.must_rejoin:
            return
        versions = {}
        members = [member for member in self.members if member.is_in]
        for member in sorted(members, key=lambda one: one.member_id == self.leader):
            version = versions[member] = self.version(SyncGroupRequest)
            member.connection.begin(self.sync_request(member, version), version)
        for member in members:
            response = member.connection.finish(response_of(SyncGroupRequest), versions[member])
            self.note(self.sync_request(member, versions[member]), response, versions[member])
            self.is_stable = True

    # Leaving

    def leave_one(self, member: Member) -> None:
        version = self.version(LeaveGroupRequest)
        request = LeaveGroupRequest(group_id=self.group_id, member_id=member.member_id)
        if version >= 3:
            by_name = member.instance_id is not None and self.luck.random() < 0.5
            identity = LeaveGroupRequest.MemberIdentity(
                member_id="" if by_name else member.member_id, group_instance_id=member.instance_id
            )
            request = LeaveGroupRequest(group_id=self.group_id, members=[identity])
        self.ask(self.control, request, version)
        was_in = member.is_in
        member.forget()
        if was_in:
            was_preparing, self.is_stable = self.must_rejoin, False
            self.must_rejoin = any(one.is_in for one in self.members)
            remaining = [one.member_id for one in self.members if one.is_in]
            self.leader = remaining[0] if remaining else ""
            if not remaining and not was_preparing:
                self.wait_until("Empty", 0)  # at once, or by a timer that is due at once

    def leave(self) -> None:
        candidates = self.awaited()
        if candidates:
            self.leave_one(self.luck.choice(candidates))

    # Getting it wrong, and what can be asked at any time

    def probe(self) -> None:
        for _ in range(self.luck.randrange(4)):
            self.luck.choice(PROBES)(self)

    def somebody(self) -> tuple[str, str | None, int]:
        """A member's id, name and generation, each of them possibly another's or nobody's."""
        member = self.luck.choice(self.members)
        member_id = self.luck.choice([member.member_id, member.member_id, member.member_id, "", "nobody"])
        instance_id = self.luck.choice([member.instance_id, member.instance_id, None, "nobody"])
        generation = self.luck.choice([member.generation] * 4 + [member.generation + 1, member.generation - 1, -1])
        return member_id, instance_id, generation

    def heartbeat(self) -> None:
        member_id, instance_id, generation = self.somebody()
        request = HeartbeatRequest(
            group_id=self.group_id, generation_id=generation, member_id=member_id, group_instance_id=instance_id
        )
        self.ask(self.control, request, self.version(HeartbeatRequest, is_static=instance_id is not None))

    def wrong_sync(self) -> None:
        member_id, instance_id, generation = self.somebody()
        known = {member.member_id: member for member in self.members if member.is_in}
        is_right = member_id in known and generation == known[member_id].generation
        if is_right and not self.must_rejoin and not self.is_stable:
            generation += 1  # it would wait, or assign
        request = SyncGroupRequest(
            group_id=self.group_id,
            generation_id=generation,
            member_id=member_id,
            group_instance_id=instance_id,
            protocol_type=self.luck.choice(["consumer", "consumer", "connect", None]),
            protocol_name=self.luck.choice(["range", "roundrobin", None]),
            assignments=[],
        )
        version = max(self.version(SyncGroupRequest, is_static=instance_id is not None), 3)
        self.ask(self.control, request, version)

    def wrong_join(self) -> None:
        stranger = Member(9, self.control)
        stranger.protocols = self.luck.choice(PROTOCOLS)
        request = self.join_request(stranger)
        version = self.version(JoinGroupRequest, is_static=True)
        wrong = self.luck.randrange(5)
        if wrong == 0:
            request.session_timeout_ms = self.luck.choice([0, -1, 5999, 2**31 - 1])
        elif wrong == 1:
            request.member_id = "nobody"
        elif wrong == 2:
            request.protocols = []
        elif wrong == 3:
            request.member_id, request.group_instance_id = "nobody", "no instance"
        else:
            request.group_id = ""
        if wrong == 2 and not any(member.is_in for member in self.members):
            request.protocol_type = ""
        self.ask(self.control, request, version)

    def wrong_leave(self) -> None:
        identities = [
            LeaveGroupRequest.MemberIdentity(member_id=member_id, group_instance_id=instance_id)
            for member_id, instance_id in (("nobody", None), ("", "nobody"), ("", None), ("nobody", "nobody"))
        ]
        chosen = self.luck.sample(identities, self.luck.randint(1, 3))
        request = LeaveGroupRequest(group_id=self.group_id, members=chosen)
        self.ask(self.control, request, self.luck.randint(3, 5))

    def has_members(self) -> bool:
        return bool(self.awaited())

    def delete_group(self) -> None:
        if not any(member.has_id and not member.is_in for member in self.members):
            super().delete_group()  # an id that was handed out would be forgotten with its group

    def describe(self) -> None:
        """What is committed."""
        self.settle_writes()
        version = self.version(DescribeGroupsRequest)
        operations = self.luck.random() < 0.5 and version >= 3
        request = DescribeGroupsRequest(groups=[self.group_id, NO_SUCH_GROUP], include_authorized_operations=operations)
        response = self.ask(self.control, request, version)
        (self.state,) = (group.group_state for group in response.groups if group.group_id == self.group_id)


Step = Callable[[ClassicScript], None]

PROBES: tuple[Step, ...] = (
    ClassicScript.heartbeat,
    ClassicScript.heartbeat,
    ClassicScript.wrong_sync,
    ClassicScript.wrong_join,
    ClassicScript.wrong_leave,
    ClassicScript.commit,
    ClassicScript.commit,
    ClassicScript.fetch,
    ClassicScript.delete_offsets,
    ClassicScript.delete_group,
    ClassicScript.listed,
)
STEPS: tuple[Step, ...] = (
    ClassicScript.come,
    ClassicScript.come,
    ClassicScript.come,
    ClassicScript.rejoin,
    ClassicScript.repeat_join,
    ClassicScript.come_back,
    ClassicScript.round_of_syncs,
    ClassicScript.round_of_syncs,
    ClassicScript.round_of_syncs,
    ClassicScript.leave,
    ClassicScript.probe,
    ClassicScript.probe,
)

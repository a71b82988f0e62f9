"""Scripts of the consumer group protocol (KIP-848), drawn by seed, with a guest who speaks the classic one.

Three members, static or not, subscribe by name and by expression, take partitions and give them back, at once or late,
and get it wrong in every way that can be drawn. After each step the group is described in both protocols. Nothing waits
and nothing depends on time: sessions are far longer than a script, targets are computed at once, and an expression is
used at first only once, since its next resolution would come ten seconds later.

Which of two equal members Kafka prefers lies in its hash tables. So ids are such that Java's go over them in order, and
`uniform` is asked about one topic per member; ids that a broker makes up come before all others, where `range` sorts.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from compat_tests.group_scripts.asking import (
    NO_SUCH_GROUP,
    OTHER_TOPIC,
    POLLS_MAX,
    TIMEOUT_MS,
    TOPIC,
    response_of,
)
from compat_tests.group_scripts.guest import Guest
from compat_tests.group_scripts.offsets import NO_TOPIC_ID, OffsetQuestions
from compat_tests.raw_requests import RawConnection
from ottla.coordinators import embedded
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.classic_groups import LeaveGroupRequest
from ottla.wire.messages.consumer_groups import ConsumerGroupDescribeRequest, ConsumerGroupHeartbeatRequest
from ottla.wire.messages.group_admin import DescribeGroupsRequest

MEMBERS = 3
# A table of sixteen places goes over these in order, and so does whoever sorts them.
IDS = tuple(f"~{letter}" for letter in "abcdefghijkl")
Owned = dict[bytes, list[int]]
# What members of a script subscribe to: one assignor for all of them.
TOPICS_BY_ASSIGNOR = {
    "uniform": ([TOPIC], [TOPIC], [OTHER_TOPIC], ["missing"], []),
    "range": ([TOPIC], [TOPIC, OTHER_TOPIC], [TOPIC, OTHER_TOPIC], [OTHER_TOPIC, "missing"], []),
}
EXPRESSIONS_BY_ASSIGNOR = {"uniform": (TOPIC, "s.*d"), "range": (TOPIC, "(un)?scripted", "un[a-z]*")}
FORGOTTEN = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH)


@dataclass(eq=False)
class Member:
    """One of them, as it knows itself; `owned` is what it said last that it owns."""

    number: int
    instance_id: str | None
    member_id: str = ""
    epoch: int = 0
    assignment: Owned = field(default_factory=dict)
    owned: Owned = field(default_factory=dict)

    @property
    def is_in(self) -> bool:
        return bool(self.member_id)

    def forget(self) -> None:
        self.member_id, self.epoch, self.assignment, self.owned = "", 0, {}, {}


class ConsumerScript(OffsetQuestions):
    def __init__(self, seed: int, connections: list[RawConnection], topic_ids: dict[str, bytes]) -> None:
        super().__init__(seed, f"consumer-script-{seed}", connections[0], topic_ids)
        self.assignor = self.luck.choice(["uniform", "range", "range"])
        self.expression = self.luck.choice(EXPRESSIONS_BY_ASSIGNOR[self.assignor])
        self.members = [
            Member(number, self.luck.choice([None, f"instance-{number}"])) for number in range(1, 1 + MEMBERS)
        ]
        self.guest = Guest(self)
        self._ids = list(IDS)
        self._has_resolved = False
        # The group as it was described last; None where it is no consumer group.
        self.described: Any = None

    def run(self, steps: int) -> list[str]:
        for _ in range(steps):
            self.luck.choice(STEPS)(self)
            self.describe()
        return self.transcript

    def present(self) -> list[Member]:
        return [member for member in self.members if member.is_in]

    def has_members(self) -> bool:
        return bool(self.present()) or self.guest.is_in

    def has_made_up_id(self) -> bool:
        """Two ids that a broker made up may come in any order: there is never more than one."""
        return self.guest.is_in or any(member.is_in and member.member_id not in IDS for member in self.members)

    # Heartbeats

    def heartbeat(self, member: Member, *, version: int = 1, **said: Any) -> Any:
        """Say this, and take what is answered; what is not said is as a member that has nothing to say leaves it."""
        request = self.request(member, **said)
        response = self.control.send(request, response_of(type(request)), version)
        if response.member_id and response.member_id not in IDS and response.error_code == ErrorCode.NONE:
            self.name(response.member_id, str(member.number))
        self.note(request, response, version)
        if request.subscribed_topic_regex == self.expression and response.error_code == ErrorCode.NONE:
            self._has_resolved = True
            self.wait_for_expressions()
        self.take(member, response)
        return response

    def request(self, member: Member, **said: Any) -> ConsumerGroupHeartbeatRequest:
        owned = said.pop("owned", None)
        if owned is not None:
            member.owned = owned
        partitions = [
            ConsumerGroupHeartbeatRequest.TopicPartitions(topic_id=topic_id, partitions=owned[topic_id])
            for topic_id in owned or ()
        ]
        fields = {
            "group_id": self.group_id,
            "member_id": member.member_id,
            "member_epoch": member.epoch,
            "instance_id": member.instance_id,
            "topic_partitions": None if owned is None else partitions,
            **said,
        }
        return ConsumerGroupHeartbeatRequest(**fields)

    def take(self, member: Member, response: Any) -> None:
        if response.error_code in FORGOTTEN or (response.error_code == ErrorCode.NONE and response.member_epoch < 0):
            member.forget()
        elif response.error_code == ErrorCode.NONE:
            member.member_id, member.epoch = response.member_id, response.member_epoch
            if response.assignment is not None:
                member.assignment = {
                    entry.topic_id: sorted(entry.partitions) for entry in response.assignment.topic_partitions
                }

    def wait_for_expressions(self) -> None:
        """Another group's expression is resolved, and so is every one that came before: there is one thread for it."""
        group_id = f"{self.group_id}-waits-{len(self.transcript)}"
        watch = Member(0, None, "~w")
        joining = self.request(
            watch, group_id=group_id, owned={}, rebalance_timeout_ms=TIMEOUT_MS, subscribed_topic_regex=TOPIC
        )
        joined = self.control.send(joining, response_of(type(joining)), 1)
        describe = ConsumerGroupDescribeRequest(group_ids=[group_id], include_authorized_operations=False)
        for _ in range(POLLS_MAX):
            (group,) = self.control.send(describe, response_of(type(describe)), 1).groups
            if group.group_epoch > joined.member_epoch:
                return
        raise AssertionError(f"the expression of {group_id} is never resolved")

    # What members do

    def subscription(self) -> dict[str, Any]:
        names = self.luck.choice(TOPICS_BY_ASSIGNOR[self.assignor])
        kind = self.luck.random()
        if self.target_is_due():
            names = names or [TOPIC]
        if kind < 0.6 or not self.may_use_expression():
            return {"subscribed_topic_names": names, "subscribed_topic_regex": self.luck.choice([None, ""])}
        both = {"subscribed_topic_names": names} if kind > 0.9 and self.assignor == "range" else {}
        others = both or self.luck.choice([{}, {"subscribed_topic_names": []}])
        return {**others, "subscribed_topic_regex": self.expression}

    def target_is_due(self) -> bool:
        """Then a member that wants nothing, or nothing yet, is not seen by Kafka when it looks who wants what."""
        return self.described is not None and self.described.group_epoch > self.described.assignment_epoch

    def may_use_expression(self) -> bool:
        if not self._has_resolved:
            return not self.target_is_due()
        members = () if self.described is None else self.described.members
        return any(member.subscribed_topic_regex == self.expression for member in members)

    def join(self, member: Member, **instead: Any) -> None:
        """A member comes with an id of its own, or is given one."""
        version = 1
        subscription = self.subscription()
        is_given = self.assignor == "range" and not self.has_made_up_id() and self.luck.random() < 0.3
        if is_given and not subscription.get("subscribed_topic_regex"):
            member.member_id, version = "", 0
            subscription.pop("subscribed_topic_regex", None)
        elif self._ids:
            member.member_id = self._ids.pop(0)
        else:
            return
        member.epoch = 0
        said = {
            "rebalance_timeout_ms": TIMEOUT_MS,
            "server_assignor": "range" if self.assignor == "range" else self.luck.choice([None, "uniform"]),
            "owned": {},
            **subscription,
            **instead,
        }
        if self.heartbeat(member, version=version, **said).error_code != ErrorCode.NONE:
            member.forget()

    def come(self) -> None:
        absent = [member for member in self.members if not member.is_in]
        if absent:
            self.join(self.luck.choice(absent))

    def beat(self) -> None:
        """As good clients do: with what it owns when that changed, now and then with everything."""
        if not self.present():
            return
        member = self.luck.choice(self.present())
        kind = self.luck.random()
        if kind < 0.55:
            self.heartbeat(member, owned=dict(member.assignment))
        elif kind < 0.7:
            self.heartbeat(member)
        elif kind < 0.85:
            self.heartbeat(member, owned=member.owned)
        else:
            self.heartbeat(
                member, owned=dict(member.assignment), rebalance_timeout_ms=TIMEOUT_MS, **self.subscription()
            )

    def resubscribe(self) -> None:
        if self.present():
            self.heartbeat(self.luck.choice(self.present()), **self.subscription())

    def lose_an_answer(self) -> None:
        """The member does not hear what became of it, and says the same again."""
        if self.present():
            member = self.luck.choice(self.present())
            epoch, assignment = member.epoch, member.assignment
            self.heartbeat(member, owned=member.owned)
            if member.is_in:
                member.epoch, member.assignment = epoch, assignment
                self.heartbeat(member, owned=member.owned)

    def rejoin(self) -> None:
        """A member that thinks it was fenced."""
        if self.present():
            member = self.luck.choice(self.present())
            member.epoch = 0
            assignor = {"server_assignor": "range"} if self.assignor == "range" else {}
            said = {"rebalance_timeout_ms": TIMEOUT_MS, "owned": {}, **assignor, **self.subscription()}
            self.heartbeat(member, **said)

    def leave(self) -> None:
        if self.present():
            member = self.luck.choice(self.present())
            epoch = self.luck.choice([-1, -2] if member.instance_id is not None else [-1])
            self.heartbeat(member, member_epoch=epoch)

    def restart(self) -> None:
        """A static member comes back under another id, having said so or not."""
        static = [member for member in self.present() if member.instance_id is not None]
        if static:
            member = self.luck.choice(static)
            if self.luck.random() < 0.7:
                self.heartbeat(member, member_epoch=-2)
            known = member.member_id, member.epoch, member.assignment, member.owned
            self.join(member)
            if not member.is_in:
                member.member_id, member.epoch, member.assignment, member.owned = known

    def remove(self) -> None:
        """As administrators do it."""
        identities = [(member.member_id or "nobody", None) for member in self.members]
        identities += [("", member.instance_id) for member in self.members if member.instance_id is not None]
        identities += [("nobody", None), ("", "nobody"), ("", None), ("nobody", "instance-1")]
        chosen = self.luck.sample(identities, self.luck.randint(1, 2))
        request = LeaveGroupRequest(
            group_id=self.group_id,
            members=[
                LeaveGroupRequest.MemberIdentity(member_id=member_id, group_instance_id=instance_id)
                for member_id, instance_id in chosen
            ],
        )
        for told in self.ask(self.control, request, self.luck.randint(3, 5)).members:
            for member in self.members:
                named = told.member_id == member.member_id or (
                    told.group_instance_id is not None and told.group_instance_id == member.instance_id
                )
                if told.error_code == ErrorCode.NONE and named:
                    member.forget()

    def visit(self) -> None:
        """The guest does something, where nobody's id can come before or after it by luck."""
        if self.assignor == "range" and (self.guest.is_in or not self.has_made_up_id()):
            self.guest.act()

    # Getting it wrong, and what can be asked at any time

    def somebody(self) -> tuple[str, str | None, int]:
        member = self.luck.choice(self.present() or self.members)
        if self.luck.random() < 0.4:
            return member.member_id, member.instance_id, member.epoch
        members_id, epoch = member.member_id, member.epoch
        if self.guest.is_in and self.luck.random() < 0.3:
            members_id, epoch = self.guest.member_id, self.guest.generation
        member_id = self.luck.choice([members_id, members_id, members_id, "", "nobody"])
        instance_id = self.luck.choice([member.instance_id, member.instance_id, None, "nobody"])
        return member_id, instance_id, self.luck.choice([epoch] * 4 + [epoch + 1, epoch - 1, -1, 0])

    def wrong_heartbeat(self) -> None:
        """Of a member, or of nobody; it may be right by accident, and is taken for what it is."""
        stranger = Member(9, None, "nobody", 1)
        member = self.luck.choice([*self.present(), stranger])
        wrong: list[dict[str, Any]] = [
            {"member_epoch": member.epoch + 1},
            {"member_epoch": max(1, member.epoch - 1)},
            {"member_epoch": max(1, member.epoch - 1), "owned": dict(member.assignment)},
            {"member_epoch": max(1, member.epoch - 2), "owned": dict(member.owned)},
            {"member_epoch": -3},
            {"member_epoch": -2, "instance_id": None},
            {"member_epoch": -2, "instance_id": "nobody"},
            {"member_epoch": max(1, member.epoch), "instance_id": self.luck.choice(["nobody", "instance-2", ""])},
            {"member_epoch": max(1, member.epoch), "instance_id": None},
            {"member_id": "nobody"},
            {"member_id": ""},
            {"group_id": self.luck.choice(["", NO_SUCH_GROUP])},
            {"server_assignor": self.luck.choice(["nonsense", ""])},
            {"rack_id": ""},
            {"subscribed_topic_regex": "("},
            {"owned": {self.topic_ids[TOPIC]: [0, 1, 2, 3], NO_TOPIC_ID: [0]}},
            {"member_epoch": 0},
            {
                "member_epoch": 0,
                "rebalance_timeout_ms": TIMEOUT_MS,
                "owned": {},
                "subscribed_topic_regex": self.luck.choice(["(", "a{1001}", "(?<=a)b"]),
            },
            {"member_epoch": 0, "rebalance_timeout_ms": TIMEOUT_MS, "owned": {}},
            {"member_epoch": 0, "rebalance_timeout_ms": TIMEOUT_MS, "subscribed_topic_names": [TOPIC]},
            {"member_epoch": 0, "owned": {}, "subscribed_topic_names": [TOPIC]},
        ]
        version = self.luck.choice([0, 1, 1])
        said = self.luck.choice(wrong)
        if version == 0:
            said.pop("subscribed_topic_regex", None)
        known = member.epoch, member.member_id
        self.heartbeat(member, version=version, **said)
        if said.get("member_id", member.member_id) != known[1] or "group_id" in said:
            member.epoch, member.member_id = known  # it is not this member that is not known

    def probe(self) -> None:
        for _ in range(self.luck.randrange(4)):
            self.luck.choice(PROBES)(self)

    def describe(self) -> None:
        """In both protocols: the group is of one of them."""
        self.settle_writes()
        operations = self.luck.random() < 0.5
        group_ids = [self.group_id, NO_SUCH_GROUP]
        modern = ConsumerGroupDescribeRequest(group_ids=group_ids, include_authorized_operations=operations)
        response = self.ask(self.control, modern, self.version(ConsumerGroupDescribeRequest))
        (found,) = (group for group in response.groups if group.group_id == self.group_id)
        self.described = found if found.error_code == ErrorCode.NONE else None
        version = self.version(DescribeGroupsRequest)
        classic = DescribeGroupsRequest(groups=group_ids, include_authorized_operations=operations and version >= 3)
        self.ask(self.control, classic, version)

    def plain(self, value: Any) -> Any:
        """Assignments of the classic protocol are read: the order of their topics is nobody's promise."""
        if isinstance(value, dict):
            for key in ("assignment", "memberAssignment"):
                if isinstance(value.get(key), str):
                    value = {**value, key: _read_assignment(value[key])}
        return super().plain(value)


def _read_assignment(encoded: str) -> Any:
    try:
        found = embedded.assignment_of(base64.b64decode(encoded))
    except KafkaError:
        return encoded
    return {"topics": sorted((one.topic, sorted(one.partitions)) for one in found.assigned_partitions)}


Step = Callable[[ConsumerScript], None]

PROBES: tuple[Step, ...] = (
    ConsumerScript.wrong_heartbeat,
    ConsumerScript.wrong_heartbeat,
    ConsumerScript.commit,
    ConsumerScript.commit,
    ConsumerScript.fetch,
    ConsumerScript.delete_offsets,
    ConsumerScript.delete_group,
    ConsumerScript.listed,
)
STEPS: tuple[Step, ...] = (
    *(ConsumerScript.come,) * 3,
    *(ConsumerScript.beat,) * 6,
    ConsumerScript.resubscribe,
    ConsumerScript.lose_an_answer,
    ConsumerScript.rejoin,
    ConsumerScript.leave,
    ConsumerScript.restart,
    ConsumerScript.remove,
    *(ConsumerScript.visit,) * 3,
    *(ConsumerScript.probe,) * 3,
)

"""`ottla cluster add-voter`, `remove-voter` and `unregister`: who votes in the quorum (KIP-853), who is gone for good.

A voter is known by its node id and the id of its directory; the quorum knows both of everybody who follows it, so that
the user need not.
"""

from __future__ import annotations

import argparse
import re
import sys

from ottla.client.blocking import Client
from ottla.client.failures import check
from ottla.client.routing import CONTROLLER
from ottla.commands import EXIT_OK, CommandFailed, UsageError
from ottla.commands.asking import asking, confirmed
from ottla.commands.cluster_info import METADATA_TOPIC
from ottla.commands.text_form import count_text
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.controller import UnregisterBrokerRequest
from ottla.wire.messages.quorum import (
    AddRaftVoterRequest,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    RemoveRaftVoterRequest,
)
from ottla.wire.primitives import ZERO_UUID, uuid_bytes, uuid_text
from ottla.wire.schema import VERSION_MAX, Versions

WITH_DIRECTORIES = Versions(2, VERSION_MAX)
_LISTENER = re.compile(r"([A-Za-z0-9_]+)://\[?([^\[\]/]+?)\]?:([0-9]{1,5})", re.ASCII)

Replica = DescribeQuorumResponse.ReplicaState


def add_voter(parsed: argparse.Namespace) -> int:
    name, host, port = _listener(parsed.listener)
    with asking(parsed) as client:
        voters, observers = _replicas(client)
        if parsed.node in {one.replica_id for one in voters}:
            raise CommandFailed(f"node {parsed.node} is a voter already; `ottla cluster info` shows the quorum")
        directory_id = _directory_id(parsed, observers, "follows the quorum; start it first")
        request = AddRaftVoterRequest(
            cluster_id=None,
            timeout_ms=int(parsed.timeout * 1000),
            voter_id=parsed.node,
            voter_directory_id=directory_id,
            listeners=[AddRaftVoterRequest.Listener(name=name, host=host, port=port)],
        )
        insist(client, request, ErrorCode.DUPLICATE_VOTER)
        count = len(_replicas(client)[0])
    sys.stderr.write(f"node {parsed.node} ({uuid_text(directory_id)}) votes; {count_text(count, 'voter')}\n")
    return EXIT_OK


def remove_voter(parsed: argparse.Namespace) -> int:
    with asking(parsed) as client:
        directory_id = _directory_id(parsed, _replicas(client)[0], "is a voter; `ottla cluster info` shows the quorum")
        request = RemoveRaftVoterRequest(cluster_id=None, voter_id=parsed.node, voter_directory_id=directory_id)
        insist(client, request, ErrorCode.VOTER_NOT_FOUND)
    sys.stderr.write(f"node {parsed.node} ({uuid_text(directory_id)}) does not vote any more\n")
    return EXIT_OK


def unregister(parsed: argparse.Namespace) -> int:
    confirmed(f"Forget broker {parsed.node}, which does not come back?", is_said=parsed.yes)
    with asking(parsed) as client:
        client.request(UnregisterBrokerRequest(broker_id=parsed.node), CONTROLLER)
    sys.stderr.write(f"broker {parsed.node} is forgotten\n")
    return EXIT_OK


def insist(client: Client, request: AddRaftVoterRequest | RemoveRaftVoterRequest, when_done: ErrorCode) -> None:
    """Change the quorum. A leader that goes meanwhile may have done it: who asks again is then told `when_done`."""
    is_addition = isinstance(request, AddRaftVoterRequest)
    key = (request.voter_id, request.voter_directory_id)
    try:
        client.request(request, CONTROLLER)
    except KafkaError as error:
        voters, _ = _replicas(client)
        is_there = key in {(one.replica_id, one.replica_directory_id) for one in voters}
        if error.code != when_done or is_there != is_addition:
            raise


def _listener(text: str) -> tuple[str, str, int]:
    match = _LISTENER.fullmatch(text)
    if match is None or int(match[3]) > 65535:
        raise UsageError(f"--listener: {text!r} is not of the form NAME://HOST:PORT, such as CONTROLLER://one:9093")
    return match[1].upper(), match[2], int(match[3])


def _directory_id(parsed: argparse.Namespace, replicas: list[Replica], what: str) -> bytes:
    """As it was given, or that of the one replica with the node's id."""
    if parsed.directory_id is not None:
        try:
            return uuid_bytes(parsed.directory_id)
        except ValueError as error:
            raise UsageError(f"--directory-id: {error}") from error
    found = [one.replica_directory_id for one in replicas if one.replica_id == parsed.node]
    if not found:
        raise CommandFailed(f"no node {parsed.node} {what}")
    if len(found) > 1 or found[0] == ZERO_UUID:
        known = ", ".join(map(uuid_text, found))
        raise CommandFailed(f"node {parsed.node} is known with {known}: say which with --directory-id")
    return found[0]


def _replicas(client: Client) -> tuple[list[Replica], list[Replica]]:
    """Voters and observers."""
    asked = DescribeQuorumRequest.PartitionData(partition_index=0)
    topic = DescribeQuorumRequest.TopicData(topic_name=METADATA_TOPIC, partitions=[asked])

    def check_partition(response: DescribeQuorumResponse) -> None:
        check(response.error_code, "the quorum", response.error_message)
        for one in response.topics:
            for partition in one.partitions:
                check(partition.error_code, "the quorum", partition.error_message)

    request = DescribeQuorumRequest(topics=[topic])
    response = client.request(request, CONTROLLER, within=WITH_DIRECTORIES, check=check_partition)
    (partition,) = response.topics[0].partitions
    return partition.current_voters, partition.observers

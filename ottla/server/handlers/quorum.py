"""DescribeQuorum (KIP-595): voters and observers of the metadata log and how far each has come, as its leader knows.

The quorum's core makes the answer, also for partitions that are none of its own. Versions: 1 tells when each was last
heard of (KIP-836), 2 has directory ids, messages and the nodes' endpoints (KIP-853).
"""

from __future__ import annotations

from ottla.server.context import Context
from ottla.server.parking import Pending
from ottla.server.routes import Route, versions
from ottla.wire.errors import KafkaError
from ottla.wire.messages.quorum import DescribeQuorumRequest, DescribeQuorumResponse


def describe_quorum(context: Context, request: DescribeQuorumRequest) -> DescribeQuorumResponse | Pending:
    return context.broker.describe_quorum(request, context.version)


def refused(request: DescribeQuorumRequest, error: KafkaError) -> DescribeQuorumResponse:
    return DescribeQuorumResponse(error_code=error.code, error_message=error.message, topics=[])


ROUTES = (Route(DescribeQuorumRequest, versions(0, 2), describe_quorum, refused),)

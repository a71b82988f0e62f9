"""Kafka's error codes, and the one exception that carries them.

One table: number, whether a client may simply try again, and a sentence for people. Everything that a peer did wrong
is raised as `KafkaError` and turned into bytes in one place, the dispatcher. Knows no message and no layer above it.
Numbers, names and retriability are those of Kafka 4.4; a test compares them with Kafka's own enum.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Self

_RETRY = True
_FATAL = False


class ErrorCode(IntEnum):
    """An error code of the protocol: `code.retriable` and `code.text` stand beside the number."""

    retriable: bool
    text: str

    def __new__(cls, code: int, retriable: bool, text: str) -> ErrorCode:
        member = int.__new__(cls, code)
        member._value_ = code
        member.retriable = retriable
        member.text = text
        return member

    @classmethod
    def of(cls, code: int) -> ErrorCode:
        """The member with this number; one that only a later Kafka knows is UNKNOWN_SERVER_ERROR."""
        return _BY_CODE.get(code, cls.UNKNOWN_SERVER_ERROR)

    UNKNOWN_SERVER_ERROR = -1, _FATAL, "The broker failed in a way it did not expect."
    NONE = 0, _FATAL, "No error."
    OFFSET_OUT_OF_RANGE = 1, _FATAL, "The log does not hold that offset."
    CORRUPT_MESSAGE = 2, _RETRY, "The record data is damaged: bad checksum, bad size or bad content."
    UNKNOWN_TOPIC_OR_PARTITION = 3, _RETRY, "The broker does not know that topic or partition."
    INVALID_FETCH_SIZE = 4, _FATAL, "The number of bytes to fetch is not valid."
    LEADER_NOT_AVAILABLE = 5, _RETRY, "The partition has no leader at the moment."
    NOT_LEADER_OR_FOLLOWER = 6, _RETRY, "The broker does not hold the role for that partition which the request needs."
    REQUEST_TIMED_OUT = 7, _RETRY, "The request was not completed in its time."
    BROKER_NOT_AVAILABLE = 8, _FATAL, "The broker is not there."
    REPLICA_NOT_AVAILABLE = 9, _RETRY, "The broker has no usable replica of that partition."
    MESSAGE_TOO_LARGE = 10, _FATAL, "A record batch is larger than the topic allows."
    STALE_CONTROLLER_EPOCH = 11, _FATAL, "The sender's controller epoch is out of date."
    OFFSET_METADATA_TOO_LARGE = 12, _FATAL, "The note that goes with the committed offset is too long."
    NETWORK_EXCEPTION = 13, _RETRY, "The connection ended before the answer came."
    COORDINATOR_LOAD_IN_PROGRESS = 14, _RETRY, "The coordinator is still loading its state."
    COORDINATOR_NOT_AVAILABLE = 15, _RETRY, "There is no coordinator at the moment."
    NOT_COORDINATOR = 16, _RETRY, "Another broker is the coordinator."
    INVALID_TOPIC_EXCEPTION = 17, _FATAL, "The topic name is not valid, or the topic may not be used in this way."
    RECORD_LIST_TOO_LARGE = 18, _FATAL, "The records do not fit in one segment."
    NOT_ENOUGH_REPLICAS = 19, _RETRY, "Too few replicas are in sync; nothing was written."
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20, _RETRY, "Too few replicas were in sync once the records had been written."
    INVALID_REQUIRED_ACKS = 21, _FATAL, "acks must be -1, 0 or 1."
    ILLEGAL_GENERATION = 22, _FATAL, "The group is not in that generation."
    INCONSISTENT_GROUP_PROTOCOL = 23, _FATAL, "The member shares no protocol with the rest of the group."
    INVALID_GROUP_ID = 24, _FATAL, "The group id is not valid."
    UNKNOWN_MEMBER_ID = 25, _FATAL, "The group has no such member."
    INVALID_SESSION_TIMEOUT = 26, _FATAL, "The session timeout is outside the range that the broker allows."
    REBALANCE_IN_PROGRESS = 27, _FATAL, "The group is rebalancing; the member has to join again."
    INVALID_COMMIT_OFFSET_SIZE = 28, _FATAL, "The committed offset data has an invalid size."
    TOPIC_AUTHORIZATION_FAILED = 29, _FATAL, "The principal has no permission for the topic."
    GROUP_AUTHORIZATION_FAILED = 30, _FATAL, "The principal has no permission for the group."
    CLUSTER_AUTHORIZATION_FAILED = 31, _FATAL, "The principal has no permission for the cluster."
    INVALID_TIMESTAMP = 32, _FATAL, "A record's timestamp is too far from the broker's time."
    UNSUPPORTED_SASL_MECHANISM = 33, _FATAL, "The listener does not offer that SASL mechanism."
    ILLEGAL_SASL_STATE = 34, _FATAL, "The request does not fit the state of the SASL exchange."
    UNSUPPORTED_VERSION = 35, _FATAL, "That version of the API is not supported."
    TOPIC_ALREADY_EXISTS = 36, _FATAL, "A topic with that name exists."
    INVALID_PARTITIONS = 37, _FATAL, "The number of partitions is not valid."
    INVALID_REPLICATION_FACTOR = 38, _FATAL, "The replication factor is below 1 or above the number of usable brokers."
    INVALID_REPLICA_ASSIGNMENT = 39, _FATAL, "The replica assignment is not valid."
    INVALID_CONFIG = 40, _FATAL, "A configuration value is not valid."
    NOT_CONTROLLER = 41, _RETRY, "Another node is the controller."
    INVALID_REQUEST = 42, _FATAL, "The request is malformed or contradicts itself."
    UNSUPPORTED_FOR_MESSAGE_FORMAT = 43, _FATAL, "The format of the stored records does not allow this."
    POLICY_VIOLATION = 44, _FATAL, "A policy of the broker forbids this."
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45, _FATAL, "The batch's sequence number does not follow the producer's last one."
    DUPLICATE_SEQUENCE_NUMBER = 46, _FATAL, "The batch's sequence number was seen before."
    INVALID_PRODUCER_EPOCH = 47, _FATAL, "The producer's epoch is out of date."
    INVALID_TXN_STATE = 48, _FATAL, "The transaction is not in a state that allows this."
    INVALID_PRODUCER_ID_MAPPING = 49, _FATAL, "The producer id does not belong to that transactional id."
    INVALID_TRANSACTION_TIMEOUT = 50, _FATAL, "The transaction timeout is longer than the broker allows."
    CONCURRENT_TRANSACTIONS = 51, _RETRY, "An earlier step of the same transaction is still under way."
    TRANSACTION_COORDINATOR_FENCED = 52, _FATAL, "The marker comes from a coordinator that has been replaced."
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53, _FATAL, "The principal has no permission for the transactional id."
    SECURITY_DISABLED = 54, _FATAL, "The broker runs without an authorizer."
    OPERATION_NOT_ATTEMPTED = 55, _FATAL, "This was not tried, since another part of the request had failed."
    KAFKA_STORAGE_ERROR = 56, _RETRY, "The broker could not read or write the partition's log directory."
    LOG_DIR_NOT_FOUND = 57, _FATAL, "The broker has no such log directory."
    SASL_AUTHENTICATION_FAILED = 58, _FATAL, "SASL authentication failed."
    UNKNOWN_PRODUCER_ID = 59, _FATAL, "The partition remembers nothing of that producer id."
    REASSIGNMENT_IN_PROGRESS = 60, _FATAL, "The partition is being reassigned."
    DELEGATION_TOKEN_AUTH_DISABLED = 61, _FATAL, "Delegation tokens are switched off."
    DELEGATION_TOKEN_NOT_FOUND = 62, _FATAL, "There is no such delegation token."
    DELEGATION_TOKEN_OWNER_MISMATCH = 63, _FATAL, "The principal neither owns nor may renew the delegation token."
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED = 64, _FATAL, "Delegation tokens cannot be managed over this connection."
    DELEGATION_TOKEN_AUTHORIZATION_FAILED = 65, _FATAL, "The principal has no permission for the delegation token."
    DELEGATION_TOKEN_EXPIRED = 66, _FATAL, "The delegation token has expired."
    INVALID_PRINCIPAL_TYPE = 67, _FATAL, "That type of principal is not supported."
    NON_EMPTY_GROUP = 68, _FATAL, "The group still has members."
    GROUP_ID_NOT_FOUND = 69, _FATAL, "There is no group with that id."
    FETCH_SESSION_ID_NOT_FOUND = 70, _RETRY, "The broker has no such fetch session."
    INVALID_FETCH_SESSION_EPOCH = 71, _RETRY, "The fetch session is at another epoch."
    LISTENER_NOT_FOUND = 72, _RETRY, "The leader has no listener of the name that the client came in by."
    TOPIC_DELETION_DISABLED = 73, _FATAL, "Deletion of topics is switched off."
    FENCED_LEADER_EPOCH = 74, _RETRY, "The leader epoch in the request is older than the broker's."
    UNKNOWN_LEADER_EPOCH = 75, _RETRY, "The leader epoch in the request is newer than the broker's."
    UNSUPPORTED_COMPRESSION_TYPE = 76, _FATAL, "The client cannot read the partition's compression type."
    STALE_BROKER_EPOCH = 77, _FATAL, "The broker has registered anew since that epoch."
    OFFSET_NOT_AVAILABLE = 78, _RETRY, "The new leader does not know the high watermark yet."
    MEMBER_ID_REQUIRED = 79, _FATAL, "The member has to join again with the id it was given."
    PREFERRED_LEADER_NOT_AVAILABLE = 80, _RETRY, "The preferred leader cannot lead at the moment."
    GROUP_MAX_SIZE_REACHED = 81, _FATAL, "The group is full."
    FENCED_INSTANCE_ID = 82, _FATAL, "Another member took over that group.instance.id."
    ELIGIBLE_LEADERS_NOT_AVAILABLE = 83, _RETRY, "None of the replicas that may lead is available."
    ELECTION_NOT_NEEDED = 84, _RETRY, "The partition has the leader it should have."
    NO_REASSIGNMENT_IN_PROGRESS = 85, _FATAL, "The partition is not being reassigned."
    GROUP_SUBSCRIBED_TO_TOPIC = 86, _FATAL, "The group is subscribed to the topic whose offsets are to be deleted."
    INVALID_RECORD = 87, _FATAL, "The broker refused a record."
    UNSTABLE_OFFSET_COMMIT = 88, _RETRY, "An open transaction has offsets pending for the partition."
    THROTTLING_QUOTA_EXCEEDED = 89, _RETRY, "A quota is used up for now."
    PRODUCER_FENCED = 90, _FATAL, "A newer producer uses the same transactional id."
    RESOURCE_NOT_FOUND = 91, _FATAL, "The request names something that does not exist."
    DUPLICATE_RESOURCE = 92, _FATAL, "The request names the same thing twice."
    UNACCEPTABLE_CREDENTIAL = 93, _FATAL, "The credential does not meet the broker's rules."
    INCONSISTENT_VOTER_SET = 94, _FATAL, "Sender or receiver is not among the voters that the other expects."
    INVALID_UPDATE_VERSION = 95, _FATAL, "The version given for the update is not valid."
    FEATURE_UPDATE_FAILED = 96, _FATAL, "The finalized features could not be updated."
    PRINCIPAL_DESERIALIZATION_FAILURE = 97, _FATAL, "The principal in a forwarded request could not be read."
    SNAPSHOT_NOT_FOUND = 98, _FATAL, "There is no such snapshot."
    POSITION_OUT_OF_RANGE = 99, _FATAL, "The position lies outside the snapshot."
    UNKNOWN_TOPIC_ID = 100, _RETRY, "The broker does not know that topic id."
    DUPLICATE_BROKER_REGISTRATION = 101, _FATAL, "A live broker uses that broker id."
    BROKER_ID_NOT_REGISTERED = 102, _FATAL, "No broker is registered under that id."
    INCONSISTENT_TOPIC_ID = 103, _RETRY, "The log belongs to a topic with another id."
    INCONSISTENT_CLUSTER_ID = 104, _FATAL, "The sender belongs to another cluster."
    TRANSACTIONAL_ID_NOT_FOUND = 105, _FATAL, "There is no such transactional id."
    FETCH_SESSION_TOPIC_ID_ERROR = 106, _RETRY, "The fetch session mixes topic ids and topic names."
    INELIGIBLE_REPLICA = 107, _FATAL, "A replica in the proposed ISR may not be in it."
    NEW_LEADER_ELECTED = 108, _FATAL, "The change was made, and it moved the leader."
    OFFSET_MOVED_TO_TIERED_STORAGE = 109, _FATAL, "That offset is in remote storage only."
    FENCED_MEMBER_EPOCH = 110, _FATAL, "The member's epoch is fenced; it has to give up its partitions and join again."
    UNRELEASED_INSTANCE_ID = 111, _FATAL, "Another member still holds that instance id."
    UNSUPPORTED_ASSIGNOR = 112, _FATAL, "The group does not offer that assignor."
    STALE_MEMBER_EPOCH = 113, _FATAL, "The member's epoch is out of date; its next heartbeat brings the new one."
    MISMATCHED_ENDPOINT_TYPE = 114, _FATAL, "The request came to the wrong type of endpoint."
    UNSUPPORTED_ENDPOINT_TYPE = 115, _FATAL, "That type of endpoint is not supported."
    UNKNOWN_CONTROLLER_ID = 116, _FATAL, "There is no controller with that id."
    UNKNOWN_SUBSCRIPTION_ID = 117, _FATAL, "The telemetry subscription id is unknown or out of date."
    TELEMETRY_TOO_LARGE = 118, _FATAL, "The telemetry is larger than the broker takes."
    INVALID_REGISTRATION = 119, _FATAL, "The controller refused the registration."
    TRANSACTION_ABORTABLE = 120, _FATAL, "The transaction failed; abort it and go on."
    INVALID_RECORD_STATE = 121, _FATAL, "The record is not in a state in which it can be acknowledged."
    SHARE_SESSION_NOT_FOUND = 122, _RETRY, "The broker has no such share session."
    INVALID_SHARE_SESSION_EPOCH = 123, _RETRY, "The share session is at another epoch."
    FENCED_STATE_EPOCH = 124, _FATAL, "The share state is at another epoch."
    INVALID_VOTER_KEY = 125, _FATAL, "The voter key is not that of the replica that received the request."
    DUPLICATE_VOTER = 126, _FATAL, "The replica is a voter already."
    VOTER_NOT_FOUND = 127, _FATAL, "The replica is not a voter."
    INVALID_REGULAR_EXPRESSION = 128, _FATAL, "The regular expression is not valid."
    REBOOTSTRAP_REQUIRED = 129, _FATAL, "The client has to start again from its bootstrap servers."
    STREAMS_INVALID_TOPOLOGY = 130, _FATAL, "The topology is not valid."
    STREAMS_INVALID_TOPOLOGY_EPOCH = 131, _FATAL, "The topology's epoch is not valid."
    STREAMS_TOPOLOGY_FENCED = 132, _FATAL, "The topology's epoch is out of date."
    SHARE_SESSION_LIMIT_REACHED = 133, _RETRY, "The broker holds as many share sessions as it may."
    GROUP_DELETION_FAILED = 134, _FATAL, "The group could not be deleted; its own error message says why."
    STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED = 135, _FATAL, "The topology's description could not be updated."
    CONTROLLER_ID_NOT_REGISTERED = 136, _FATAL, "No controller is registered under that id."


_BY_CODE: dict[int, ErrorCode] = {member.value: member for member in ErrorCode}


class KafkaError(Exception):
    """A peer asked for what it cannot have: the code goes on the wire, the message names the thing."""

    def __init__(self, code: ErrorCode, message: str = "") -> None:
        self.code = code
        self.message = message or code.text
        super().__init__(code, self.message)

    def __str__(self) -> str:
        return f"{self.code.name}: {self.message}"

    def kept(self) -> Self:
        """The error as a value. Where it was raised holds on to every caller's variables, and so to what has come
        with a request: whoever keeps it among those has a circle, which stays until the collector comes by."""
        self.__traceback__ = self.__context__ = self.__cause__ = None
        return self

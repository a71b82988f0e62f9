"""The values of control records, other than transaction markers' own, and the type that their keys carry."""

from __future__ import annotations

from ottla.wire.primitives import ZERO_UUID
from ottla.wire.schema import StoredRecord, Struct, Uuid, field, int16, int32, int64, uint16


class ControlRecordTypeSchema(StoredRecord, versions="0"):
    type: int16


class EndTxnMarker(StoredRecord, versions="0"):
    coordinator_epoch: int32


class LeaderChangeMessage(StoredRecord, versions="0-1", flexible="0+"):
    class Voter(Struct):
        voter_id: int32
        voter_directory_id: Uuid = field("1+", default=ZERO_UUID)

    version: int16
    leader_id: int32
    voters: list[Voter]
    granting_voters: list[Voter]


class SnapshotHeaderRecord(StoredRecord, versions="0", flexible="0+"):
    version: int16
    last_contained_log_timestamp: int64


class SnapshotFooterRecord(StoredRecord, versions="0", flexible="0+"):
    version: int16


class KRaftVersionRecord(StoredRecord, versions="0", flexible="0+"):
    version: int16
    kraft_version: int16 = field(json_name="kRaftVersion")


class VotersRecord(StoredRecord, versions="0", flexible="0+"):
    class Endpoint(Struct):
        name: str
        host: str
        port: uint16

    class KRaftVersionFeature(Struct):
        min_supported_version: int16
        max_supported_version: int16

    class Voter(Struct):
        voter_id: int32
        voter_directory_id: Uuid
        endpoints: list[VotersRecord.Endpoint]
        kraft_version_feature: VotersRecord.KRaftVersionFeature = field(json_name="kRaftVersionFeature")

    version: int16
    voters: list[Voter]

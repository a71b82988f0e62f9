"""Every difference between Ottla and Apache Kafka 4.3.1 that stays, with the reason why. Nothing else is excused.

Each must be needed in every whole comparison: one that nothing needs any more fails it.
"""

from __future__ import annotations

from compat_tests.comparison import ABSENT, Exemption

LATER = "not served yet, so not told: "
PART = r"\d+ ProduceRequest v\d+\.responses\[0\]\.partitionResponses\[0\]"


def unserved(reason: str, apis: str) -> Exemption:
    return Exemption(LATER + reason, "api versions/.*", rf"\d+ (keys|told)\.({apis})", ours=ABSENT)


EXEMPTIONS: tuple[Exemption, ...] = (
    unserved("transactions", r"ADD_(PARTITIONS|OFFSETS)_TO_TXN|END_TXN|WRITE_TXN_MARKERS|TXN_OFFSET_COMMIT"),
    unserved("access control", r"(DESCRIBE|CREATE|DELETE)_ACLS"),
    unserved("authentication", r"SASL_\w+|\w+_USER_SCRAM_CREDENTIALS|\w+_DELEGATION_TOKEN"),
    unserved("quotas", r"\w+_CLIENT_QUOTAS"),
    unserved("share and streams groups", r"\w*SHARE_\w+|STREAMS_GROUP_\w+"),
    Exemption(
        LATER + "features of what is not served",
        "api versions/.*",
        r"\d+ supported\.(share|streams|transaction)\.version",
        ours=ABSENT,
    ),
    Exemption(
        "Ottla serves Kafka 4.4's versions, the referee is 4.3: ApiVersions 5 (KIP-1242)",
        "api versions/.*",
        r"\d+ (keys|told)\.API_VERSIONS\[1\]",
        ours=5,
        theirs=4,
    ),
    Exemption(
        "Ottla serves Kafka 4.4's versions, the referee is 4.3: DeleteGroups 3",
        "api versions/.*",
        r"\d+ keys\.DELETE_GROUPS\[1\]",
        ours=3,
        theirs=2,
    ),
    Exemption(
        "without transactions there is no coordinator to send anybody to: the id is not found",
        "administration/a transaction: unknown",
        r"\d+ DescribeTransactionsRequest v0\.transactionStates\[0\]\.errorCode",
        ours=105,
        theirs=16,
    ),
    Exemption(
        "unsafe in Kafka: of two batches for a partition in one request it keeps one and says nothing of the other",
        "produce/the same partition twice in a request",
        r"\d+ (ProduceRequest|FetchRequest) v12.*",
    ),
    Exemption(
        "unsafe in Kafka: what lies behind a batch is dropped and the rest acknowledged; Ottla refuses all of it",
        "bad records/are refused: bytes behind it",
        r"\d+ (ProduceRequest|FetchRequest) v12.*",
    ),
    Exemption(
        "unsafe in Kafka: records of a compacted topic whose offsets go down are taken, and the cleaner, which cannot"
        " build such a batch, leaves the partition alone from then on; Ottla refuses them",
        "bad records/offsets in reverse in a compacted topic: plain",
        r"\d+ (ProduceRequest|FetchRequest) v12.*",
    ),
    Exemption(
        "unsafe in Kafka: a batch in the log, older than the last five, is called out of order, so that Java sends it"
        " for ever (KAFKA-9199); Ottla says that it is a duplicate",
        "produce/duplicates.*",
        rf"{PART}\.errorCode",
        ours=46,
        theirs=45,
    ),
)

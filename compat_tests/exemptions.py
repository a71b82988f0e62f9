"""Every difference between Ottla and Apache Kafka 4.3.1 that stays, with the reason why. Nothing else is excused.

Each must be needed in every whole comparison: one that nothing needs any more fails it.
"""

from __future__ import annotations

from compat_tests.comparison import ABSENT, Exemption

LATER = "an API that Ottla does not serve yet is not told: "


def unserved(reason: str, apis: str) -> Exemption:
    return Exemption(LATER + reason, "api versions/*", rf"\d+ (keys|told)\.({apis})", ours=ABSENT)


EXEMPTIONS: tuple[Exemption, ...] = (
    unserved("transactions", r"ADD_(PARTITIONS|OFFSETS)_TO_TXN|END_TXN|WRITE_TXN_MARKERS|TXN_OFFSET_COMMIT"),
    unserved("access control", r"(DESCRIBE|CREATE|DELETE)_ACLS"),
    unserved("authentication", r"SASL_\w+|\w+_USER_SCRAM_CREDENTIALS|\w+_DELEGATION_TOKEN"),
    unserved("quotas", r"\w+_CLIENT_QUOTAS"),
    unserved("share and streams groups", r"\w*SHARE_\w+|STREAMS_GROUP_\w+"),
    unserved("clusters of several nodes", r"UNREGISTER_BROKER|(ADD|REMOVE)_RAFT_VOTER"),
    Exemption(
        "Ottla serves the versions of Kafka 4.4, the referee is 4.3: ApiVersions 5 (KIP-1242)",
        "api versions/*",
        r"\d+ (keys|told)\.API_VERSIONS\[1\]",
        ours=5,
        theirs=4,
    ),
    Exemption(
        "Ottla serves the versions of Kafka 4.4, the referee is 4.3: DeleteGroups 3",
        "api versions/*",
        r"\d+ keys\.DELETE_GROUPS\[1\]",
        ours=3,
        theirs=2,
    ),
)

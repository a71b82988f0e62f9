"""New ids for clusters, directories and lives of a node: random, and fit to be given to a command line.

In Kafka's text an id may begin with a dash, which every tool would take for an option; Kafka does not hand such ids
out, nor the two that have a meaning, and neither do we.
"""

from __future__ import annotations

import secrets

from ottla.wire.primitives import UUID_BYTES, uuid_text

# No id at all, and the topic that metadata has in the quorum; two more are reserved for directories.
RESERVED_MAX = 100


def random_id() -> bytes:
    while True:
        candidate = secrets.token_bytes(UUID_BYTES)
        if int.from_bytes(candidate, "big") > RESERVED_MAX and not uuid_text(candidate).startswith("-"):
            return candidate

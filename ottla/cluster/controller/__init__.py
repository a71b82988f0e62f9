"""The controller: what the leader of the quorum answers, and the records that make it so. One module per family.

A function takes the state, a request and what else it needs (the time, a version), and returns a `Result`: response
and records. It changes nothing. The driver appends the records, replays them with `ControllerState.replay`, and answers
once they are committed; the state may run ahead of what is committed, answers may not. `KafkaError` out of a function
is the answer to the whole request.

state holds it all, draft is where a function works; topics, partition_growth, configs, client_quotas,
feature_updates, producer_ids, registrations, heartbeats, log_dirs, in_sync, elections and reassignments serve requests;
partition_change says what any change of a partition entails, fail_over applies it to all partitions of a broker.
"""

from __future__ import annotations

from ottla.cluster.controller.result import Result
from ottla.cluster.controller.settings import ConfigRules, ControllerSettings
from ottla.cluster.controller.state import ControllerState

__all__ = ["ConfigRules", "ControllerSettings", "ControllerState", "Result"]

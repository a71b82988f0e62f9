"""How many replicas the topics get that brokers create for themselves.

Kafka's defaults, three replicas of which two have to be in sync, would keep a small cluster from ever creating them.
So where a key was not set, its default is the most, and the number of brokers that are alive bounds it. Brokers ask
here when they create the topic; DescribeConfigs goes on showing Kafka's default.
"""

from __future__ import annotations

from ottla.config.broker import BrokerConfig
from ottla.config.keys import Key

BOUNDED_BY_BROKERS = (
    BrokerConfig.offsets_topic_replication_factor,
    BrokerConfig.transaction_state_log_replication_factor,
    BrokerConfig.transaction_state_log_min_isr,
    BrokerConfig.share_coordinator_state_topic_replication_factor,
    BrokerConfig.share_coordinator_state_topic_min_isr,
)


def internal_topic_factor(config: BrokerConfig, key: Key[int], broker_count: int) -> int:
    """A replication factor or min.isr, for a cluster of so many live brokers."""
    assert key in BOUNDED_BY_BROKERS, key
    assert broker_count > 0, "a topic is created by a broker that is alive"
    value: int = config.value(key.name)
    return value if config.is_set(key) else min(value, broker_count)

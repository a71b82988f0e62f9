"""Internal topics get as many replicas as was said, or as a small cluster can give."""

from __future__ import annotations

import pytest

from ottla.config.broker import BrokerConfig
from ottla.config.internal_topics import BOUNDED_BY_BROKERS, internal_topic_factor
from ottla.config.loading import load


@pytest.mark.parametrize(("broker_count", "replicas", "in_sync"), [(1, 1, 1), (2, 2, 2), (3, 3, 2), (9, 3, 2)])
def test_where_nothing_is_set_the_brokers_bound_the_default(broker_count: int, replicas: int, in_sync: int) -> None:
    config = load({}, {}).config
    for key in BOUNDED_BY_BROKERS:
        expected = in_sync if key.name.endswith("min.isr") else replicas
        assert internal_topic_factor(config, key, broker_count) == expected


def test_what_was_set_is_not_bounded_even_if_it_is_the_default() -> None:
    config = load({"offsets.topic.replication.factor": "3"}, {}).config
    assert internal_topic_factor(config, BrokerConfig.offsets_topic_replication_factor, 1) == 3


def test_other_keys_and_empty_clusters_are_our_mistake() -> None:
    config = load({}, {}).config
    with pytest.raises(AssertionError):
        internal_topic_factor(config, BrokerConfig.num_partitions, 1)
    with pytest.raises(AssertionError, match="alive"):
        internal_topic_factor(config, BOUNDED_BY_BROKERS[0], 0)

"""What is counted shows up under the right name, and nothing a peer does makes the tables grow."""

from __future__ import annotations

import math

import pytest
from prometheus_client.parser import text_string_to_metric_families

from ottla.server.exposition import HISTOGRAM, Family, pieces
from ottla.server.metrics import FLUSH_SECONDS, Histogram, Metrics
from ottla.wire.api_keys import ApiKey
from ottla.wire.errors import ErrorCode

Key = tuple[str, frozenset[tuple[str, str]]]


def values(metrics: Metrics) -> dict[Key, float]:
    """Every sample by name and labels, as Prometheus would read it."""
    text = "".join(pieces(metrics.families()))
    read = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    found = {(sample.name, frozenset(sample.labels.items())): sample.value for sample in read}
    assert len(found) == len(read), "two samples of one name and labels"
    return found


def key(name: str, **labels: str) -> Key:
    return name, frozenset(labels.items())


def test_requests_are_counted_by_api_and_silent_apis_are_not_shown() -> None:
    metrics = Metrics()
    metrics.requests[ApiKey.PRODUCE] += 1
    metrics.requests[ApiKey.LIST_OFFSETS] += 2
    counted = {found: value for found, value in values(metrics).items() if found[0] == "ottla_requests_total"}
    assert counted == {
        key("ottla_requests_total", api="Produce"): 1,
        key("ottla_requests_total", api="ListOffsets"): 2,
    }


def test_there_is_room_for_every_api() -> None:
    metrics = Metrics()
    for api in ApiKey:
        metrics.requests[api] += 1
    assert sum(name == "ottla_requests_total" for name, _ in values(metrics)) == len(ApiKey)


def test_errors_are_counted_by_api_and_code() -> None:
    metrics = Metrics()
    metrics.error(ApiKey.FETCH, ErrorCode.OFFSET_OUT_OF_RANGE)
    metrics.error(ApiKey.FETCH, ErrorCode.OFFSET_OUT_OF_RANGE)
    metrics.error(ApiKey.FETCH, ErrorCode.UNKNOWN_SERVER_ERROR)
    counted = values(metrics)
    assert counted[key("ottla_request_errors_total", api="Fetch", error="OFFSET_OUT_OF_RANGE")] == 2
    assert counted[key("ottla_request_errors_total", api="Fetch", error="UNKNOWN_SERVER_ERROR")] == 1


def test_the_partitions_of_a_topic_share_its_counters() -> None:
    metrics = Metrics()
    first, second = metrics.topic("t"), metrics.topic("t")
    first.bytes_in += 100
    second.bytes_in += 11
    second.bytes_out += 7
    first.produce_count += 2
    first.produce_failed_count += 1
    first.fetch_count += 5
    first.fetch_failed_count += 3
    metrics.topic("u").bytes_out += 1
    counted = values(metrics)
    assert counted[key("ottla_topic_bytes_in_total", topic="t")] == 111
    assert counted[key("ottla_topic_bytes_out_total", topic="t")] == 7
    assert counted[key("ottla_topic_produce_batches_total", topic="t")] == 2
    assert counted[key("ottla_topic_produce_failed_total", topic="t")] == 1
    assert counted[key("ottla_topic_fetches_total", topic="t")] == 5
    assert counted[key("ottla_topic_fetch_failed_total", topic="t")] == 3
    assert counted[key("ottla_topic_bytes_out_total", topic="u")] == 1


def test_a_topic_that_is_gone_is_not_shown_any_more() -> None:
    metrics = Metrics()
    metrics.topic("t").bytes_in += 1
    metrics.forget_topic("t")
    metrics.forget_topic("never seen")
    assert not any("topic" in dict(labels) for _, labels in values(metrics))


def test_topics_may_come_and_go_while_the_text_is_made() -> None:
    metrics = Metrics()
    for number in range(1000):
        metrics.topic(f"t{number}")
    made = pieces(metrics.families())
    text = next(made)
    for number in range(1000):
        metrics.forget_topic(f"t{number}")
    metrics.topic("new")
    text += "".join(made)
    assert sum(line.startswith("ottla_topic_bytes_in_total{") for line in text.splitlines()) == 1000


def test_connections_are_counted_by_listener() -> None:
    metrics = Metrics()
    metrics.listener("PLAINTEXT").accepted_count += 3
    metrics.listener("PLAINTEXT").refused_count += 2
    metrics.listener("SSL").cut_off_count += 1
    counted = values(metrics)
    assert counted[key("ottla_connections_accepted_total", listener="PLAINTEXT")] == 3
    assert counted[key("ottla_connections_refused_total", listener="PLAINTEXT")] == 2
    assert counted[key("ottla_connections_cut_off_total", listener="SSL")] == 1


# -- the histogram ----------------------------------------------------------------------------------------------------


def buckets(histogram: Histogram) -> dict[float, float]:
    (family,) = text_string_to_metric_families("".join(pieces([Family("h", HISTOGRAM, "Help.", histogram.samples())])))
    assert family.type == "histogram"
    return {float(sample.labels["le"]): sample.value for sample in family.samples if sample.name == "h_bucket"}


def test_a_bucket_holds_all_that_is_not_above_its_bound() -> None:
    histogram = Histogram((1.0, 2.0))
    for value in (0.0, 1.0, 1.5, 2.0, 2.1, 100.0):
        histogram.observe(value)
    assert buckets(histogram) == {1.0: 2, 2.0: 4, math.inf: 6}
    assert histogram.samples()[-2:] == [("_sum", "", pytest.approx(106.6)), ("_count", "", 6)]


def test_bounds_that_do_not_rise_are_a_mistake() -> None:
    with pytest.raises(AssertionError):
        Histogram((1.0, 1.0))


def test_flushes_are_measured() -> None:
    metrics = Metrics()
    metrics.flush_seconds.observe(0.003)
    counted = values(metrics)
    assert counted[key("ottla_log_flush_seconds_count")] == 1
    assert counted[key("ottla_log_flush_seconds_sum")] == pytest.approx(0.003)
    assert counted[key("ottla_log_flush_seconds_bucket", le="0.0025")] == 0
    assert counted[key("ottla_log_flush_seconds_bucket", le="0.005")] == 1
    assert len(FLUSH_SECONDS) == sum(name == "ottla_log_flush_seconds_bucket" for name, _ in counted) - 1

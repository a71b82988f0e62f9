"""What the broker counts while it works, for whoever asks later.

Counters are plain integers in plain sight, and whoever does the work adds to them: an addition is all that a request
pays. There are no locks, since the loop alone counts; worker threads report to it. Labels are made when the numbers are
read. What can be read from the broker itself at that time (connections, offsets, sizes) is not counted here: see
`gauges`. Every name is made up by us or is a topic led here, so a peer cannot make the tables grow.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence

from ottla.server.exposition import COUNTER, HISTOGRAM, Family, Sample, labels
from ottla.wire.api_keys import ApiKey
from ottla.wire.errors import ErrorCode

# From a sync that the disk's cache takes to one that is in trouble.
FLUSH_SECONDS = (
    *(0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1),
    *(0.25, 0.5, 1.0, 2.5, 5.0, 10.0),
)


class TopicTraffic:
    """What clients did to one topic here. Its partitions share it."""

    __slots__ = (
        "bytes_in",
        "bytes_out",
        "fetch_count",
        "fetch_failed_count",
        "produce_count",
        "produce_failed_count",
    )

    def __init__(self) -> None:
        # Batches that came, well or not, and those that were refused or could not be written.
        self.produce_count = 0
        self.produce_failed_count = 0
        # Reads of one partition, those that found nothing included, and those that were refused.
        self.fetch_count = 0
        self.fetch_failed_count = 0
        # Bytes of batches: written for clients, sent to clients.
        self.bytes_in = 0
        self.bytes_out = 0


class ListenerTraffic:
    """What became of those who connected to one listener."""

    __slots__ = ("accepted_count", "cut_off_count", "refused_count")

    def __init__(self) -> None:
        self.accepted_count = 0
        # Came when there was no room.
        self.refused_count = 0
        # Broke the protocol, was silent for too long, or did not read.
        self.cut_off_count = 0


class Histogram:
    """How many values fell between bounds, and their sum."""

    __slots__ = ("_bounds", "_counts", "_sum")

    def __init__(self, bounds: Sequence[float]) -> None:
        assert list(bounds) == sorted(set(bounds)), bounds
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0

    def observe(self, value: float) -> None:
        # A bound belongs to the bucket below it: `le` means less or equal.
        self._counts[bisect_left(self._bounds, value)] += 1
        self._sum += value

    def samples(self) -> list[Sample]:
        """All at one moment: the parts of a histogram must agree."""
        samples: list[Sample] = []
        total = 0
        for bound, count in zip((*self._bounds, "+Inf"), self._counts, strict=True):
            total += count
            samples.append(("_bucket", labels(le=bound), total))
        return [*samples, ("_sum", "", self._sum), ("_count", "", total)]


class Metrics:
    """Everything that is counted, in one place that all who count are given."""

    def __init__(self) -> None:
        # Requests by API key, those that failed included: `requests[key] += 1`.
        self.requests = [0] * (max(ApiKey) + 1)
        self.flush_seconds = Histogram(FLUSH_SECONDS)
        self._errors: Counter[tuple[int, int]] = Counter()
        self._topics: dict[str, TopicTraffic] = {}
        self._listeners: dict[str, ListenerTraffic] = {}

    def error(self, key: int, code: int) -> None:
        """An error was sent in answer to a request: for all of it, or for a part such as one partition."""
        self._errors[key, code] += 1

    def topic(self, name: str) -> TopicTraffic:
        """The counters of a topic, to be kept by those who add to them."""
        return self._topics.setdefault(name, TopicTraffic())

    def forget_topic(self, name: str) -> None:
        """No partition of the topic is led here any more."""
        self._topics.pop(name, None)

    def listener(self, name: str) -> ListenerTraffic:
        return self._listeners.setdefault(name, ListenerTraffic())

    # Reading

    def families(self) -> Iterator[Family]:
        yield Family("ottla_requests_total", COUNTER, "Requests taken, by API.", self._request_samples())
        yield Family(
            "ottla_request_errors_total",
            COUNTER,
            "Errors sent to clients, by API and error code; one request may have several.",
            self._error_samples(),
        )
        yield from self._topic_families()
        yield from self._listener_families()
        yield Family("ottla_log_flush_seconds", HISTOGRAM, "How long syncs to disk took.", self.flush_seconds.samples())

    def _request_samples(self) -> list[Sample]:
        return [("", labels(api=ApiKey(key).api_name), count) for key, count in enumerate(self.requests) if count]

    def _error_samples(self) -> list[Sample]:
        return [
            ("", labels(api=ApiKey(key).api_name, error=ErrorCode.of(code).name), count)
            for (key, code), count in sorted(self._errors.items())
        ]

    def _topic_families(self) -> Iterator[Family]:
        # A copy: the text is made in pieces, and topics come and go between two of them.
        topics = [(labels(topic=name), traffic) for name, traffic in self._topics.items()]

        def family(name: str, says: str, counter: str) -> Family:
            samples = (("", labelled, getattr(traffic, counter)) for labelled, traffic in topics)
            return Family(f"ottla_topic_{name}_total", COUNTER, says, samples)

        yield family("bytes_in", "Bytes of batches written for clients.", "bytes_in")
        yield family("bytes_out", "Bytes of batches sent to clients.", "bytes_out")
        yield family("produce_batches", "Batches that clients sent, refused ones included.", "produce_count")
        yield family("produce_failed", "Batches that were refused or not written.", "produce_failed_count")
        yield family("fetches", "Reads of a partition, empty and refused ones included.", "fetch_count")
        yield family("fetch_failed", "Reads of a partition that were refused.", "fetch_failed_count")

    def _listener_families(self) -> Iterator[Family]:
        listeners = [(labels(listener=name), traffic) for name, traffic in self._listeners.items()]

        def family(name: str, says: str, counter: str) -> Family:
            samples = (("", labelled, getattr(traffic, counter)) for labelled, traffic in listeners)
            return Family(f"ottla_connections_{name}_total", COUNTER, says, samples)

        yield family("accepted", "Connections taken.", "accepted_count")
        yield family("refused", "Connections closed at once, for want of room.", "refused_count")
        yield family("cut_off", "Connections closed because of what the client did.", "cut_off_count")

"""What a replay writes: which files of an archive, to which partitions. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ottla.client.metadata import TopicPartition
from ottla.pipelines import PipelineFailed
from ottla.pipelines.archive_layout import ArchivedFile
from ottla.pipelines.copying import WantedTopic
from ottla.pipelines.target_tail import NOTHING

# Records keep their time: a topic that deletes what is older than a week would delete an old archive as it comes.
KEPT_FOR_EVER = {"retention.ms": "-1"}
NAMES_TOLD_MAX = 10


def chosen(files: Sequence[ArchivedFile], topics: Sequence[str]) -> list[ArchivedFile]:
    """The files of these topics; of all without names."""
    there = sorted({file.topic for file in files})
    for topic in topics:
        if topic not in there:
            names = ", ".join([*there[:NAMES_TOLD_MAX], *(["..."] if len(there) > NAMES_TOLD_MAX else [])])
            raise PipelineFailed(f"the archive holds no topic {topic}; it has {names}")
    return [file for file in files if not topics or file.topic in topics]


def places_of(files: Sequence[ArchivedFile]) -> list[TopicPartition]:
    return sorted({TopicPartition(file.topic, file.partition) for file in files})


def wanted_topics(
    files: Sequence[ArchivedFile], names: Mapping[str, str], configs: Mapping[str, str]
) -> list[WantedTopic]:
    """Each with as many partitions as were archived; one that was empty and had the highest number is not known."""
    counts: dict[str, int] = {}
    for file in files:
        counts[file.topic] = max(counts.get(file.topic, 0), file.partition + 1)
    return [WantedTopic(names[topic], count, KEPT_FOR_EVER | dict(configs)) for topic, count in sorted(counts.items())]


def unwritten(files: Sequence[ArchivedFile], after: Mapping[TopicPartition, int]) -> list[ArchivedFile]:
    """The files that hold a record which the target does not, as far as their names tell."""
    return [file for file in files if file.last_offset > after.get(TopicPartition(file.topic, file.partition), NOTHING)]

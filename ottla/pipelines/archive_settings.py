"""What an archive was begun with, kept in it: who goes on with something else is told so before anything is written.

Offsets mean something in one cluster only, and Spark's checkpoint in one set of topics only. Pure, but for the file.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace

from ottla.commands import UsageError
from ottla.pipelines import PipelineFailed
from ottla.pipelines.file_system import Files

FILE = "_archive.json"


@dataclass(frozen=True)
class ArchiveSettings:
    """`topics` are names in order, or None where the pattern tells; `by` is date, hour or None.

    A topic's id tells it from one of the same name that was made after it was deleted, whose offsets begin anew.
    """

    cluster_id: str
    topics: tuple[str, ...] | None
    pattern: str | None
    by: str | None
    topic_ids: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> ArchiveSettings:
        """ValueError where it is none."""
        try:
            held = json.loads(text)
            topics = held["topics"]
            named = None if topics is None else tuple(topics)
            return cls(held["cluster_id"], named, held["pattern"], held["by"], dict(held["topic_ids"]))
        except (KeyError, TypeError) as error:
            raise ValueError(f"it lacks {error}") from error


def differences(before: ArchiveSettings, now: ArchiveSettings) -> list[str]:
    """What is not as it was, as sentences."""
    found = []
    if before.cluster_id != now.cluster_id:
        found.append(f"it was made from the cluster {before.cluster_id}, and this one is {now.cluster_id}")
    if (before.topics, before.pattern) != (now.topics, now.pattern):
        found.append(f"it holds {subscription_text(before)}, and not {subscription_text(now)}")
    if before.by != now.by:
        found.append(f"it is divided by {before.by or 'topic only'}, and not by {now.by or 'topic only'}")
    for topic, topic_id in before.topic_ids.items():
        if now.topic_ids.get(topic, topic_id) != topic_id:
            found.append(f"the topic {topic} was deleted and made anew since, and its offsets begin again")
    return found


def subscription_text(settings: ArchiveSettings) -> str:
    if settings.topics is None:
        return f"the topics that match {settings.pattern!r}"
    return f"the topics {', '.join(settings.topics)}"


def settle_checkpoint(checkpoint: Files, now: ArchiveSettings) -> None:
    """The same for a checkpoint that lies elsewhere: one of other topics would send Spark to offsets of theirs."""
    if checkpoint.exists("metadata") and not checkpoint.exists(FILE):
        raise PipelineFailed(f"{checkpoint.url} is a checkpoint of something else. Choose another --checkpoint")
    settle(checkpoint, now, "--checkpoint")


def settle(archive: Files, now: ArchiveSettings, option: str = "--output") -> None:
    """Keep what a new archive begins with; PipelineFailed where an old one was begun otherwise."""
    if not archive.exists(FILE):
        archive.write(FILE, now.to_json())
        return
    try:
        before = ArchiveSettings.from_json(archive.read(FILE))
    except ValueError as error:
        raise PipelineFailed(f"{archive.url}/{FILE} cannot be read: {error}") from error
    if found := differences(before, now):
        raise PipelineFailed(f"{archive.url} is of another archive: {'; '.join(found)}. Choose another {option}")
    together = replace(now, topic_ids={**before.topic_ids, **now.topic_ids})
    if together != before:
        archive.write(FILE, together.to_json())


def check_arguments(parsed: argparse.Namespace) -> None:
    """UsageError for what cannot be meant together."""
    if parsed.compact_only:
        if parsed.topics or parsed.pattern or parsed.once or parsed.decode:
            raise UsageError("--compact-only takes an --output and nothing to archive")
        return
    if bool(parsed.topics) == (parsed.pattern is not None):
        raise UsageError("name topics, or give a --pattern")
    if parsed.decode and parsed.schema is None:
        raise UsageError(f"--decode {parsed.decode} needs a --schema")
    if parsed.schema is not None and not parsed.decode:
        raise UsageError("--schema is of use with --decode only")
    if parsed.confluent and parsed.decode != "avro":
        raise UsageError("--confluent is of use with --decode avro only")

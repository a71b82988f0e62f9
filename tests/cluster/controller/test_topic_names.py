"""Names that a topic may have, and ids for new ones."""

from __future__ import annotations

from random import Random

import pytest

from ottla.cluster.controller.topic_names import check_topic_name, new_topic_id
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.primitives import uuid_text


@pytest.mark.parametrize("name", ["a", "...", "A-b_c.9", "x" * 249, "__consumer_offsets"])
def test_good_names_pass(name: str) -> None:
    check_topic_name(name)


@pytest.mark.parametrize(
    "name", ["", ".", "..", "x" * 250, "a b", "a/b", "../a", "ä", "a\n", "a\0", "٣", "a:b", "\N{SNOWMAN}"]
)
def test_bad_names_are_refused(name: str) -> None:
    with pytest.raises(KafkaError) as refused:
        check_topic_name(name)
    assert refused.value.code == ErrorCode.INVALID_TOPIC_EXCEPTION


def test_an_id_is_a_random_uuid_that_no_command_line_takes_for_an_option() -> None:
    random = Random(3)
    ids = [new_topic_id(random) for _ in range(2000)]
    assert len(set(ids)) == 2000
    assert all(id[6] >> 4 == 4 and id[8] >> 6 == 2 for id in ids)
    assert not any(uuid_text(id).startswith("-") for id in ids)

"""Options mean what those of Spark's `kafka` format mean, and what is wrong is said before anything is read."""

from __future__ import annotations

import pytest

from ottla.pipelines.segments_options import (
    EARLIEST,
    LATEST,
    SPLIT_BYTES,
    Bound,
    SegmentsOptions,
    offsets_from_json,
    offsets_to_json,
    parse_options,
)

PATH = {"path": "/logs"}


def test_without_options_everything_is_read() -> None:
    options = parse_options(PATH)
    assert options == SegmentsOptions(("/logs",))
    assert (options.starting, options.ending, options.split_bytes) == (Bound(EARLIEST), Bound(LATEST), SPLIT_BYTES)
    assert options.wants("orders", 3)
    assert not options.wants("__consumer_offsets", 3)


def test_names_and_words_are_taken_in_any_case() -> None:
    given = {"PATH": "/logs", "SUBSCRIBE": "a, b", "ISOLATION": "READ_COMMITTED", "upto": "highwatermark"}
    options = parse_options({**given, "failondataloss": "FALSE", "includeHeaders": "True"})
    assert options.topics == {"a", "b"}
    assert options.is_committed_only
    assert options.is_up_to_high_watermark
    assert not options.fails_on_data_loss
    assert options.includes_headers


def test_topics_are_chosen_by_name_pattern_or_partition() -> None:
    named = parse_options({**PATH, "subscribe": "a,__consumer_offsets"})
    assert [named.wants(topic, 0) for topic in ("a", "b", "__consumer_offsets")] == [True, False, True]
    pattern = parse_options({**PATH, "subscribePattern": "a.*|__.*"})
    assert [pattern.wants(topic, 0) for topic in ("ab", "b", "__consumer_offsets")] == [True, False, False]
    assigned = parse_options({**PATH, "assign": '{"a": [1]}'})
    assert [assigned.wants("a", 1), assigned.wants("a", 0), assigned.wants("b", 1)] == [True, False, False]


def test_offsets_are_a_word_a_number_or_json() -> None:
    assert parse_options({**PATH, "startingOffsets": "Latest"}).starting == Bound(LATEST)
    assert parse_options({**PATH, "startingOffsets": "12"}).starting == Bound(12)
    ending = parse_options({**PATH, "endingOffsets": '{"a": {"0": 5, "1": -1}}'}).ending
    assert [ending.of("a", 0), ending.of("a", 1), ending.of("b", 0)] == [5, LATEST, LATEST]
    starting = parse_options({**PATH, "startingOffsets": '{"a": {"0": -2}}'}).starting
    assert [starting.of("a", 0), starting.of("a", 1)] == [EARLIEST, EARLIEST]


@pytest.mark.parametrize(("text", "size"), [("1000", 1000), ("64k", 65536), ("2 MB", 2 << 20), ("1g", 1 << 30)])
def test_sizes_may_have_a_unit(text: str, size: int) -> None:
    assert parse_options({**PATH, "splitBytes": text}).split_bytes == size


def test_paths_are_one_or_several() -> None:
    assert parse_options({"path": "file:///logs"}).paths == ("/logs",)
    assert parse_options({"paths": '["/a", "/b"]'}).paths == ("/a", "/b")


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"startingOffset": "3"}, "has no option 'startingoffset'; there are path, "),
        ({"subscribe": "a", "assign": "{}"}, "subscribe and assign cannot be given together"),
        ({"startingOffsets": "1", "startingTimestamp": "1"}, "choose one"),
        ({"subscribe": " , "}, "names no topic"),
        ({"subscribePattern": "("}, "no regular expression"),
        ({"assign": '{"a": 1}'}, "assign is to be like"),
        ({"assign": '{"a": [-1]}'}, "assign is to be like"),
        ({"assign": "[]"}, "assign is to be like"),
        ({"assign": "a"}, "is no JSON"),
        ({"startingOffsets": "soon"}, "is no JSON"),
        ({"startingOffsets": "-7"}, "is to be earliest"),
        ({"startingOffsets": '{"a": 1}'}, "is to be earliest"),
        ({"startingOffsets": '{"a": {"x": 1}}'}, "is to be earliest"),
        ({"endingOffsets": '{"a": {"0": "1"}}'}, "is to be earliest"),
        ({"startingTimestamp": "today"}, "milliseconds since 1970"),
        ({"splitBytes": "0"}, "is to be a number of bytes"),
        ({"splitBytes": "many"}, "is to be a number of bytes"),
        ({"isolation": "none"}, "is to be read_uncommitted or read_committed"),
        ({"paths": '"/a"'}, "a JSON list of directories"),
        ({"paths": "[]"}, "a JSON list of directories"),
    ],
)
def test_what_is_wrong_is_told(given: dict[str, str], why: str) -> None:
    with pytest.raises(ValueError, match="(?s)" + why):
        parse_options({**PATH, **given})


def test_a_directory_is_needed() -> None:
    with pytest.raises(ValueError, match="needs a directory"):
        parse_options({})


def test_a_stream_has_no_end_and_a_batch_does_not_begin_there() -> None:
    for ending in ({"endingOffsets": "5"}, {"endingTimestamp": "5"}):
        with pytest.raises(ValueError, match="a stream has no end"):
            parse_options({**PATH, **ending}, is_streaming=True)
        parse_options({**PATH, **ending}, is_streaming=False)
    with pytest.raises(ValueError, match="is for streams"):
        parse_options({**PATH, "startingOffsets": "latest"}, is_streaming=False)
    parse_options({**PATH, "startingOffsets": "latest"}, is_streaming=True)


def test_positions_of_a_stream_are_the_same_text_in_any_order() -> None:
    offsets = {("b", 10): 1, ("a", 0): 2, ("b", 9): 3}
    as_json = offsets_to_json(offsets)
    assert str(as_json) == "{'a': {'0': 2}, 'b': {'9': 3, '10': 1}}"
    assert offsets_from_json(as_json) == offsets

"""`meta.properties`: the ids of a log directory, in Java's format."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.storage.meta_properties import (
    FILE_NAME,
    MetaProperties,
    MetaPropertiesError,
    format_properties,
    parse_properties,
    read_meta_properties,
    write_meta_properties,
)
from tests.storage.fake_disk import FakeDisk

PATH = f"/{FILE_NAME}"
META = MetaProperties(cluster_id="MkU3OEVBNTcwNTJENDM2Qg", node_id=3, directory_id=bytes(range(16)))
TEXT = st.text(st.characters(exclude_categories=["Cs"]))


def disk_with(data: bytes) -> FakeDisk:
    disk = FakeDisk()
    disk.replace(PATH, data)
    return disk


def test_what_is_written_is_read() -> None:
    disk = FakeDisk()
    write_meta_properties(disk, "/", META)
    assert disk.read(PATH) == (
        b"node.id=3\ndirectory.id=AAECAwQFBgcICQoLDA0ODw\nversion=1\ncluster.id=MkU3OEVBNTcwNTJENDM2Qg\n"
    )
    assert read_meta_properties(disk, "/") == META


def test_a_directory_that_was_not_formatted_has_none() -> None:
    assert read_meta_properties(FakeDisk(), "/") is None


def test_keys_that_are_not_known_are_kept() -> None:
    disk = disk_with(b"#\n#a date\nversion=1\nnode.id=1\ncluster.id=c\nother.key=some: value\n")
    meta = read_meta_properties(disk, "/")
    assert meta == MetaProperties(cluster_id="c", node_id=1, other={"other.key": "some: value"})
    write_meta_properties(disk, "/", meta)
    assert read_meta_properties(disk, "/") == meta


def test_a_file_of_the_time_of_zookeeper_is_read_and_written_as_version_one() -> None:
    disk = disk_with(b"version=0\nbroker.id=5\ncluster.id=c\n")
    meta = read_meta_properties(disk, "/")
    assert meta == MetaProperties(cluster_id="c", node_id=5)
    write_meta_properties(disk, "/", meta)
    assert disk.read(PATH) == b"node.id=5\nversion=1\ncluster.id=c\n"


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"version=2\nnode.id=1\ncluster.id=c", "version '2'"),
        (b"version=x\nnode.id=1\ncluster.id=c", "version 'x'"),
        (b"version=1\ncluster.id=c", "node.id or cluster.id is missing"),
        (b"version=1\nnode.id=1", "node.id or cluster.id is missing"),
        (b"broker.id=1", "broker.id or cluster.id is missing"),
        (b"version=1\nnode.id=one\ncluster.id=c", "'one' is not a number"),
        (b"version=1\nnode.id=1\ncluster.id=c\ndirectory.id=x", "'x' is"),
        (b"a=\\u12", r"malformed escape \\u12"),
        (b"a=\\uwxyz", r"malformed escape \\uwxyz"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(data: bytes, why: str) -> None:
    with pytest.raises(MetaPropertiesError, match=why) as caught:
        read_meta_properties(disk_with(data), "/")
    assert str(caught.value).startswith(PATH)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a=b", {"a": "b"}),
        ("a:b", {"a": "b"}),
        ("a b", {"a": "b"}),
        ("a", {"a": ""}),
        ("  a \t = \f b ", {"a": "b "}),
        ("a==b", {"a": "=b"}),
        ("a = = b", {"a": "= b"}),
        ("=b", {"": "b"}),
        ("# c\n! d\n\n \t\na=b # e", {"a": "b # e"}),
        ("a=b\ra=c\r\nd=e", {"a": "c", "d": "e"}),
        ("a=b\\\n   c", {"a": "bc"}),
        ("a=b\\\n# c", {"a": "b# c"}),
        ("a=b\\\\\nc=d", {"a": "b\\", "c": "d"}),
        ("a=b\\", {"a": "b"}),
        ("a=b\\\n", {"a": "b"}),
        ("a\\ b\\=\\:=c", {"a b=:": "c"}),
        ("a=\\t\\n\\r\\f\\q\\\\", {"a": "\t\n\r\fq\\"}),
        ("a=\\u0041\\u00e9\\ud83d\\ude00", {"a": "Aé😀"}),
        ("a=\\ud83d", {"a": "\ufffd"}),
        ("a\u00a0b=c", {"a\u00a0b": "c"}),
    ],
)
def test_properties_are_read_as_java_reads_them(text: str, values: dict[str, str]) -> None:
    assert parse_properties(text) == values


@given(st.dictionaries(TEXT, TEXT, max_size=4))
def test_whatever_is_written_is_read(values: dict[str, str]) -> None:
    assert parse_properties(format_properties(values)) == values

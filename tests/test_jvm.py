"""The provisioning of Kafka's jars: what needs no JVM is tested everywhere, the rest where there is one."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from tests import jvm


def test_comments_are_stripped_and_strings_are_kept() -> None:
    assert jvm.without_comments('{"a": "x // y \\" // z"} // gone\n// gone too\n') == '{"a": "x // y \\" // z"} \n\n'


def test_definitions_are_read_out_of_a_jar_by_name(tmp_path: Path) -> None:
    jar = tmp_path / "some.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr("common/message/FooRequest.json", '// a license\n{"name": "FooRequest"}')
        archive.writestr("common/message/README.md", "no JSON")
        archive.writestr("elsewhere/Bar.json", "{}")
    assert jvm.message_definitions(jar, "common/message/") == {"FooRequest": {"name": "FooRequest"}}


def test_what_is_made_is_made_once_and_whole(tmp_path: Path) -> None:
    target = tmp_path / "made"

    def fail(directory: Path) -> None:
        (directory / "half").touch()
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="full"):
        jvm.made_once(target, fail)
    assert not target.exists()
    jvm.made_once(target, lambda directory: (directory / "whole").touch())
    jvm.made_once(target, fail)
    assert [path.name for path in target.iterdir()] == ["whole"]


def test_a_missing_program_is_named() -> None:
    with pytest.raises(jvm.JvmUnavailable, match="no-such-program"):
        jvm.program("no-such-program")


@pytest.mark.jvm
def test_the_pinned_jars_hold_all_definitions() -> None:
    assert len(jvm.kafka_clients_definitions()) == 203
    assert len(jvm.kafka_stored_definitions()) == 26 + 44 + 2 + 4 + 1


@pytest.mark.jvm
def test_a_program_is_compiled_against_the_clients_and_answers(tmp_path: Path) -> None:
    source = tmp_path / "Hello.java"
    source.write_text(
        "import org.apache.kafka.common.protocol.ApiKeys;\n"
        "public class Hello { public static void main(String[] a) { System.out.println(ApiKeys.FETCH.id + a[0]); } }\n",
        encoding="utf-8",
    )
    classpath = jvm.kafka_clients_classpath()
    classes = jvm.compile_java(source, classpath)
    assert jvm.compile_java([source], classpath) == classes
    with jvm.java(f"{classes}:{classpath}", "Hello", "!") as process:
        assert process.communicate()[0].strip() == "1!"
    assert process.returncode == 0

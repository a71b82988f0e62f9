"""`ottla pipeline`: every pipeline has its function and a help with examples, and helping loads no Spark."""

from __future__ import annotations

import argparse
import importlib
import shlex
import subprocess
import sys

import pytest

from ottla import cli
from ottla.commands.pipeline import NAMES

Captured = pytest.CaptureFixture[str]


def parser_of(name: str) -> argparse.ArgumentParser:
    parser = cli.parser("pipeline")
    for word in ("pipeline", name):
        (below,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
        parser = below.choices[word]
    return parser


@pytest.mark.parametrize("name", NAMES)
def test_a_pipeline_has_its_function_and_examples_that_can_be_parsed(name: str) -> None:
    parser = parser_of(name)
    (place,) = parser.get_default("command").args
    module, _, function = place.partition(":")
    assert callable(getattr(importlib.import_module(f"ottla.pipelines.{module}"), function))
    examples = (parser.epilog or "").splitlines()
    assert examples[0] == "examples:"
    assert len(examples) > 1
    for example in examples[1:]:
        words = shlex.split(example)
        assert words[:3] == ["ottla", "pipeline", name]
        cli.parser("pipeline").parse_args(cli.joined(words[1:]))


def test_help_names_every_pipeline_and_loads_no_spark() -> None:
    program = (
        "import sys\n"
        "from ottla import cli\n"
        "try:\n"
        "    cli.main(sys.argv[1:])\n"
        "except SystemExit:\n"
        "    print(sorted({'pyspark', 'py4j', 'pandas', 'pyarrow', 'trio', 'ottla.client'} & set(sys.modules)))\n"
    )
    for words in (["pipeline", "--help"], *(["pipeline", name, "--help"] for name in NAMES)):
        command = [sys.executable, "-c", program, *words]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stdout.endswith("[]\n")
        assert [name for name in NAMES if len(words) == 2 and f"    {name}" not in done.stdout] == []


def test_a_pipeline_that_is_not_there_is_a_mistake(capsys: Captured) -> None:
    with pytest.raises(SystemExit) as stopped:
        cli.main(["pipeline", "no-such"])
    assert stopped.value.code == 2
    assert "archive" in capsys.readouterr().err

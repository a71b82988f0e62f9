"""The repository follows its own taste rules, and each rule is able to fail.

The rules are in tidy.py. Here they are run on every file, and on a bad and a good sample each: a rule that nothing
can break would say nothing.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

import pytest

from tests import tidy

ROOT = Path(__file__).resolve().parent.parent
MADE_BY_TOOLS = {"__pycache__", "build", "dist", "htmlcov"}

Rule = Callable[[PurePosixPath, str], list[str]]

PACKAGE_RULES: tuple[Rule, ...] = (
    tidy.imports_point_one_way,
    tidy.pure_layers_do_not_wait,
    tidy.does_not_print,
    tidy.file_is_short,
    tidy.functions_are_short,
)
PYTHON_RULES: tuple[Rule, ...] = (
    tidy.name_says_something,
    tidy.opens_with_a_docstring,
    tidy.defers_annotations,
    tidy.has_no_wildcard_import,
)

# Files of the package without a test file of their own, and where their behaviour is tested instead.
TESTED_ELSEWHERE = {
    "ottla/__main__.py": "tests/test_cli.py",
}


def written(directory: Path = ROOT) -> Iterator[PurePosixPath]:
    """The files that somebody wrote, relative to the root: what is hidden or made by a tool is left out."""
    for path in sorted(directory.iterdir()):
        if path.name in MADE_BY_TOOLS or (path.name.startswith(".") and path.name not in {".ci", ".gitignore"}):
            continue
        if path.is_dir():
            yield from written(path)
        else:
            yield PurePosixPath(path.relative_to(ROOT).as_posix())


def text_of(path: PurePosixPath) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


WRITTEN = list(written())
PYTHON = [path for path in WRITTEN if path.suffix == ".py"]
PACKAGE = [path for path in PYTHON if path.parts[0] == "ottla"]


@pytest.mark.parametrize("rule", PACKAGE_RULES, ids=lambda rule: rule.__name__)
def test_every_file_of_the_package_follows(rule: Rule) -> None:
    assert PACKAGE
    assert [wrong for path in PACKAGE for wrong in rule(path, text_of(path))] == []


@pytest.mark.parametrize("rule", PYTHON_RULES, ids=lambda rule: rule.__name__)
def test_every_python_file_follows(rule: Rule) -> None:
    assert [wrong for path in PYTHON for wrong in rule(path, text_of(path))] == []


def test_nothing_names_a_machine_path_or_a_registry_host() -> None:
    texts = [path for path in WRITTEN if path.name != "LICENSE" and is_text(ROOT / path)]
    assert [wrong for path in texts for wrong in tidy.names_no_machine(path, text_of(path))] == []


def is_text(path: Path) -> bool:
    """Recorded bytes may lie beside the tests; a zero byte tells."""
    return b"\0" not in path.read_bytes()


def test_every_path_that_a_document_names_exists() -> None:
    documents = [path for path in WRITTEN if path.suffix == ".md" and path.name != "CHANGELOG.md"]
    assert PurePosixPath("docs/architecture.md") in documents
    named = [(document, name) for document in documents for name in tidy.paths_named(text_of(document))]
    assert named, "the documents name no paths: does the rule still find them?"
    assert [f"{document} names {name}" for document, name in named if not exists(name, document)] == []


def exists(name: str, document: PurePosixPath) -> bool:
    """A document may name a neighbour by its bare name."""
    return (ROOT / name).exists() or (ROOT / document.parent / name).exists()


def test_every_file_of_the_package_has_its_test_file() -> None:
    lacking = [
        f"{path} lacks {tidy.test_file_of(path)}"
        for path in PACKAGE
        if path.name != "__init__.py"
        and not str(path).startswith(tidy.DECLARATIONS)
        and str(path) not in TESTED_ELSEWHERE
        and not (ROOT / tidy.test_file_of(path)).exists()
    ]
    assert lacking == []


def test_files_tested_elsewhere_exist_and_are_tested_there() -> None:
    assert [path for pair in TESTED_ELSEWHERE.items() for path in pair if not (ROOT / path).exists()] == []


def test_every_pin_is_exact_and_the_build_backend_is_one_of_them() -> None:
    project = tomllib.loads(text_of(PurePosixPath("pyproject.toml")))
    pins = project["project"]["optional-dependencies"]["dev"]
    assert [pin for pin in pins if "==" not in pin.partition(";")[0]] == []
    assert set(project["build-system"]["requires"]) <= set(pins)
    sets = project["tool"]["ottla"]["pins"]["maven"]["sets"]
    assert [coordinate for jars in sets.values() for coordinate in jars if coordinate.count(":") != 2] == []


# -- each rule can fail -----------------------------------------------------------------------------------------------

LONG_FUNCTION = "def f() -> None:\n" + "    x = 1\n" * tidy.FUNCTION_LINES_MAX

BAD_SAMPLES = [
    (tidy.imports_point_one_way, "ottla/wire/x.py", "import ottla.server"),
    (tidy.imports_point_one_way, "ottla/wire/x.py", "from ottla.storage.log import Log"),
    (tidy.imports_point_one_way, "ottla/wire/x.py", "from ..storage import log"),
    (tidy.imports_point_one_way, "ottla/wire/x.py", "def f():\n    import trio"),
    (tidy.imports_point_one_way, "ottla/wire/x.py", "import time"),
    (tidy.imports_point_one_way, "ottla/wire/x.py", "from os import path"),
    (tidy.imports_point_one_way, "ottla/storage/x.py", "import trio"),
    (tidy.imports_point_one_way, "ottla/storage/x.py", "from ottla.wire import messages"),
    (tidy.imports_point_one_way, "ottla/storage/x.py", "from ottla.wire.records_of_another_kind import y"),
    (tidy.imports_point_one_way, "ottla/cluster/x.py", "import random"),
    (tidy.imports_point_one_way, "ottla/client/x.py", "from ottla import server"),
    (tidy.imports_point_one_way, "ottla/server/x.py", "import requests"),
    (tidy.imports_point_one_way, "ottla/elsewhere/x.py", ""),
    (tidy.pure_layers_do_not_wait, "ottla/wire/x.py", "async def f() -> None: ..."),
    (tidy.name_says_something, "ottla/wire/utils.py", ""),
    (tidy.name_says_something, "ottla/common/x.py", ""),
    (tidy.opens_with_a_docstring, "ottla/x.py", "import os"),
    (tidy.opens_with_a_docstring, "ottla/x.py", ""),
    (tidy.defers_annotations, "ottla/x.py", '"""Doc."""\nimport os'),
    (tidy.has_no_wildcard_import, "ottla/x.py", "from os import *"),
    (tidy.does_not_print, "ottla/wire/x.py", "def f():\n    print(1)"),
    (tidy.file_is_short, "ottla/x.py", "\n" * (tidy.FILE_LINES_MAX + 1)),
    (tidy.file_is_short, "ottla/wire/messages/x.py", "\n" * (tidy.DECLARATION_LINES_MAX + 1)),
    (tidy.functions_are_short, "ottla/x.py", LONG_FUNCTION),
    (tidy.names_no_machine, "x.md", "see /" + "tmp/notes"),
    (tidy.names_no_machine, "x.toml", "index = 'https://py" + "pi.org/simple'"),
    (tidy.names_no_machine, "x.toml", "https://repo1.maven" + ".org/maven2"),
]

GOOD_SAMPLES = [
    (
        tidy.imports_point_one_way,
        "ottla/wire/x.py",
        "from ottla.wire.errors import KafkaError\nimport struct, lz4.frame",
    ),
    (tidy.imports_point_one_way, "ottla/wire/records/x.py", "from ..errors import KafkaError"),
    (tidy.imports_point_one_way, "ottla/wire/x.py", "from compression import zstd"),
    (tidy.imports_point_one_way, "ottla/storage/x.py", "from ottla.wire import records\nimport os"),
    (tidy.imports_point_one_way, "ottla/server/x.py", "import trio\nfrom ottla.cluster import raft"),
    (tidy.pure_layers_do_not_wait, "ottla/server/x.py", "async def f() -> None: ..."),
    (tidy.defers_annotations, "ottla/x.py", '"""Nothing but a docstring."""'),
    (tidy.does_not_print, "ottla/cli.py", "print(1)"),
    (tidy.file_is_short, "ottla/wire/messages/x.py", "\n" * tidy.DECLARATION_LINES_MAX),
    (tidy.functions_are_short, "ottla/x.py", LONG_FUNCTION.removesuffix("    x = 1\n")),
    (tidy.names_no_machine, "x.md", "a relative path such as data/" + "tmp and github.com"),
]


def sample_id(value: object) -> str | None:
    return getattr(value, "__name__", None)


@pytest.mark.parametrize(("rule", "path", "text"), BAD_SAMPLES, ids=sample_id)
def test_the_rule_finds_a_bad_sample(rule: Rule, path: str, text: str) -> None:
    assert rule(PurePosixPath(path), text)


@pytest.mark.parametrize(("rule", "path", "text"), GOOD_SAMPLES, ids=sample_id)
def test_the_rule_leaves_a_good_sample_alone(rule: Rule, path: str, text: str) -> None:
    assert rule(PurePosixPath(path), text) == []


def test_paths_are_found_in_prose() -> None:
    assert tidy.paths_named("see `ottla/wire/x.py`, `docs/` and `README.md`, not `a/b`") == [
        "ottla/wire/x.py",
        "docs/",
        "README.md",
    ]


def test_the_test_file_of_a_nested_module_is_nested_alike() -> None:
    assert tidy.test_file_of(PurePosixPath("ottla/wire/x.py")) == PurePosixPath("tests/wire/test_x.py")

"""The taste rules, each a pure function from a file to what is wrong with it.

A rule takes a path relative to the repository and the text of the file, and returns sentences; no sentence means the
file is as it should be. What the rules are run on, and bad samples that prove each can fail, is in test_tidy.py.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import PurePosixPath

# What commands and pipelines share: how a cluster is asked, and how something is told.
_EXITS = ("EXIT_FAILED", "EXIT_OK", "CommandFailed", "UsageError")
_FOR_PIPELINES = (*_EXITS, "asking", "hints", "terminal", "text_form")

# Who may import whom inside the package, by dotted prefix; what is absent is forbidden.
MAY_IMPORT: dict[str, set[str]] = {
    "wire": {"wire"},
    "storage": {"storage", "wire.records", "wire.errors", "wire.primitives"},
    "cluster": {"cluster", "wire"},
    "coordinators": {"coordinators", "wire"},
    "client": {"client", "wire"},
    "server": {"server", "wire", "storage", "cluster", "coordinators", "client", "config"},
    # Pipelines are commands that happen to run on Spark: they ask, tell and fail as commands do.
    "pipelines": {"pipelines", "wire", "client", "storage", "config", *(f"commands.{name}" for name in _FOR_PIPELINES)},
    "testing": {"testing", "server", "wire", "storage", "cluster", "coordinators", "client", "config"},
    "config": {"config", "wire.errors", "storage.log_config", "storage.meta_properties"},
    "commands": {"commands", "server", "wire", "storage", "cluster", "coordinators", "client", "config", "pipelines"},
    "cli": {"commands", "server", "wire", "storage", "cluster", "coordinators", "client", "config", "pipelines"},
    "__main__": {"cli"},
    "__init__": set(),
}

# What comes from elsewhere, beyond the standard library.
THIRD_PARTY: dict[str, set[str]] = {
    "wire": {"backports", "crc32c", "cramjam", "lz4"},
    "client": {"trio"},
    "coordinators": {"re2", "xxhash"},
    "commands": {"trio"},
    "server": {"trio"},
    "testing": {"trio", "pytest", "testcontainers"},
    "pipelines": {"fastavro", "matplotlib", "numpy", "pandas", "py4j", "pyarrow", "pyspark", "trio"},
}

# Pure layers neither wait nor ask the world anything: bytes, events and the time come in as arguments.
_WORLD = {"asyncio", "multiprocessing", "select", "selectors", "signal", "socket", "ssl", "subprocess", "threading"}
_CLOCKS_AND_LUCK = {"random", "secrets", "time"}
_FILES = {"mmap", "os", "pathlib", "shutil", "tempfile"}
NEVER: dict[str, set[str]] = {
    "wire": _WORLD | _CLOCKS_AND_LUCK | _FILES,
    "storage": _WORLD - {"multiprocessing", "subprocess"},
    "cluster": _WORLD | _CLOCKS_AND_LUCK | _FILES,
    "coordinators": _WORLD | _CLOCKS_AND_LUCK | _FILES,
}

NAMELESS = {"utils", "util", "common", "helpers", "helper", "base", "misc"}

FILE_LINES_MAX = 500
DECLARATION_LINES_MAX = 900
DECLARATIONS = ("ottla/wire/messages/", "ottla/wire/stored/", "ottla/config/declared/")
# A ratchet: lower it when the longest function gets shorter, never raise it.
FUNCTION_LINES_MAX = 60

MAY_PRINT = ("ottla/cli.py", "ottla/commands/serve.py", "ottla/commands/serve_many.py")


def layer_of(path: PurePosixPath) -> str:
    """The layer a file of the package belongs to: `wire` for ottla/wire/x.py, `cli` for ottla/cli.py."""
    return path.parts[1] if len(path.parts) > 2 else path.stem


def imported_names(path: PurePosixPath, tree: ast.AST) -> Iterator[str]:
    """Every dotted name a file imports, wherever in the file, relative ones resolved."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = path.parts[: len(path.parts) - node.level] if node.level else ()
            module = ".".join([*above, *([node.module] if node.module else [])])
            yield from (f"{module}.{alias.name}" for alias in node.names)


def imports_point_one_way(path: PurePosixPath, text: str) -> list[str]:
    layer = layer_of(path)
    if layer not in MAY_IMPORT:
        return [f"{path} is in no layer that tests/tidy.py knows"]
    wrong = []
    for name in imported_names(path, ast.parse(text)):
        top, _, rest = name.partition(".")
        if top == "ottla":
            allowed = rest == "__version__" or any(f"{rest}.".startswith(f"{ok}.") for ok in MAY_IMPORT[layer])
        elif top in sys.stdlib_module_names or top == "compression":  # compression: the standard library's, from 3.14
            allowed = top not in NEVER.get(layer, set())
        else:
            allowed = top in THIRD_PARTY.get(layer, set())
        if not allowed:
            wrong.append(f"{path} may not import {name}")
    return wrong


def pure_layers_do_not_wait(path: PurePosixPath, text: str) -> list[str]:
    if layer_of(path) not in NEVER:
        return []
    waits = (ast.AsyncFunctionDef, ast.Await, ast.AsyncFor, ast.AsyncWith)
    return [f"{path}:{node.lineno} awaits" for node in ast.walk(ast.parse(text)) if isinstance(node, waits)]


def name_says_something(path: PurePosixPath, text: str) -> list[str]:
    return [f"{path}: {part} says nothing" for part in (*path.parent.parts, path.stem) if part in NAMELESS]


def opens_with_a_docstring(path: PurePosixPath, text: str) -> list[str]:
    return [] if ast.get_docstring(ast.parse(text)) else [f"{path} does not open with its contract"]


def defers_annotations(path: PurePosixPath, text: str) -> list[str]:
    body = ast.parse(text).body
    if all(isinstance(node, ast.Expr) for node in body):
        return []
    found = any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in body)
    return [] if found else [f"{path} lacks `from __future__ import annotations`"]


def has_no_wildcard_import(path: PurePosixPath, text: str) -> list[str]:
    names = imported_names(path, ast.parse(text))
    return [f"{path} imports {name}" for name in names if name.endswith(".*")]


def does_not_print(path: PurePosixPath, text: str) -> list[str]:
    if str(path) in MAY_PRINT:
        return []
    return [
        f"{path}:{node.lineno} prints"
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]


def file_is_short(path: PurePosixPath, text: str) -> list[str]:
    limit = DECLARATION_LINES_MAX if str(path).startswith(DECLARATIONS) else FILE_LINES_MAX
    lines = text.count("\n")
    return [f"{path} has {lines} lines, at most {limit} are good"] if lines > limit else []


def functions_are_short(path: PurePosixPath, text: str) -> list[str]:
    wrong = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            lines = node.end_lineno - node.lineno + 1
            if lines > FUNCTION_LINES_MAX:
                wrong.append(f"{path}:{node.lineno} {node.name} has {lines} lines")
    return wrong


# The parts are joined here so that this file does not break its own rule.
_TOP_DIRECTORIES = "|".join(["tm" + "p", "wor" + "k", "roo" + "t", "hom" + "e"])
_MACHINE_PATH = re.compile(rf"(?<![\w.$}}~/-])/(?:{_TOP_DIRECTORIES})\b")
_REGISTRY_HOST = re.compile(
    r"\b(?:[\w-]+\.)*(?:py" + r"pi\.org|python" + r"hosted\.org|maven\.(?:apache\.)?" + r"org|npm" + r"js\.org)\b"
)


def names_no_machine(path: PurePosixPath, text: str) -> list[str]:
    return [
        f"{path}:{number} names {match.group()}"
        for number, line in enumerate(text.splitlines(), 1)
        for pattern in (_MACHINE_PATH, _REGISTRY_HOST)
        for match in pattern.finditer(line)
    ]


_DIRECTORIES = r"ottla|tests|compat_tests|tools|docs|bench|docker|\.ci"
_PATH_IN_PROSE = re.compile(rf"`((?:{_DIRECTORIES})/[\w./-]*|[\w-]+\.(?:md|toml))`")


def paths_named(text: str) -> list[str]:
    """The paths that a document names in backticks."""
    return _PATH_IN_PROSE.findall(text)


def test_file_of(path: PurePosixPath) -> PurePosixPath:
    """Where the tests of a file of the package are: ottla/wire/x.py in tests/wire/test_x.py."""
    return PurePosixPath("tests", *path.parts[1:-1], f"test_{path.name}")

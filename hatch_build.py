"""What is compiled when Ottla is installed from its source: the look into records, by mypyc.

The file is Python and stays it: a copy of it becomes a module of machine code beside it, which is taken where it is
there. Where it cannot be made, for want of a C compiler say, all works without it, only slower. OTTLA_COMPILE=no leaves
it out, so that the wheel fits every machine; OTTLA_COMPILE=yes makes it an error if it cannot be made.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE = Path("ottla", "wire", "records")
SOURCE, COMPILED = "look.py", "compiled_look.py"
# What the source imports is needed to compile it.
NEEDED = Path("ottla", "wire")
CHOICE, NO, YES = "OTTLA_COMPILE", "no", "yes"
# By this the compiled module tells of which source it is.
DIGEST = "SOURCE_DIGEST"


class CannotCompile(Exception):
    """There is no mypyc, or no C compiler, or it refuses."""


def digest(source: str) -> str:
    return hashlib.sha256(source.encode()).hexdigest()


def compile_look(root: Path, target: Path) -> list[Path]:
    """Compile the look of this tree; what came of it lies in the target."""
    with tempfile.TemporaryDirectory(prefix="ottla-compile-") as directory:
        work = Path(directory)
        shutil.copytree(root / NEEDED, work / NEEDED, ignore=shutil.ignore_patterns("__pycache__", "*.so", "*.pyi"))
        (work / "ottla" / "__init__.py").touch()
        source = (root / PACKAGE / SOURCE).read_text(encoding="utf-8")
        (work / PACKAGE / COMPILED).write_text(f"{source}\n\n{DIGEST} = {digest(source)!r}\n", encoding="utf-8")
        finished = subprocess.run(
            # Of what others wrote and of the rest of ours nothing is asked here: it may not be installed yet.
            [sys.executable, "-m", "mypyc", "--ignore-missing-imports", "--follow-imports=silent", PACKAGE / COMPILED],
            cwd=work,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        made = sorted((work / PACKAGE).glob("compiled_look*.so"))
        if finished.returncode or not made:
            raise CannotCompile(f"{finished.stdout}{finished.stderr}".strip())
        return [Path(shutil.copy2(path, target / path.name)) for path in made]


class CompileHook(BuildHookInterface):  # type: ignore[type-arg]
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Into the tree itself if that is what is installed; else into the wheel, which is then one for this kind of
        machine."""
        choice = os.environ.get(CHOICE)
        if self.target_name != "wheel" or choice == NO:
            return
        self._made_in = tempfile.TemporaryDirectory(prefix="ottla-compiled-")  # as long as the hook is there
        target = Path(self.root, PACKAGE) if version == "editable" else Path(self._made_in.name)
        try:
            made = compile_look(Path(self.root), target)
        except (CannotCompile, OSError) as error:
            if choice == YES:
                raise
            self.app.display_warning(f"not compiled, so records are checked more slowly: {str(error)[-500:]}")
            return
        if version != "editable":
            build_data["pure_python"], build_data["infer_tag"] = False, True
            build_data["force_include"].update({str(path): str(PACKAGE / path.name) for path in made})

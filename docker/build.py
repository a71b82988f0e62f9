"""Build the images of this directory: `build.py [--local] NAME...`, of base, java, ottla, kafka and spark.

Without --local Ottla's image stands on the official slim image of Python, and is called `ottla`. With it nothing is
pulled and nothing but Debian's packages is asked for inside of a build: bases come from `base/make.sh`, Python's wheels
and Maven's jars from outside. Those images are called `ottla/NAME:local`; kafka and spark exist as such only.

What was fetched is kept in the cache directory of the tests. An image that was built from the same inputs is left as it
is; Ottla's own is built anew, since its layers are kept by the engine.
"""

from __future__ import annotations

import argparse
import hashlib
import platform
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT))

from tests import jvm  # noqa: E402

SUITE = "bookworm"
SUITE_PYTHON = "3.11"
GLIBCS = ("2_17", "2_28", "2_34", "2_35")
INPUTS_LABEL = "ottla.inputs"
# The packages with which the base's Python compiles. The official image has its headers.
COMPILER = "gcc libc6-dev libpython3-dev"
# What makes a wheel of the package; and what lies in that and is made of it, for another Python.
BESIDE_THE_SOURCE = ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE")
MADE_HERE = (".pyc", ".so")
PIP = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")

# The files of a context: where they lie there, and what they are here, on disk or in an archive.
Entry = tuple[str, Path]
Member = tuple[tarfile.TarInfo, IO[bytes] | None]


def local(name: str) -> str:
    return f"ottla/{name}:local"


def pyproject() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def pins() -> dict[str, str]:
    return dict(pyproject()["tool"]["ottla"]["pins"]["images"])


# -- images -----------------------------------------------------------------------------------------------------------


def build_base() -> None:
    script = HERE / "base" / "make.sh"
    inputs = jvm.digest(script.read_bytes() + SUITE.encode())
    if is_built(local("base"), inputs):
        return
    archive = jvm.cache_dir() / "images" / f"{SUITE}-{inputs}" / "base.tar"
    jvm.made_once(archive.parent, lambda directory: run("env", f"SUITE={SUITE}", script, directory / "base.tar"))
    run("docker", "import", "--change", f"LABEL {INPUTS_LABEL}={inputs}", archive, local("base"))


def build_java() -> None:
    build_base()
    dockerfile = HERE / "base" / "java.Dockerfile"
    build_from("java", [("Dockerfile", dockerfile)], base="base")


def build_kafka() -> None:
    build_java()
    # Two sets share jars; a name comes once.
    libs = {jar.name: jar for name in ("kafka", "kafka-logging") for jar in jvm.jars(name).glob("*.jar")}
    entries = [(f"libs/{name}", jar) for name, jar in sorted(libs.items())]
    build_from("kafka", [*files_of(HERE / "kafka"), *entries], base="java")


def build_spark() -> None:
    build_java()
    connector = [(f"connector/{jar.name}", jar) for jar in sorted(jvm.jars("spark-kafka").glob("*.jar"))]
    version = pins()["pyspark"]
    source = jvm.cache_dir() / "images" / f"pyspark-{version}"
    wanted = ("--no-deps", "--no-binary=pyspark", f"pyspark=={version}")
    jvm.made_once(source, lambda directory: pip("download", "--dest", directory, *wanted))
    (archive,) = source.glob("*.tar.gz")
    build_from("spark", [*files_of(HERE / "spark"), *connector], base="java", more=spark_tree(archive), about=version)


def build_ottla() -> None:
    """On the official image of Python; what Ottla needs is asked for inside of the build."""
    with_context("ottla", package(), [])


def build_ottla_locally() -> None:
    build_base()
    entries = package()
    entries += [(f"wheels/{wheel.name}", wheel) for wheel in sorted(wheels(dict(entries)).glob("*.whl"))]
    with_context(local("ottla"), entries, [f"BASE={local('base')}", "PIP_OPTIONS=--no-index", f"COMPILER={COMPILER}"])


REMOTE: dict[str, Callable[[], None]] = {"ottla": build_ottla}
LOCAL: dict[str, Callable[[], None]] = {
    "base": build_base,
    "java": build_java,
    "ottla": build_ottla_locally,
    "kafka": build_kafka,
    "spark": build_spark,
}


# -- what goes into them ----------------------------------------------------------------------------------------------


def files_of(directory: Path) -> list[Entry]:
    return [(path.name, path) for path in sorted(directory.iterdir()) if path.is_file()]


def package() -> list[Entry]:
    """Ottla's source, which is made a wheel by the image's own Python, and what it needs, at the gate's versions."""
    made = jvm.cache_dir() / "images" / "package"
    made.mkdir(parents=True, exist_ok=True)
    project = pyproject()["project"]
    texts = {"requirements.txt": project["dependencies"], "constraints.txt": project["optional-dependencies"]["dev"]}
    for name, lines in texts.items():
        (made / name).write_text("\n".join([*lines, ""]), encoding="utf-8")
    return [
        *files_of(HERE / "ottla"),
        *((name, made / name) for name in texts),
        *((f"package/{path.relative_to(ROOT)}", path) for path in source()),
    ]


def source() -> Iterator[Path]:
    """The files of which a wheel is made."""
    for name in BESIDE_THE_SOURCE:
        yield ROOT / name
    for path in sorted((ROOT / "ottla").rglob("*")):
        if path.is_file() and path.suffix not in MADE_HERE:
            yield path


def wheels(context: Mapping[str, Path]) -> Path:
    """The wheels that Ottla needs, and those that make one of it, for the base's Python and not for ours."""
    requirements, constraints = context["requirements.txt"], context["constraints.txt"]
    for_the_build = pyproject()["build-system"]["requires"]
    digest = jvm.digest(requirements.read_bytes() + constraints.read_bytes() + "\n".join(for_the_build).encode())
    target = jvm.cache_dir() / "images" / f"wheels-{SUITE_PYTHON}-{digest}"
    platforms = [f"--platform=manylinux_{glibc}_{platform.machine()}" for glibc in GLIBCS]
    wanted = ("-r", requirements, "-c", constraints, *for_the_build)
    options = ("--only-binary=:all:", f"--python-version={SUITE_PYTHON}", *platforms, *wanted)
    jvm.made_once(target, lambda directory: pip("download", *options, "--dest", directory))
    return target


def spark_tree(archive: Path) -> Iterator[Member]:
    """The members of PySpark's source archive, each where Spark expects it below its home."""
    folders = {"deps/jars": "jars", "deps/bin": "bin", "pyspark": "python/pyspark", "lib": "python/lib"}
    with tarfile.open(archive, "r|gz") as source:
        for member in source:
            _, _, name = member.name.partition("/")
            for folder, place in folders.items():
                if member.isfile() and name.startswith(f"{folder}/"):
                    member.name = f"spark/{place}/{name.removeprefix(folder + '/')}"
                    yield member, source.extractfile(member)


# -- the engine -------------------------------------------------------------------------------------------------------


def build_from(
    name: str,
    entries: list[Entry],
    *,
    base: str,
    more: Iterable[Member] = (),
    about: str = "",
) -> None:
    """Build a local image, unless there is one of the same inputs; `about` stands for the content of `more`."""
    sums = [f"{place} {hashlib.sha256(path.read_bytes()).hexdigest()}" for place, path in entries]
    inputs = jvm.digest("\n".join([*sums, about, label(local(base))]).encode())
    if not is_built(local(name), inputs):
        with_context(local(name), entries, [f"BASE={local(base)}"], more, f"--label={INPUTS_LABEL}={inputs}")


def with_context(
    image: str,
    entries: list[Entry],
    arguments: list[str],
    more: Iterable[Member] = (),
    *options: str,
) -> None:
    """Build an image from a context that is put together on the way to the engine."""
    command = ["docker", "build", "--quiet", "--tag", image, *options]
    command += [f"--build-arg={argument}" for argument in arguments]
    if image.endswith(":local"):
        command.append("--network=host")  # what is asked for is found from where we are, if anywhere
    print(f"build: {image}", flush=True)
    process = subprocess.Popen([*command, "-"], stdin=subprocess.PIPE)
    assert process.stdin is not None
    with process.stdin, tarfile.open(fileobj=process.stdin, mode="w|", format=tarfile.GNU_FORMAT) as context:
        for place, path in entries:
            context.add(path, place, filter=owned_by_root)
        directory = tarfile.TarInfo("wheels")  # what the Dockerfile copies has to be there, if only to be empty
        directory.type, directory.mode = tarfile.DIRTYPE, 0o755
        context.addfile(directory)
        for member, content in more:
            context.addfile(owned_by_root(member), content)
    if process.wait() != 0:
        raise SystemExit(f"build: {image} was not built")


def owned_by_root(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """No trace of who builds, so that the engine finds its layers again. Everybody may read."""
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mode |= 0o444
    return member


def is_built(image: str, inputs: str) -> bool:
    return label(image) == inputs


def label(image: str) -> str:
    command = ("docker", "image", "inspect", "--format", f'{{{{index .Config.Labels "{INPUTS_LABEL}"}}}}', image)
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def run(*command: str | Path) -> None:
    print("build:", *(Path(word).name for word in command), flush=True)
    subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)


def pip(*arguments: str | Path) -> None:
    run(*PIP, *arguments)


def main() -> None:
    parser = argparse.ArgumentParser(description="Build the images of docker/.")
    parser.add_argument("--local", action="store_true", help="pull nothing: bases from Debian's packages")
    parser.add_argument("names", nargs="+", choices=[*LOCAL], metavar="NAME", help=", ".join(LOCAL))
    parsed = parser.parse_args()
    builders = LOCAL if parsed.local else REMOTE
    for name in parsed.names:
        if name not in builders:
            parser.error(f"{name} is built with --local only: pull the official image")
        builders[name]()


if __name__ == "__main__":
    main()

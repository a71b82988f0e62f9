"""A Spark session that can use the `kafka` format: its options as data, and the session itself.

It knows nothing of topics and pipelines. A session that is there already, as in a notebook or under spark-submit, is
used and left as it is; one that is opened here ends, with its Java process, where the block ends.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ottla.pipelines import PipelineFailed
from ottla.pipelines.connector import CONNECTOR, connector_jars

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL = "local[*]"
LOOPBACK = "127.0.0.1"
FIRST_JAVA_VERSION = 17
LOGGING_FILE = "log4j2.properties"
# Errors alone, on standard error: what Spark says otherwise would run through the progress display.
LOGGING = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = spark: %m%n%ex{short}
"""
# Spark 4.0 makes this directory where it is started, and leaves it there, empty.
LITTER = Path("artifacts")


def session_options(jars: Sequence[Path], master: str = LOCAL, *, python: str = sys.executable) -> dict[str, str]:
    """What any session needs for the `kafka` format: the connector's jars, and this Python for its workers.

    A session of this machine alone stays on the loopback.
    """
    options = {
        "spark.jars": ",".join(map(str, jars)),
        "spark.pyspark.python": python,
        "spark.pyspark.driver.python": python,
    }
    if is_local(master):
        options |= {"spark.driver.host": LOOPBACK, "spark.driver.bindAddress": LOOPBACK}
    return options


def quiet_options(scratch: Path) -> dict[str, str]:
    """What a session of ours has besides: it says nothing but errors, and leaves nothing behind."""
    return {
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "1g",
        "spark.local.dir": str(scratch / "local"),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={(scratch / LOGGING_FILE).as_uri()}",
    }


def with_connector(options: Mapping[str, str]) -> dict[str, str]:
    """The options with the connector's jars beside the user's own, unless the user has said where it comes from."""
    own = options.get("spark.jars", "")
    if CONNECTOR in own or CONNECTOR in options.get("spark.jars.packages", ""):
        return dict(options)
    return {**options, "spark.jars": ",".join([*map(str, connector_jars()), *filter(None, [own])])}


def is_local(master: str) -> bool:
    """Whether Spark runs inside of one process: `local`, `local[4]`, `local[*,2]`."""
    return re.fullmatch(r"local(\[.*\])?", master) is not None


@contextmanager
def open_session(name: str, master: str = LOCAL, conf: Mapping[str, str] | None = None) -> Iterator[SparkSession]:
    """A session named so; `conf` wins over what it would be configured by."""
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise PipelineFailed(f"Spark is not installed: pip install 'ottla[spark]' ({error})") from error
    active = SparkSession.getActiveSession()
    if active is not None:
        yield beside(active, conf or {})
        return
    with tempfile.TemporaryDirectory(prefix="ottla-spark-") as directory, without_litter(LITTER.absolute()):
        scratch = Path(directory)
        (scratch / LOGGING_FILE).write_text(LOGGING, encoding="utf-8")
        options = session_options([], master) | quiet_options(scratch) | dict(conf or {})
        session = started(name, master, with_connector(options))
        try:
            yield session
        finally:
            end_session(session)
            end_java()


@contextmanager
def without_litter(directory: Path) -> Iterator[None]:
    """Remove a directory that was not there before the block, if nobody has put anything into it."""
    was_there = directory.exists()
    try:
        yield
    finally:
        if not was_there:
            with suppress(OSError):
                directory.rmdir()


def beside(active: SparkSession, conf: Mapping[str, str]) -> SparkSession:
    """A session of the same application, with what of `conf` can still be set; the other keeps its own."""
    session = active.newSession()
    for key, value in conf.items():
        if session.conf.isModifiable(key):
            session.conf.set(key, value)
    return session


def started(name: str, master: str, options: Mapping[str, str]) -> SparkSession:
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    # Workers and planners of Python code are started by these, whatever the options of a running session say.
    os.environ.setdefault("PYSPARK_PYTHON", options.get("spark.pyspark.python", sys.executable))
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(name).master(master)
    for key, value in options.items():
        builder = builder.config(key, value)
    try:
        return builder.getOrCreate()
    except (PySparkException, OSError) as error:
        end_java()
        raise PipelineFailed(
            f"Spark does not start: {error}; it needs Java {FIRST_JAVA_VERSION} or later, on the PATH or in $JAVA_HOME"
        ) from error
    except Exception as error:  # what Java says comes as py4j's, which has no type of its own for each
        end_java()
        raise PipelineFailed(f"Spark does not start on {master}: {error}") from error


def end_session(session: SparkSession) -> None:
    """Stop it. Java may be gone: a signal that a shell sends to a job reaches all of the job's processes."""
    from py4j.protocol import Py4JError

    with suppress(OSError, Py4JError):
        session.stop()


def end_java() -> None:
    """End the process that PySpark started, so that the next session is configured anew. It ends with its input."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    if gateway is None:
        return
    SparkContext._gateway = SparkContext._jvm = None
    gateway.shutdown()
    process = gateway.proc
    if process is not None:  # under spark-submit it is not ours
        process.stdin.close()
        process.wait()

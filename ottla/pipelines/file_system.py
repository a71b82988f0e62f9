"""Directories on any file system that Spark can write to, by Hadoop's own classes: listed, renamed, removed.

Python alone knows local files only. What is asked here is asked through the driver's Java, so a path means the same
as where Spark reads and writes it. Renaming replaces, and is atomic where the file system's is (local files, HDFS;
not in object stores, where it is a copy of each file).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXISTS_ALREADY = ("org.apache.hadoop.fs.FileAlreadyExistsException", "java.nio.file.FileAlreadyExistsException")


class Files(Protocol):
    """What others ask of a directory; tests have one in memory."""

    url: str

    def files(self, path: str = "") -> list[tuple[str, int]]: ...
    def exists(self, path: str = "") -> bool: ...
    def remove(self, path: str = "") -> None: ...
    def rename(self, old: str, new: str) -> None: ...
    def read(self, path: str) -> str: ...
    def write(self, path: str, text: str, *, is_new: bool = False) -> None: ...


class Directory:
    """A directory, which need not exist yet; paths are relative to it, with slashes."""

    def __init__(self, session: SparkSession, path: str) -> None:
        context = session.sparkContext
        java: Any = context._jvm
        self._hadoop: Any = java.org.apache.hadoop.fs
        self._read_stream: Any = java.org.apache.commons.io.IOUtils.toString
        self._conf: Any = context._jsc.hadoopConfiguration()
        named = self._hadoop.Path(path)
        self._files: Any = named.getFileSystem(self._conf)
        self._root: Any = self._files.makeQualified(named)
        self.url = str(self._root.toString()).rstrip("/")
        assert context._gateway is not None, "the driver has its Java"
        self._replacing: Any = context._gateway.new_array(self._hadoop.Options.Rename, 1)
        self._replacing[0] = self._hadoop.Options.Rename.OVERWRITE

    def files(self, path: str = "") -> list[tuple[str, int]]:
        """All files below, with their sizes; what begins with an underscore or a dot is left out, with all in it."""
        return sorted(self._walk(path))

    def _walk(self, path: str) -> Iterator[tuple[str, int]]:
        if not self.exists(path):
            return
        for status in self._files.listStatus(self._at(path)):
            name = status.getPath().getName()
            if name.startswith(("_", ".")):
                continue
            below = f"{path}/{name}" if path else name
            if status.isDirectory():
                yield from self._walk(below)
            else:
                yield below, status.getLen()

    def exists(self, path: str = "") -> bool:
        return bool(self._files.exists(self._at(path)))

    def remove(self, path: str = "") -> None:
        """Remove a file, or a directory with all in it, if it is there."""
        self._files.delete(self._at(path), True)

    def rename(self, old: str, new: str) -> None:
        """Give a file another name, in place of the one that has it."""
        target = self._at(new)
        self._files.mkdirs(target.getParent())
        everywhere = self._hadoop.FileContext.getFileContext(target.toUri(), self._conf)
        everywhere.rename(self._at(old), target, self._replacing)

    def read(self, path: str) -> str:
        """A small text file."""
        stream = self._files.open(self._at(path))
        try:
            return str(self._read_stream(stream, "UTF-8"))
        finally:
            stream.close()

    def write(self, path: str, text: str, *, is_new: bool = False) -> None:
        """A small text file, whole or not at all. `is_new`: FileExistsError where there is one of that name."""
        if is_new:
            self._create(path, text)
            return
        scratch = path + "._new"
        self.remove(scratch)
        self._create(scratch, text)
        self.rename(scratch, path)

    def _create(self, path: str, text: str) -> None:
        from py4j.protocol import Py4JJavaError

        try:
            stream = self._files.create(self._at(path), False)
        except Py4JJavaError as error:
            if error.java_exception.getClass().getName() in EXISTS_ALREADY:
                raise FileExistsError(f"{self.url}/{path}") from error
            raise
        try:
            stream.write(bytearray(text.encode()))
        finally:
            stream.close()

    def _at(self, path: str) -> Any:
        return self._hadoop.Path(self._root, path) if path else self._root

"""A directory in memory, which can be told to fail after so many changes: what a killed process leaves behind."""

from __future__ import annotations


class Killed(Exception):
    """The process ended here."""


class MemoryFiles:
    url = "memory:/archive"

    def __init__(self, **texts: str) -> None:
        self.texts = dict(texts)
        self.changes_left: int | None = None

    def _change(self) -> None:
        if self.changes_left is not None:
            if self.changes_left == 0:
                raise Killed
            self.changes_left -= 1

    def files(self, path: str = "") -> list[tuple[str, int]]:
        prefix = f"{path}/" if path else ""
        below = [name for name in self.texts if name.startswith(prefix)]
        hidden = [name for name in below if any(part[0] in "_." for part in name[len(prefix) :].split("/"))]
        return sorted((name, len(self.texts[name])) for name in set(below) - set(hidden))

    def exists(self, path: str = "") -> bool:
        return any(name == path or name.startswith(f"{path}/") for name in self.texts)

    def remove(self, path: str = "") -> None:
        self._change()
        for name in [name for name in self.texts if name == path or name.startswith(f"{path}/")]:
            del self.texts[name]

    def rename(self, old: str, new: str) -> None:
        self._change()
        self.texts[new] = self.texts.pop(old)

    def read(self, path: str) -> str:
        return self.texts[path]

    def write(self, path: str, text: str, *, is_new: bool = False) -> None:
        self._change()
        if is_new and path in self.texts:
            raise FileExistsError(path)
        self.texts[path] = text

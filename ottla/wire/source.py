"""Python source under construction: indented lines, named constants, and the function they become.

The text goes to `linecache`, so that a traceback through generated code shows the line it failed on.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class Source:
    """Lines of one function. A constant is an object that the code refers to by a name of ours."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.text: list[str] = []
        self.indent = 0
        self.constants: dict[str, Any] = {}
        self.names: dict[int, str] = {}
        self.fresh_count = 0

    def lines(self, *lines: str) -> None:
        self.text += ["    " * self.indent + line for line in lines]

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        self.lines(head + ":")
        self.indent += 1
        yield
        self.indent -= 1

    def fresh(self, stem: str) -> str:
        """A variable name that nothing else uses."""
        self.fresh_count += 1
        return f"{stem}{self.fresh_count}"

    def constant(self, value: Any, name: str = "") -> str:
        """The name under which the code finds this object; the same object always has the same name."""
        known = self.names.get(id(value))
        if known is None:
            known = name or getattr(value, "__name__", f"constant{len(self.names)}")
            assert known not in self.constants, f"two constants are called {known}"
            self.names[id(value)] = known
            self.constants[known] = value
        return known

    def shared(self, name: str, value: Any) -> str:
        """A constant that may be offered again under the same name; the first one stays."""
        name = name.replace("?", "o")  # struct's letter for bool is no letter
        self.constants.setdefault(name, value)
        return name

    def compile(self, function_name: str, names: dict[str, Any]) -> Callable[..., Any]:
        text = "\n".join(self.text) + "\n"
        filename = f"<ottla {self.title}>"
        linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
        namespace = {**names, **self.constants}
        exec(compile(text, filename, "exec"), namespace)
        compiled: Callable[..., Any] = namespace[function_name]
        return compiled

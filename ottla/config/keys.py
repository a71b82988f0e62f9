"""What a declaration of a configuration key is: one line that is the attribute, its static type and all the rest.

    class LogKeys(KeySet):
        log_segment_bytes = integer("log.segment.bytes", 1 << 30, at_least(1 << 20), importance=HIGH).says(
            "A segment that would outgrow this is closed and a new one begun."
        )

On the class the attribute is the Key; on an instance it is the value, which type checkers know to be an int. Keys are
non-data descriptors: an instance holds only the values that were given, and a missing one falls through to the key's
default, so that a configuration costs what was set in it and reading a set value is a plain attribute access.

Knows no key, no file and no layer of configuration. `declared` declares, everything else in this package derives.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, ClassVar, Generic, TypeVar, overload

from ottla.config.checks import Check
from ottla.config.values import ConfigError, ConfigType, Password, parse, spell

T = TypeVar("T")


class Importance(Enum):
    """How often people need to know a key."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Update(Enum):
    """Whether a key can be changed while a broker runs, and for whom (KIP-226)."""

    READ_ONLY = "read-only"
    PER_BROKER = "per-broker"
    CLUSTER_WIDE = "cluster-wide"


HIGH, MEDIUM, LOW = Importance
READ_ONLY, PER_BROKER, CLUSTER_WIDE = Update


class _Required:
    def __repr__(self) -> str:
        return "REQUIRED"


REQUIRED: Any = _Required()  # a key without a default, which Kafka insists on and Ottla fills in: see quick_start


class Key(Generic[T]):
    """One key. `attribute` is filled in by the class that holds it; `synonyms` are broker keys it falls back to."""

    __slots__ = (
        "attribute",
        "check",
        "config_type",
        "default",
        "doc",
        "importance",
        "internal",
        "name",
        "synonyms",
        "update",
    )

    def __init__(
        self,
        config_type: ConfigType,
        name: str,
        default: T,
        check: Check | None = None,
        *,
        importance: Importance = MEDIUM,
        update: Update = READ_ONLY,
        internal: bool = False,
        synonyms: tuple[str, ...] = (),
    ) -> None:
        self.config_type = config_type
        self.name = name
        self.default = default
        self.check = check
        self.importance = importance
        self.update = update
        self.internal = internal
        self.synonyms = synonyms
        self.attribute = ""
        self.doc = ""

    def says(self, doc: str) -> Key[T]:
        """Attach the sentence that people read."""
        self.doc = doc
        return self

    def __set_name__(self, owner: type, attribute: str) -> None:
        self.attribute = attribute

    @overload
    def __get__(self, instance: None, owner: type) -> Key[T]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object, owner: type) -> Key[T] | T:
        if instance is None:
            return self
        assert self.default is not REQUIRED, f"{self.name} was not filled in"
        return self.default

    @property
    def sensitive(self) -> bool:
        return self.config_type is ConfigType.PASSWORD

    @property
    def default_text(self) -> str | None:
        return None if self.default is REQUIRED else spell(self.config_type, self.default)

    def read(self, text: str) -> T:
        """The value a text stands for, checked; ConfigError names key, value and what is allowed."""
        try:
            value = parse(self.config_type, text)
        except ValueError as error:
            raise ConfigError(self.complaint(text, str(error))) from None
        if self.check is not None:
            if self.check.distinct:
                value = tuple(dict.fromkeys(value))
            if wrong := self.check.complaint(value):
                raise ConfigError(self.complaint(text, wrong))
        return value  # type: ignore[no-any-return]

    def complaint(self, text: str, wrong: str) -> str:
        shown = Password.HIDDEN if self.sensitive else repr(text)
        return f"{self.name}: {shown} is not allowed: it {wrong}"

    def __repr__(self) -> str:
        return f"<Key {self.name}>"


class KeySet:
    """Values by attribute. Subclasses declare keys, or add up classes that do; an instance never changes."""

    keys: ClassVar[Mapping[str, Key[Any]]] = {}

    def __init_subclass__(cls) -> None:
        found: dict[str, Key[Any]] = {}
        for base in reversed(cls.__mro__):
            found |= {value.name: value for value in vars(base).values() if type(value) is Key}
        cls.keys = found

    def __init__(self, values: Mapping[str, Any]) -> None:
        """Parsed values by Kafka's names; every other key has its default."""
        keys = self.keys
        self.__dict__.update({keys[name].attribute: value for name, value in values.items()})

    def __setattr__(self, attribute: str, value: Any) -> None:
        raise AttributeError(f"a configuration does not change: {attribute}")

    def value(self, name: str) -> Any:
        """The value of the key that Kafka calls `name`."""
        return getattr(self, self.keys[name].attribute)

    @classmethod
    def read(cls, texts: Mapping[str, str]) -> dict[str, Any]:
        """The parsed values of those texts whose names are keys of this set; the first wrong one is a ConfigError."""
        keys = cls.keys
        return {name: keys[name].read(text) for name, text in texts.items() if name in keys}


# -- one constructor a type, so that the static type of the attribute follows from the declaration ---------------------


@overload
def integer(name: str, default: int, check: Check | None = None, **rest: Any) -> Key[int]: ...
@overload
def integer(name: str, default: None, check: Check | None = None, **rest: Any) -> Key[int | None]: ...
def integer(name: str, default: int | None, check: Check | None = None, **rest: Any) -> Any:
    """A whole number of 32 bits."""
    return Key(ConfigType.INT, name, default, check, **rest)


@overload
def long(name: str, default: int, check: Check | None = None, **rest: Any) -> Key[int]: ...
@overload
def long(name: str, default: None, check: Check | None = None, **rest: Any) -> Key[int | None]: ...
def long(name: str, default: int | None, check: Check | None = None, **rest: Any) -> Any:
    """A whole number of 64 bits."""
    return Key(ConfigType.LONG, name, default, check, **rest)


def short(name: str, default: int, check: Check | None = None, **rest: Any) -> Key[int]:
    """A whole number of 16 bits."""
    return Key(ConfigType.SHORT, name, default, check, **rest)


def double(name: str, default: float, check: Check | None = None, **rest: Any) -> Key[float]:
    """A floating-point number."""
    return Key(ConfigType.DOUBLE, name, default, check, **rest)


def boolean(name: str, default: bool, **rest: Any) -> Key[bool]:
    """true or false."""
    return Key(ConfigType.BOOLEAN, name, default, **rest)


@overload
def string(name: str, default: str, check: Check | None = None, **rest: Any) -> Key[str]: ...
@overload
def string(name: str, default: None, check: Check | None = None, **rest: Any) -> Key[str | None]: ...
def string(name: str, default: str | None, check: Check | None = None, **rest: Any) -> Any:
    """A text."""
    return Key(ConfigType.STRING, name, default, check, **rest)


@overload
def strings(name: str, default: tuple[str, ...], check: Check | None = None, **rest: Any) -> Key[tuple[str, ...]]: ...
@overload
def strings(name: str, default: None, check: Check | None = None, **rest: Any) -> Key[tuple[str, ...] | None]: ...
def strings(name: str, default: tuple[str, ...] | None, check: Check | None = None, **rest: Any) -> Any:
    """A list of texts, separated by commas."""
    return Key(ConfigType.LIST, name, default, check, **rest)


def java_class(name: str, default: str | None, **rest: Any) -> Key[str | None]:
    """The name of a Java class. It is kept and shown; there is no Java here to load it."""
    return Key(ConfigType.CLASS, name, default, **rest)


def password(name: str, **rest: Any) -> Key[Password | None]:
    """A secret: never shown."""
    return Key(ConfigType.PASSWORD, name, None, **rest)

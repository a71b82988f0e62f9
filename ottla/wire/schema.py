"""How a message is declared: one class body, which is its static type as well.

    class HeartbeatRequest(Request, api_key=12, versions="0-4", flexible="4+"):
        group_id: str
        generation_id: int32
        member_id: str
        group_instance_id: str | None = field("3+", default=None)

A bare annotation is a field of every version that the caller must give. `field` adds what a bare annotation cannot
say. Structs nest one level deep in their message, as in Kafka; a struct that refers to another names it through the
message (`list[FetchRequest.FetchPartition]`). Annotations stay strings until a codec is compiled: declaring costs
microseconds, so that a process may import hundreds of messages and pay for those it uses.

Nothing here knows bytes. `ottla.wire.layout` reads the declarations, `encoder` and `decoder` compile them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, TypeAlias, cast, dataclass_transform

from ottla.wire.errors import ErrorCode, KafkaError

int8: TypeAlias = int
int16: TypeAlias = int
uint16: TypeAlias = int
int32: TypeAlias = int
uint32: TypeAlias = int
int64: TypeAlias = int
float64: TypeAlias = float
Uuid: TypeAlias = bytes  # 16 of them; see primitives.uuid_text for the printed form
Records: TypeAlias = Any  # decoded: a memoryview; to encode: any buffer, or a file range that has a length
UnknownTags: TypeAlias = tuple[tuple[int, bytes], ...]

VERSION_MAX = 32767


class Versions(NamedTuple):
    """An inclusive range of versions; the empty range has low > high."""

    low: int
    high: int

    @staticmethod
    @cache  # a few texts stand in all declarations
    def parse(text: str) -> Versions:
        """Kafka's notation: "3", "0-4", "3+", "none"."""
        if text == "none":
            return NO_VERSIONS
        if text.endswith("+"):
            return Versions(int(text[:-1]), VERSION_MAX)
        low, _, high = text.partition("-")
        return Versions(int(low), int(high or low))

    def __contains__(self, version: object) -> bool:
        return isinstance(version, int) and self.low <= version <= self.high

    def __and__(self, other: Versions) -> Versions:
        both = Versions(max(self.low, other.low), min(self.high, other.high))
        return both if both.low <= both.high else NO_VERSIONS

    def __str__(self) -> str:
        if self.low > self.high:
            return "none"
        if self.high == VERSION_MAX:
            return f"{self.low}+"
        return str(self.low) if self.low == self.high else f"{self.low}-{self.high}"


NO_VERSIONS = Versions(1, 0)
ALL_VERSIONS = Versions(0, VERSION_MAX)


class _Mark:
    """A default that is no value."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


REQUIRED = _Mark("REQUIRED")  # the caller must say
BLANK = _Mark("BLANK")  # a new struct with every field at its default


class Field:
    """One declared field. `name` and `annotation` are filled in by the class that holds it."""

    __slots__ = (
        "annotation",
        "default",
        "flexible",
        "ignorable",
        "json_name",
        "name",
        "nullable",
        "secret",
        "tag",
        "tagged",
        "versions",
    )

    def __init__(self, default: Any = REQUIRED) -> None:
        self.name = ""
        self.annotation = ""
        self.versions = ALL_VERSIONS
        self.nullable = ALL_VERSIONS
        self.tag: int | None = None
        self.tagged = NO_VERSIONS
        self.default = default
        self.ignorable = False
        self.flexible: Versions | None = None
        self.secret = False
        self.json_name = ""


def field(
    versions: str = "0+",
    *,
    default: Any = REQUIRED,
    nullable: str = "0+",
    tag: int | None = None,
    tagged: str = "none",
    ignorable: bool = False,
    flexible: str | None = None,
    secret: bool = False,
    json_name: str = "",
) -> Any:
    """What a field is beyond its type.

    versions   the versions that carry it; elsewhere it decodes to its default
    default    its value where nobody gives one; a list stands for a new list each time, BLANK for a new struct
    nullable   where None may be sent, if not in all versions (the annotation says `| None`)
    tag        its number in the tagged section, in the versions of `tagged`
    ignorable  may be dropped in silence where the version does not carry it; if not, encoding any other value than
               the default in such a version is an error, since it would change what the message means
    flexible   versions with the compact form, where they differ from the message's
    secret     never shown by repr
    json_name  Kafka's name in JSON where camel case does not give it
    """
    declared = Field(default)
    declared.versions = Versions.parse(versions)
    declared.nullable = Versions.parse(nullable)
    declared.tag = tag
    declared.tagged = Versions.parse(tagged)
    declared.ignorable = ignorable
    declared.flexible = None if flexible is None else Versions.parse(flexible)
    declared.secret = secret
    declared.json_name = json_name
    return declared


@dataclass_transform(kw_only_default=True, field_specifiers=(field,))
class StructType(type):
    """Turns a class body into slots and a tuple of fields."""

    fields: tuple[Field, ...]

    def __new__(mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any) -> StructType:
        fields = tuple(_declared_fields(namespace))
        namespace.setdefault("__slots__", tuple(f.name for f in fields))
        created = super().__new__(mcls, name, bases, namespace, **options)
        created.fields = fields
        return created

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any) -> None:
        super().__init__(name, bases, namespace)


def _declared_fields(namespace: dict[str, Any]) -> Iterator[Field]:
    for name, annotation in namespace.get("__annotations__", {}).items():
        if annotation.startswith("ClassVar"):
            continue
        given = namespace.pop(name, REQUIRED)
        declared = given if isinstance(given, Field) else Field(given)
        declared.name = name
        declared.annotation = annotation
        if not annotation.endswith("| None"):
            declared.nullable = NO_VERSIONS
        declared.json_name = declared.json_name or camel_case(name)
        yield declared


@cache  # many fields have the same name
def camel_case(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


class Struct(metaclass=StructType):
    """A group of fields inside a message.

    `unknown_tags` keeps what a newer peer sent and we cannot read, so that it survives being written again.
    """

    __slots__ = ("unknown_tags",)

    if TYPE_CHECKING:

        @property
        def unknown_tags(self) -> UnknownTags: ...

        @unknown_tags.setter
        def unknown_tags(self, tags: UnknownTags) -> None: ...

    def __init__(self, **values: Any) -> None:
        # The first construction of a class compiles its constructor, so that importing a declaration stays cheap.
        from ottla.wire.construction import compile_constructor

        cls = type(self)
        cls.__init__ = compile_constructor(cls)  # type: ignore[method-assign]
        cls.__init__(self, **values)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Struct) or type(self) is not type(other):
            return NotImplemented
        names = [f.name for f in type(self).fields]
        return self.unknown_tags == other.unknown_tags and all(getattr(self, n) == getattr(other, n) for n in names)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = [f"{f.name}={'[hidden]' if f.secret else repr(getattr(self, f.name))}" for f in type(self).fields]
        if self.unknown_tags:
            shown.append(f"unknown_tags={self.unknown_tags!r}")
        return f"{type(self).__qualname__}({', '.join(shown)})"


Decoder: TypeAlias = Callable[[bytes | bytearray, int, int], tuple[Any, int]]
Encoder: TypeAlias = Callable[[Any], list[Any]]


class Message(Struct):
    """A whole message: it can be turned into bytes and back, at each of its versions."""

    __slots__ = ()

    versions: ClassVar[Versions]
    flexible: ClassVar[Versions]
    decoders: ClassVar[dict[int, Decoder]]
    encoders: ClassVar[dict[int, Encoder]]

    def __init_subclass__(cls, *, versions: str | None = None, flexible: str = "none", **options: Any) -> None:
        super().__init_subclass__(**options)
        if versions is None:
            return
        cls.versions = Versions.parse(versions)
        cls.flexible = Versions.parse(flexible)
        cls.decoders = {}
        cls.encoders = {}

    @classmethod
    def read(cls, data: bytes | bytearray, version: int, start: int = 0, end: int | None = None) -> tuple[Self, int]:
        """Decode the message that begins at `start` and lies before `end`; return it with the position after it.

        Fields of type `records` are views into `data`; everything else is copied out.
        """
        return cls.decoder(version)(data, start, len(data) if end is None else end)

    @classmethod
    def decode(cls, data: bytes | bytearray, version: int, start: int = 0, end: int | None = None) -> Self:
        """Decode one message. Bytes after it are left alone, as Kafka leaves them."""
        return cls.decoder(version)(data, start, len(data) if end is None else end)[0]  # type: ignore[no-any-return]

    @classmethod
    def decoder(cls, version: int) -> Decoder:
        """The compiled decoder: (data, start, end) to (message, position after it)."""
        try:
            return cls.decoders[version]
        except KeyError:
            from ottla.wire.decoder import compile_decoder

            compiled = cls.decoders[version] = compile_decoder(cls, cls.checked(version))
            return compiled

    @classmethod
    def encoder(cls, version: int) -> Encoder:
        """The compiled encoder: message to pieces."""
        try:
            return cls.encoders[version]
        except KeyError:
            from ottla.wire.encoder import compile_encoder

            compiled = cls.encoders[version] = compile_encoder(cls, cls.checked(version))
            return compiled

    def pieces(self, version: int) -> list[Any]:
        """Encode to a list of buffers to be sent one after the other, in which `records` stand as they were given."""
        return self.encoder(version)(self)

    def encode(self, version: int) -> bytes:
        """Encode to one bytes object."""
        pieces = self.pieces(version)
        return cast("bytes", pieces[0]) if len(pieces) == 1 else b"".join(pieces)

    @classmethod
    def checked(cls, version: int) -> int:
        if version not in cls.versions:
            reason = f"{cls.__name__} has versions {cls.versions}, not {version}"
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, reason)
        return version


class Request(Message):
    """What a client sends, and the kinds of listener it may be sent to.

    The last version is `unstable` while Kafka may still change it.
    """

    __slots__ = ()

    api_key: ClassVar[int]
    served_on: ClassVar[tuple[str, ...]]
    unstable: ClassVar[bool]

    def __init_subclass__(
        cls, *, api_key: int, served_on: tuple[str, ...] = ("broker",), unstable: bool = False, **options: Any
    ) -> None:
        super().__init_subclass__(**options)
        cls.api_key = api_key
        cls.served_on = served_on
        cls.unstable = unstable


class Response(Message):
    """What a broker answers; it has the versions of its request."""

    __slots__ = ()

    api_key: ClassVar[int]

    def __init_subclass__(cls, *, api_key: int, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.api_key = api_key


class StoredRecord(Message):
    """What Kafka keeps in a log or file. `type_id` tells records of one log apart: Kafka's "apiKey" of the record."""

    __slots__ = ()

    type_id: ClassVar[int | None]

    def __init_subclass__(cls, *, type_id: int | None = None, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.type_id = type_id

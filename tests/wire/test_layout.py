"""What a struct looks like at one version."""

from __future__ import annotations

import pytest

from ottla.wire.layout import (
    BLOB,
    RECORDS,
    SIMPLE,
    TEXT,
    Array,
    Nested,
    Slot,
    Type,
    layout,
    resolve,
    size_bytes_min,
    slots,
    zero,
)
from ottla.wire.schema import BLANK
from tests.wire.parcel import Parcel


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        ("int32", SIMPLE["int32"]),
        ("str", TEXT),
        ("str | None", TEXT),
        ("Records | None", RECORDS),
        ("list[Uuid]", Array(SIMPLE["Uuid"])),
        ("list[bytes] | None", Array(BLOB)),
        ("Item", Nested(Parcel.Item)),
        ("list[Parcel.Item]", Array(Nested(Parcel.Item))),
    ],
)
def test_an_annotation_names_a_type(annotation: str, expected: Type) -> None:
    assert resolve(annotation, Parcel) == expected


def test_a_struct_that_the_message_does_not_nest_is_our_mistake() -> None:
    with pytest.raises(AssertionError, match="Parcel has no struct Crate"):
        resolve("Crate", Parcel)


def test_an_array_of_arrays_is_our_mistake() -> None:
    with pytest.raises(AssertionError, match="no arrays of arrays"):
        resolve("list[list[int32]]", Parcel)


def names(of: tuple[Slot, ...]) -> list[str]:
    return [slot.name for slot in of]


def test_a_version_sorts_fields_into_present_tagged_and_absent() -> None:
    oldest, newest = layout(Parcel, Parcel, 0), layout(Parcel, Parcel, 3)
    assert "stamp" in names(oldest.absent)
    assert "deadline_ms" in names(oldest.absent)
    assert not oldest.tagged
    assert not oldest.flexible
    assert names(newest.absent) == []
    assert newest.flexible
    assert names(newest.present)[:2] == ["sender", "zone"]


def test_tagged_fields_stand_by_tag_and_not_by_declaration() -> None:
    at = layout(Parcel, Parcel, 3)
    assert names(at.tagged)[:3] == ["tracked", "colour", "deadline_ms"]


def test_nullability_and_compactness_are_those_of_the_version() -> None:
    def note(version: int) -> Slot:
        return next(slot for slot in slots(Parcel, Parcel, version) if slot.name == "note")

    assert (note(0).nullable, note(0).flexible) == (False, False)
    assert (note(2).nullable, note(2).flexible) == (True, True)


def test_a_field_without_a_default_has_the_zero_of_its_type() -> None:
    assert next(slots(Parcel, Parcel, 3)).default == ""
    assert zero(SIMPLE["int32"]) == 0
    assert zero(Array(TEXT)) == []
    assert zero(Nested(Parcel.Item)) is BLANK


@pytest.mark.parametrize(
    ("of", "fixed", "compact"),
    [
        (SIMPLE["int64"], 8, 8),
        (SIMPLE["Uuid"], 16, 16),
        (TEXT, 2, 1),
        (BLOB, 4, 1),
        (RECORDS, 4, 1),
        (Array(SIMPLE["int64"]), 4, 1),
    ],
)
def test_the_fewest_bytes_of_a_type(of: Type, fixed: int, compact: int) -> None:
    assert size_bytes_min(of, Parcel, 0, flexible=False) == fixed
    assert size_bytes_min(of, Parcel, 2, flexible=True) == compact


def test_the_fewest_bytes_of_a_struct_are_those_of_its_fields_and_its_tag_count() -> None:
    assert size_bytes_min(Nested(Parcel.Item), Parcel, 0, flexible=False) == 2 + 4
    assert size_bytes_min(Nested(Parcel.Item), Parcel, 2, flexible=True) == 1 + 4 + 1


def test_a_null_struct_takes_one_byte() -> None:
    with_stamps = size_bytes_min(Nested(Parcel), Parcel, 2, flexible=True)
    encoded = Parcel(sender="").encode(2)
    assert with_stamps == len(encoded)

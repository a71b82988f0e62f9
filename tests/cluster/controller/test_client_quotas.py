"""AlterClientQuotas."""

from __future__ import annotations

import pytest

from ottla.cluster.controller.client_quotas import alter_client_quotas
from ottla.cluster.controller.result import Result
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.client_quotas import AlterClientQuotasRequest, AlterClientQuotasResponse
from tests.cluster.controller.small_cluster import SmallCluster

Entity = dict[str, str | None]
Op = tuple[str, float, bool]


def wish(entity: Entity | list[tuple[str, str | None]], *ops: Op) -> AlterClientQuotasRequest.EntryData:
    pairs = entity.items() if isinstance(entity, dict) else entity
    return AlterClientQuotasRequest.EntryData(
        entity=[AlterClientQuotasRequest.EntityData(entity_type=type, entity_name=name) for type, name in pairs],
        ops=[AlterClientQuotasRequest.OpData(key=key, value=value, remove=remove) for key, value, remove in ops],
    )


def alter(
    cluster: SmallCluster, *entries: AlterClientQuotasRequest.EntryData, validate_only: bool = False, **options: object
) -> Result[AlterClientQuotasResponse]:
    request = AlterClientQuotasRequest(entries=list(entries), validate_only=validate_only)
    return alter_client_quotas(cluster.state, request, **options)  # type: ignore[arg-type]


def codes(result: Result[AlterClientQuotasResponse]) -> list[ErrorCode]:
    return [ErrorCode.of(entry.error_code) for entry in result.response.entries]


def test_quotas_are_set_changed_and_removed() -> None:
    cluster = SmallCluster(0)
    entity = (("client-id", None), ("user", "u"))
    cluster.do(alter(cluster, wish({"user": "u", "client-id": None}, ("producer_byte_rate", 5.0, False))))
    assert cluster.state.image.quota_values(entity) == {"producer_byte_rate": 5.0}
    again = alter(cluster, wish(dict(entity), ("producer_byte_rate", 5.0, False)))
    assert (codes(again), again.records) == ([ErrorCode.NONE], [])
    cluster.do(alter(cluster, wish(dict(entity), ("request_percentage", 0.5, False))))
    removal = wish(dict(entity), ("producer_byte_rate", 0.0, True), ("consumer_byte_rate", 0.0, True))
    cluster.do(alter(cluster, removal))
    assert cluster.state.image.quota_values(entity) == {"request_percentage": 0.5}


def test_an_address_has_quotas_of_its_own() -> None:
    cluster = SmallCluster(0)
    good = [wish({"ip": name}, ("connection_creation_rate", 3.0, False)) for name in ("10.0.0.1", "::1", None)]
    assert codes(alter(cluster, *good)) == [ErrorCode.NONE] * 3
    named = wish({"ip": "localhost"}, ("connection_creation_rate", 3.0, False))
    assert codes(alter(cluster, named)) == [ErrorCode.INVALID_REQUEST]
    assert codes(alter(cluster, named, is_host=lambda host: True)) == [ErrorCode.NONE]


@pytest.mark.parametrize(
    "entry",
    [
        wish({}),
        wish([("user", "a"), ("user", "b")]),
        wish({"group": "g"}),
        wish({"user": ""}),
        wish({"ip": "10.0.0.1", "user": "u"}),
        wish({"user": "u"}, ("k", 1.0, False)),
        wish({"user": "u"}, ("connection_creation_rate", 1.0, False)),
        wish({"user": "u"}, ("producer_byte_rate", 0.0, False)),
        wish({"user": "u"}, ("producer_byte_rate", -1.0, False)),
        wish({"user": "u"}, ("producer_byte_rate", float("nan"), False)),
        wish({"user": "u"}, ("producer_byte_rate", float("inf"), False)),
        wish({"user": "u"}, ("producer_byte_rate", 1.5, False)),
        wish({"ip": "10.0.0.1"}, ("connection_creation_rate", 2.0**31, False)),
        wish({"user": "u"}, ("request_percentage", 1.0, False), ("request_percentage", 2.0, False)),
    ],
)
def test_what_cannot_be_is_refused_and_the_next_entity_is_altered(entry: AlterClientQuotasRequest.EntryData) -> None:
    fine = wish({"client-id": "c"}, ("consumer_byte_rate", 9.0, False))
    result = alter(SmallCluster(0), entry, fine)
    assert codes(result) == [ErrorCode.INVALID_REQUEST, ErrorCode.NONE]
    assert len(result.records) == 1
    assert [part.entity_type for part in result.response.entries[0].entity] == [p.entity_type for p in entry.entity]


def test_an_entity_twice_in_a_request_is_refused() -> None:
    entry = wish({"user": "u"}, ("request_percentage", 1.0, False))
    assert codes(alter(SmallCluster(0), entry, entry)) == [ErrorCode.INVALID_REQUEST] * 2


def test_to_validate_is_to_answer_and_to_write_nothing() -> None:
    result = alter(SmallCluster(0), wish({"user": "u"}, ("request_percentage", 1.0, False)), validate_only=True)
    assert (codes(result), result.records) == ([ErrorCode.NONE], [])


def test_a_request_for_too_much_is_refused_as_a_whole() -> None:
    entries = [wish({"user": f"u{number}"}, ("request_percentage", 1.0, False)) for number in range(10_001)]
    with pytest.raises(KafkaError, match="more than 10000"):
        alter(SmallCluster(0), *entries)

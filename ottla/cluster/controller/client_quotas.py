"""AlterClientQuotas (KIP-546, KIP-612): limits for users, clients and addresses, as ClientQuotaRecords."""

from __future__ import annotations

import ipaddress
from collections import Counter
from collections.abc import Callable
from math import isnan

from ottla.cluster.controller.draft import Draft
from ottla.cluster.controller.result import RequestTooLarge, Result
from ottla.cluster.controller.state import ControllerState
from ottla.cluster.image import QuotaEntity
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.client_quotas import AlterClientQuotasRequest, AlterClientQuotasResponse
from ottla.wire.stored.metadata_records import ClientQuotaRecord

USER, CLIENT_ID, IP = "user", "client-id", "ip"

# Keys and the largest value of each; None where a fraction makes sense.
_USER_AND_CLIENT_KEYS = {
    "producer_byte_rate": 2**63 - 1,
    "consumer_byte_rate": 2**63 - 1,
    "request_percentage": None,
    "controller_mutation_rate": None,
}
_IP_KEYS = {"connection_creation_rate": 2**31 - 1}

Entry = AlterClientQuotasRequest.EntryData
EntityData = AlterClientQuotasResponse.EntityData


def is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def alter_client_quotas(
    state: ControllerState, request: AlterClientQuotasRequest, *, is_host: Callable[[str], bool] = is_address
) -> Result[AlterClientQuotasResponse]:
    """`is_host` may know names; asking the network is not for this layer."""
    draft = Draft(state, bounded_for="AlterClientQuotas")
    times = Counter(_entity(entry) for entry in request.entries)
    results = []
    for entry in request.entries:
        code, message = ErrorCode.NONE, None
        try:
            if times[_entity(entry)] > 1:
                raise _invalid(f"{_entity(entry)} twice in a request")
            draft.add(*_records(state, entry, is_host))
        except RequestTooLarge:
            raise
        except KafkaError as error:
            code, message = error.code, error.message
        entity = [EntityData(entity_type=part.entity_type, entity_name=part.entity_name) for part in entry.entity]
        results.append(AlterClientQuotasResponse.EntryData(error_code=code, error_message=message, entity=entity))
    result = Result(AlterClientQuotasResponse(entries=results), draft.records)
    return result.without_records() if request.validate_only else result


def _entity(entry: Entry) -> QuotaEntity:
    return tuple(sorted(((part.entity_type, part.entity_name) for part in entry.entity), key=lambda part: part[0]))


def _records(state: ControllerState, entry: Entry, is_host: Callable[[str], bool]) -> list[ClientQuotaRecord]:
    entity = _entity(entry)
    keys = _keys_for(entity, is_host)
    if len({op.key for op in entry.ops}) != len(entry.ops):
        raise _invalid(f"a quota key twice for {entity}")
    current = state.image.quota_values(entity)
    records = []
    for op in entry.ops:
        if op.remove:
            if op.key in current:
                records.append(_record(entity, op.key, 0.0, remove=True))
            continue
        _check_value(keys, op.key, op.value)
        if current.get(op.key) != op.value:
            records.append(_record(entity, op.key, op.value, remove=False))
    return records


def _record(entity: QuotaEntity, key: str, value: float, *, remove: bool) -> ClientQuotaRecord:
    parts = [ClientQuotaRecord.EntityData(entity_type=type, entity_name=name) for type, name in entity]
    return ClientQuotaRecord(entity=parts, key=key, value=value, remove=remove)


def _keys_for(entity: QuotaEntity, is_host: Callable[[str], bool]) -> dict[str, int | None]:
    types = [type for type, _ in entity]
    if not types or len(set(types)) != len(types):
        raise _invalid(f"a quota entity with the parts {types}")
    for type, name in entity:
        if type not in (USER, CLIENT_ID, IP):
            raise _invalid(f"{type} is no kind of quota entity")
        if name == "":
            raise _invalid(f"a quota entity whose {type} has no name")
    if IP not in types:
        return dict(_USER_AND_CLIENT_KEYS)
    if len(types) > 1:
        raise _invalid("an address has quotas of its own, not together with a user or client")
    address = entity[0][1]
    if address is not None and not is_host(address):
        raise _invalid(f"{address} is no address")
    return dict(_IP_KEYS)


def _check_value(keys: dict[str, int | None], key: str, value: float) -> None:
    if key not in keys:
        raise _invalid(f"there is no quota {key} for this kind of entity")
    if isnan(value) or value <= 0:
        raise _invalid(f"{key} is {value}, it must be above 0")
    largest = keys[key]
    if largest is None:
        return
    if value > largest:
        raise _invalid(f"{key} is {value}, at most {largest} is possible")
    if value % 1.0 > 1e-6:
        raise _invalid(f"{key} is {value}, it must be a whole number")


def _invalid(reason: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, reason)

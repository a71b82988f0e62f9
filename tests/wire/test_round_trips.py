"""Every message at every version: what is encoded is decoded to the same, wherever in a buffer it lies.

The gate draws a tenth of the profile's examples for each of the message versions, `make soak` many more and anew.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ottla.wire import KafkaError
from ottla.wire.catalog import messages
from ottla.wire.schema import Message
from tests.wire import strategies

CASES = [(m, v) for m in messages().values() for v in range(m.versions.low, m.versions.high + 1)]
IDS = [f"{message.__name__}-v{version}" for message, version in CASES]
EXAMPLES = max(1, settings().max_examples // 10)


def check_round_trip(message: type[Message], version: int, data: st.DataObject) -> None:
    sent = data.draw(strategies.messages(message, version))
    encoded = sent.encode(version)
    received, position = message.read(encoded, version)
    assert received == sent
    assert position == len(encoded)
    assert received.encode(version) == encoded

    # The neighbours in a larger buffer do not matter, and no part of a message passes for a whole one.
    buffer = bytearray(b"\x01\xff" + encoded + b"\x01\xff")
    assert message.read(buffer, version, 2, 2 + len(encoded)) == (sent, 2 + len(encoded))
    if encoded:
        cut = data.draw(st.integers(0, len(encoded) - 1))
        with pytest.raises(KafkaError):
            message.decode(buffer, version, 2, 2 + cut)
        with pytest.raises(KafkaError):
            message.decode(encoded[:cut], version)


def run(message: type[Message], version: int) -> None:
    unhurried = [HealthCheck.too_slow, HealthCheck.data_too_large]

    @settings(max_examples=EXAMPLES, suppress_health_check=unhurried)
    @given(st.data())
    def examples(data: st.DataObject) -> None:
        check_round_trip(message, version, data)

    examples()


def test_the_catalog_holds_every_message_version() -> None:
    assert len(CASES) == 738


@pytest.mark.parametrize(("message", "version"), CASES, ids=IDS)
def test_what_is_encoded_is_decoded_to_the_same(message: type[Message], version: int) -> None:
    run(message, version)


@pytest.mark.soak
@pytest.mark.parametrize(("message", "version"), CASES, ids=IDS)
def test_what_is_encoded_is_decoded_to_the_same_for_long(message: type[Message], version: int) -> None:
    run(message, version)

"""The gate's share of the fuzzing, and that the fuzzer can fail. A million inputs are `make soak`'s."""

from __future__ import annotations

import pytest

from ottla.wire import ErrorCode, KafkaError
from ottla.wire.catalog import messages
from tests.wire import fuzz
from tests.wire.fuzz_inputs import Inputs

SEED = 20261116
GATE_INPUTS = 40_000
SHARES = 4
SOAK_INPUTS = 1_000_000


@pytest.mark.parametrize("share", range(SHARES))
def test_mutated_input_raises_nothing_but_the_declared_errors(share: int) -> None:
    count = GATE_INPUTS // SHARES
    accepted = fuzz.run(SEED, share * count, count)
    assert count // 10 < accepted < count * 9 // 10, "input that is all refused, or all accepted, tests little"


@pytest.mark.soak
@pytest.mark.parametrize("share", range(SHARES))
def test_a_million_mutated_inputs_raise_nothing_but_the_declared_errors(share: int) -> None:
    count = SOAK_INPUTS // SHARES
    fuzz.run(SEED + 1, share * count, count)


def test_every_decoder_is_a_target() -> None:
    versions = sum(message.versions.high - message.versions.low + 1 for message in messages().values())
    assert len(fuzz.TARGETS) == versions + len(fuzz.OTHERS)


def test_unspoilt_samples_are_accepted_by_their_targets() -> None:
    inputs = Inputs(SEED, list(fuzz.OTHERS), fuzz.DECODERS)
    refused = []
    for number, name in enumerate(fuzz.NAMES):
        for sample in inputs.samples_of(number):
            if not fuzz.fuzz_one(number.to_bytes(2, "big") + sample):
                refused.append(name)
    assert refused == []


def test_an_input_depends_on_seed_and_index_alone() -> None:
    forwards, backwards = (Inputs(SEED, list(fuzz.OTHERS), fuzz.DECODERS) for _ in range(2))
    made = [forwards.make(index) for index in range(50)]
    assert made == [backwards.make(index) for index in reversed(range(50))][::-1]
    assert Inputs(SEED + 1, list(fuzz.OTHERS), fuzz.DECODERS).make(0) != made[0]


def broken(data: bytes) -> None:
    raise IndexError("as if a bound were missing")


def greedy(data: bytes) -> None:
    bytes(10_000_000)
    raise KafkaError(ErrorCode.INVALID_REQUEST, "too late")


@pytest.mark.parametrize(("target", "told"), [(broken, "IndexError"), (greedy, "MemoryError")])
def test_a_failure_tells_the_line_that_makes_it_again(
    target: fuzz.Target, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fuzz, "TARGETS", [target] * len(fuzz.TARGETS))
    with pytest.raises(fuzz.FuzzFailure, match=told) as failed:
        fuzz.run(SEED, 64, 1)
    assert f"python -m tests.wire.fuzz --seed {SEED} --first 64 --count 1" in str(failed.value)

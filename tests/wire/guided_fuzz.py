"""The same targets under atheris, which keeps the inputs that reach new code: slower for each, and it finds its way.

    python -m tests.wire.guided_fuzz --seconds 600
    python -m tests.wire.guided_fuzz --input .cache/fuzz/crash-...

The package and the codecs it generates are instrumented. What atheris learned stays in .cache/fuzz/corpus; an input
that breaks a target is written beside it. Only people and `make soak` start this.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import atheris

with atheris.instrument_imports(include=["ottla"]):
    from ottla.wire.source import Source
    from tests.wire import fuzz
    from tests.wire.fuzz_inputs import Inputs

KEPT = Path(__file__).resolve().parents[2] / ".cache" / "fuzz"


def instrument_generated_code() -> None:
    compile_plain = Source.compile

    def compile_instrumented(self: Source, function_name: str, names: dict[str, Any]) -> Any:
        return atheris.instrument_func(compile_plain(self, function_name, names))

    Source.compile = compile_instrumented  # type: ignore[method-assign]


def write_samples(corpus: Path) -> None:
    inputs = Inputs(1, list(fuzz.OTHERS), fuzz.DECODERS)
    for target in range(len(fuzz.TARGETS)):
        for number, sample in enumerate(inputs.samples_of(target)):
            (corpus / f"sample-{target}-{number}").write_bytes(target.to_bytes(2, "big") + sample)


def main() -> None:
    parser = argparse.ArgumentParser(description="Coverage-guided fuzzing of all decoders.")
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--input", type=Path, help="run one input that was found")
    options = parser.parse_args()
    if options.input is not None:
        fuzz.fuzz_one(options.input.read_bytes())
        return
    instrument_generated_code()
    corpus = KEPT / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    write_samples(corpus)
    limits = [f"-max_total_time={options.seconds}", f"-seed={options.seed}", "-print_final_stats=1", "-max_len=4096"]
    atheris.Setup([sys.argv[0], *limits, f"-artifact_prefix={KEPT}/", str(corpus)], fuzz.fuzz_one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()

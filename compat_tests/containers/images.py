"""The names of the images that docker/build.py makes without a registry."""

from __future__ import annotations

from typing import NamedTuple


class Images(NamedTuple):
    base: str = "ottla/base:local"
    ottla: str = "ottla/ottla:local"
    kafka: str = "ottla/kafka:local"
    spark: str = "ottla/spark:local"

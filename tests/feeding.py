"""A chunk at once: what a reader gives for it in portions, in one list."""

from collections.abc import Iterator
from typing import Protocol, TypeVar

Item = TypeVar("Item")


class Steps(Protocol[Item]):
    def steps(self, chunk: bytes) -> Iterator[list[Item]]: ...


def fed(reader: Steps[Item], chunk: bytes) -> list[Item]:
    return [item for portion in reader.steps(chunk) for item in portion]

"""What damage may cost: bytes are not read over and over, whatever the input claims."""

import re

import pytest

from wirelens import codecs
from wirelens.codecs.decoder import ATTEMPT_FACTOR, ATTEMPT_FREE
from wirelens.codecs.record import Record


def word(number: int) -> bytes:
    return number.to_bytes(4, "big")


def reached(record: Record) -> int:
    """The offset up to which a failed record was read: its error's, or the one that its text states."""
    assert record.error is not None
    stated = re.search(r"read on, at offset (\d+)", record.error.text)
    return record.error.offset if stated is None else int(stated[1])


@pytest.mark.parametrize("size", [2_000, 8_000])
def test_claims_inside_claims_are_read_a_bounded_number_of_times(size: int) -> None:
    """Each unit is a request that takes all that follows as its variables, up to the damage at the end."""
    request = word(1 << 28 | 7) + word(0) + word(4) + b"plug"
    # both readings, from a unit's start and from the request in its name, meet U32 after U32
    unit = word(1) + word(20) + request + word(1) + word(20)
    data = request + unit * size + word(9)
    records = codecs.decode(data, "mevent")
    assert sum(record.length for record in records) == len(data)
    # each failed where the damage is, so this many bytes were read
    failed = [record for record in records if record.error is not None and reached(record) > len(data) - 40]
    assert len(failed) > 2
    assert (
        sum(len(data) - record.offset for record in failed) <= (ATTEMPT_FACTOR + 2) * len(data) + ATTEMPT_FREE
    )

"""Writers are used again: what one record needs never shows in another, whichever forms are mixed."""

from hypothesis import given
from hypothesis import strategies as st

from wirelens import codecs

MESSAGES = [
    bytes.fromhex(digits)
    for digits in (
        "48020043530005" + b"hello".hex() + "90",
        "480200430568656c6c6f90",
        "48020043530005" + b"hello".hex() + "9149000000015a"[:12],
        "4802005248530001614900000001015a5a",
        "48020052575900000001f8005a",
    )
]


@given(st.lists(st.tuples(st.sampled_from(MESSAGES), st.booleans()), min_size=1, max_size=6))
def test_records_do_not_depend_on_what_was_written_before(steps: list[tuple[bytes, bool]]) -> None:
    for data, plain in steps:
        records = codecs.decode(data, "hessian2")
        texts = [record.json_text(plain) for record in records]
        assert texts == [record.json_text(plain) for record in records]
        if not plain:
            assert codecs.encode([record.to_json() for record in records]) == data


def test_the_form_of_one_message_is_not_that_of_the_next() -> None:
    odd, usual = (codecs.decode(data, "hessian2")[0] for data in MESSAGES[:2])
    odd.json_text(True)
    assert "$wire" not in usual.json_text()

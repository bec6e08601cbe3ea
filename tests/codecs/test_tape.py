"""Tapes: nodes of two and of three words, and what steps over them."""

from hypothesis import given
from hypothesis import strategies as st

from wirelens.codecs import tape as t
from wirelens.codecs.tape import Buffer, Tape

NUMBERS = st.sampled_from([-1, 0, 1]).flatmap(
    lambda near: st.sampled_from([0, -(1 << 31), 1 << 31, -(1 << 63) + 1, (1 << 63) - 2]).map(
        lambda edge: edge + near
    )
)
SIZES = st.sampled_from([0, 1, (1 << 26) - 1, 1 << 26, (1 << 31) - 1])


@given(st.lists(st.tuples(NUMBERS, SIZES, st.booleans()), max_size=40))
def test_nodes_are_as_they_were_written(leaves: list[tuple[int, int, bool]]) -> None:
    tape = Tape(Buffer(b""), 1)
    root = tape.open(t.head(t.ARRAY), 0, 7)
    written = [
        tape.leaf(t.head(t.INT, 5, 3) | (t.HIDDEN if hidden else 0), 0, size, number)
        for number, size, hidden in leaves
    ]
    tape.close(root, 9)
    assert tape.indexes() == [root, *written]
    assert tape.nodes(root, tape.size()) == 1 + len(leaves)
    assert (tape.next(root), tape.start(root), tape.end(root), tape.number(root)) == (tape.size(), 0, 9, 7)
    for index, (number, size, hidden) in zip(written, leaves, strict=True):
        assert (tape.start(index), tape.end(index), tape.number(index)) == (0, size, number)
        assert tape.head(index) == t.head(t.INT, 5, 3) | (t.HIDDEN if hidden else 0)
        assert tape.next(index) == tape.following(index)
    for index in written:
        for number in (tape.largest(index), -tape.largest(index)):
            tape.set_number(index, number)
            assert tape.number(index) == number
            assert tape.start(index) == 0


def test_an_error_leaves_a_tree() -> None:
    tape = Tape(Buffer(b"12345678"))
    root = tape.open(t.head(t.STRUCT), 0, 0)
    tape.close(tape.open(t.head(t.ARRAY) | t.HIDDEN, 0, 0), 1)
    inner = tape.open(t.head(t.ARRAY), 1, 0)
    tape.leaf(t.head(t.INTEGER), 1, 2, 3)
    last = tape.open(t.head(t.MARK) | t.HIDDEN, 2, 0)
    tape.close_hidden(4)  # has nothing inside
    assert tape.size() == last
    last = tape.open(t.head(t.MARK) | t.HIDDEN, 2, 0)
    tape.leaf(t.head(t.INTEGER), 2, 3, 1 << 40)
    tape.close_hidden(4)
    tape.close_hidden(5)  # the innermost open one is not hidden
    assert (tape.next(last), tape.end(last)) == (tape.size(), 4)
    assert (tape.next(root), tape.next(inner)) == (0, 0)
    tape.close_from(0, 8)
    assert (tape.next(root), tape.next(inner), tape.end(inner)) == (tape.size(), tape.size(), 8)
    tape.trim(2)
    assert (tape.size(), tape.end(inner)) == (last, 2)

"""The first bytes of each flow."""

import pytest

from wirelens.codecs.captures import Flow, Piece
from wirelens.codecs.captures import heads as limits
from wirelens.codecs.captures.heads import HEAD_BYTES, Heads


def flow(number: int) -> Flow:
    return Flow(number, "tcp", (b"\x0a\0\0\1", b"\x0a\0\0\2"), (40000, 1080))


def piece(of: Flow, direction: int, data: bytes, end: str = "") -> Piece:
    return Piece(of, direction, 0, data, 0, (1,), 0, (), end)


def test_a_head_is_given_when_both_directions_have_ended() -> None:
    heads, first, second = Heads(), flow(1), flow(2)
    assert heads.feed([piece(first, 0, b"ask"), piece(second, 1, b"x"), piece(first, 1, b"ans")]) == []
    assert heads.feed([piece(first, 0, b" me", "fin")]) == []
    (head,) = heads.feed([piece(first, 1, b"wer", "fin")])
    assert (head.flow, head.data, head.whole) == (first, (b"ask me", b"answer"), (True, True))
    (head,) = heads.close()
    assert (head.flow, head.data) == (second, (b"", b"x"))
    assert heads.close() == []


def test_of_a_long_direction_the_first_bytes_are_kept() -> None:
    heads, one = Heads(), flow(1)
    heads.feed([piece(one, 0, bytes(HEAD_BYTES - 1)), piece(one, 0, b"abc"), piece(one, 0, b"not kept")])
    (head,) = heads.close()
    assert head.data == (bytes(HEAD_BYTES - 1) + b"abc", b"")
    assert head.whole == (False, True)


def test_the_oldest_is_given_when_all_take_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "ALL_HEADS", 3 * limits.FLOW_COST)
    if not hasattr(limits.Heads.feed, "__code__"):
        pytest.skip("constants of compiled code do not change")
    heads, flows = Heads(), [flow(number) for number in (1, 2, 3)]
    assert heads.feed([piece(flows[0], 0, b"a"), piece(flows[1], 0, b"b")]) == []
    (head,) = heads.feed([piece(flows[2], 0, b"c")])
    assert head.flow is flows[0]
    assert heads.feed([piece(flows[0], 0, b"goes on", "fin")]) == []
    assert [head.flow.number for head in heads.close()] == [2, 3]

"""Streams that are not ended, as plain values: what lets another process go on with them later.

`save` takes the state of one pair of endpoints, `load` makes it again. A state is nested tuples of numbers,
text and bytes.
"""

from typing import Any

from mypy_extensions import i64

from wirelens.codecs.captures.streams import Assembler, Flow, Piece, _Conversation, _Held, _Side
from wirelens.codecs.codes import Note
from wirelens.codecs.conversations import Conversations, _key, _Mark, _Open, _Request
from wirelens.codecs.conversations import _Side as _Talk
from wirelens.codecs.decoder import Decoder
from wirelens.codecs.record import UNKNOWN

State = tuple[Any, ...]


def save(assembler: Assembler, conversations: Conversations) -> State:
    """The state of an assembler that knows at most one conversation, and of what decodes its pieces.

    () where there is nothing to go on with.
    """
    found = list(assembler._table.values())
    if not found:
        return ()
    if len(found) > 1:
        raise ValueError("the state of one pair of endpoints only")
    one = found[0]
    flow = one.flow
    talks = [_save_talk(talk) for talk in conversations._sides.values() if talk.flow is flow]
    return (
        (one.key, int(one.forward), one.closed, int(one.active)),
        _save_flow(flow),
        (_save_side(one.first), _save_side(one.second)),
        (assembler.flows, int(assembler._clock), assembler._sides, int(conversations._pairs)),
        tuple(talks),
    )


def load(state: State, protocol: str | None = None, sources: bool = True) -> tuple[Assembler, Conversations]:
    """An assembler and conversations that go on where `save` found them.

    `payload` of the assembler counts the bytes that wait in it, `delivered` and `retransmitted` none.
    """
    assembler = Assembler()
    conversations = Conversations(protocol, sources=sources)
    (key, forward, closed, active), plain_flow, (first, second), counters, talks = state
    flow = _load_flow(plain_flow)
    one = _Conversation(key, flow, forward, _load_side(flow, 0, first), _load_side(flow, 1, second))
    one.closed = closed
    one.active = active
    assembler._table[key] = one
    if closed:
        assembler._closed[key] = True
    assembler.flows, assembler._clock, assembler._sides, conversations._pairs = counters
    for side in (one.first, one.second):
        for held in side.held:
            assembler.payload += len(held.data)
        if side.held:
            assembler._waiting[side.number] = side
            assembler._waiting_bytes += side.waiting
        if side.last:
            assembler._remembered[side.number] = side
            assembler._history += len(side.last)
    for plain in talks:
        talk = _load_talk(flow, plain)
        place = _key(flow, talk.direction)
        conversations._sides[place] = talk
        conversations._held += talk.held
        conversations._heads += talk.waiting_bytes
        if talk.decoder is None and talk.waiting_bytes:
            conversations._undecided[place] = talk
    return assembler, conversations


def flows(assembler: Assembler) -> list[tuple[Flow, bool]]:
    """The flows that an assembler knows, and whether each has ended."""
    return [(one.flow, one.closed) for one in assembler._table.values()]


def waiting(assembler: Assembler) -> list[tuple[int, int]]:
    """Bytes that wait for missing ones, and the packet each came in."""
    found: list[tuple[int, int]] = []
    for one in assembler._table.values():
        for side in (one.first, one.second):
            found.extend([(len(held.data), held.packets[-1]) for held in side.held if held.data])
    return found


def _save_flow(flow: Flow) -> State:
    counted = [
        (
            each.length,
            each.gap_bytes,
            each.gap_count,
            each.segments,
            each.retransmitted,
            each.first_us,
            each.last_us,
        )
        for each in flow.directions
    ]
    return (
        (flow.number, flow.transport, flow.hosts, flow.ports, flow.syn, flow.first_us, flow.last_us),
        tuple(counted),
    )


def _load_flow(state: State) -> Flow:
    (number, transport, hosts, ports, syn, first_us, last_us), counted = state
    flow = Flow(number, transport, (hosts[0], hosts[1]), (ports[0], ports[1]))
    flow.syn = syn
    flow.first_us = first_us
    flow.last_us = last_us
    for each, numbers in zip(flow.directions, counted, strict=True):
        each.length = numbers[0]
        each.gap_bytes = numbers[1]
        each.gap_count = numbers[2]
        each.segments = numbers[3]
        each.retransmitted = numbers[4]
        each.first_us = numbers[5]
        each.last_us = numbers[6]
    return flow


def _save_side(side: _Side) -> State:
    held = [(each.data, int(each.missing), int(each.time_us), each.packets) for each in side.held]
    return (
        side.number,
        (side.begun, side.started, side.known, side.ended, side.has_fin, side.has_acked, side.has_hint),
        (int(side.base), int(side.origin), int(side.next), int(side.fin), int(side.acked)),
        (int(side.hint), int(side.hole_end), int(side.gap)),
        (int(side.early), int(side.waiting), int(side.waiting_since)),
        tuple(side.starts),
        tuple(held),
        (side.last, int(side.last_at), int(side.last_time), side.last_packets),
        _save_notes(side.notes or []),
    )


def _load_side(flow: Flow, direction: i64, state: State) -> _Side:
    number, flags, positions, more, waits, starts, held, last, notes = state
    side = _Side(number, flow, direction)
    side.begun, side.started, side.known, side.ended, side.has_fin, side.has_acked, side.has_hint = flags
    side.base, side.origin, side.next, side.fin, side.acked = positions
    side.hint, side.hole_end, side.gap = more
    side.early, side.waiting, side.waiting_since = waits
    side.starts = list(starts)
    side.held = [_Held(data, missing, time, tuple(packets)) for data, missing, time, packets in held]
    side.last, side.last_at, side.last_time = last[0], last[1], last[2]
    side.last_packets = tuple(last[3])
    side.notes = _load_notes(notes) or None
    return side


def _save_talk(talk: _Talk) -> State:
    decoder = talk.decoder
    return (
        talk.direction,
        None if decoder is None else _save_decoder(decoder),
        tuple([_save_piece(piece) for piece in talk.waiting or ()]),
        int(talk.tried),
        talk.protocol,
        tuple([(int(mark.end), int(mark.time_us), mark.packets) for mark in talk.marks[talk.mark :]]),
        _save_notes(talk.notes or []),
        (int(talk.waiting_bytes), int(talk.held), int(talk.position)),
        () if talk.requests is None else _save_open(talk.requests),
        talk.ended,
    )


def _load_talk(flow: Flow, state: State) -> _Talk:
    direction, decoder, pieces, tried, protocol, marks, notes, numbers, requests, ended = state
    talk = _Talk(flow, direction)
    talk.decoder = None if decoder is None else _load_decoder(decoder)
    talk.waiting = [_load_piece(flow, direction, piece) for piece in pieces] or None
    talk.tried = tried
    talk.protocol = protocol
    for end, time, packets in marks:
        talk.marks.append(_Mark(end, time, tuple(packets)))
    talk.notes = _load_notes(notes) or None
    talk.waiting_bytes, talk.held, talk.position = numbers
    if requests:
        talk.requests = _load_open(requests)
    talk.ended = ended
    return talk


def _save_open(requests: _Open) -> State:
    keyed = [(key, *_plain(each)) for key, asked in requests.keyed.items() for each in asked]
    return (tuple(keyed), tuple([_plain(each) for each in requests.queue]))


def _plain(request: _Request) -> tuple[int, int]:
    return (int(request.pair), int(request.time_us))


def _load_open(state: State) -> _Open:
    keyed, queue = state
    requests = _Open()
    for key, pair, time in keyed:
        requests.add(key, _Request(pair, time))
    for pair, time in queue:
        requests.add("", _Request(pair, time))
    return requests


def _save_decoder(decoder: Decoder) -> State:
    data = b"".join([decoder._data[decoder._pos :], *(decoder._parts or ())])
    return (decoder.protocol, int(decoder._base + decoder._pos), data)


def _load_decoder(state: State) -> Decoder:
    protocol, base, data = state
    decoder = Decoder(protocol or UNKNOWN, base)
    if data:
        decoder._take(data)
    return decoder


def _save_piece(piece: Piece) -> State:
    return (
        int(piece.offset),
        piece.data,
        int(piece.time_us),
        piece.packets,
        int(piece.gap),
        _save_notes(list(piece.notes)),
        piece.end,
    )


def _load_piece(flow: Flow, direction: i64, state: State) -> Piece:
    offset, data, time, packets, gap, notes, end = state
    return Piece(flow, direction, offset, data, time, tuple(packets), gap, tuple(_load_notes(notes)), end)


def _save_notes(notes: list[Note]) -> State:
    return tuple([(note.code, note.offset, note.text) for note in notes])


def _load_notes(notes: State) -> list[Note]:
    return [Note(code, offset, text) for code, offset, text in notes]

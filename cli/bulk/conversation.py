"""Pieces of streams to records."""

from __future__ import annotations

from typing import NamedTuple

from wirelens.codecs.captures import Flow, Piece
from wirelens.codecs.decoder import Decoder
from wirelens.codecs.record import Record


class Said(NamedTuple):
    """A record of a conversation, and its part in it."""

    flow: Flow
    direction: int
    record: Record
    pair: str | None
    latency_us: int | None


class Conversation:
    def __init__(self, protocol: str) -> None:
        self._protocol = protocol or None
        self._decoders: dict[tuple[int, int], Decoder] = {}

    def feed(self, piece: Piece) -> list[Said]:
        key = (piece.flow.number, piece.direction)
        decoder = self._decoders.get(key)
        if decoder is None:
            decoder = self._decoders[key] = Decoder(self._protocol)
        records: list[Record] = []
        if piece.gap:
            records += decoder.gap(piece.gap)
        records += decoder.feed(piece.data)
        if piece.end:
            records += decoder.close()
            del self._decoders[key]
        return [Said(piece.flow, piece.direction, record, None, None) for record in records]

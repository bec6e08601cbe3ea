"""Evidence for JSONB: names with numbers that count up from 0, for nearly any byte is a value."""

import re
from typing import Final

from wirelens.codecs import tape as t
from wirelens.codecs.background import CHANGE, MEETS, prices
from wirelens.codecs.codec import NO_EVIDENCE, Evidence, messages_evidence
from wirelens.codecs.cursor import Cursor, DecodeError
from wirelens.codecs.jsonb import vocabulary as v
from wirelens.codecs.jsonb.decoding import Document
from wirelens.codecs.node import Node
from wirelens.codecs.tape import Buffer, Tape
from wirelens.codecs.words import count

PROBED: Final = 1 << 14  # bytes that are read
MOST_MESSAGES: Final = 8
LEAST_BITS: Final = 12.0  # of names, below which there is no evidence
END_BITS: Final = 10.0  # for a last value that ends exactly at the end
ODD_NAME: Final = 12.0  # against it: a name that no writer of Java has
UNUSUAL: Final = 6.0  # against it: a form that the usual writer does not send

_TYPE: Final = re.compile(r"\[*[A-Za-z_$][\w$]*(\.[A-Za-z_$][\w$]*)*(\[\])*")
_NAME: Final = re.compile(r"[^\W\d]\w*|\$\w+|[\w$.@/-]+")


def evidence(data: bytes) -> Evidence:
    """The evidence of the values that follow one another from the start."""
    if not data or not (v.TYPED <= data[0] <= v.MAP) or (b"\x92" not in data and b"\x7f" not in data):
        return NO_EVIDENCE
    buffer = Buffer(data[:PROBED])
    cursor = Cursor(buffer, 0, len(buffer.data))
    bits = 0.0
    names = 0  # only lists, maps and typed values have any
    messages = 0
    cut = False
    while cursor.pos < cursor.end and messages < MOST_MESSAGES and not cut:
        start = cursor.pos
        tape = Tape(buffer)
        root = tape.open(v.ROOT, start, 0)
        try:
            Document(cursor, tape).read(v.VALUE)
        except DecodeError as error:
            if not error.incomplete:
                return NO_EVIDENCE
            cut = True
            tape.close_from(root, cursor.end)
        found, score = _names(tape, buffer)
        names += found
        bits += score / float(messages + 1)
        messages += 1
    if names == 0 or bits < LEAST_BITS:
        return NO_EVIDENCE
    whole = not cut and cursor.pos == len(data)
    reasons = [f"{count(names, 'name')} with numbers that count up from 0"]
    if whole:
        reasons.append("the last value ends at the end")
    return messages_evidence(bits, reasons, messages, whole, END_BITS)


def _names(tape: Tape, buffer: Buffer) -> tuple[int, float]:
    """How many definitions of types and names a document has, and their bits."""
    names = 0
    bits = 0.0
    index = tape.following(0)
    while index < tape.size():
        kind = tape.kind(index)
        if (kind == t.TYPE or kind == t.SYMBOL) and tape.number(index) == index:
            text = Node(tape, int(index), buffer).text or ""
            fits = (_TYPE if kind == t.TYPE else _NAME).fullmatch(text)
            names += 1
            gain = prices(buffer.data, tape.start(index), 1) + MEETS + CHANGE
            bits += gain / float(names) if fits is not None else -ODD_NAME
        if tape.head(index) >> t.FORM_SHIFT & t.FORM_MASK in (v.EXACT, v.CONTAINER):
            bits -= UNUSUAL
        index = tape.following(index)
    return names, bits

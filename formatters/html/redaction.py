"""Messages with other values in place of the sender's own, of the same length and kind.

What a message is made of is replaced in its bytes, which its tape points into; all that is read from them,
trees, summaries and hex views, then has the replacements. What is not known to be harmless is replaced: kept
are the layout, numbers (unless asked), and names of classes, fields, services and methods.
"""

from __future__ import annotations

import hashlib
import random
import re
import secrets
from typing import TYPE_CHECKING

from wirelens.codecs import registry
from wirelens.codecs import tape as t
from wirelens.codecs.codes import CODES, Note
from wirelens.codecs.cursor import DecodeError
from wirelens.codecs.node import Node
from wirelens.codecs.record import Record
from wirelens.codecs.tape import CONTAINERS, Buffer, Fault, Tape
from wirelens.formatters.layout import TEXTS

if TYPE_CHECKING:
    from collections.abc import Container
    from typing import Final

# What becomes of a byte.
GAP: Final = 0  # of no node: kept, but for runs of letters
REPLACED: Final = 1
KEPT: Final = 2
MIXED: Final = 3  # kept, but for runs of letters: values with a text inside, as a time with its zone
NUMBER: Final = 4  # digits and bytes of a number

_NUMBERS: Final = frozenset(
    {t.INTEGER, t.UNSIGNED, t.INT, t.LONG, t.INT8, t.INT16, t.INT64, t.VAR_INT, t.VAR_UINT, t.UINT8}
    | {t.UINT16, t.UINT32, t.UINT64, t.INT32, t.DOUBLE, t.FLOAT32, t.DATE}
)
_LARGEST: Final = {t.INT: (1 << 31) - 1, t.INT32: (1 << 31) - 1, t.INT8: 127, t.UINT8: 255, t.INT16: 32767}
_LAYOUT: Final = frozenset(
    {t.MARK, t.LENGTH, t.NULL, t.ABSENT, t.BOOL, t.BOOLEAN, t.NAMED, t.REF, t.FAULT, t.CLASS, t.TYPE}
)
_FIELD: Final = re.compile(r"[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*")
_DESCRIPTOR: Final = re.compile(rb"(?:\[*(?:[ZBCSIJFDV]|L[\w$]+(?:[/.][\w$]+)*;))+")
_LETTERS: Final = re.compile(rb"[A-Za-z\x80-\xff]{4,}")
_CHARACTER: Final = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")


class Redactor:
    """Replaces values; the same value by the same one in all of a report, another in each report.

    `numbers`: whether numbers and times of values are replaced too.
    """

    def __init__(self, numbers: bool = False, key: bytes = b"") -> None:
        self.numbers: Final = numbers
        self._key: Final = key or secrets.token_bytes(32)
        self._texts: dict[bytes, bytes] = {}
        self._looked_up: Final = {name.encode() for codec in registry.codecs() for name in codec.looked_up}

    def text(self, text: str) -> str:
        """Another text of the same length and kind."""
        return self.content(text.encode("utf-8", "surrogatepass")).decode("utf-8", "replace")

    def address(self, text: str) -> str:
        """An endpoint, as `10.0.0.1:20880`, with another address; the port is kept."""
        host, colon, port = text.rpartition(":")
        if not colon or not port.isdigit():
            host, colon, port = text, "", ""
        if self.numbers and port:
            port = self.text(port)
        parts = host.split(".")
        if len(parts) == 4 and all(part.isdigit() for part in parts):
            drawn = self._random(host.encode())
            least, most = (0, 1, 10, 100), (0, 9, 99, 255)
            return (
                ".".join([str(drawn.randint(least[len(part)], most[len(part)])) for part in parts])
                + colon
                + port
            )
        drawn = self._random(host.encode())
        digits = "0123456789abcdef"
        if re.fullmatch(r"\[?[0-9a-fA-F:.%]+\]?", host):
            host = "".join([drawn.choice(digits[1:]) if char in digits else char for char in host.lower()])
            return host + colon + port
        return self.text(host) + colon + port

    def content(self, content: bytes) -> bytes:
        """Other bytes: a letter for a letter, a digit for a digit, a character for one of as many bytes."""
        found = self._texts.get(content)
        if found is None:
            found = content if content in self._looked_up else self._replaced(content, False)
            before = 0
            while found in self._looked_up and found != content:
                before += 1
                found = self._replaced(content, False, before)
            if len(content) <= 256:
                self._texts[content] = found
        return found

    def raw(self, content: bytes) -> bytes:
        """Other bytes for any: what is no letter or digit becomes any other byte of its sort too."""
        return self._replaced(content, True)

    def _random(self, content: bytes, drawn: int = 0) -> random.Random:
        return random.Random(hashlib.blake2b(content, key=self._key, salt=drawn.to_bytes(2)).digest())

    def _replaced(self, content: bytes, every: bool, before: int = 0) -> bytes:
        """Other bytes, drawn anew after as many `before`."""
        drawn = self._random(content, before)
        out = bytearray(content)
        at = 0
        while at < len(out):
            byte = out[at]
            if 0x30 <= byte <= 0x39:
                out[at] = 0x30 + (byte - 0x30 + drawn.randint(1, 9)) % 10
            elif 0x41 <= byte <= 0x5A:
                out[at] = 0x41 + (byte - 0x41 + drawn.randint(1, 25)) % 26
            elif 0x61 <= byte <= 0x7A:
                out[at] = 0x61 + (byte - 0x61 + drawn.randint(1, 25)) % 26
            elif byte >= 0x80:
                match = _CHARACTER.match(content, at)
                if match is not None and not every:
                    end = match.end()
                    out[end - 1] = 0x80 + (out[end - 1] - 0x80 + drawn.randint(1, 63)) % 64
                    if end - at >= 3 and 0xE1 <= byte <= 0xEC:
                        out[end - 2] = 0x80 + drawn.randint(0, 63)
                    at = end
                    continue
                out[at] = 0x80 + (byte - 0x80 + drawn.randint(1, 127)) % 128
            elif every and byte < 0x20:
                out[at] = (byte + drawn.randint(1, 31)) % 32
            at += 1
        return bytes(out)

    def record(self, record: Record) -> Record:
        """The record with other values; its tape may not be used any more."""
        error = record.error
        if error is not None:
            error = DecodeError(error.code, error.offset, meaning(error.code))
        tape = None if record.tape is None else self._tape(record)
        raw = record.raw
        if tape is not None and raw:
            data = tape.buffer.data
            at = record.offset - int(tape.buffer.base)
            raw = data[at : at + len(raw)] if 0 <= at and at + len(raw) <= len(data) else self.raw(raw)
        elif raw:
            raw = self.raw(raw)
        redacted = Record(record.codec, record.offset, record.length, tape, error, raw)
        redacted.origin = record.origin
        redacted.context = record.context  # words of its protocol
        if record.extra_notes is not None:
            redacted.extra_notes = [Note(code, at, meaning(code)) for code, at, _ in record.extra_notes]
        return redacted

    def _tape(self, record: Record) -> Tape:
        tape = record.tape
        assert tape is not None
        kept = _kept_texts(record)
        buffers = tape.buffers
        fates = [bytearray(len(buffer.data)) for buffer in buffers]
        if record.error is not None:  # what follows the error was not read
            at = max(record.offset - int(tape.buffer.base), 0)
            fates[0][at:] = bytes([REPLACED]) * (len(fates[0]) - at)
        self._mark(tape, fates, kept)
        changed = [self._buffer(buffer, fate) for buffer, fate in zip(buffers, fates, strict=True)]
        redacted = Tape(changed[0])
        redacted.take(tape)
        redacted.buffers[:] = changed
        redacted.notes[:] = [Note(code, at, meaning(code)) for code, at, _ in tape.notes]
        redacted.faults[:] = [Fault(fault.code, fault.offset, meaning(fault.code)) for fault in tape.faults]
        if self.numbers:
            self._renumber(redacted)
        return redacted

    def _mark(self, tape: Tape, fates: list[bytearray], kept: Container[str]) -> None:
        """Decide what becomes of the bytes of each node, those inside others last."""
        stack: list[tuple[Node, int, bool]] = [(Node(tape, 0, tape.buffer), 0, False)]
        while stack:
            node, number, named = stack.pop()
            kind = node.kind
            fate = fates[number]
            start, end = int(tape.start(node.index)), int(tape.end(node.index))
            inner = number
            if tape.head(node.index) & t.EMBEDDED and node.inner is not node.buffer:
                inner = int(node.number)
                fate[start:end] = bytes([REPLACED]) * (end - start)
            elif kind not in CONTAINERS:
                named = named or kind in (t.CLASS, t.TYPE)
                self._mark_leaf(node, fate, start, end, named, kept)
            names = _named_keys(node)
            place = 0
            for part in node.parts():
                is_key = names and kind == t.MAP and not part.hidden and place % 2 == 0
                place += not part.hidden
                stack.append((part, inner, named or (is_key and _is_field(part))))

    def _mark_leaf(
        self, node: Node, fate: bytearray, start: int, end: int, named: bool, kept: Container[str]
    ) -> None:
        kind = node.kind
        if kind in _NUMBERS:
            one = NUMBER if self.numbers and not node.hidden else KEPT
        elif kind == t.SCALAR:
            one = MIXED
        elif kind in _LAYOUT or (named and kind != t.CHUNK):
            one = KEPT
        elif kind in TEXTS or kind == t.SYMBOL:
            content = start if node.number < 0 or kind == t.SYMBOL else int(node.number)
            text = node.text
            fate[start:content] = bytes([KEPT]) * (content - start)
            start = content
            whole = text is not None and (text in kept or _DESCRIPTOR.fullmatch(node.content) is not None)
            one = KEPT if named or whole else REPLACED
        elif kind == t.CHUNK:
            parent = node.parent
            content = int(node.number)
            fate[start:content] = bytes([KEPT]) * max(content - start, 0)
            start = max(content, start)
            text = None if parent is None else parent.text
            one = KEPT if named or (text is not None and text in kept) else REPLACED
        elif kind in (t.BYTES, t.HEX) and node.number >= start:
            fate[start : int(node.number)] = bytes([KEPT]) * (int(node.number) - start)
            start = int(node.number)
            one = REPLACED
        else:
            one = REPLACED
        fate[start:end] = bytes([one]) * max(end - start, 0)

    def _buffer(self, buffer: Buffer, fate: bytearray) -> Buffer:
        """The buffer with other bytes where they are replaced."""
        data = bytearray(buffer.data)
        at = 0
        while at < len(data):
            one = fate[at]
            end = at + 1
            while end < len(data) and fate[end] == one:
                end += 1
            if one == REPLACED or one == NUMBER:
                piece = bytes(data[at:end])
                data[at:end] = self.raw(piece) if _binary(piece) else self.content(piece)
            elif one != KEPT:
                for match in _LETTERS.finditer(bytes(data[at:end])):
                    data[at + match.start() : at + match.end()] = self.content(match[0])
            at = end
        return Buffer(bytes(data), buffer.base, buffer.segments, buffer.collapsed)

    def _renumber(self, tape: Tape) -> None:
        """Other numbers in the tape, of as many digits or bits."""
        for index in tape.indexes():
            kind = int(tape.kind(index))
            if kind not in _NUMBERS or tape.head(index) & t.HIDDEN:
                continue
            number = int(tape.number(index))
            room = tape.largest(index)
            drawn = self._random(b"%d %d" % (kind, number))
            if kind == t.DATE:
                other = number + drawn.randint(-180, 180) * 86_400_000 + drawn.randint(0, 86_399_999)
                other = max(-room, min(other, room))
            elif kind in (t.DOUBLE, t.FLOAT32):
                other = number ^ drawn.getrandbits(min(44 if kind == t.DOUBLE else 18, room.bit_length()))
            else:
                digits = len(str(abs(number)))
                largest = min(_LARGEST.get(kind, room), room)
                least = min(10 ** (digits - 1) if digits > 1 else 0, largest)
                size = drawn.randint(least, min(10**digits - 1, largest))
                other = size if number >= 0 else -size
            tape.set_number(index, other)


def meaning(code: str) -> str:
    """What a code means; the sentences of errors and notes may quote values."""
    found = CODES.get(code)
    return "" if found is None else found.text


def _kept_texts(record: Record) -> frozenset[str]:
    """Texts of a message that name services, methods and classes."""
    kept: set[str] = set()
    root = record.headed
    tape = record.tape
    if record.codec is None or root is None or tape is None:
        return frozenset()
    facts = record.codec.call(root)
    if are_names(facts.service, facts.method):
        kept.update((facts.service, facts.method))
    for field in ("class", "path", "method", "parameter_types"):
        for parent in (root, root.member("body")):
            node = None if parent is None else parent.member(field)
            if node is not None and node.kind in TEXTS:
                kept.add(node.text or "")
    return frozenset(kept - {""})


def is_word(status: str) -> bool:
    """Whether a status is a protocol's own word or number, not a sender's sentence."""
    return re.fullmatch(r"-?[A-Z0-9_]+(?: or [A-Z0-9_]+)*", status) is not None


def are_names(service: str, method: str) -> bool:
    """Whether what a call states as service and method are names, not a host and a path."""
    return "/" not in method and "/" not in service and " " not in method


def _named_keys(node: Node) -> bool:
    """Whether a map's keys are the fields of an object, as its class shows."""
    if node.kind != t.MAP:
        return False
    name = node.type_name
    if name is None and node.parent is not None and node.parent.kind == t.TYPED:
        name = node.parent.type_name
    return name is not None and not name.endswith("Map") and not name.startswith("java.util.")


def _is_field(node: Node) -> bool:
    return (node.kind in TEXTS or node.kind == t.SYMBOL) and _FIELD.fullmatch(node.text or "") is not None


def _binary(piece: bytes) -> bool:
    """Whether bytes are no text."""
    try:
        text = piece.decode()
    except UnicodeDecodeError:
        return True
    return not text.translate(dict.fromkeys(b"\n\r\t\0")).isprintable()

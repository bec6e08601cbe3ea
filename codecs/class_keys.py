"""How the notation writes objects of a Hessian class, kept from one message to the next, and keys of maps.

A stream repeats the same class definitions in each message. They are looked up here for writing JSON, by
the number of their layout or by their bytes; see hessian/well_known_classes.py.
"""

from typing import Final

from mypy_extensions import i64, mypyc_attr

from wirelens.codecs import tape as t
from wirelens.codecs.json_text import quoted
from wirelens.codecs.node import ONLY_VALUE, Node, encoded_text, utf8, utf16_text
from wirelens.codecs.scan import SLOTS, slot_of, starts_with
from wirelens.codecs.tape import Buffer, Tape

_LONGEST_DEFINITION: Final = 1 << 13  # bytes of a class definition that is kept for other messages


@mypyc_attr(acyclic=True)
class ClassKeys:
    """How objects of one class start, up to the class's name, and the text before each field's value.

    `layout`: the number of the class's layout, 0 if it has none. `definition`: the bytes that define the
    class; empty if they may define another in another message.
    """

    def __init__(self, layout: i64, definition: bytes, name: bytes, keys: list[bytes], pairs: bool) -> None:
        self.layout: Final[i64] = layout
        self.definition: Final = definition
        self.name: Final = name
        self.keys: Final = keys
        self.pairs: Final = pairs


NO_CLASS: Final = ClassKeys(0, b"", b"", [], False)
_known: Final[list[ClassKeys]] = [NO_CLASS] * SLOTS


def decoded_text(content: bytes, kind: i64) -> str | None:
    """The text of a string's content, by its kind; None where it is malformed."""
    if kind >= t.LATIN1:
        return encoded_text(content, kind)
    return utf8(content) if kind == t.STRING else utf16_text(content)


def known_keys(tape: Tape, index: i64, buffer: Buffer) -> ClassKeys | None:
    """What `read_keys` gave for a class with the same definition, if it is kept."""
    layout = tape.number(index) >> 32
    if layout:  # which saves comparing the bytes: 2 % of a message's time
        keys = _known[layout & (SLOTS - 1)]
        return keys if keys.layout == layout else None
    start = tape.start(index)
    size = tape.end(index) - start
    keys = _known[slot_of(buffer.data, start, size)]
    if size and len(keys.definition) == size and starts_with(buffer.data, start, keys.definition):
        return keys
    return None


def read_keys(tape: Tape, index: i64, buffer: Buffer) -> ClassKeys:
    """How objects of the class at `index` are written; kept if its definition means the same elsewhere."""
    name = b'""'
    texts: list[bytes] = []
    plain = True
    first = True
    simple = True  # the length of other texts depends on the stream
    end = tape.next(index)
    i = tape.following(index)
    while i < end:
        kind = tape.kind(i)
        if kind == t.TEXT or kind == t.STRING or kind == t.STRING16:
            simple = simple and tape.head(i) & t.SIMPLE != 0
            content = Node(tape, i, buffer).content
            text = decoded_text(content, t.STRING if kind == t.TEXT else kind)
            if text is None:
                as_json = b'{"$raw": "' + content.hex().encode() + b'"}'
                plain = plain and first
            else:
                as_json = quoted(text)
                if not first and text.startswith("$"):
                    plain = False
            if first:
                name = as_json
                first = False
            else:
                texts.append(as_json)
        i = tape.next(i)
    if len(set(texts)) != len(texts):
        plain = False
    if tape.head(index) & t.VALUED:
        texts.append(quoted(ONLY_VALUE))
    start = tape.start(index)
    definition = b""
    if simple and tape.end(index) - start <= _LONGEST_DEFINITION:
        definition = buffer.data[start : tape.end(index)]
    layout = tape.number(index) >> 32
    name = b'{"$class": ' + name
    if plain:
        keys = ClassKeys(layout, definition, name, [b", " + text + b": " for text in texts], False)
    else:
        keys = ClassKeys(layout, definition, name, [text + b", " for text in texts], True)
    if layout:
        _known[layout & (SLOTS - 1)] = keys
    elif definition:
        _known[slot_of(buffer.data, start, len(definition))] = keys
    return keys


def is_bean(tape: Tape, index: i64, buffer: Buffer) -> bool:
    """Whether all keys of a map are names with a number, written in their usual form."""
    end = tape.next(index)
    i = tape.following(index)
    while i < end and tape.head(i) & t.HIDDEN:
        i = tape.next(i)
    if i >= end or tape.kind(i) != t.SYMBOL:
        return False  # nearly all maps: the set alone takes as long as the rest, 1 % of a message
    is_key = True
    names: set[int] = set()
    count: i64 = 0
    while i < end:
        head = tape.head(i)
        if head & t.HIDDEN == 0:
            if is_key:
                number = tape.number(i)
                if head & t.KIND_MASK != t.SYMBOL or head >> t.FORM_SHIFT & t.FORM_MASK or number < 0:
                    return False
                text = Node(tape, i, buffer).text
                if text is None or text.startswith("$"):
                    return False
                names.add(int(number))
                count += 1
            is_key = not is_key
        i = tape.next(i)
    return count > 0 and is_key and len(names) == count


def all_differ(tape: Tape, index: i64, buffer: Buffer) -> bool:
    """Whether no two of a map's keys, all of them texts, are equal."""
    seen: set[bytes] = set()
    count: i64 = 0
    is_key = True
    end = tape.next(index)
    i = tape.following(index)
    while i < end:
        if tape.head(i) & t.HIDDEN == 0:
            if is_key:
                seen.add(Node(tape, int(i), buffer).content)
                count += 1
            is_key = not is_key
        i = tape.next(i)
    return len(seen) == count

"""The members of Hessian's messages on the tape, and their wire forms.

All values of `$wire` in a message, other than in its values:

| of | `$wire` | meaning |
|---|---|---|
| message | `{"version": "absent"}` | final: no `H 02 00` (3.2.1); draft: a call that starts at a header |
| message | `{"start": "C"}`, `"R"`, `"P"` | draft: the streaming opcodes for a call, a reply, a message |
| call, envelope | `{"method": …}` | the form of the method's name, as of a string |
| call | `{"count": …}` | final: the form of the number of arguments, as of an int |
| packets | `{"framing": "3.2.1"}`, `"4.0.0"`, `"4.0.7"` | final: that release's framing (usual: 4.0.66) |
| a packet | `{"chunks": [size, …]}` | a packet in several parts |
| a part | `{"content_form": …}` | the form of the content, as of bytes; usual: one B |
| a part | `{"header_count": …}`, `{"footer_count": …}` | forms of the counts, as of an int |
"""

from functools import partial
from typing import Final

from mypy_extensions import i64

from wirelens.codecs import tape as t
from wirelens.codecs.hessian import forms
from wirelens.codecs.hessian import vocabulary as d
from wirelens.codecs.node import HINTS, Json, Node, field, hint


def _version(node: Node) -> Json:
    """The two bytes of a version as "2.0"."""
    return f"{node.raw[-2]}.{node.raw[-1]}"


def _method_wire(dialect: int, node: Node) -> Json:
    """The `$wire` of a call or envelope whose method's name is in an unusual form."""
    method = node.member("method")
    if method is None:
        return None
    form = forms.STRINGS[dialect] if dialect == d.FINAL else forms.COUNTED
    return {"method": HINTS[form].json(method)}


def _packet_wire(node: Node) -> Json:
    """The `$wire` of a packet in several parts."""
    sizes: list[Json] = [part.number for part in node.parts() if part.kind == t.LENGTH]
    return {"chunks": sizes}


def _content_wire(dialect: int, node: Node) -> Json:
    """The `$wire` of an envelope's content: the form of the bytes that the MARK spans."""
    return HINTS[forms.BINARIES[dialect]].json(node)


VALUES_FIELD: Final[i64] = field("values")
VALUES: Final[i64] = t.head(t.ARRAY, VALUES_FIELD)
ROOT: Final[i64] = t.head(t.STRUCT)
VERSION: Final[i64] = t.head(t.COMPUTED, field("version", None, _version))
CALL: Final[i64] = t.head(t.STRUCT, field("call"))
METHOD: Final[i64] = t.head(0, field("method"))
HEADERS: Final[i64] = t.head(t.ARRAY, field("headers"))
FOOTERS: Final[i64] = t.head(t.ARRAY, field("footers"))
PAIR: Final[i64] = t.head(t.ARRAY)
ARGUMENTS: Final[i64] = t.head(t.ARRAY, field("arguments"))
COUNT: Final[i64] = t.head(t.LENGTH, field("count")) | t.HIDDEN
HEADER_COUNT: Final[i64] = t.head(t.LENGTH, field("header_count")) | t.HIDDEN
FOOTER_COUNT: Final[i64] = t.head(t.LENGTH, field("footer_count")) | t.HIDDEN
REPLY: Final[i64] = t.head(t.STRUCT, field("reply"))
VALUE: Final[i64] = field("value")
FAULT: Final[i64] = field("fault")
MESSAGE: Final[i64] = t.head(t.STRUCT, field("message"))
PACKETS: Final[i64] = t.head(t.ARRAY, field("packets"))
PACKET: Final[i64] = t.head(t.STRUCT)
CHUNK_SIZE: Final[i64] = t.head(t.LENGTH) | t.HIDDEN
ENVELOPE: Final[i64] = t.head(t.STRUCT, field("envelope"))
PARTS: Final[i64] = t.head(t.ARRAY, field("parts"))
PART: Final[i64] = t.head(t.STRUCT)
CONTENT_FIELD: Final[i64] = field("content")
CONTENT_HEX: Final[i64] = t.head(t.HEX, CONTENT_FIELD)
CONTENT_FORM: Final[i64] = t.head(t.BYTES, field("content_form")) | t.HIDDEN
COMPRESSED: Final[i64] = t.head(t.HEX, field("compressed"))

NO_VERSION: Final = hint({"version": "absent"})
STARTS: Final[dict[int, int]] = {letter: hint({"start": chr(letter)}) for letter in (0x43, 0x50, 0x52)}
METHODS: Final = [hint(partial(_method_wire, dialect)) for dialect in range(4)]
FRAMINGS: Final[dict[str, int]] = {name: hint({"framing": name}) for name in ("3.2.1", "4.0.0", "4.0.7")}
PACKET_CHUNKS: Final = hint(_packet_wire)
CONTENTS: Final = [hint(partial(_content_wire, dialect)) for dialect in range(4)]

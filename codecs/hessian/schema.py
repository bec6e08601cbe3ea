"""The members of Hessian's messages in JSON, and the tags of its values."""

from typing import Final

from wirelens.codecs.hessian import vocabulary as d
from wirelens.codecs.node import Json
from wirelens.codecs.schema import WIRE, Member, Notation, Schema, other

_VERSION: Final = other("version", 'text such as "2.0": of the call, reply, fault, message or envelope')
_HEADERS: Final = other("headers", "an array of pairs [name, value]", usual="none")
_CONTENTS: Final = (
    other("values", "an array of values, without anything around them"),
    other("call", "a call"),
    other("reply", "a reply"),
)
_LATER_CONTENTS: Final = (
    other("message", "a message: values between a start and an end"),
    other("packets", "an array of packets"),
    other("envelope", "an envelope"),
)
_FAULT: Final = other("fault", "a value: a fault without a reply")
CONTENTS: Final = tuple([member.name for member in (*_CONTENTS, _FAULT, *_LATER_CONTENTS)])


def _message(*members: Member) -> Schema:
    return Schema("message: one of these, and what goes with it", *members, _VERSION, WIRE)


MESSAGES: Final[dict[int, Schema]] = {
    d.V1: _message(*_CONTENTS),
    d.DRAFT: _message(*_CONTENTS, *_LATER_CONTENTS),
    d.FINAL: _message(*_CONTENTS, _FAULT, *_LATER_CONTENTS),
}
MESSAGE_WIRE: Final = Schema(
    "$wire of a message",
    other("version", '"absent": there is none'),
    other("start", '"C", "R" or "P": the streaming opcode of the draft'),
    other("framing", '"3.2.1", "4.0.0" or "4.0.7": that release\'s framing of packets', "4.0.66"),
)
_METHOD: Final = other("method", "text", needed=True)
_ARGUMENTS: Final = other("arguments", "an array of values", [])
CALL: Final = Schema("call", _METHOD, _ARGUMENTS, WIRE)
CALL_WITH_HEADERS: Final = Schema("call", _METHOD, _HEADERS, _ARGUMENTS, WIRE)
_METHOD_FORM: Final = other("method", "the form of the method's name")
_COUNT_FORM: Final = other("count", "the form of the number of arguments")
CALL_WIRE: Final = Schema("$wire of a call", _METHOD_FORM, _COUNT_FORM)
EARLIER_CALL_WIRE: Final = Schema("$wire of a call", _METHOD_FORM)
_VALUE: Final = other("value", "a value; or else a fault")
_FAULT_PAIRS: Final = other("fault", "an object, or an array of pairs [key, value]: code, message, detail")
REPLY: Final = Schema("reply", _VALUE, _FAULT_PAIRS)
REPLY_WITH_HEADERS: Final = Schema("reply", _HEADERS, _VALUE, _FAULT_PAIRS)
FAULT: Final = Schema("fault whose keys are not all text", other("$map", "an array of pairs [key, value]"))
VALUES_INSIDE: Final = Schema("message, packet", other("values", "an array of values", needed=True), WIRE)
PACKET_WIRE: Final = Schema(
    "$wire of a packet", other("chunks", "an array of sizes: the packet is in several parts", needed=True)
)
ENVELOPE: Final = Schema("envelope", _METHOD, other("parts", "an array of parts", []), WIRE)
ENVELOPE_WIRE: Final = Schema("$wire of an envelope", _METHOD_FORM)
PART: Final = Schema(
    "part of an envelope",
    _HEADERS,
    other("content", "hex; of a Deflation envelope also a message"),
    other("compressed", "hex: content as it was compressed, which is written if it is still the same"),
    other("footers", "an array of pairs [name, value]", usual="none"),
    WIRE,
)
PART_WIRE: Final = Schema(
    "$wire of a part",
    other("content_form", "the form of content, as of bytes"),
    other("header_count", "the form of the number of headers"),
    other("footer_count", "the form of the number of footers"),
)

_VALUES: Final[dict[str, str]] = {
    "$class": "an object: the class's name, then its fields; $id labels it for $ref",
    "$null": "null",
    "$bool": "true or false",
    "$int": "an integer of 32 bits",
    "$long": "an integer of 64 bits",
    "$double": 'a number, "NaN", "Infinity" or "-Infinity"',
    "$date": "milliseconds since 1970, or text: 2026-01-17T10:40:00.000Z",
    "$string": "text",
    "$raw": "hex: a string whose bytes are not text",
    "$bytes": "hex: bytes",
    "$xml": "text: XML",
    "$remote": "a remote object: its type, and url",
    "$ref": "the $id of an earlier list, map or object",
    "$list": "an array of values; $type names its class, $id labels it",
    "$map": "an object, or an array of pairs [key, value]; $type and $id likewise",
}

_EARLIER: Final = ("$xml", "$remote")  # not in the final dialect
# The tags of each dialect.
VALUES: Final[dict[int, dict[str, str]]] = {
    dialect: {tag: words for tag, words in _VALUES.items() if dialect != d.FINAL or tag not in _EARLIER}
    for dialect in (d.V1, d.DRAFT, d.FINAL, d.LAYOUT_2006)
}

_EXAMPLES: Final[dict[str, Json]] = {
    "call": {"call": {"method": "find", "arguments": ["Ada", {"$long": 20260117001}]}},
    "reply": {
        "reply": {
            "value": {"$class": "com.example.shop.Order", "id": {"$long": 20260117001}, "buyer": "Ada"},
        }
    },
    "fault": {"reply": {"fault": {"code": "ServiceException", "message": "sold out"}}},
    "values": {"values": [{"$class": "com.example.shop.Order", "id": {"$long": 1}, "tags": ["new"]}]},
}
_LATER_EXAMPLES: Final[dict[str, Json]] = {
    "message": {"message": {"values": ["Ada"]}},
    "packets": {"packets": [{"values": ["Ada"]}]},
    "envelope": {"envelope": {"method": "Identity", "parts": [{"content": "4e"}]}},
}
_REST: Final = (
    VALUES_INSIDE,
    PACKET_WIRE,
    ENVELOPE,
    ENVELOPE_WIRE,
    PART,
    PART_WIRE,
)


def _notation(dialect: int) -> Notation:
    message = MESSAGES[dialect]
    objects = [message, CALL if dialect == d.FINAL else CALL_WITH_HEADERS]
    objects += [REPLY if dialect == d.FINAL else REPLY_WITH_HEADERS, FAULT]
    examples = dict(_EXAMPLES)
    if dialect != d.V1:
        objects += _REST
        examples.update(_LATER_EXAMPLES)
    call_wire = CALL_WIRE if dialect == d.FINAL else EARLIER_CALL_WIRE
    return Notation((*objects, MESSAGE_WIRE, call_wire), examples, VALUES[dialect])


SCHEMAS: Final = {d.NAMES[dialect]: _notation(dialect) for dialect in (d.V1, d.DRAFT, d.FINAL)}

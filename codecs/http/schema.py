"""The members of HTTP messages in JSON."""

from typing import Final

from wirelens.codecs.hessian import vocabulary as d
from wirelens.codecs.hessian.schema import SCHEMAS as HESSIAN
from wirelens.codecs.payload import PROTOCOLS
from wirelens.codecs.schema import DAMAGED, PARTIAL, WIRE, Notation, Schema, hexadecimal, other, text, word

_PAIRS: Final = "an array of pairs [name, value]"

MESSAGE: Final = Schema(
    "message",
    text("start_line", "the request line or the status line", needed=True),
    other("headers", f"{_PAIRS}; Content-Length is computed", []),
    other("body", "a message of Hessian, or bytes that are not decoded", usual="none"),
    hexadecimal("compressed", "the content as it was compressed, which is written if it is still the same"),
    word("hessian", PROTOCOLS, "the dialect of the body", "hessian2"),
    other("trailers", f"{_PAIRS}, of a chunked message", []),
    WIRE,
)
WIRE_FORMS: Final = Schema(
    "$wire of a message",
    other("lines", "lines of the head as they are, by position or as start, end, before"),
    other("trailer_lines", "lines of trailers as they are, by position"),
    other("chunks", "an array of sizes, or of [size, line, end]"),
    other("last", "the line of the last chunk"),
    other("content_length", '"as-is": Content-Length is written as given'),
    other("body", '"absent": chunked, but without the last chunk'),
)
DATA: Final = Schema("body that is not decoded", *DAMAGED, PARTIAL)
_BODIES: Final = HESSIAN[d.NAMES[d.FINAL]]

SCHEMAS: Final = {
    "http": Notation(
        (MESSAGE, *_BODIES.objects, *HESSIAN[d.NAMES[d.V1]].objects, DATA, WIRE_FORMS),
        {
            "request": {
                "start_line": "POST /orders HTTP/1.1",
                "headers": [["Host", "shop.example.com:8080"], ["Content-Type", "x-application/hessian"]],
                "body": {"call": {"method": "find", "arguments": ["Ada"]}},
            },
            "response": {
                "start_line": "HTTP/1.1 200 OK",
                "headers": [["Content-Type", "x-application/hessian"], ["Content-Length", "0"]],
                "body": {"reply": {"value": "found"}},
            },
        },
        _BODIES.values,
    )
}

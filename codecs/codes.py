"""The one table of error and note codes.

Every `code` that a record, a note or an inner error can carry stands here with its meaning;
`wirelens protocols --codes` prints it. Codes are lower-case words joined by `-`.
"""

from typing import Final, NamedTuple

CODES: Final[dict[str, str]] = {
    # decoding, any protocol
    "truncated": "the input ends inside this element",
    "bad-value": "the bytes are not a legal value here",
    "unknown-type": "a type number or tag that the protocol does not have",
    "varint-overflow": "a varint has more bytes or bits than 64-bit numbers take",
    "wide-varint": "a varint holds more bits than its type; it is shown whole",
    "header-after-body": "a header line of ESNP comes after a body line",
    "bad-length": "a length does not fit what it measures",
    "limit": "a stated limit on size, nesting or count is exceeded",
    "no-message": "no message of the protocol starts here",
    "unknown-protocol": "no protocol has enough evidence for these bytes",
    # mevent and Magline
    "missing-eof": "the end marker of mevent is missing; the message ends without it",
    "duplicate-variable": "a variable of the same type and name stands here again; the last one counts",
    "bare-error-code": "an mevent server that fails sends an error code where vsize would be",
    "odd-id": "the id of an mevent reply is none that a request can have",
    "other-version": "a version that the protocol does not have",
    "over-64k": "a message longer than the 64 KiB that mevent allows",
    "extra-bytes": "bytes are left over behind the last element of known meaning",
    "hdf-damaged": "the HDF text breaks off or goes on where it should end",
    "unknown-command": "a command number that the protocol does not name",
    "length-cut": "the writer kept 16 bits of the length of the frame before, as the next head proves",
    "bad-protobuf": "the body is no protobuf message",
    # Hessian
    "gadget-class": "a class that is known from attacks on deserialization",
    "number-lost": "a BigDecimal or BigInteger whose sender lost the number",
    "bad-text": "a text is not well-formed, or its length does not fit its characters",
    "four-byte-utf8": "a character in four-byte UTF-8, where Hessian writes a pair of surrogates",
    "dangling-ref": "a back reference to nothing that came before",
    "dangling-type": "a type number that is not in the type table",
    "list-length": "a list has more or fewer items than it says",
    "unended-list": "a list has neither a length nor an end; it goes on to the end of what holds it",
    "hessian-2006": "the layout of 2006 (Resin 3.0.22 to 3.1.1), which is not supported",
    # Dubbo, Bolt, HTTP
    "argument-count": "the descriptor of the parameters does not say how many arguments there are",
    "bad-checksum": "the checksum is not that of the bytes",
    "no-body": "the header says that a body follows, but none is there, as in the reply to a HEAD",
    "bad-header": "a header line of HTTP is not of the form name: value, or says what cannot be",
    # pasted input
    "pasted-damaged": "the text is a known form, but this place does not fit it",
    "pasted-ambiguous": "two forms fit the text and mean different bytes",
    "pasted-cut": "the text says itself that bytes are left out here",
    "pasted-several": "the text holds several packets or directions, not one run of bytes",
    "pasted-mismatch": "the text is not of the form that was asked for",
    "pasted-limit": "the repeated rows stand for more bytes than are allowed",
    # captures
    "unsupported-capture": "a capture file of a kind that is recognised but not read",
    "no-capture": "no capture file begins like this",
    "skipped-bytes": "so many bytes behind damage were passed over",
    "unknown-interface": "a packet of an interface that the section does not describe",
    "bad-packet": "a header in a packet is cut or cannot be true",
    "missing-bytes": "bytes of the stream are not in the capture",
    "snap-length": "the capture cut off the end of a packet",
    "joined-middle": "the capture does not have the beginning of this stream",
    "overlap-conflict": "bytes that came again differ; the first were kept",
    "reset-text": "a TCP reset carries text, which is not of the stream",
    "capture-limit": "a limit on memory for streams was reached; bytes no longer wait",
}


class Note(NamedTuple):
    """A legal or tolerated oddity: its code, absolute offset in bytes, and a sentence."""

    code: str
    offset: int
    text: str

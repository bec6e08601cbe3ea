"""The one table of error and note codes.

Every `code` that a record, a note or an inner error can carry is here with its meaning and severity;
`wirelens protocols --codes` prints it. Codes are lower-case words joined by `-`.
"""

from typing import Final, NamedTuple

# Severities of notes: a message's notes are listed from the most severe to the least.
DANGER: Final = 3  # the message may be an attack
LOSS: Final = 2  # part of what was sent is not here
BROKEN: Final = 1  # part of the message has no meaning
ODD: Final = 0  # legal or tolerated, but unusual


class Code:
    """What a code means, in a sentence, and how severe a note with it is."""

    def __init__(self, text: str, severity: int = ODD) -> None:
        self.text: Final = text
        self.severity: Final = severity


CODES: Final[dict[str, Code]] = {
    # decoding, any protocol
    "truncated": Code("the input ends inside this element"),
    "bad-value": Code("the bytes are not a legal value here"),
    "unknown-type": Code("a type number or tag that the protocol does not have"),
    "varint-overflow": Code("a varint has more bytes or bits than 64-bit numbers take"),
    "wide-varint": Code("a varint holds more bits than its type; it is shown whole"),
    "header-after-body": Code("a header line of ESNP comes after a body line"),
    "repeated-entry": Code("a line or frame of ESNP that a message has once is there again"),
    "repeated-key": Code("a key occurs twice in one map"),
    "bad-sequence": Code("the numbers of a SEQ_NO of ESNP are outside their limits"),
    "unknown-flag": Code("a flag number that ESNP does not define"),
    "bad-length": Code("a length does not fit what it measures"),
    "limit": Code("a stated limit on size, nesting or count is exceeded"),
    "no-message": Code("no message of the protocol starts here"),
    "unknown-protocol": Code("no protocol has enough evidence for these bytes"),
    # mevent and Magline
    "missing-eof": Code("the end marker of mevent is missing; the message ends without it"),
    "short-request": Code("a request of mevent under 17 bytes, which servers take for invalid"),
    "duplicate-variable": Code("another variable of the same type and name precedes it; the last one counts"),
    "bare-error-code": Code("an mevent server that fails sends an error code in place of vsize"),
    "odd-id": Code("the id of an mevent reply is not one that a request can have"),
    "other-version": Code("a version that the protocol does not have"),
    "over-64k": Code("a message longer than the 64 KiB that mevent allows"),
    "extra-bytes": Code("bytes are left over after the last element of known meaning"),
    "hdf-damaged": Code("the HDF text breaks off or continues where it should end"),
    "unknown-command": Code("a command number that the protocol does not name"),
    "length-cut": Code(
        "the writer kept 16 bits of the length of the preceding frame, shown by the next head"
    ),
    "short-body": Code("a body lacks what its command has, as a known writer leaves it out"),
    "bad-protobuf": Code("the body is not a protobuf message"),
    # Hessian
    "gadget-class": Code("a class known from attacks on deserialization", DANGER),
    "misplaced-object": Code("an object where a string or int belongs, which receivers read", DANGER),
    "content-lost": Code("a collection whose sender left out its content", LOSS),
    "date-unit": Code("a date that is likely only if its writer sent another unit"),
    "no-java-header": Code("content that should be Java serialization does not start with aced0005"),
    "text-overrun": Code("a text seems to run over what follows it: its length may be too large"),
    "split-surrogates": Code("the two surrogates of a character are in different chunks"),
    "number-lost": Code("a BigDecimal or BigInteger whose sender lost the number", LOSS),
    "bad-text": Code("a text is not well-formed, or its length does not fit its characters"),
    "overlong-utf8": Code(
        "a character in more bytes than it needs, as attacks hide class names; readers take it", DANGER
    ),
    "four-byte-utf8": Code("a character in four-byte UTF-8, where Hessian writes a pair of surrogates"),
    "dangling-ref": Code("a back reference to nothing that came before", BROKEN),
    "dangling-type": Code("a type number that is not in the type table"),
    "list-length": Code("a list has more or fewer items than it declares"),
    "unended-list": Code("a list has neither a length nor an end; it extends to the end of its container"),
    "hessian-2006": Code("the layout of 2006 (Resin 3.0.22 to 3.1.1), which is not supported"),
    # JSONB
    "unknown-name": Code("a name that is an index into a table outside the data"),
    # Dubbo, Bolt, HTTP
    "argument-count": Code("the descriptor of the parameters does not state how many arguments there are"),
    "bad-checksum": Code("the checksum does not match the bytes"),
    "no-body": Code("the header announces a body, but there is none, as in the reply to a HEAD"),
    "bad-header": Code("an HTTP header line is not of the form name: value, or has an invalid value"),
    # conversations
    "duplicate-id": Code("another request with the same id is still open; the latest is answered first"),
    "no-request": Code("a reply to no request that was captured, though none is missing"),
    "reply-first": Code("the reply was captured before its request; their latency is unknown"),
    "series-gap": Code("a part of a series of replies is missing"),
    "session-info": Code("a reply does not repeat the SESSION_INFO of its request"),
    # pasted input
    "pasted-damaged": Code("the text is a known form, but this place does not fit it"),
    "pasted-ambiguous": Code("two forms fit the text and mean different bytes"),
    "pasted-cut": Code("the text itself marks omitted bytes here"),
    "pasted-several": Code("the text holds several packets or directions, not one run of bytes"),
    "pasted-mismatch": Code("the text is not of the requested form"),
    "pasted-limit": Code(
        "repeated rows stand for more bytes than are allowed, or too many lines are too short"
    ),
    # captures
    "unsupported-capture": Code("a capture file of a kind that is recognised but not read"),
    "no-capture": Code("no capture file begins like this"),
    "skipped-bytes": Code("bytes after damage were skipped"),
    "unknown-interface": Code("a packet of an interface that the section does not describe"),
    "bad-packet": Code("a header in a packet is cut or invalid"),
    "missing-bytes": Code("bytes of the stream are not in the capture", LOSS),
    "snap-length": Code("the capture cut off the end of a packet"),
    "inside-message": Code(
        "the capture starts inside this message, or goes on inside it after missing bytes"
    ),
    "joined-middle": Code("the capture does not have the beginning of this stream"),
    "overlap-conflict": Code("retransmitted bytes differ; the first ones were kept", LOSS),
    "late": Code("bytes that came after their stream had moved on, or again and different"),
    "reset-text": Code("a TCP reset carries text, which is not part of the stream"),
    "capture-limit": Code("a limit on memory for streams was reached; bytes no longer wait"),
}


class Note(NamedTuple):
    """A legal or tolerated oddity: its code, absolute offset in bytes, and a sentence."""

    code: str
    offset: int
    text: str

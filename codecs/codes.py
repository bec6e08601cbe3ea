"""The one table of error and note codes.

Every `code` that a record, a note or an inner error can carry stands here with its meaning;
`wirelens protocols --codes` prints it. Codes are lower-case words joined by `-`.
"""

from typing import Final

CODES: Final[dict[str, str]] = {
    # decoding, any protocol
    "truncated": "the input ends inside this element",
    "bad-value": "the bytes are not a legal value here",
    "bad-length": "a length does not fit what it measures",
    "limit": "a stated limit on size, nesting or count is exceeded",
    "no-message": "no message of the protocol starts here",
    "unknown-protocol": "no protocol has enough evidence for these bytes",
}

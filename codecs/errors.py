"""Errors that the codecs raise, and their base. (json_text.py has JsonTextError.)"""


class WirelensError(ValueError):
    """The base class of every error that wirelens raises for its input."""


class UnknownProtocolError(WirelensError, LookupError):
    """A protocol id that is not in the registry; the text lists those that are."""


class EncodeError(WirelensError):
    """JSON that does not describe a message: `path` is the place in it, `text` what was expected there."""

    def __init__(self, path: str, text: str) -> None:
        super().__init__(path, text)
        self.path = path
        self.text = text

    def __str__(self) -> str:
        return f"{self.path}: {self.text}" if self.path else self.text

    def __reduce__(self) -> tuple[type["EncodeError"], tuple[str, str]]:
        return (EncodeError, (self.path, self.text))


class DecodeError(WirelensError):
    """Bytes that do not decode.

    `code` is one of codes.py; `offset` is absolute, in bytes, in the input; `text` states what was expected
    and found. `needed` is 0, or, if the buffer ends too early, how many bytes of it are needed to go on.
    """

    def __init__(self, code: str, offset: int, text: str, needed: int = 0) -> None:
        super().__init__(code, offset, text, needed)
        self.code = code
        self.offset = offset
        self.text = text
        self.needed = needed

    @property
    def incomplete(self) -> bool:
        """Whether more input may still complete the message."""
        return self.needed != 0

    def __str__(self) -> str:
        return f"{self.text} (offset {self.offset}, {self.code})"

    def __reduce__(self) -> tuple[type["DecodeError"], tuple[str, int, str, int]]:
        return (DecodeError, (self.code, self.offset, self.text, self.needed))

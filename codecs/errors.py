"""Errors that the codecs raise, and their base. (cursor.py has DecodeError, json_text.py JsonTextError.)"""


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

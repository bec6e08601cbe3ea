"""The base of all errors that the codecs raise."""


class WirelensError(ValueError):
    """The base class of every error that wirelens raises for its input."""


class UnknownProtocolError(WirelensError, LookupError):
    """A protocol id that is not in the registry; the text lists those that are."""

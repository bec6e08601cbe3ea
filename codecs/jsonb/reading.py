"""JSONB's values for people: a line, what names outside the data are, stack traces."""

from typing import Final

from wirelens.codecs import tape as t
from wirelens.codecs.hessian import java, throwable
from wirelens.codecs.hessian.reading import value_words
from wirelens.codecs.node import Node
from wirelens.codecs.payload import exception_words

KINDS: Final = ("value", "exception")


def kind(root: Node) -> str:
    """ "exception" for a value that is one."""
    value = root.member("value")
    return "exception" if value is not None and exception_words(value) else "value"


def summary(root: Node) -> str:
    """The value in a few words."""
    value = root.member("value")
    if value is None:
        return "value"
    exception = exception_words(value)
    return f"exception {exception}" if exception else f"value: {value_words(value)}"


def annotate(node: Node) -> str:
    """What a value means beyond its fields; of a name that is not in the data, where it is."""
    if node.kind == t.SYMBOL and node.number < 0:
        return f"entry {-node.number} of a table outside the data"
    return java.annotate(node)


def details(node: Node) -> list[str]:
    """The stack trace of an exception."""
    return throwable.stack_trace(node)

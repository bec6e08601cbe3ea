"""What a person wants to know of a frame: the message in it, and the call that a request of XXL-RPC makes."""

from typing import Final

from wirelens.codecs import tape as t
from wirelens.codecs.call_words import error_line
from wirelens.codecs.codec import CallFacts, Exchange
from wirelens.codecs.hessian import reading
from wirelens.codecs.hessian.members import Members
from wirelens.codecs.node import Node
from wirelens.codecs.words import count

KINDS: Final = ("request", "reply", "damaged", *reading.KINDS)

# How the classes end whose objects are requests or replies, under the number in their field requestId.
_ROLES: Final = {"Request": "request", "Response": "reply"}


def kind(root: Node) -> str:
    """ "request" or "reply" of an object that is one, else the kind of Hessian's message; "damaged"."""
    if root.member("data") is not None:
        return "damaged"
    envelope = _envelope(root)
    return reading.kind(root) if envelope is None else _role(envelope)


def summary(root: Node) -> str:
    """`request #7 com.x.DemoService.hello(String)`, or the line of Hessian's message."""
    data = root.member("data")
    if data is not None:
        return count(len(data.content), "byte")
    envelope = _envelope(root)
    if envelope is None:
        return reading.message_line(root)
    line = f"{_role(envelope)} #{envelope.text('requestId') or envelope.whole('requestId')}"
    service = envelope.text("className") or envelope.text("interfaceName")
    method = envelope.text("methodName")
    if method is not None:
        return f"{line} {service + '.' if service else ''}{method}"
    result = envelope.get("result")
    failure = envelope.text("errorMsg") or envelope.text("error")
    if failure:
        return f'{line} failed: "{reading.cut(failure)}"'
    return line if result is None else f"{line} {reading.value_words(result)}"


def exchange(root: Node) -> Exchange:
    """Requests and replies of XXL-RPC and the like go by their requestId; Hessian's own by their order."""
    envelope = _envelope(root)
    if envelope is None:
        return reading.exchange(root)
    number = envelope.text("requestId") or str(envelope.whole("requestId"))
    return Exchange(_role(envelope), number)


def call(root: Node) -> CallFacts:
    """Class and method of a request of XXL-RPC and the like, the error of a reply; or Hessian's call."""
    envelope = _envelope(root)
    if envelope is None:
        return reading.call(root)
    number = envelope.text("requestId") or str(envelope.whole("requestId"))
    if _role(envelope) == "request":
        service = envelope.text("className") or envelope.text("interfaceName") or ""
        return CallFacts(service, envelope.text("methodName") or "", id=number)
    failure = envelope.text("errorMsg") or envelope.text("error") or ""
    return CallFacts(exception=error_line(failure), failed=failure != "", id=number)


def _envelope(root: Node) -> Members | None:
    """The object that is the frame's only value, if it is a request or a reply with a number."""
    values = root.member("values")
    if values is None or len(values) != 1 or values[0].kind not in (t.OBJECT, t.MAP):
        return None
    members = Members(values[0])
    if not _role(members) or (not members.text("requestId") and members.whole("requestId") is None):
        return None
    return members


def _role(members: Members) -> str:
    """ "request", "reply" or empty, by an object's class."""
    for ending, role in _ROLES.items():
        if members.type.endswith(ending):
            return role
    return ""

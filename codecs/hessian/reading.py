"""Hessian's messages for people: their kind, their exchange, a summary in one line.

The meaning of Java values is in java.py, stack traces are in throwable.py.
"""

from typing import Final

from wirelens.codecs import tape as t
from wirelens.codecs.call_words import error_line
from wirelens.codecs.codec import CallFacts, Exchange
from wirelens.codecs.node import Node
from wirelens.codecs.words import count

KINDS: Final = ("call", "reply", "fault", "message", "packets", "envelope", "values")
SHOWN: Final = 4  # values in a line
TEXT_SHOWN: Final = 60  # characters of a text


def body_of(root: Node) -> Node | None:
    """The member that gives a message its kind: "values", "call", …; None in a message cut before it."""
    for part in root.parts():
        if not part.hidden and part.field.name != "version":
            return part
    return None


def kind(root: Node) -> str:
    """The name of the message's body: "call", "reply", "values", …; "fault" for a reply with a fault."""
    body = body_of(root)
    if body is None:
        return "message"
    name = body.field.name
    if name == "reply" and body.member("fault") is not None:
        return "fault"
    return name


def exchange(root: Node) -> Exchange:
    """A call is answered in order, by a reply or a fault."""
    name = kind(root)
    if name == "call":
        return Exchange("request")
    return Exchange("reply" if name in ("reply", "fault") else "")


def call(root: Node) -> CallFacts:
    """The method of a call; the fault of a reply."""
    body = body_of(root)
    if body is not None and body.field.name == "call":
        method = body.member("method")
        return CallFacts(method="" if method is None else method.shown)
    fault = fault_of(root)
    return CallFacts() if fault is None else CallFacts(exception=fault_words(fault), failed=True)


def fault_of(root: Node) -> Node | None:
    """The fault that a message is or has; None if there is none."""
    body = body_of(root)
    if body is None or body.field.name == "fault":
        return body
    return body.member("fault") if body.field.name == "reply" else None


def fault_words(fault: Node) -> str:
    """The class of the exception in a fault; else its message, else its code."""
    texts: dict[str, str] = {}
    members = iter(fault)
    for key, value in zip(members, members, strict=False):
        name = key.text or ""
        if name == "detail" and value.kind in (t.OBJECT, t.MAP) and value.type_name:
            return value.type_name
        if value.kind == t.STRING16:
            texts.setdefault(name, value.shown)
    return error_line(texts.get("message") or texts.get("code") or "") or "fault"


def message_line(root: Node) -> str:
    """A message in one line: its kind, its method or class, its values."""
    body = body_of(root)
    if body is None:
        return "message"
    name = body.field.name
    if name == "call":
        return call_line(body)
    if name == "reply":
        return _reply_line(body)
    if name == "fault":
        return fault_line(body)
    if name == "message":
        values = body.member("values")
        return "message: " + ("" if values is None else values_line(values))
    if name == "packets":
        packets = len(body)
        first = body[0].member("values") if packets else None
        packets_shown = count(packets, "packet")
        others = ", …" if packets > 1 else ""
        return packets_shown if first is None else f"{packets_shown}: {values_line(first)}{others}"
    if name == "envelope":
        return _envelope_line(body)
    return "values: " + values_line(body)


def call_line(call: Node) -> str:
    """`call method(types)`."""
    method = call.member("method")
    arguments = call.member("arguments")
    types = [] if arguments is None else [type_word(part) for part in arguments.first(2 * SHOWN)]
    if arguments is not None and len(arguments) > 2 * SHOWN:
        types.append("…")
    return f"call {'?' if method is None else method.shown}({', '.join(types)})"


def _reply_line(reply: Node) -> str:
    fault = reply.member("fault")
    if fault is not None:
        return fault_line(fault)
    value = reply.member("value")
    return "reply" if value is None else "reply ok " + value_words(value)


def fault_line(fault: Node) -> str:
    """`fault code "message"`."""
    line = "fault"
    members = iter(fault)
    texts: dict[str, str] = {}
    for key, value in zip(members, members, strict=False):
        if key.kind == t.STRING16 and value.kind == t.STRING16:
            texts[key.shown] = value.shown
    if "code" in texts:
        line += " " + texts["code"]
    if texts.get("message"):
        line += f' "{cut(texts["message"])}"'
    return line


def _envelope_line(envelope: Node) -> str:
    method = envelope.member("method")
    line = "envelope" + ("" if method is None else " " + method.shown.rpartition(".")[2])
    parts = envelope.member("parts")
    for part in [] if parts is None else parts:
        content = part.member("content")
        if content is not None and content.kind == t.STRUCT:
            return f"{line}: {message_line(content)}"
    return line


def values_line(values: Node) -> str:
    """The values of an array, the first few of them."""
    words: list[str] = []
    others = False
    for part in values.parts():
        if part.hidden:
            continue
        if len(words) == SHOWN:
            others = True
            break
        words.append(value_words(part))
    return (", ".join(words) or "none") + (", …" if others else "")


def value_words(value: Node) -> str:
    """A value in a few words."""
    kind = value.kind
    if kind == t.OBJECT:
        return value.type_name or "object"
    if kind == t.LIST or kind == t.MAP:
        items = len(value) // (2 if kind == t.MAP else 1)
        return f"{value.type_name or value.kind_name}[{items}]"
    if kind == t.STRING16 or kind == t.XML or kind == t.STRING or kind in t.ENCODINGS:
        return f'"{cut(value.shown)}"'
    if kind == t.BYTES:
        size = len(value.content)
        return f"binary of {count(size, 'byte')}"
    if kind == t.TYPED:
        inner = value.first(1)
        words = value_words(inner[0]) if inner and inner[0].kind != t.TYPED else ""
        return f"{value.type_name or 'typed'} {words}".rstrip()
    if kind == t.REMOTE:
        return f"remote {value.type_name or ''}".rstrip()
    if kind == t.NULL:
        return "null"
    if kind == t.REF:
        return f"ref #{value.reference}"
    if kind == t.BOOL:
        return "true" if value.number else "false"
    if kind == t.DATE:
        return "date"
    return f"{value.kind_name} {value.shown}"


def type_word(value: Node) -> str:
    """A value's type in one word: classes without their package."""
    kind = value.kind
    name = value.type_name if kind in (t.OBJECT, t.LIST, t.MAP, t.TYPED) else None
    if name:
        array = name.startswith("[")
        simple = name.rpartition(".")[2].lstrip("[")
        return simple + "[]" if array else simple
    return "boolean" if kind == t.BOOL else value.kind_name


def cut(text: str) -> str:
    """Text short enough for a line, without line ends."""
    line = " ".join(text[: 2 * TEXT_SHOWN].split())
    return line if len(line) <= TEXT_SHOWN else line[: TEXT_SHOWN - 1] + "…"

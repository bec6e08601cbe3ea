"""Exceptions on the tape, as Java prints them.

Sources: java.lang.Throwable (printStackTrace, toString), java.lang.StackTraceElement (toString).
"""

from typing import Final

from wirelens.codecs import tape as t
from wirelens.codecs.hessian.members import MAX_TEXT, TEXTS, Members, follow
from wirelens.codecs.node import Node
from wirelens.codecs.words import count

MAX_LINES: Final = 1000  # lines of one stack trace
MAX_FRAME: Final = 400  # characters of one of its frames

_CAUSES: Final = ("cause", "undeclaredThrowable", "target", "ex", "rootCause")


def is_exception(members: Members) -> bool:
    """True for an object with the fields of a Throwable, or the name of one and a message or a cause."""
    values = members.values
    if not members.type:
        return False
    if "detailMessage" in values and ("cause" in values or "stackTrace" in values):
        return True
    if members.type.endswith("Error"):
        return "detailMessage" in values or "stackTrace" in values
    if not members.type.endswith(("Exception", "Throwable")):
        return False
    return "detailMessage" in values or "message" in values or "stackTrace" in values or "cause" in values


def heading(members: Members) -> str:
    """As Throwable.toString: the class, and the message if there is one."""
    message = members.text("detailMessage")
    if message is None:
        message = members.text("message")
    if message is None and members.get("detailMessage") is not None:
        node = members.get("detailMessage")
        if node is not None and node.kind in TEXTS:
            message = node.content[:MAX_TEXT].decode("utf-8", "replace") + "…"
    return members.type if message is None else f"{members.type}: {message}"


def _cause_of(members: Members) -> Node | None:
    """The value of the field that holds the cause; it may be a reference."""
    for name in _CAUSES:
        value = members.values.get(name)
        if value is not None and value.kind in (t.OBJECT, t.MAP, t.REF):
            return value
    return None


def _traced_above(node: Node) -> bool:
    """True if the trace of the enclosing exception has this one."""
    parent = node.parent
    if parent is not None and parent.kind == t.LIST:
        outer = parent.parent
        if outer is None or outer.kind not in (t.OBJECT, t.MAP):
            return False
        members = Members(outer)
        held = members.values.get("suppressedExceptions")
        return held is not None and held.index == parent.index and is_exception(members)
    if parent is None or parent.kind not in (t.OBJECT, t.MAP):
        return False
    members = Members(parent)
    if not is_exception(members):
        return False
    cause = _cause_of(members)
    return cause is not None and cause.index == node.index


class _Entry:
    """An exception still to be printed: its node, its caption, and the frames of the enclosing exception."""

    def __init__(self, node: Node, caption: str, prefix: str, above: list[str]) -> None:
        self.node: Final = node
        self.caption: Final = caption
        self.prefix: Final = prefix
        self.above: Final = above


def stack_trace(node: Node) -> list[str]:
    """The lines of Java's stack trace of an exception, with its suppressed ones and its causes.

    Empty for other values, and for an exception that is the cause of another one, or suppressed in it: it is
    in the trace of that one. Nothing is printed twice: repeated exceptions, and lists of frames reached
    through a reference, are named by their number. At most about `MAX_LINES` lines.
    """
    if node.kind not in (t.OBJECT, t.MAP) or not is_exception(Members(node)) or _traced_above(node):
        return []
    lines: list[str] = []
    seen: set[int] = set()
    stack = [_Entry(node, "", "", [])]
    while stack:
        entry = stack.pop()
        if len(lines) >= MAX_LINES:
            lines.append("\t… the rest is left out")
            break
        _print_one(entry, lines, seen, stack)
    return lines


def _print_one(entry: _Entry, lines: list[str], seen: set[int], stack: list[_Entry]) -> None:
    prefix = entry.prefix
    node = follow(entry.node)
    if node is None:
        lines.append(f"{prefix}{entry.caption}#{entry.node.reference}, which does not exist")
        return
    members = Members(node)
    title = heading(members) if members.type else "an object without a class"
    if int(node.index) in seen:
        lines.append(f"{prefix}{entry.caption}[CIRCULAR REFERENCE: {_one_line(title)}]")
        return
    seen.add(int(node.index))
    for position, line in enumerate(title.split("\n")):
        lines.append((f"{prefix}{entry.caption}" if position == 0 else "") + line.rstrip("\r"))
    if entry.node.kind == t.REF:
        lines.append(f"{prefix}\t... see #{node.reference}")
        return
    frames = _frames(members, lines, prefix)
    common = 0
    while common < min(len(frames), len(entry.above)) and frames[-1 - common] == entry.above[-1 - common]:
        common += 1
    kept = len(frames) - common
    room = max(MAX_LINES - len(lines), 0)
    lines.extend([f"{prefix}\tat {frame}" for frame in frames[: min(kept, room)]])
    if kept > room:
        lines.append(f"{prefix}\t… {count(kept - room, 'frame')} left out")
    if common:
        lines.append(f"{prefix}\t... {common} more")
    cause = _cause_of(members)
    if cause is not None:
        target = follow(cause)
        # A Throwable without a cause has itself in that field.
        if target is None or target.index != node.index:
            stack.append(_Entry(cause, "Caused by: ", prefix, frames))
    held = members.values.get("suppressedExceptions")
    if held is not None and held.kind == t.LIST:
        suppressed: list[_Entry] = []
        for part in held.parts():
            if part.kind in (t.OBJECT, t.MAP, t.REF) and len(suppressed) < MAX_LINES:
                suppressed.append(_Entry(part, "Suppressed: ", prefix + "\t", frames))
        suppressed.reverse()
        stack.extend(suppressed)


def _one_line(text: str) -> str:
    return text.replace("\r", "").replace("\n", " ")


def _frames(members: Members, lines: list[str], prefix: str) -> list[str]:
    """The frames in an exception's list; for a reference to a list, a line with its number."""
    held = members.values.get("stackTrace")
    if held is None:
        return []
    if held.kind == t.REF:
        target = follow(held)
        if target is not None and target.kind == t.LIST and len(target):
            lines.append(f"{prefix}\t... frames as in #{target.reference}")
        return []
    frames: list[str] = []
    if held.kind != t.LIST:
        return frames
    for part in held.parts():
        if part.hidden:
            continue
        value = follow(part)
        text = "" if value is None or value.kind not in (t.OBJECT, t.MAP) else frame_text(Members(value))
        frames.append(_one_line(text)[:MAX_FRAME] if text else "?")
    return frames


def frame_text(members: Members) -> str:
    """As java.lang.StackTraceElement.toString."""
    method = members.text("methodName")
    declaring = members.text("declaringClass")
    if declaring is None:
        declaring = members.text("className")  # in JSONB
    if declaring is None or method is None:
        return ""
    shown = members.whole("format") or 0
    module = members.text("moduleName") or ""
    loader = members.text("classLoaderName") or ""
    version = members.text("moduleVersion") or ""
    before = f"{loader}/" if loader and not shown & 1 else ""
    if module:
        before += module + (f"@{version}" if version and not shown & 2 else "")
    if before:
        before += "/"
    line = members.whole("lineNumber")
    file = members.text("fileName")
    if line == -2:
        place = "Native Method"
    elif file is None:
        place = "Unknown Source"
    else:
        place = f"{file}:{line}" if line is not None and line >= 0 else file
    return f"{before}{declaring}.{method}({place})"

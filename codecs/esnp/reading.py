"""What a person wants to know of a decoded message: where it goes, which ids it has, when it was made."""

from typing import Final

from wirelens.codecs.esnp.vocabulary import ADDRESS, FLAG, MESSAGE_ID, SEQ_NO
from wirelens.codecs.node import Node
from wirelens.codecs.numbers import date_text

FIRST_ID_TIME: Final = 1_262_304_000_000_000_000  # 2010, in nanoseconds since 1970
LAST_ID_TIME: Final = 4_102_444_800_000_000_000  # 2100


def entries_of(root: Node) -> list[Node]:
    """The lines or frames of a message."""
    for part in root.parts():
        if part.field.name in ("lines", "frames"):
            return part.children
    return []


def entry_type(entry: Node) -> int:
    """The type number of a line or frame."""
    return int(entry.tape.number(entry.index + 1))


def member_bytes(entry: Node, name: str) -> bytes:
    """The bytes of an entry's member; empty where there is none."""
    member = entry.member(name)
    return b"" if member is None else member.content


def short_entry(entry: Node, kind: int) -> str:
    """What the summary says of an entry, or nothing."""
    if kind == FLAG:
        flag = entry.member("flag")
        said = "" if flag is None else str(flag.value)
        return "" if said in ("REQUEST", "RESP", "INFO", "EVENT", "") else f"flag {said}"
    if kind == SEQ_NO:
        current = entry.member("current")
        last = entry.member("last")
        return (
            f"seq {current.number}/{last.number or '?'}" if current is not None and last is not None else ""
        )
    value = entry.member("value")
    if value is None:
        return ""
    return f"#{value.shown}" if kind == MESSAGE_ID else f"re #{value.shown}"


def id_time(entry: Node) -> str:
    """The time of an id that can be one: deployed clients start from Unix nanoseconds."""
    value = entry.member("value")
    if value is None or not FIRST_ID_TIME <= value.number < LAST_ID_TIME:
        return ""
    return "made " + date_text(value.number // 1_000_000)


def _addresses(root: Node, kind: int) -> dict[str, str]:
    """The address entries of a type: names (or numbers) of their address types to texts."""
    found: dict[str, str] = {}
    for entry in entries_of(root):
        if entry_type(entry) == kind:
            address = entry.member("address")
            value = entry.member("value")
            if address is not None and value is not None:
                found.setdefault(address.shown, value.shown)
    return found


def target(root: Node, kind: int) -> str:
    """service.op@host of the addresses that are there."""
    found = _addresses(root, kind)
    service = found.get("SERVICE", "")
    operation = found.get("OP", "")
    said = f"{service}.{operation}" if service and operation else service or operation
    if "HOST" in found:
        said += f"@{found['HOST']}"
    if not said and found:
        said = " ".join(f"{name}={value}" for name, value in found.items())
    return said


def url(root: Node, kind: int = ADDRESS) -> str:
    """The URL form of a message's addresses: esnp://HOST/SERVICE/OP?o=OBJECT&g=GROUP, `_` for none.

    Source: the ESNP line text, MT_ADDRESS. Empty where there are no addresses of that type.
    """
    found = _addresses(root, kind)
    if not found:
        return ""
    said = f"esnp://{found.get('HOST') or '_'}/{found.get('SERVICE') or '_'}/{found.get('OP') or '_'}"
    query = [f"{letter}={found[name]}" for letter, name in (("o", "OBJECT"), ("g", "GROUP")) if name in found]
    return said + ("?" + "&".join(query) if query else "")

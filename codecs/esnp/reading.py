"""A message for people: its kind and summary, addresses and ids, its part in a conversation."""

from typing import Final

from wirelens.codecs import tape as t
from wirelens.codecs.call_words import error_line
from wirelens.codecs.codec import CallFacts, Exchange
from wirelens.codecs.esnp import vocabulary as v
from wirelens.codecs.node import Node
from wirelens.codecs.numbers import date_text
from wirelens.codecs.words import count

FIRST_ID_TIME: Final = 1_262_304_000_000_000_000  # 2010, in nanoseconds since 1970
LAST_ID_TIME: Final = 4_102_444_800_000_000_000  # 2100
SHOWN_NAMES: Final = 6  # names of values in a summary
INFO_RESPONSE: Final = "5"  # the kind as it is shown
STATUS: Final = "s"  # the name of a response's status in deployed calls of services
GOOD: Final = 200  # the status of a call that succeeded

_PATH: Final = (40, 30, 20)  # the address types HOST, SERVICE, OP, in the order of the URL's path
_QUERY: Final = (10, 50)  # OBJECT, GROUP, in the order of its query
_RESERVED: Final = "%/?#&=+\x7f"


def kind(root: Node) -> str:
    """The message's FLAG or MESSAGE_KIND in a word: "request", "response", "event", …"""
    first = ""
    for entry in entries_of(root):
        for name in ("flag", "kind"):
            word = entry.shown_of(name)
            if word in ("RESP", "RESPONSE") or (name == "kind" and word == INFO_RESPONSE):
                return "response"
            if word in ("REQUEST", "INFO", "EVENT") and not first:
                first = word.lower()
    return first or "message"


def summary(root: Node) -> str:
    """The kind, service.op@host, ids, and the names of values; an error or a bad status first."""
    word = kind(root)
    parts = [word.upper()]
    error = ""
    status = ""
    names: list[str] = []
    numbers: list[str] = []
    payload = 0
    for entry in entries_of(root):
        number = entry_type(entry)
        if number == v.ERROR:
            text = entry.member("text")
            error = f'ERROR "{text.shown}"' if text is not None and text.raw else "ERROR"
        elif number in (v.DATA, v.HEADER):
            name = entry.member("name")
            if name is not None:
                names.append(name.shown)
                value = entry.member("value")
                if (
                    word == "response"
                    and name.shown == STATUS
                    and value is not None
                    and t.INT8 <= value.kind <= t.INT32
                ):
                    status = f"status {value.shown}"
                    if value.value != GOOD:
                        status = "ERROR " + status
        elif number == v.PAYLOAD:
            payload += len(entry.content_of("data"))
        elif number in (v.MESSAGE_ID, v.SOURCE_MESSAGE_ID, v.SEQ_NO, v.FLAG):
            numbers.append(_short_entry(entry, number))
    if status:
        parts.insert(0 if status.startswith("ERROR") else 1, status)
    if error:
        parts.insert(0, error)
    target = _target(root)
    if target:
        parts.append(target)
    parts.extend(number for number in numbers if number)
    if names:
        shown = ", ".join(names[:SHOWN_NAMES]) + (", …" if len(names) > SHOWN_NAMES else "")
        parts.append(f"({shown})")
    if payload:
        parts.append(f"payload {count(payload, 'byte')}")
    return " ".join(parts)


def annotate(node: Node) -> str:
    """What an entry means beyond its values: a range of types, a later name, the URL form, an id's time."""
    parent = node.parent
    if parent is None:
        return ""
    if parent.field.name not in ("lines", "frames"):
        if node.field.name == "value" and entry_type(parent) == v.XDATA and parent.kind == t.STRUCT:
            return "read as a Var, which is a guess: the application decides what it is"
        return ""
    number = entry_type(node)
    if number not in v.TYPES:
        return _type_range(number)
    if number in (v.MESSAGE_ID, v.SOURCE_MESSAGE_ID):
        return _id_time(node)
    if number == v.MESSAGE_KIND:
        return v.LATER_KINDS.get(node.number_of("kind"), "")
    if number == v.FLAG:
        return "the application's own" if node.number_of("flag") >= v.FIRST_APPLICATION else ""
    if number not in (v.ADDRESS, v.SOURCE_ADDRESS) or parent.parent is None:
        return ""
    name = v.LATER_ADDRESSES.get(node.number_of("address"), "")
    for entry in entries_of(parent.parent):
        if entry_type(entry) == number:
            form = url(parent.parent, number) if entry.index == node.index else ""
            return name + ("; " if name and form else "") + form
    return name


def _type_range(number: int) -> str:
    """What the texts have the type of an entry for that they do not name."""
    if number == v.CLOSE_CHANNEL:
        return "CLOSE_CHANNEL in deployed code of the frame era; reserved by the texts"
    if number < v.SESSION_INFO:
        return "reserved by the texts"
    return "not defined by the texts" if number < v.FIRST_APPLICATION else "the application's own"


def identifies(node: Node) -> bool:
    """Whether it is the value of a MESSAGE_ID or SOURCE_MESSAGE_ID."""
    entry = node.parent
    if node.field.name != "value" or entry is None or entry.parent is None:
        return False
    if entry.parent.field.name not in ("lines", "frames"):
        return False
    return entry_type(entry) in (v.MESSAGE_ID, v.SOURCE_MESSAGE_ID)


def exchange(root: Node) -> Exchange:
    """A reply has its request's MESSAGE_ID as SOURCE_MESSAGE_ID.

    REQUEST and INFO ask for one. A message without flag or kind can be a request too, as deployed writers
    leave the flag out. An event that answers TRACE comes from between the two sides and is
    no reply. The messages of one business step count with SEQ_NO.
    """
    message_id = ""
    source_id = ""
    asks = False
    plain = True  # without a flag or kind
    part = 0
    parts = 0
    session: list[int] = []
    for entry in entries_of(root):
        number = entry_type(entry)
        if number == v.FLAG or number == v.MESSAGE_KIND:
            word = entry.shown_of("flag" if number == v.FLAG else "kind")
            if word == "TRACE_INFO":
                return Exchange("")
            if word in ("REQUEST", "INFO"):
                asks = True
            if word not in ("TRACE", "ASYNC", "UNKNOW"):
                plain = False
        elif number == v.TRACE_RESP:
            return Exchange("")
        elif number == v.SOURCE_MESSAGE_ID:
            source_id = source_id or entry.shown_of("value")
        elif number == v.MESSAGE_ID:
            message_id = message_id or entry.shown_of("value")
        elif number == v.SEQ_NO:
            part = entry.number_of("current")
            parts = entry.number_of("last")
        elif number == v.SESSION_INFO:
            import zlib

            session.append(zlib.crc32(entry.raw))
    if source_id:
        return Exchange("reply", source_id, part=part, parts=parts, session=tuple(session))
    if message_id and asks:
        return Exchange("request", message_id, part=part, parts=parts, session=tuple(session))
    if message_id and plain:
        return Exchange("request", message_id, optional=True, part=part, session=tuple(session))
    return Exchange("")


def call(root: Node) -> CallFacts:
    """SERVICE and OP of a message; its status and error; the id of the request."""
    message_id = ""
    source_id = ""
    status = ""
    error = ""
    failed = False
    service = ""
    method = ""
    for entry in entries_of(root):
        number = entry_type(entry)
        if number == v.ADDRESS:
            address = v.ADDRESSES.get(entry.number_of("address"), "")
            if address == "SERVICE":
                service = service or entry.shown_of("value")
            elif address == "OP":
                method = method or entry.shown_of("value")
        elif number == v.ERROR:
            failed = True
            error = error or error_line(entry.shown_of("text"))
        elif number == v.SOURCE_MESSAGE_ID:
            source_id = source_id or entry.shown_of("value")
        elif number == v.MESSAGE_ID:
            message_id = message_id or entry.shown_of("value")
        elif number == v.DATA and entry.shown_of("name") == STATUS:
            value = entry.member("value")
            if value is not None and t.INT8 <= value.kind <= t.INT32:
                status = value.shown
                failed = failed or value.value != GOOD
    if not source_id:  # a request: what it has under these names is its own data
        return CallFacts(service, method, id=message_id)
    return CallFacts(status=status, exception=error, failed=failed, id=source_id)


def url(root: Node, address_type: int = v.ADDRESS) -> str:
    """The URL form of a message's addresses: esnp://HOST/SERVICE/OP?o=OBJECT&g=GROUP, `_` for a missing part.

    Every address is in it: another type as `a35=…`, as deployed code writes it, and a second one of a type
    that has a place in the path as `a40=…`. What would not be read as it is has the escapes of URLs.
    Source: the ESNP line text, MT_ADDRESS. Empty if the message has no addresses of that entry type.
    """
    path: dict[int, str] = {}
    query: list[tuple[int, str]] = []  # the number that sorts it, and its text
    for number, text in _addresses(root, address_type):
        if number in _PATH and number not in path and text:
            path[number] = escaped(text)
        else:
            place = _QUERY.index(number) if number in _QUERY else len(_QUERY)
            letter = v.ADDRESSES[number][0].lower() if number in _QUERY else f"a{number}"
            query.append((place, f"{letter}={escaped(text)}"))
    if not path and not query:
        return ""
    query.sort(key=_place)
    form = "esnp://" + "/".join([path.get(number, "_") for number in _PATH])
    return form + ("?" + "&".join([text for _, text in query]) if query else "")


def _place(part: tuple[int, str]) -> int:
    return part[0]


def escaped(text: str) -> str:
    """Text as a part of a URL; what is not ASCII stays readable."""
    if text == "_":
        return "%5F"
    return "".join([f"%{ord(char):02X}" if char in _RESERVED or char < "!" else char for char in text])


def entries_of(root: Node) -> list[Node]:
    """The lines or frames of a message."""
    for name in ("lines", "frames"):
        entries = root.member(name)
        if entries is not None:
            return entries.children
    return []


def entry_type(entry: Node) -> int:
    """The type number of a line or frame, its first part."""
    return int(entry.tape.number(entry.tape.following(entry.index)))


def _short_entry(entry: Node, number: int) -> str:
    """How the summary shows a flag, a sequence number or an id; may be empty."""
    if number == v.FLAG:
        flag = entry.shown_of("flag")
        return "" if flag in ("REQUEST", "RESP", "INFO", "EVENT", "") else f"flag {flag}"
    if number == v.SEQ_NO:
        current = entry.member("current")
        last = entry.member("last")
        if current is None or last is None:
            return ""
        return f"seq {current.number}/{last.number or '?'}"
    value = entry.member("value")
    if value is None:
        return ""
    return f"#{value.shown}" if number == v.MESSAGE_ID else f"re #{value.shown}"


def _id_time(entry: Node) -> str:
    """The time that an id was made from, if it can be one: deployed clients start from Unix nanoseconds."""
    number = entry.number_of("value")
    if not FIRST_ID_TIME <= number < LAST_ID_TIME:
        return ""
    return "made " + date_text(number // 1_000_000)


def _addresses(root: Node, address_type: int) -> list[tuple[int, str]]:
    """The address entries of a type, in order: the number of each one's address type, and its text."""
    found: list[tuple[int, str]] = []
    for entry in entries_of(root):
        if entry_type(entry) == address_type:
            address = entry.member("address")
            value = entry.member("value")
            if address is not None and value is not None:
                found.append((address.number, value.shown))
    return found


def _target(root: Node) -> str:
    """service.op@host, of the addresses that the message has."""
    parts: dict[str, str] = {}
    for number, text in _addresses(root, v.ADDRESS):
        name = v.ADDRESSES.get(number) or v.LATER_ADDRESSES.get(number) or str(number)
        parts.setdefault(name, text)
    service = parts.get("SERVICE", "")
    operation = parts.get("OP", "")
    target = f"{service}.{operation}" if service and operation else service or operation
    if "HOST" in parts:
        target += f"@{parts['HOST']}"
    if not target and parts:
        target = " ".join(f"{name}={value}" for name, value in parts.items())
    return target

"""What a person wants to know of a message of Dubbo: its kind, its line, the call it belongs to."""

from typing import Final

from mypy_extensions import i64

from wirelens.codecs import tape as t
from wirelens.codecs.call_words import RequestContext, error_line
from wirelens.codecs.codec import CallFacts, Exchange
from wirelens.codecs.dubbo.vocabulary import (
    ATTACHMENTS,
    BODY,
    DEFAULT_SERVICE_VERSION,
    EVENT,
    GENERIC_METHODS,
    ID,
    METHOD,
    OK,
    PARAMETER_TYPES,
    PATH,
    RESULT,
    RESULTS,
    SERIALIZATION,
    SERIALIZATIONS,
    STATUS,
    STATUSES,
    TWO_WAY,
    TYPE,
    VERSION,
)
from wirelens.codecs.hessian import java
from wirelens.codecs.hessian.descriptors import descriptor_types, java_type, parameter_list
from wirelens.codecs.hessian.members import TEXTS
from wirelens.codecs.hessian.reading import cut, type_word, value_words
from wirelens.codecs.node import Node
from wirelens.codecs.payload import PARTIAL, annotate_argument, exception_class, json_lines, result_words
from wirelens.codecs.tape import Buffer, Tape
from wirelens.codecs.words import count

ANNOTATED: Final = 64  # at most this many arguments are shown with their declared types

LINES: Final = 1 << 12  # of calls that are kept
LINE: Final = 1 << 10  # characters of such a line

# From a message to its type, after the magic; two_way and event follow: all SHORT nodes.
FLAGS: Final = t.WIDTH + t.SHORT_WIDTH
_PARTIAL: Final[i64] = PARTIAL >> t.FIELD_SHIFT
_EVENTS: Final = {"R": "read-only: the server takes no new requests", "W": "writable"}
_lines: Final[dict[tuple[str, str, str, str], str]] = {}  # by service, version, method and descriptor


def kind(root: Node) -> str:
    """ "request", "oneway", "response", "heartbeat" (an event whose content is null) or "event"."""
    tape = root.tape
    if tape.number_of(root.index, EVENT):
        body = root.member("body")
        content = None if body is None else body.member("event")
        json = None if body is None or content is not None else body.member("json")
        if json is not None:
            return "heartbeat" if json_lines(json.raw) == [None] else "event"
        return "heartbeat" if content is not None and content.kind == t.NULL else "event"
    if tape.number_of(root.index, TYPE) == 0:
        return "response"
    return "request" if tape.number_of(root.index, TWO_WAY) else "oneway"


def summary(root: Node) -> str:
    """`dubbo req #4711 com.x.OrderService.create(Order, long) v1.0`, `dubbo resp #4711 ok Order`."""
    tape = root.tape
    message_kind = kind(root)
    request = tape.number_of(root.index, TYPE) == 1
    word = "req" if request else "resp"
    number = tape.number_of(root.index, ID)
    body = root.member("body")
    if body is None or body.kind != t.STRUCT:
        return f"dubbo {word} #{number}"
    if message_kind in ("heartbeat", "event"):
        line = f"dubbo {message_kind} {word} #{number}"
        content = body.member("event")
        if message_kind == "event" and content is not None:
            meaning = _event_meaning(content)
            words = content.shown if content.kind == t.STRING16 else result_words(content)
            line += f" {words}" + (f" ({meaning})" if meaning else "")
        return line
    if request:
        one_way = " one-way" if message_kind == "oneway" else ""
        return f"dubbo {word} #{number}{one_way} {_call(root, body)}"
    return f"dubbo {word} #{number}{_response(root, body)}"


def _response(root: Node, body: Node) -> str:
    """A response's status and result: " ok Order", " exception com.x.E: its message"."""
    line = ""
    status = root.member("status")
    if status is not None:
        line = " " + _status_words(status)
    result = body.member("result")
    if result is not None and RESULTS.get(result.number) == "exception":
        if status is not None and status.number == OK:
            line = ""  # the call was answered, but not well
        line += " exception"
    value = body.member("value")
    if value is not None:
        return f"{line} {result_words(value)}"
    if result is not None:
        return line + " null"
    failure = body.member("error")
    if failure is not None and failure.kind != t.FAULT:
        return f"{line} {result_words(failure)}"
    json = body.member("json")
    if json is not None and status is not None and status.number != OK:
        texts = json_lines(json.raw) or []
        if texts and isinstance(texts[0], str):
            line += f' "{cut(texts[0])}"'
    return line + _data_words(root, body)


def annotate(node: Node) -> str:
    """An argument's declared type, the Java types of a descriptor, and what values mean."""
    name = node.field.name
    parent = node.parent
    if name == "parameter_types":
        types = descriptor_types(node.text or "")
        return ", ".join(types) if types else ""
    if name == "event" and parent is not None and parent.field.name == "body":
        return _event_meaning(node)
    if name == "method" and parent is not None and node.text in GENERIC_METHODS:
        called = _generic_call(parent)
        return f"a generic call of {called}" if called else ""
    if parent is not None and parent.field.name == "arguments" and parent.parent is not None:
        return annotate_argument(node, _declared_type(parent.parent, int(node.position)))
    return java.annotate(node)


def exchange(root: Node) -> Exchange:
    """A two-way request, a heartbeat too, is answered under its id."""
    tape = root.tape
    key = str(tape.number_of(root.index, ID))
    if tape.number_of(root.index, TYPE) == 0:
        return Exchange("reply", key)
    return Exchange("request", key) if tape.number_of(root.index, TWO_WAY) else Exchange("")


def call(root: Node) -> CallFacts:
    """Interface and method, timeout and trace of a request; status and exception of a response."""
    tape = root.tape
    first = root.index + FLAGS
    reply = oneway = True
    event = False
    if first + 3 * t.SHORT_WIDTH < tape.next(root.index):
        reply = tape.number(first) == 0
        oneway = tape.number(first + t.SHORT_WIDTH) == 0
        event = tape.number(first + 2 * t.SHORT_WIDTH) != 0
    at = tape.find(root.index, ID)
    number = "0" if at < 0 else str(tape.number(at))
    body = tape.find(root.index, BODY)
    if reply:
        status = int(tape.number_of(root.index, STATUS))
        name = STATUSES.get(status) or str(status)
        if status == OK and event:
            return CallFacts(status=name, id=number)
        exception = "" if body < 0 else _failure(root, body, status)
        failed = status != OK or exception != ""
        return CallFacts(status=name, exception=exception, failed=failed, id=number)
    if event:
        return CallFacts(method=kind(root), id=number)
    if body < 0:
        return CallFacts(id=number, oneway=oneway)
    service = ""
    method = ""
    context = RequestContext()
    content = body
    at = tape.following(body)
    end = tape.next(body)
    while at < end:
        member = tape.head(at) >> t.FIELD_SHIFT
        if member == PATH:
            service = _text(tape, at, root.buffer)
        elif member == METHOD:
            method = _text(tape, at, root.buffer)
        elif member == ATTACHMENTS:
            context.add_map(tape, at, root.buffer)
        elif member == _PARTIAL and tape.kind(at) == t.STRUCT:
            content = at  # what there is of the body is in it
            end = tape.next(at)
            at = tape.following(at)
            continue
        at = tape.next(at)
    if method in GENERIC_METHODS:
        method = _generic_method(Node(tape, content, root.buffer)) or method
    if not service and not method:
        json = Node(tape, content, root.buffer).member("json")
        texts = [] if json is None else json_lines(json.raw) or []
        if len(texts) > 3:
            service, method = str(texts[1] or ""), str(texts[3] or "")
            context.add_json(texts[-1])
    return CallFacts(
        service,
        method,
        timeout_us=context.timeout_us,
        trace=context.trace,
        id=number,
        oneway=oneway,
    )


def _text(tape: Tape, index: i64, buffer: Buffer) -> str:
    """The text of a node; empty if it is not one."""
    if tape.head(index) & t.SIMPLE and tape.number(index) >= 0:  # plain ASCII takes no view
        return buffer.data[tape.number(index) : tape.end(index)].decode()
    return Node(tape, index, buffer).text or ""


def _failure(root: Node, index: i64, status: int) -> str:
    """The class of the exception in a response's body, or its error's text; empty if it has neither."""
    tape = root.tape
    if status == OK:
        if RESULTS.get(int(tape.number_of(index, RESULT))) != "exception":
            return ""
        if tape.find(index, RESULT) < 0:
            return ""
        body = Node(tape, index, root.buffer, root)
        value = body.member("value")
        return "exception" if value is None else exception_class(value) or value.type_name or value.kind_name
    body = Node(tape, index, root.buffer, root)
    failure = body.member("error")
    if failure is not None and failure.kind != t.FAULT:
        return exception_class(failure) or error_line(failure.text or failure.type_name or "")
    json = body.member("json")
    texts = [] if json is None else json_lines(json.raw) or []
    return error_line(texts[0]) if texts and isinstance(texts[0], str) else ""


def _status_words(status: Node) -> str:
    """A status in words: "ok", "server timeout", "status 21"."""
    name = STATUSES.get(status.number)
    return f"status {status.number}" if name is None else name.lower().replace("_", " ")


def _event_meaning(content: Node) -> str:
    """The meaning of an event; empty if unknown."""
    if content.kind == t.NULL:
        return "heartbeat"
    return _EVENTS.get(content.text or "", "")


def _call(root: Node, body: Node) -> str:
    """The call that a request makes: `com.x.OrderService.create(Order, long) v1.0`."""
    names = _names(root.tape, body.index, root.buffer)
    if names is None:
        return _call_words(root, body)
    line = _lines.get(names)
    if line is None:
        line = _call_words(root, body)
        if len(line) <= LINE:
            if len(_lines) >= LINES:
                _lines.clear()
            _lines[names] = line
    return line


def _names(tape: Tape, body: i64, buffer: Buffer) -> tuple[str, str, str, str] | None:
    """Service, version, method and descriptor, on which alone the words for most calls depend.

    None if one of them is missing or not plain ASCII, and for generic calls.
    """
    service = version = method = ""
    at = tape.following(body)
    end = tape.next(body)
    while at < end:
        head = tape.head(at)
        member = head >> t.FIELD_SHIFT
        if member == PATH or member == VERSION or member == METHOD or member == PARAMETER_TYPES:
            if head & t.SIMPLE == 0 or tape.number(at) < 0:
                return None
            text = _text(tape, at, buffer)
            if member == PATH:
                service = text
            elif member == VERSION:
                version = text
            elif member == METHOD:
                method = text
            elif not service or not method or method in GENERIC_METHODS:
                return None
            else:
                return service, version, method, text
        at = tape.next(at)
    return None


def _call_words(root: Node, body: Node) -> str:
    call: Node | None = body
    path = body.member("path")
    if path is None:
        json = body.member("json")
        line = "" if json is None else _json_call(json)
        if line:
            return f"{line} {_serialization_name(root)}"
        call = body.member("partial")
        path = None if call is None else call.member("path")
    if call is None or path is None:
        return _data_words(root, body).strip()
    service = _name_words(path)
    method = _name_words(call.member("method"))
    version = _version_words(_name_words(call.member("version")))
    if method in GENERIC_METHODS:
        called = _generic_call(call)
        if called:
            return f"{service}.{called}{version} generic"
    descriptor = call.member("parameter_types")
    if descriptor is None:
        arguments = call.member("arguments")
        types = None if arguments is None else [type_word(part) for part in arguments]
    else:
        types = descriptor_types(descriptor.text or "")
    parameters = "(…)" if types is None else parameter_list(types)
    return f"{service}.{method}{parameters}{version}"


def _name_words(name: Node | None) -> str:
    """A name; of another value in its place what it is, as an object's class."""
    if name is None or name.kind == t.NULL:
        return ""
    return name.shown if name.kind in TEXTS else f"<{value_words(name)}>"


def _json_call(json: Node) -> str:
    """The call of a body in JSON, whose first lines are as in Hessian; empty if they are not."""
    texts = json_lines(json.raw) or []
    if len(texts) < 5 or not all(isinstance(text, str) or text is None for text in texts[:5]):
        return ""
    types = descriptor_types(str(texts[4] or "")) or []
    return f"{texts[1]}.{texts[3]}{parameter_list(types)}{_version_words(str(texts[2] or ''))}"


def _version_words(version: str) -> str:
    return f" v{version}" if version and version != DEFAULT_SERVICE_VERSION else ""


def _serialization_name(root: Node) -> str:
    number = int(root.tape.number_of(root.index, SERIALIZATION))
    return SERIALIZATIONS.get(number, f"serialization {number}")


def _data_words(root: Node, body: Node) -> str:
    """The serialization and size of a body shown as bytes: " kryo, 775 bytes"; else empty."""
    data = body.member("data")
    if data is None:
        return ""
    return f" {_serialization_name(root)}, {count(len(data.content), 'byte')}"


def _generic_call(body: Node) -> str:
    """The method that a generic invocation calls, with its parameter types; empty if it does not name one."""
    method = _generic_method(body)
    arguments = body.member("arguments")
    values = [] if arguments is None else arguments.first(2)
    if not method:
        return ""
    types: list[str] = []
    if len(values) > 1 and values[1].kind == t.LIST:
        types = [java_type(part.text or "?") for part in values[1]]
    return method + parameter_list(types)


def _generic_method(body: Node) -> str:
    """The name of the method that a generic invocation calls; empty if it does not name one."""
    arguments = body.member("arguments")
    values = [] if arguments is None else arguments.first(2)
    return values[0].text or "" if values else ""


def _declared_type(body: Node, position: int) -> str:
    """The declared Java type of the argument at a position; empty if unknown."""
    if position >= ANNOTATED:
        return ""
    types = descriptor_types(body.text_of("parameter_types"), ANNOTATED)
    return types[position] if types is not None and position < len(types) else ""

"""What a person wants to know of a frame of Bolt: its kind, its line, the call it belongs to."""

from typing import Final

from mypy_extensions import i64

from wirelens.codecs import tape as t
from wirelens.codecs.bolt.vocabulary import (
    CLASS,
    CODEC,
    CODEC_NAMES,
    COMMAND,
    CONTENT,
    HEADERS,
    HEARTBEAT,
    ID,
    METHOD_HEADER,
    ONEWAY,
    REQUEST,
    RESPONSE,
    RESPONSE_CLASS,
    SERVICE_HEADER,
    STATUS,
    STATUSES,
    TIMEOUT,
    TYPE,
    TYPES,
    VALUES,
)
from wirelens.codecs.call_words import RequestContext, error_line
from wirelens.codecs.codec import CallFacts, Exchange
from wirelens.codecs.hessian import java
from wirelens.codecs.hessian.descriptors import java_type, parameter_list
from wirelens.codecs.hessian.members import TEXTS, class_name, follow, text_of
from wirelens.codecs.hessian.reading import value_words
from wirelens.codecs.node import Node
from wirelens.codecs.payload import (
    DATA,
    PARTIAL,
    annotate_argument,
    exception_class,
    exception_words,
    result_words,
)
from wirelens.codecs.tape import Tape
from wirelens.codecs.words import count

ANNOTATED: Final = 64  # at most this many arguments are shown with their declared types


def kind(root: Node) -> str:
    """ "request", "oneway", "response" or "heartbeat"."""
    command = root.tape.find(root.index, COMMAND)
    if command >= 0 and root.tape.number(command) == HEARTBEAT:
        return "heartbeat"
    return TYPES[int(root.tape.number_of(root.index, TYPE))]


def summary(root: Node) -> str:
    """`bolt req #8 com.x.OrderService:1.0.find(long, Car)`, `bolt resp #5 ok com.x.Result`."""
    tape = root.tape
    frame_type = tape.number_of(root.index, TYPE)
    word = "resp" if frame_type == RESPONSE else "req"
    number = tape.number_of(root.index, ID)
    if kind(root) == "heartbeat":
        return f"bolt heartbeat {word} #{number}"
    if frame_type != RESPONSE:
        one_way = " one-way" if frame_type == ONEWAY else ""
        return f"bolt {word} #{number}{one_way} {_call(root)}"
    status = int(tape.number_of(root.index, STATUS))
    if status == 0:
        return f"bolt {word} #{number}{_result(root, True)}"
    name = STATUSES.get(status)
    failure = f"status {status}" if name is None else name.lower().replace("_", " ")
    return f"bolt {word} #{number} {failure}{_result(root, False)}"


def annotate(node: Node) -> str:
    """An argument's declared type, and what values mean."""
    parent = node.parent
    if parent is not None and parent.field.name == "values" and node.position:
        return annotate_argument(node, _declared_type(parent, int(node.position) - 1))
    return java.annotate(node)


def exchange(root: Node) -> Exchange:
    """A request, a heartbeat too, is answered under its id."""
    key = str(root.tape.number_of(root.index, ID))
    frame_type = root.tape.number_of(root.index, TYPE)
    if frame_type == RESPONSE:
        return Exchange("reply", key)
    return Exchange("request", key) if frame_type == REQUEST else Exchange("")


def call(root: Node) -> CallFacts:
    """Service, method, timeout and trace of a request; status and exception of a response."""
    tape = root.tape
    number = str(tape.number_of(root.index, ID))
    if tape.number_of(root.index, TYPE) == RESPONSE:
        status = int(tape.number_of(root.index, STATUS))
        name = STATUSES.get(status) or str(status)
        exception = _failure(root, status)
        return CallFacts(status=name, exception=exception, failed=status != 0 or exception != "", id=number)
    if kind(root) == "heartbeat":
        return CallFacts(method="heartbeat", id=number)
    service = _header(root, SERVICE_HEADER)
    method = _header(root, METHOD_HEADER)
    if not service or not method:
        request = _first_object(root)
        if request is not None:
            service = service or text_of(_field(request, b"targetServiceUniqueName")) or ""
            method = method or text_of(_field(request, b"methodName")) or ""
    context = RequestContext()
    headers = tape.find(root.index, HEADERS)
    if headers >= 0:
        context.add_pairs(tape, headers, root.buffer)
    timeout = int(tape.number_of(root.index, TIMEOUT))
    return CallFacts(
        service,
        method,
        timeout_us=1000 * timeout if timeout > 0 else None,
        trace=context.trace,
        id=number,
        oneway=tape.number_of(root.index, TYPE) == ONEWAY,
    )


def _failure(root: Node, status: int) -> str:
    """The class of a response's exception, or its error's text; empty if it has neither."""
    response = _first_object(root)
    if response is None:
        return ""
    if class_name(response) != RESPONSE_CLASS:
        return exception_class(response)
    failed = _field(response, b"isError")
    if failed is not None and failed.kind == t.BOOL and failed.number:
        return error_line(text_of(_field(response, b"errorMsg")) or "") or "error"
    value = _field(response, b"appResponse")
    return "" if value is None else exception_class(value)


def _header(root: Node, name: bytes) -> str:
    """The value of a header; empty if there is no header of that name."""
    tape = root.tape
    headers = tape.find(root.index, HEADERS)
    if headers < 0:
        return ""
    data = root.buffer.data
    end = tape.next(headers)
    pair = tape.following(headers)
    while pair < end:
        key = tape.following(pair)
        value = tape.following(key)
        named = value < tape.next(pair) and tape.kind(key) == t.TEXT
        if named and data[tape.number(key) : tape.end(key)] == name:
            return Node(tape, value, root.buffer).text or ""
        pair = tape.next(pair)
    return ""


def _first_object(root: Node) -> Node | None:
    """The first value of the content, if it is an object: SofaRequest, SofaResponse."""
    tape = root.tape
    content = tape.find(root.index, CONTENT)
    if content < 0:
        return None
    values = tape.find(content, VALUES)
    if values < 0:
        partial = tape.find(content, PARTIAL)
        values = -1 if partial < 0 else tape.find(partial, VALUES)
    if values < 0:
        return None
    value = _shown_from(tape, tape.following(values), tape.next(values))
    return None if value < 0 or tape.kind(value) != t.OBJECT else Node(tape, value, root.buffer)


def _shown_from(tape: Tape, index: i64, end: i64) -> i64:
    """The first sibling from a node on, before `end`, that is not hidden; -1 if there is none."""
    while index < end:
        if tape.head(index) & t.HIDDEN == 0:
            return index
        index = tape.next(index)
    return -1


def _field(value: Node, name: bytes) -> Node | None:
    """The value of an object's field; what it refers to if it is a reference.

    For the few fields of a summary: `Members` reads them all, which takes three times as long.
    """
    tape = value.tape
    data = value.buffer.data
    definition = value.number & t.LOW_HALF
    part = tape.following(definition)
    end = tape.next(definition)
    after: i64 = -1  # the node after the last field's value; -1 at the class's name, the first text
    while part < end:
        if tape.kind(part) in TEXTS:
            if after < 0:
                after = tape.following(value.index)
            else:
                child = _shown_from(tape, after, tape.next(value.index))
                if child < 0:
                    return None
                start = tape.number(part)
                if start >= 0 and data[start : tape.end(part)] == name:
                    return follow(Node(tape, child, value.buffer))
                after = tape.next(child)
        part = tape.next(part)
    return None


def _call(root: Node) -> str:
    """The call that a request makes: service, method, parameter types; else its class."""
    request = _first_object(root)
    service = _header(root, SERVICE_HEADER)
    method = _header(root, METHOD_HEADER)
    types: list[str] | None = None
    if request is not None:
        service = service or text_of(_field(request, b"targetServiceUniqueName")) or ""
        method = method or text_of(_field(request, b"methodName")) or ""
        types = _parameter_types(request)
    if not service and not method:
        return _class_words(root)
    call = f"{service}.{method}{'(…)' if types is None else parameter_list(types)}"
    return call if request is not None else (call + _data_words(root)).strip()


def _result(root: Node, ok: bool) -> str:
    """The result in a response, after its status: " ok com.x.Result"."""
    response = _first_object(root)
    word = " ok" if ok else ""
    if response is None:
        return f"{word} {_class_words(root)}"
    if class_name(response) != RESPONSE_CLASS:
        return f"{word} {result_words(response)}"
    failed = _field(response, b"isError")
    if failed is not None and failed.kind == t.BOOL and failed.number:
        return f" error {text_of(_field(response, b'errorMsg')) or ''}".rstrip()
    value = _field(response, b"appResponse")
    if value is None:
        return word
    exception = exception_words(value)
    return f" exception {exception}" if exception else f"{word} {value_words(value)}"


def _class_words(root: Node) -> str:
    """The class of the content, and its codec and size if it is shown as bytes."""
    name = root.tape.find(root.index, CLASS)
    text = "" if name < 0 else Node(root.tape, name, root.buffer).shown
    return (text + _data_words(root)).strip()


def _data_words(root: Node) -> str:
    """The codec and size of content shown as bytes: " protobuf, 12 bytes"; else empty."""
    tape = root.tape
    content = tape.find(root.index, CONTENT)
    data = -1 if content < 0 else tape.find(content, DATA)
    if data < 0:
        return ""
    codec = int(tape.number_of(root.index, CODEC))
    size = tape.end(data) - tape.number(data)
    return f" {CODEC_NAMES.get(codec, f'codec {codec}')}, {count(size, 'byte')}"


def _parameter_types(request: Node) -> list[str] | None:
    """The parameter types that a SofaRequest names; None if it does not."""
    signatures = _field(request, b"methodArgSigs")
    if signatures is None or signatures.kind != t.LIST:
        return None
    return [java_type(part.text or "?") for part in signatures]


def _declared_type(values: Node, position: int) -> str:
    """The declared type of the argument at a position after a SofaRequest; empty if unknown."""
    if position >= ANNOTATED:
        return ""
    tape = values.tape
    first = _shown_from(tape, tape.following(values.index), tape.next(values.index))
    if first < 0 or tape.kind(first) != t.OBJECT:
        return ""
    types = _parameter_types(Node(tape, first, values.buffer))
    return types[position] if types is not None and position < len(types) else ""

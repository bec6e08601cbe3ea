"""What a person wants to know of a frame of Bolt: its kind, its line, the call it belongs to."""

from typing import Final

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
    TYPE,
    TYPES,
    VALUES,
)
from wirelens.codecs.codec import Exchange
from wirelens.codecs.hessian.descriptors import java_type, parameter_list
from wirelens.codecs.hessian.members import Members
from wirelens.codecs.node import Node
from wirelens.codecs.payload import DATA, PARTIAL, annotate_argument, is_exception, result_words
from wirelens.codecs.payload import annotate as annotate_value
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
    return annotate_value(node)


def exchange(root: Node) -> Exchange:
    """A request, a heartbeat too, is answered under its id."""
    key = str(root.tape.number_of(root.index, ID))
    frame_type = root.tape.number_of(root.index, TYPE)
    if frame_type == RESPONSE:
        return Exchange("reply", key)
    return Exchange("request", key) if frame_type == REQUEST else Exchange("")


def _header(root: Node, name: bytes) -> str:
    """The value of a header; empty if there is no header of that name."""
    tape = root.tape
    headers = tape.find(root.index, HEADERS)
    if headers < 0:
        return ""
    data = root.buffer.data
    end = tape.next(headers)
    pair = headers + 1
    while pair < end:
        key = pair + 1
        value = key + 1
        named = value < tape.next(pair) and tape.kind(key) == t.TEXT
        if named and data[tape.number(key) : tape.end(key)] == name:
            return Node(tape, value, root.buffer).text or ""
        pair = tape.next(pair)
    return ""


def _first_object(root: Node) -> Members | None:
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
    index = values + 1
    while index < tape.next(values):
        if tape.head(index) & t.HIDDEN == 0:
            return Members(Node(tape, index, root.buffer)) if tape.kind(index) == t.OBJECT else None
        index = tape.next(index)
    return None


def _call(root: Node) -> str:
    """The call that a request makes: service, method, parameter types; else its class."""
    request = _first_object(root)
    service = _header(root, SERVICE_HEADER)
    method = _header(root, METHOD_HEADER)
    types: list[str] | None = None
    if request is not None:
        service = service or request.text("targetServiceUniqueName") or ""
        method = method or request.text("methodName") or ""
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
    if response.type != RESPONSE_CLASS:
        return f"{word} {result_words(response.node)}"
    failed = response.get("isError")
    if failed is not None and failed.kind == t.BOOL and failed.number:
        return f" error {response.text('errorMsg') or ''}".rstrip()
    value = response.get("appResponse")
    if value is None:
        return word
    return f"{word}{' exception' if is_exception(value) else ''} {result_words(value)}"


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


def _parameter_types(request: Members) -> list[str] | None:
    """The parameter types that a SofaRequest names; None if it does not."""
    signatures = request.get("methodArgSigs")
    if signatures is None or signatures.kind != t.LIST:
        return None
    return [java_type(part.text or "?") for part in signatures.children]


def _declared_type(values: Node, position: int) -> str:
    """The declared type of the argument at a position after a SofaRequest; empty if unknown."""
    if position >= ANNOTATED:
        return ""
    for part in values.parts():
        if not part.hidden:
            types = _parameter_types(Members(part)) if part.kind == t.OBJECT else None
            return types[position] if types is not None and position < len(types) else ""
    return ""

"""What a person wants to know of a frame of HTTP/2: its kind, its line, its part in a call."""

from typing import Final

from wirelens.codecs import tape as t
from wirelens.codecs.call_words import RequestContext, error_line
from wirelens.codecs.codec import CallFacts, Exchange
from wirelens.codecs.hessian import java
from wirelens.codecs.hessian.reading import value_words
from wirelens.codecs.http2 import grpc
from wirelens.codecs.http2 import vocabulary as v
from wirelens.codecs.node import Node
from wirelens.codecs.payload import exception_class, result_words
from wirelens.codecs.words import count

KINDS: Final = ("preface", *[name.lower() for name in v.TYPES.values()])
SHOWN: Final = 3  # messages, arguments or settings of a frame that its line has

_DERIVED: Final = ("fragment", "frames", "header_frames", "size", "left_over")


def kind(root: Node) -> str:
    """The type of the frame in lower case; its number if it has no name."""
    if root.member("preface") is not None:
        return "preface"
    frame_type = root.number_of("type")
    return v.TYPES.get(frame_type, str(frame_type)).lower()


def summary(root: Node) -> str:
    """`HEADERS 1 POST /demo.Echo/Unary`, `DATA 1 message of 9 bytes`, `HEADERS 1 OK`, `SETTINGS ack`."""
    if root.member("preface") is not None:
        return "preface of HTTP/2"
    frame_type = root.number_of("type")
    stream = root.number_of("stream")
    words = [v.TYPES.get(frame_type, f"frame of type {frame_type}")]
    if stream:
        words.append(str(stream))
    if frame_type in (v.HEADERS, v.PUSH_PROMISE, v.CONTINUATION):
        words.append(_headers_words(root))
    elif frame_type == v.DATA:
        words.append(_data_words(root))
    elif frame_type in v.ACKNOWLEDGED and root.member("ack") is not None:
        words.append("ack")
    elif frame_type == v.SETTINGS:
        settings = root.member("settings")
        shown = [] if settings is None else settings.first(SHOWN)
        words += [f"{one.shown_of('id')}={one.shown_of('value')}" for one in shown]
    elif frame_type in (v.RST_STREAM, v.GOAWAY):
        words.append(root.shown_of("error_code"))
        if frame_type == v.GOAWAY:
            words.append(f"last stream {root.number_of('last_stream')}")
    elif frame_type == v.WINDOW_UPDATE:
        words.append(f"+{root.number_of('increment')}")
    if frame_type in (v.DATA, v.HEADERS) and root.number_of("flags") & v.END_STREAM:
        words.append("end")
    return " ".join([word for word in words if word])


def header(root: Node, name: bytes) -> Node | None:
    """The value of the first header field of a name, if a frame shows it; its kind is ABSENT if unknown."""
    headers = root.member("headers")
    for pair in [] if headers is None else headers:
        key, value = pair.first(2)
        if key.kind == t.TEXT and key.content == name:
            return value
    return None


def header_text(root: Node, name: bytes) -> str:
    """That value as text; "unknown" where it cannot be known, empty if there is none."""
    value = header(root, name)
    return "" if value is None else "unknown" if value.kind != t.TEXT else value.shown


def _headers_words(root: Node) -> str:
    status = header_text(root, b"grpc-status")
    if status:
        message = grpc.percent_decoded(header_text(root, b"grpc-message").encode())
        return " ".join([grpc.STATUSES.get(status, status), error_line(message)]).strip()
    status = header_text(root, b":status")
    if status:
        return status
    method = header_text(root, b":method")
    if not method:
        return ""
    path = header_text(root, b":path")
    return f"{method} {path or 'unknown'}"


def _data_words(root: Node) -> str:
    messages = root.member("messages")
    data = root.member("data")
    if messages is None:
        return "" if data is None else count(len(data.content), "byte")
    words = [_message_words(one) for one in messages.first(SHOWN)]
    if len(messages) > SHOWN:
        words.append(f"{len(messages) - SHOWN} more")
    return "; ".join(words)


def _message_words(message: Node) -> str:
    words = f"message of {count(message.number_of('size'), 'byte')}"
    body = message.member("body")
    if body is None:
        return words
    arguments = body.member("arguments")
    if arguments is not None:
        shown = [value_words(one) for one in arguments.first(SHOWN)]
        more = ", …" if len(arguments) > SHOWN else ""
        return f"{body.text_of('serialize_type')} ({', '.join(shown)}{more})"
    result = body.member("result")
    if result is not None:
        return f"{body.text_of('serialize_type')} {result_words(result)}"
    return words


def annotate(node: Node) -> str:
    """See Codec.annotate: what a value in Java means, bytes of protobuf as text, a status's name."""
    parent = node.parent
    if node.kind == t.ABSENT:
        return "unknown"
    if node.kind == t.TEXT and parent is not None and parent.kind == t.ARRAY and node.position == 1:
        name = parent.children[0]
        if name.kind == t.TEXT and name.content == b"grpc-status":
            return grpc.STATUSES.get(node.shown, "")
        if name.kind == t.TEXT and name.content == b"grpc-message":
            text = grpc.percent_decoded(node.content)
            return text if text != node.shown else ""
        return ""
    return java.annotate(node)


def derives(node: Node) -> bool:
    """Whether a member follows from other members, or from other frames."""
    return node.field.name in _DERIVED


def exchange(root: Node) -> Exchange:
    """Frames of a stream are parts of its request or of its reply."""
    tape = root.tape
    role = tape.number_of(root.index, v.ROLE)
    if role == 0:
        return Exchange("")
    key = str(tape.number_of(root.index, v.STREAM))
    part = int(tape.number_of(root.index, v.PART))
    upgraded = role & v.UPGRADED != 0
    role &= ~v.UPGRADED
    if role == v.REQUEST or role == v.CANCELLING:
        return Exchange("request", key, part=part, cancels=role == v.CANCELLING)
    parts = part if role == v.LAST_REPLY else 0
    if upgraded:
        return Exchange("reply", "", key, part=part, parts=parts)
    return Exchange("reply", key, part=part, parts=parts)


def call(root: Node) -> CallFacts:
    """Service, method, timeout and trace of a request; status and exception of a reply."""
    part = exchange(root)
    identity = part.key or part.first_key
    if part.role == "request":
        return _request(root, identity, part.part)
    if part.role != "reply":
        return CallFacts(id=identity)
    shown = root.member("messages")
    messages = 0 if shown is None else len(shown)
    error = root.member("error_code")
    if error is not None:
        return CallFacts(
            status=error.shown, failed=error.number != v.NO_ERROR, id=identity, messages=messages
        )
    ending = root.member("call")
    thrown = "" if ending is None else ending.text_of("exception")
    status = header_text(root, b"grpc-status")
    if status:
        failed = thrown != "" or status not in ("0", "unknown")
        message = grpc.percent_decoded(header_text(root, b"grpc-message").encode()) if failed else ""
        name = grpc.STATUSES.get(status, status)
        return CallFacts(
            status=name,
            exception=thrown or error_line(message),
            failed=failed,
            id=identity,
            messages=messages,
        )
    status = header_text(root, b":status")
    failed = thrown != "" or status[:1] in ("4", "5")
    return CallFacts(status=status, exception=thrown, failed=failed, id=identity, messages=messages)


def thrown(messages: Node) -> str:
    """The class of the exception that the last of some messages is; empty if it is none."""
    body = messages[-1].member("body")
    result = None if body is None else body.member("result")
    if body is None or result is None:
        return ""
    declared = body.text_of("result_type")
    name = exception_class(result)
    if not name:
        return declared if declared.endswith(("Exception", "Error")) else ""
    return declared if declared.endswith("." + name) else name  # fastjson2 has short names


def _may_be_grpc(root: Node) -> bool:
    """Whether a request is one of gRPC; also if its content type cannot be known."""
    content_type = header_text(root, b"content-type")
    if content_type:
        return content_type.startswith((grpc.CONTENT_TYPE.decode(), "unknown"))
    headers = root.member("headers")
    return headers is not None and any(pair.first(1)[0].kind == t.ABSENT for pair in headers)


def _request(root: Node, identity: str, part: int) -> CallFacts:
    path = header_text(root, b":path")
    if not path:
        shown = root.member("messages")
        method = "unknown" if part <= 1 else ""  # the first frame states it, if it was captured
        return CallFacts(method=method, id=identity, messages=0 if shown is None else len(shown))
    service, method = "", path.partition("?")[0]
    if _may_be_grpc(root):
        service, method = grpc.path_parts(method)
    if not service:
        authority = header(root, b":authority")
        service = authority.shown if authority is not None and authority.kind == t.TEXT else ""
    context = RequestContext()
    timeout: int | None = None
    headers = root.member("headers")
    for pair in [] if headers is None else headers:
        name, value = pair.first(2)
        if name.kind != t.TEXT or value.kind != t.TEXT:
            continue
        context.add(name.content, value)
        if name.content == b"grpc-timeout":
            timeout = grpc.timeout_us(value.shown)
        elif name.content == b"tri-service-timeout" and timeout is None:
            timeout = grpc.timeout_us(value.shown + "m")
    return CallFacts(service, method, timeout_us=timeout, trace=context.trace, id=identity, messages=0)

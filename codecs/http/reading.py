"""What a person wants to know of an HTTP message: its kind, its line, what it answers."""

from typing import Final

from mypy_extensions import i64

from wirelens.codecs import tape as t
from wirelens.codecs.call_words import RequestContext
from wirelens.codecs.codec import CallFacts, Exchange
from wirelens.codecs.hessian.reading import fault_of, fault_words, message_line
from wirelens.codecs.http.lines import STATUS_LINE, Head
from wirelens.codecs.node import Node
from wirelens.codecs.words import count

FRAMING: Final = (b"content-length", b"transfer-encoding")  # headers that state how long a body is


def kind(root: Node) -> str:
    """ "request" or "response"."""
    line = root.member("start_line")
    return "response" if line is not None and line.content.startswith(b"HTTP/") else "request"


def summary(root: Node) -> str:
    """`POST /order call create(Order)`, `200 OK reply ok com.x.Result`, `200 OK text/html 512 bytes`."""
    start_line = root.member("start_line")
    if start_line is None:
        return "http"
    words = start_line.shown.split(" ")
    if words[0].startswith("HTTP/"):
        line = " ".join(words[1:]).strip()
    else:
        line = " ".join([word for word in words[:-1] if word])
    body = root.member("body")
    if body is None:
        return line
    data = body.member("data")
    if data is None:
        return f"{line} {message_line(body)}"
    partial = body.member("partial")
    if partial is not None and len(partial):
        line += f" {message_line(partial)}"
    content_type = _content_type(root)
    return f"{line} {content_type}{' ' if content_type else ''}{count(len(data.content), 'byte')}"


def is_length(node: Node) -> bool:
    """Whether it is the value of the header Content-Length."""
    header = node.parent
    if header is None or header.kind != t.ARRAY or node.position != 1:
        return False
    return header.children[0].shown.lower() == "content-length"


def exchange(root: Node) -> Exchange:
    """Requests are answered in order; an interim response (1xx) answers nothing."""
    line = root.member("start_line")
    if line is None:
        return Exchange("")
    status = Head(line.content + b"\r\n").status
    if status == 0:
        return Exchange("request", method=_method_that_counts(line))
    if status == 101 and _upgrades_to_http2(root):
        return Exchange("")  # the reply comes in HTTP/2
    return Exchange("" if status < 200 and status != 101 else "reply")


def call(root: Node) -> CallFacts:
    """Host, path and trace of a request; status and fault of a response."""
    line = root.member("start_line")
    if line is None:
        return CallFacts()
    words = line.shown.split(" ")
    if words[0].startswith("HTTP/"):
        status = " ".join(words[1:]).strip()
        body = root.member("body")
        fault = None if body is None or body.member("data") is not None else fault_of(body)
        exception = "" if fault is None else fault_words(fault)
        failed = fault is not None or status[:1] in ("4", "5")
        return CallFacts(status=status, exception=exception, failed=failed)
    target = " ".join([word for word in words[1:-1] if word])
    host = ""
    context = RequestContext()
    headers = root.member("headers")
    for pair in [] if headers is None else headers:
        name, value = pair.first(2)
        if value.kind == t.TEXT:
            if name.content.lower() == b"host":
                host = host or value.shown
            else:
                context.add(name.content, value)
    if target == host:  # of CONNECT, which has no path
        host = ""
    scheme, separator, rest = target.partition("://")
    if separator and scheme.isalpha():
        authority, slash, path = rest.partition("/")
        host = host or authority
        target = slash + path or "/"
    return CallFacts(host, target.partition("?")[0], trace=context.trace)


def leaves(root: Node, tunnel: bool, perhaps: bool) -> bool:
    """Whether the bytes after a message may be of another protocol.

    `tunnel`: it replies to CONNECT; `perhaps`: it may do so, if it does not state how long its body is.
    Source: RFC 9110, sections 7.8 and 9.3.6. After a request for it the client may still go on with HTTP.
    """
    line = root.member("start_line")
    if line is None:
        return False
    head = Head(line.content + b"\r\n")
    if head.status:
        if head.status == 101 or head.connected:
            return True
        return 200 <= head.status < 300 and (tunnel or (perhaps and not _has(root, FRAMING)))
    return _connects(line) or _asks_to_upgrade(root)


def left_by(head: bytes, tunnel: bool, perhaps: bool) -> int:
    """See Codec.left_by: what accepts to leave is known by its status, but what asks for it by any header."""
    line, newline, rest = head.lstrip(b"\r\n").partition(b"\n")
    if not line.startswith(b"HTTP/"):
        whole = rest.startswith(b"\r\n") or b"\n\r\n" in rest
        return -1 if whole and b"\nupgrade:" not in head.lower() else 0
    if STATUS_LINE.match(line + newline) is None:
        return 0
    status = int(line[9:12])
    if status == 101:
        return 1
    if not 200 <= status < 300:
        return -1
    if tunnel or Head(line + newline).connected:
        return 1
    if perhaps and not any(b"\n" + name + b":" in head.lower() for name in FRAMING):
        return 1
    return -1 if newline else 0


def _connects(line: Node) -> bool:
    return line.content.startswith(b"CONNECT ")


def _method_that_counts(line: Node) -> str:
    """The method of a request if the reply is framed by it, else ""."""
    if _connects(line):
        return "CONNECT"
    return "HEAD" if line.content.startswith(b"HEAD ") else ""


def opens(head: bytes) -> i64:
    """See Codec.opens: a response 2xx that does not state how long its body is, as to CONNECT."""
    end: i64 = head.find(b"\r\n\r\n")
    if end < 0 or STATUS_LINE.match(head) is None or head[9:10] != b"2":
        return 0
    lines = head[:end].lower()
    return 0 if any(b"\n" + name + b":" in lines for name in FRAMING) else end + 4


def _asks_to_upgrade(root: Node) -> bool:
    headers = root.member("headers")
    return headers is not None and b"pgrade:" in headers.raw and _has(root, (b"upgrade",))


def _has(root: Node, names: tuple[bytes, ...]) -> bool:
    """Whether a message has a header of one of these names."""
    headers = root.member("headers")
    return headers is not None and any(pair[0].content.lower() in names for pair in headers)


def _upgrades_to_http2(root: Node) -> bool:
    """Whether a response accepts to go on in HTTP/2."""
    headers = root.member("headers")
    for pair in [] if headers is None else headers:
        name, value = pair.first(2)
        if value.kind == t.TEXT and name.content.lower() == b"upgrade":
            return value.content.strip().lower() == b"h2c"
    return False


def _content_type(root: Node) -> str:
    """The content type without its parameters; empty if there is none."""
    content_type = b""
    headers = root.member("headers")
    for pair in [] if headers is None else headers:
        name, value = pair.first(2)
        if value.kind == t.TEXT and name.content.lower() == b"content-type":
            content_type = value.content
    return content_type.partition(b";")[0].decode("utf-8", "replace").strip()

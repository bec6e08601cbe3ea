"""Encoding HTTP: messages of the notation to bytes."""

from librt.strings import BytesWriter

from wirelens.codecs.errors import EncodeError
from wirelens.codecs.hessian import vocabulary as d
from wirelens.codecs.hessian.encoding import encode_message as encode_hessian
from wirelens.codecs.http import schema as s
from wirelens.codecs.http.codings import MAX_UNPACKED, pack, unpack
from wirelens.codecs.http.lines import CHUNK_LINE, Head, decimal, is_line_of, usual_line, without_end
from wirelens.codecs.json_input import array_of, object_of, text_bytes
from wirelens.codecs.node import Json
from wirelens.codecs.payload import dialect_named


def encode_message(message: Json, out: BytesWriter) -> None:
    """See Codec.encode. Content-Length is computed, and added to a request that needs one."""
    members = s.MESSAGE.members_of(message, "", "an HTTP message")
    wire = s.WIRE_FORMS.members_of(members.get("$wire", {}), "$wire", "forms by name")
    lines = object_of(wire.get("lines", {}), "$wire.lines", "lines by position")
    s.MESSAGE.require(members, "", "a message")
    start_line = s.MESSAGE.text(members, "start_line")
    head = Head(start_line + b"\r\n")
    if not head.valid:
        raise EncodeError("start_line", "expected a request line or a status line of HTTP/1")
    headers = _pairs(s.MESSAGE.value(members, "headers"), "headers")
    for name, value in headers:
        if value is not None:
            head.add(name, value)
    content = _content(members, head)
    if content and head.has_no_body:
        raise EncodeError("body", f"a response of status {head.status} has no body")
    absent = wire.get("body") == "absent"
    chunked = head.chunked and not head.has_no_body and not absent
    if absent and content:
        raise EncodeError("$wire.body", "there is a body")
    if wire.get("content_length") != "as-is":
        _set_length(headers, head, len(content))
    _write_start(start_line, lines, out)
    _write_lines(headers, lines, "$wire.lines", "headers", out)
    if not chunked:
        out.write(content)
        if "trailers" in members:
            raise EncodeError("trailers", "only a chunked message has trailers")
        return
    _write_chunks(content, wire, out)
    trailer_lines = object_of(wire.get("trailer_lines", {}), "$wire.trailer_lines", "lines by position")
    trailers = _pairs(s.MESSAGE.value(members, "trailers"), "trailers")
    _write_lines(trailers, trailer_lines, "$wire.trailer_lines", "trailers", out)


def _set_length(headers: list[tuple[bytes, bytes | None]], head: Head, length: int) -> None:
    """Set Content-Length, or add it to a request with content that needs it."""
    text = str(length).encode()
    for position, (name, value) in enumerate(headers):
        if value is not None and name.lower() == b"content-length" and decimal(value) != length:
            headers[position] = (name, text)
    if length and head.status == 0 and not head.lengths and not head.transfer:
        headers.append((b"Content-Length", text))


def _write_start(start_line: bytes, lines: dict[str, Json], out: BytesWriter) -> None:
    """Write the start line and the empty lines before it."""
    before = _line_of(lines, "before", "$wire.lines")
    if before is not None:
        if before.strip(b"\r\n") or not before.endswith((b"\n", b"\r")):
            raise EncodeError("$wire.lines.before", "expected empty lines")
        out.write(before)
    line = _line_of(lines, "start", "$wire.lines")
    if line is None or not line.endswith(b"\n") or without_end(line) != start_line:
        line = start_line + b"\r\n"
    out.write(line)


def _line_of(lines: dict[str, Json], name: str, path: str) -> bytes | None:
    """A line that `$wire` gives as it is; None if it does not."""
    return text_bytes(lines[name], f"{path}.{name}") if name in lines else None


def _pairs(headers: Json, path: str) -> list[tuple[bytes, bytes | None]]:
    """Headers or trailers: pairs [name, value]; null for a line without a colon."""
    pairs: list[tuple[bytes, bytes | None]] = []
    for position, pair in enumerate(array_of(headers, path, "pairs [name, value]")):
        where = f"{path}[{position}]"
        if not isinstance(pair, list) or len(pair) != 2:
            raise EncodeError(where, "expected a pair [name, value]")
        name = text_bytes(pair[0], where + "[0]")
        pairs.append((name, None if pair[1] is None else text_bytes(pair[1], where + "[1]")))
    return pairs


def _write_lines(
    pairs: list[tuple[bytes, bytes | None]],
    lines: dict[str, Json],
    path: str,
    member: str,
    out: BytesWriter,
) -> None:
    """Write header lines and the empty line after them."""
    for position, (name, value) in enumerate(pairs):
        line = _line_of(lines, str(position), path)
        if line is None or not is_line_of(line, name, value):
            line = usual_line(name, value)
            if not is_line_of(line, name, value):
                raise EncodeError(f"{member}[{position}]", "no header line has this name and value")
        if position and line[:1] in (b" ", b"\t"):
            text = "a line that starts with a space continues the line before it"
            raise EncodeError(f"{member}[{position}]", text)
        out.write(line)
    end = _line_of(lines, "end", path)
    if end is not None and end != b"\n" and end != b"\r\n":
        raise EncodeError(path + ".end", "expected a line end")
    out.write(b"\r\n" if end is None else end)


def _content(members: dict[str, Json], head: Head) -> bytes:
    """The content of a message as it goes on the wire, before it is chunked."""
    dialect = dialect_named(s.MESSAGE.value(members, "hessian"), d.FINAL, "hessian")
    if "body" not in members:
        for name in ("compressed", "hessian"):
            if name in members:
                raise EncodeError(name, "there is no body")
        return b""
    body = object_of(members["body"], "body", 'a message of Hessian, or with "data"')
    if "data" in body:
        return s.DATA.hex(s.DATA.members_of(body, "body", ""), "data", "body")
    out = BytesWriter()
    encode_hessian(body, dialect, out, "body")
    content = out.getvalue()
    coding = head.coding
    if "compressed" in members:
        if not coding:
            raise EncodeError("compressed", "no Content-Encoding states that the content is compressed")
        packed = s.MESSAGE.hex(members, "compressed")
        unpacked = unpack(packed, coding, MAX_UNPACKED)
        if unpacked.whole and unpacked.content == content:
            return packed
    return pack(content, coding) if coding else content


def _write_chunks(content: bytes, wire: dict[str, Json], out: BytesWriter) -> None:
    """Write content in chunks: in one, or as `$wire` gives them."""
    chunks: list[Json] = []
    if wire.get("chunks") is not None:
        chunks = array_of(wire["chunks"], "$wire.chunks", "sizes")
    elif content:
        chunks = [len(content)]
    at = 0
    for position, chunk in enumerate(chunks):
        path = f"$wire.chunks[{position}]"
        parts = chunk if isinstance(chunk, list) else [chunk]
        size = parts[0] if parts else None
        if isinstance(size, bool) or not isinstance(size, int) or size <= 0 or len(parts) > 3:
            raise EncodeError(path, "expected a size above 0, or [size, line, end]")
        line = text_bytes(parts[1], path + "[1]") if len(parts) > 1 else b"%x\r\n" % size
        _check_chunk_line(line, size, path + "[1]")
        line_end = text_bytes(parts[2], path + "[2]") if len(parts) > 2 else b"\r\n"
        if line_end not in (b"\r\n", b"\n"):
            raise EncodeError(path + "[2]", "expected a line end")
        out.write(line)
        out.write(content[at : at + size])
        out.write(line_end)
        at += size
    if at != len(content):
        raise EncodeError("$wire.chunks", f"the chunks have {at} bytes, the content has {len(content)}")
    last = text_bytes(wire["last"], "$wire.last") if "last" in wire else b"0\r\n"
    _check_chunk_line(last, 0, "$wire.last")
    out.write(last)


def _check_chunk_line(line: bytes, size: int, path: str) -> None:
    match = CHUNK_LINE.match(line)
    if match is None or match.end() != len(line) or int(match[1], 16) != size:
        raise EncodeError(path, f"this line does not state the size {size}")

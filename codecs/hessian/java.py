"""The meaning of Java values: well-known classes read for people.

A Java writer sends a class for which it has a serializer in that serializer's form, any other by its private
fields. Both forms are read here from the tape, as objects and as the typed maps of Hessian 1.0; nothing
is ever instantiated. An object without the fields of its class gets no annotation.

Sources: the serializers of com.caucho.hessian.io, com.alibaba.com.caucho.hessian.io and their java8
packages; the private fields and toString methods of the Java platform's classes.
"""

import re
import struct
from collections.abc import Callable
from typing import Final, TypeAlias

from wirelens.codecs import tape as t
from wirelens.codecs.hessian.java_time import TIMES, VALUES, date_of, iso
from wirelens.codecs.hessian.members import (
    MAX_FIELDS,
    MAX_ITEMS,
    TEXTS,
    Members,
    field_names,
    names_of,
    numbers_of,
    text_of,
    whole_of,
)
from wirelens.codecs.hessian.throwable import frame_text, heading, is_exception
from wirelens.codecs.node import ONLY_VALUE, Node

MAX_SHOWN: Final = 200  # characters of one annotation


def shortened(text: str, limit: int = MAX_SHOWN) -> str:
    """The text, cut to `limit` characters with an ellipsis."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def annotate(node: Node) -> str:
    """The meaning of a value beyond its raw fields, in at most `MAX_SHOWN` characters; mostly empty.

    The text is untrusted: it may contain any character.
    """
    kind = node.kind
    if kind == t.OBJECT or kind == t.MAP:
        return shortened(_meaning(Members(node)))
    if kind == t.BYTES:
        return shortened(_looks_like(node))
    if kind == t.LONG or kind == t.INT:
        return _moment(node)
    return ""


def _meaning(members: Members) -> str:
    name = members.type
    if not name:
        return _generic(members)
    if ONLY_VALUE in members.values and name in VALUES:
        return VALUES[name](members)
    reader = _READERS.get(name)
    if reader is None and name.endswith("Handle") and ".hessian.io." in name:
        reader = _HANDLES.get(name[name.rfind(".") + 1 : -6])
    if reader is None and name.startswith("java.time."):
        reader = TIMES.get(name[10:])
    if reader is not None:
        return reader(members)
    return _constant(members)


# --- enums, generic beans -----------------------------------------------------------------------

# Regular expressions, compiled when they are first used: that takes long, and most runs show no annotation.
_CONSTANT: Final = r"[A-Z][A-Z0-9_$]*\Z"
_IDENTIFIER: Final = r"[A-Za-z_$][A-Za-z0-9_$]*\Z"
_CLASS: Final = r"[A-Za-z_$][A-Za-z0-9_$]*(\.[A-Za-z_$][A-Za-z0-9_$]*)+\Z"
_TIME_WORD: Final = (
    r"(^|[a-z0-9_])(Time|Timestamp|TimeStamp|Date|At|Millis|Expires|Expiry|time|timestamp|date|millis)\Z|^gmt[A-Z_]"
    r"|^(expires|expiry|ts)\Z|_(at|ts)\Z"
)


def _constant(members: Members) -> str:
    """An enum constant: an object whose only field is `name`, an identifier in capitals."""
    if len(members.values) != 1:
        return ""
    text = members.text("name")
    if text is None:
        return ""
    simple = members.type[members.type.rfind(".") + 1 :]
    if re.match(_CONSTANT, text) or ("Enum" in simple and re.match(_IDENTIFIER, text)):
        return f"{_enum_class(simple)}.{text}"
    return ""


def _enum_class(simple: str) -> str:
    """The enum of a constant's class: constants with a body have the classes `Color$1`, `Color$2`."""
    simple = re.sub(r"\$[0-9]+\Z", "", simple)
    return simple[simple.rfind("$") + 1 :]


def _generic(members: Members) -> str:
    """A bean sent as a map without a type, its class under the key "class", as in generic calls."""
    text = members.text("class")
    return f"a {text}" if text is not None and re.match(_CLASS, text) else ""


# --- numbers ------------------------------------------------------------------------------------

_LOST: Final = "number lost by the sender"


def _text_value(members: Members) -> str:
    return members.text("value") or ""


def _number_value(members: Members) -> str:
    number = members.whole("value")
    return "" if number is None else str(number)


def _flag_value(members: Members) -> str:
    number = members.whole("value")
    return "" if number is None else ("true" if number else "false")


def number_lost(node: Node) -> str:
    """The rest of a BigDecimal or BigInteger whose sender lost the number; empty for any other value."""
    name = node.type_name
    if name == "java.math.BigDecimal":
        text = _big_decimal(Members(node))
    elif name == "java.math.BigInteger":
        text = _big_integer(Members(node))
    else:
        return ""
    return f"{name}: {text}" if text.startswith(_LOST) else ""


def _big_decimal(members: Members) -> str:
    text = members.text("value")
    if text is not None:
        return text
    scale = members.whole("scale")
    if scale is None:
        return ""
    if members.null("intVal"):
        return f"{_LOST}: intVal is null, only scale {scale} is left"
    inner = members.get("intVal")
    unscaled = None if inner is None else _integer(Members(inner))
    return "" if unscaled is None else _decimal_text(unscaled, scale)


def _decimal_text(unscaled: int, scale: int) -> str:
    """As java.math.BigDecimal.toString: plain unless the exponent is far from the digits."""
    digits = str(abs(unscaled))
    sign = "-" if unscaled < 0 else ""
    exponent = len(digits) - 1 - scale
    if scale == 0:
        return sign + digits
    if scale > 0 and exponent >= -6:
        padded = digits.rjust(scale + 1, "0")
        return f"{sign}{padded[:-scale]}.{padded[-scale:]}"
    head = digits[0] + ("." + digits[1:] if len(digits) > 1 else "")
    return f"{sign}{head}E{exponent:+d}"


def _integer(members: Members) -> int | None:
    """A java.math.BigInteger of at most `MAX_ITEMS` words, from `signum` and the words of `mag`."""
    signum = members.whole("signum")
    if signum is None or not -1 <= signum <= 1:
        return None
    if signum == 0:
        return 0
    words = numbers_of(members.get("mag"))
    if not words:
        return None
    magnitude = 0
    for word in words:
        magnitude = magnitude << 32 | (word & 0xFFFFFFFF)
    return signum * magnitude


def _big_integer(members: Members) -> str:
    text = members.text("value")
    if text is not None:
        return text
    if members.null("mag") and members.whole("signum"):
        return f"{_LOST}: mag is null"
    number = _integer(members)
    return "" if number is None else _digits(number)


def _digits(number: int) -> str:
    text = str(number)
    return text if len(text) <= 80 else f"{text[:40]}… ({len(text)} characters)"


def _boxed_whole(members: Members) -> str:
    number = members.whole("_value")
    return "" if number is None else str(number)


def _boxed_float(members: Members) -> str:
    node = members.get("_value")
    if node is None or node.kind != t.DOUBLE:
        return ""
    value = node.value
    return _float_text(value) if isinstance(value, float) else ""


def _float_text(value: float) -> str:
    """The shortest digits that give the same 32-bit float; empty for a value that is not one."""
    if value != value or value in (float("inf"), float("-inf")):
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(value)]
    if abs(value) > 3.4028235677973366e38:  # half-way between the greatest float and the next power
        return ""
    if struct.unpack(">f", struct.pack(">f", value))[0] != value:
        return ""
    for precision in range(1, 10):
        text = f"{value:.{precision}g}"
        near = float(text)
        if abs(near) < 3.4028235677973366e38 and struct.unpack(">f", struct.pack(">f", near))[0] == value:
            return repr(float(text))
    return ""


def _bit_set(members: Members) -> str:
    """As java.util.BitSet.toString: the positions of the set bits."""
    words = numbers_of(members.get("words"))
    if words is None:
        return ""
    places: list[str] = []
    for position, word in enumerate(words):
        bits = word & 0xFFFFFFFFFFFFFFFF
        while bits and len(places) <= MAX_ITEMS:
            low = bits & -bits
            places.append(str(64 * position + low.bit_length() - 1))
            bits ^= low
    return "{" + ", ".join(places[:MAX_ITEMS]) + (", …" if len(places) > MAX_ITEMS else "") + "}"


def _uuid(members: Members) -> str:
    text = members.text("value")
    if text is not None:
        return text
    high = members.whole("mostSigBits")
    low = members.whole("leastSigBits")
    if high is None or low is None:
        return ""
    digits = f"{high & 0xFFFFFFFFFFFFFFFF:016x}{low & 0xFFFFFFFFFFFFFFFF:016x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


# --- dates and moments --------------------------------------------------------------------------


def _date_value(members: Members) -> str:
    return date_of(members.get("value"))


def _calendar(members: Members) -> str:
    return date_of(members.get("date"))


def _moment(node: Node) -> str:
    """The time of an integer whose field has a name such as "createTime", and which is in 2001 to 2100."""
    number = node.number
    if node.kind == t.LONG and 10**12 <= number < 4_102_444_800_000:
        milliseconds = number
    elif 10**9 <= number < 4_102_444_800:
        milliseconds = number * 1000
    else:
        return ""
    name = _name_of(node)
    return iso(milliseconds) if name and re.search(_TIME_WORD, name) else ""


MOST_KEYS: Final = 4096  # of a map's keys and values, that are looked through for the name of one of them


def _name_of(node: Node) -> str:
    """The name of the field, or the key, of a value; empty after the first `MAX_FIELDS` and `MOST_KEYS`."""
    parent = node.parent
    if parent is None:
        return ""
    position = int(node.position)
    if parent.kind == t.OBJECT and position < MAX_FIELDS:
        names = field_names(parent)
        return names[position] if position < len(names) else ""
    if parent.kind == t.MAP and position % 2:
        if position >= MOST_KEYS:
            return ""
        tape = node.tape
        before = after = int(tape.following(parent.index))
        while after < node.index:
            before, after = after, int(tape.next(after))
        key = Node(tape, before, node.buffer)
        if key.kind in TEXTS:
            return text_of(key) or ""
    return ""


# --- other classes of the platform --------------------------------------------------------------


def _quoted_value(members: Members) -> str:
    """The text of a StringBuilder: `value` has its whole capacity, `count` is the part in use."""
    text = members.text("value")
    if text is None:
        return ""
    count = members.whole("count")
    if count is not None and 0 <= count <= len(text):
        text = text[:count]
    return f'"{text}"'


def _class(members: Members) -> str:
    name = members.text("name")
    return f"{name}.class" if name else ""


def _locale(members: Members) -> str:
    text = members.text("value")
    if text is not None:
        return text
    language = members.text("language")
    if language is not None:
        return "_".join(
            [part for part in (language, members.text("country"), members.text("variant")) if part]
        )
    if members.type == "java.util.Locale" and not members.values:
        return "locale lost by the sender: the object has no fields"
    return ""


def _inet_address(members: Members) -> str:
    """As java.net.InetAddress.toString: host name, slash, address."""
    holder = members.get("holder")
    if holder is not None and holder.kind in (t.OBJECT, t.MAP):
        members = Members(holder)
    host = members.text("hostName") or ""
    node = members.get("address")
    number = whole_of(node)
    content = b""
    if node is not None and node.kind == t.BYTES:
        content = node.content[:17]
    elif number is not None:
        content = (number & 0xFFFFFFFF).to_bytes(4, "big")
    if len(content) == 4:
        return f"{host}/{'.'.join([str(byte) for byte in content])}"
    if len(content) == 16:
        return f"{host}/{':'.join([content[at : at + 2].hex().lstrip('0') or '0' for at in range(0, 16, 2)])}"
    return ""


def _socket_address(members: Members) -> str:
    holder = members.get("holder")
    if holder is not None and holder.kind in (t.OBJECT, t.MAP):
        members = Members(holder)
    port = members.whole("port")
    address = members.get("addr")
    host = members.text("hostName") or members.text("hostname") or ""
    if address is not None and address.kind in (t.OBJECT, t.MAP):
        host = _inet_address(Members(address)) or host
    return "" if port is None or not host else f"{host}:{port}"


def _url(members: Members) -> str:
    """As java.net.URL.toString."""
    protocol = members.text("protocol")
    if not protocol:
        return ""
    host = members.text("authority") or members.text("host")
    port = members.whole("port")
    if members.text("authority") is None and host and port is not None and port > 0:
        host = f"{host}:{port}"
    fragment = members.text("ref")
    before = f"{protocol}://{host}" if host else f"{protocol}:"
    return before + (members.text("file") or "") + (f"#{fragment}" if fragment else "")


def _uri(members: Members) -> str:
    return members.text("string") or members.text("uri") or members.text("value") or ""


def _pattern(members: Members) -> str:
    text = members.text("pattern")
    return "" if text is None else f"/{text}/"


def _currency(members: Members) -> str:
    return members.text("currencyCode") or ""


def _time_zone(members: Members) -> str:
    return members.text("ID") or ""


def _optional(members: Members) -> str:
    value = members.values.get("value")
    return "empty" if value is not None and value.kind == t.NULL else ""


# --- beans of Dubbo and SOFA --------------------------------------------------------------------


def _sofa_request(members: Members) -> str:
    service, method = members.text("targetServiceUniqueName"), members.text("methodName")
    if service is None or method is None:
        return ""
    types = names_of(members.get("methodArgSigs"))
    return f"{service} {method}({', '.join(types or [])})"


def _sofa_response(members: Members) -> str:
    flag = members.get("isError")
    if flag is not None and flag.kind == t.BOOL and flag.number:
        return f"error: {members.text('errorMsg') or ''}"
    answer = members.get("appResponse")
    if answer is not None and answer.kind in (t.OBJECT, t.MAP):
        inner = Members(answer)
        if is_exception(inner):
            return f"thrown: {heading(inner)}"
    return ""


def _invocation(members: Members) -> str:
    method = members.text("methodName")
    if method is None:
        return ""
    types = names_of(members.get("parameterTypes"))
    service = members.text("serviceName") or members.text("className") or ""
    return f"{service} {method}({', '.join(types or [])})".strip()


def _generic_type(members: Members) -> str:
    name = members.text("type")
    return f"a {name}" if name else ""


def _generic_exception(members: Members) -> str:
    name = members.text("exceptionClass")
    message = members.text("exceptionMessage")
    return "" if name is None else name + (f": {message}" if message else "")


def _bean_descriptor(members: Members) -> str:
    name = members.text("className")
    return f"a {name}" if name else ""


# --- bytes --------------------------------------------------------------------------------------

_MAGIC: Final[tuple[tuple[bytes, str], ...]] = (
    (b"\xac\xed\x00\x05", "Java serialization"),
    (b"\xca\xfe\xba\xbe", "Java class file"),
    (b"PK\x03\x04", "ZIP or JAR"),
    (b"\x1f\x8b\x08", "gzip"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"\x04\x22\x4d\x18", "LZ4 frame"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"\x89PNG\r\n\x1a\n", "PNG image"),
    (b"\xff\xd8\xff", "JPEG image"),
    (b"GIF8", "GIF image"),
    (b"%PDF-", "PDF"),
    (b"H\x02\x00C", "Hessian 2.0 call"),
    (b"H\x02\x00R", "Hessian 2.0 reply"),
    (b"\xda\xbb", "Dubbo frame"),
)
_LOOKED_AT: Final = 65536  # bytes


def _looks_like(node: Node) -> str:
    """The format that bytes seem to have, by the first of them; text if all of it is printable."""
    content = node.content
    for magic, format_name in _MAGIC:
        if content.startswith(magic) and (len(content) >= 16 or len(magic) >= 4):
            return f"looks like {format_name}"
    if len(content) >= 8 and content[0] == 0x78 and (content[0] << 8 | content[1]) % 31 == 0:
        import zlib

        try:
            zlib.decompressobj().decompress(content[:512], 512)
        except zlib.error:
            return ""
        return "looks like zlib"
    if len(content) < 4:
        return ""
    text = _printable(content[:_LOOKED_AT], len(content) > _LOOKED_AT)
    if text is None:
        return ""
    plain = text.strip()
    if len(plain) >= 2 and plain[0] + plain[-1] in ("{}", "[]"):
        return f"looks like JSON: {shortened(plain, 80)}"
    if plain.startswith(("<?xml", "<!DOCTYPE", "<html")):
        return "looks like XML"
    return f'looks like text: "{shortened(text, 80)}"'


def _printable(content: bytes, cut: bool) -> str | None:
    """The text of UTF-8 bytes without control characters, or None; `cut`: more bytes follow."""
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        if not cut or error.start < len(content) - 3:
            return None
        text = content[: error.start].decode()
    return text if text.translate(_SPACES).isprintable() else None


_SPACES: Final = {9: " ", 10: " ", 13: " "}


# --- the table ----------------------------------------------------------------------------------

Reader: TypeAlias = Callable[[Members], str]

# By the class's simple name without "Handle", in any package …hessian.io….
_HANDLES: Final[dict[str, Reader]] = {
    **TIMES,
    "Byte": _boxed_whole,
    "Short": _boxed_whole,
    "Float": _boxed_float,
    "Class": _class,
    "Locale": _locale,
    "Calendar": _calendar,
    "BitSet": _bit_set,
    "InetAddress": _inet_address,
}

_READERS: Final[dict[str, Reader]] = {
    "java.math.BigDecimal": _big_decimal,
    "java.math.BigInteger": _big_integer,
    "java.util.UUID": _uuid,
    "java.util.Locale": _locale,
    "java.util.Currency": _currency,
    "java.util.BitSet": _bit_set,
    "java.util.Optional": _optional,
    "java.util.TimeZone": _time_zone,
    "java.util.SimpleTimeZone": _time_zone,
    "sun.util.calendar.ZoneInfo": _time_zone,
    "java.util.regex.Pattern": _pattern,
    "java.util.concurrent.atomic.AtomicInteger": _number_value,
    "java.util.concurrent.atomic.AtomicLong": _number_value,
    "java.util.concurrent.atomic.LongAdder": _number_value,
    "java.util.concurrent.atomic.AtomicBoolean": _flag_value,
    "java.sql.Date": _date_value,
    "java.sql.Time": _date_value,
    "java.sql.Timestamp": _date_value,
    "java.lang.Class": _class,
    "java.lang.StringBuilder": _quoted_value,
    "java.lang.StringBuffer": _quoted_value,
    "java.lang.StackTraceElement": frame_text,
    "java.io.File": _text_value,
    "javax.management.ObjectName": _text_value,
    "java.net.URL": _url,
    "java.net.URI": _uri,
    "java.net.InetAddress": _inet_address,
    "java.net.Inet4Address": _inet_address,
    "java.net.InetSocketAddress": _socket_address,
    "com.alipay.sofa.rpc.core.request.SofaRequest": _sofa_request,
    "com.alipay.sofa.rpc.core.response.SofaResponse": _sofa_response,
    "com.alipay.hessian.generic.model.GenericObject": _generic_type,
    "com.alibaba.dubbo.rpc.RpcInvocation": _invocation,
    "org.apache.dubbo.rpc.RpcInvocation": _invocation,
    "com.alibaba.dubbo.rpc.service.GenericException": _generic_exception,
    "org.apache.dubbo.rpc.service.GenericException": _generic_exception,
    "com.alibaba.dubbo.common.beanutil.JavaBeanDescriptor": _bean_descriptor,
    "org.apache.dubbo.common.beanutil.JavaBeanDescriptor": _bean_descriptor,
    "com.xxl.rpc.remoting.net.params.XxlRpcRequest": _invocation,
    "com.xxl.rpc.core.remoting.params.XxlRpcRequest": _invocation,
}

"""The one list of protocols."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

from wirelens.codecs.codes import CODES
from wirelens.codecs.errors import UnknownProtocolError

if TYPE_CHECKING:
    from wirelens.codecs.codec import Codec
    from wirelens.codecs.codes import Code
    from wirelens.codecs.schema import Notation

UNKNOWN: Final = "unknown"  # in place of a protocol's id, for bytes of no known protocol


class Protocol:
    """An entry of the list.

    `module` has CODECS, a tuple of codecs, one of which is named `id`. `title` and `source` (the text that
    specifies the protocol) are a line each. `ports` are the usual server ports: there the protocol needs a
    little less evidence. `inside`: protocols that are read inside it and have no entry, whose names are taken
    for its id. `starts` are the bytes of which one begins the first message of every stream, empty
    if it may be any: other streams are not evidence, so that detection need not load the codec for them.
    """

    def __init__(
        self,
        id: str,
        module: str,
        title: str,
        source: str,
        ports: tuple[int, ...] = (),
        starts: bytes = b"",
        inside: tuple[str, ...] = (),
    ) -> None:
        self.id: Final = id
        self.module: Final = module
        self.title: Final = title
        self.source: Final = source
        self.ports: Final = ports
        self.starts: Final = starts
        self.inside: Final = inside


# In the order of listings. Everything here is known without importing a codec.
PROTOCOLS: Final[tuple[Protocol, ...]] = (
    Protocol(
        "esnp-line",
        "wirelens.codecs.esnp.codec",
        "ESNP messages made of lines",
        "bma.go.esp, docs/esnp/protocol.txt (2014-12)",
        (1080,),
    ),
    Protocol(
        "esnp-frame",
        "wirelens.codecs.esnp.codec",
        "ESNP messages made of frames, the older text",
        "bma.go.esp, docs/esnp/protocol.txt (2014-03)",
        (1080,),
    ),
    Protocol(
        "hessian1",
        "wirelens.codecs.hessian.codec",
        "Hessian 1.0",
        "Hessian 1.0 specification (Caucho)",
    ),
    Protocol(
        "hessian2-draft",
        "wirelens.codecs.hessian.codec",
        "Hessian 2.0, first draft (SOFA RPC, Caucho 3.1.2 to 3.2.0)",
        "Hessian 2.0 draft specification (Caucho)",
    ),
    Protocol(
        "hessian2",
        "wirelens.codecs.hessian.codec",
        "Hessian 2.0 as published (Dubbo, XXL-JOB, Caucho 3.2.1 and later)",
        "Hessian 2.0 serialization protocol (Caucho)",
    ),
    Protocol(
        "jsonb",
        "wirelens.codecs.jsonb.codec",
        "JSONB, the binary form of fastjson2",
        "alibaba/fastjson2, docs/jsonb_format_cn.md",
        starts=bytes(range(0x92, 0xA7)),  # typed values, lists, maps: others are no evidence
    ),
    Protocol(
        "mevent",
        "wirelens.codecs.mevent.codec",
        "mevent requests and replies",
        "mevent, server/protocol.txt",
        (26000, 26010),
    ),
    Protocol(
        "magline",
        "wirelens.codecs.magline.codec",
        "Magline frames with the specified 16-byte head",
        "magline, doc/proto.md",
        (9757,),
    ),
    Protocol(
        "magline-old",
        "wirelens.codecs.magline.codec",
        "Magline frames with the deployed 12-byte head",
        "magline, its older code",
        (8082,),
        b"\x7f",
    ),
    Protocol(
        "dubbo",
        "wirelens.codecs.dubbo.codec",
        "Dubbo requests and responses",
        "Apache Dubbo, the dubbo protocol",
        (20880,),
        b"\xda",
    ),
    Protocol(
        "bolt",
        "wirelens.codecs.bolt.codec",
        "Bolt v1 and v2, of SOFA",
        "sofa-bolt, RPC protocol v1 and v2",
        (12200,),
        b"\1\2",
    ),
    Protocol(
        "framed-hessian",
        "wirelens.codecs.framed.codec",
        "Hessian after its length in four bytes (XXL-RPC, servers made with Netty)",
        "no text; Netty's LengthFieldBasedFrameDecoder",
        starts=b"\0\1",  # lengths up to 16 MiB: others are no evidence
    ),
    Protocol(
        "http",
        "wirelens.codecs.http.codec",
        "HTTP/1.1 that carries Hessian",
        "RFC 9112",
        starts=b"\r\n!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
    ),
    Protocol(
        "http2",
        "wirelens.codecs.http2.codec",
        "HTTP/2 with gRPC and Triple of Dubbo 3",
        "RFC 9113, RFC 7541, gRPC over HTTP2",
        starts=b"\0P",  # frames up to 64 KiB, the preface: others are no evidence
        inside=("grpc", "triple"),
    ),
)

_ENTRIES: Final[dict[str, Protocol]] = {protocol.id: protocol for protocol in PROTOCOLS}
_INSIDE: Final[dict[str, str]] = {name: protocol.id for protocol in PROTOCOLS for name in protocol.inside}
_loaded: Final[dict[str, Codec]] = {}


def names() -> list[str]:
    """The ids of all protocols."""
    return list(_ENTRIES)


def id_of(name: str) -> str:
    """The id of the protocol in which one of that name is read; other names as they are."""
    return _INSIDE.get(name, name)


def entry(name: str) -> Protocol:
    """The entry of a protocol's id. Raises UnknownProtocolError."""
    protocol = _ENTRIES.get(id_of(name))
    if protocol is None:
        from wirelens.codecs.json_input import did_you_mean

        near = did_you_mean(name, _ENTRIES)
        raise UnknownProtocolError(f"no protocol {name!r}; there are {', '.join(_ENTRIES)}{near}")
    return protocol


def get(name: str) -> Codec:
    """The codec of a protocol's id. Raises UnknownProtocolError."""
    codec = _loaded.get(name)
    if codec is None:
        protocol = entry(name)
        for loaded in import_module(protocol.module).CODECS:
            _loaded[loaded.name] = loaded
        codec = _loaded[protocol.id]
    return codec


def notation(name: str) -> Notation:
    """What messages of a protocol's id look like in JSON; in `schema.py` of its package.

    Raises UnknownProtocolError.
    """
    protocol = entry(name)
    package = protocol.module.rpartition(".")[0]
    found: Notation = import_module(package + ".schema").SCHEMAS[protocol.id]
    return found


def codecs() -> list[Codec]:
    """All codecs, in the order of the list."""
    return [get(name) for name in _ENTRIES]


def starting_with(byte: int) -> list[Codec]:
    """The codecs of those protocols whose streams may begin with a byte, in the order of the list."""
    return [get(one.id) for one in PROTOCOLS if not one.starts or byte in one.starts]


def usual_at(port: int) -> tuple[str, ...]:
    """The ids of the protocols whose servers usually listen at a port."""
    return _USUAL.get(port, ())


def codes() -> dict[str, Code]:
    """All codes of errors and notes: those of codes.py, and those that single codecs add."""
    known = dict(CODES)
    for codec in codecs():
        known.update(codec.codes)
    return known


_USUAL: Final[dict[int, tuple[str, ...]]] = {
    port: tuple([one.id for one in PROTOCOLS if port in one.ports])
    for protocol in PROTOCOLS
    for port in protocol.ports
}

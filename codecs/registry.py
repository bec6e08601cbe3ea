"""The one list of protocols."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from wirelens.codecs.codec import Codec

# Each module has CODECS, a tuple of its codecs, under these ids. The order is that of listings.
MODULES: Final[dict[str, tuple[str, ...]]] = {
    "wirelens.codecs.esnp": ("esnp-line", "esnp-frame"),
    "wirelens.codecs.hessian.codec": ("hessian1", "hessian2-draft", "hessian2"),
    "wirelens.codecs.mevent": ("mevent",),
    "wirelens.codecs.magline": ("magline", "magline-old"),
    "wirelens.codecs.dubbo": ("dubbo",),
    "wirelens.codecs.bolt": ("bolt",),
    "wirelens.codecs.http": ("http",),
}

# What each is, and the text that specifies it. Here, so that listing them loads no codec.
ABOUT: Final[dict[str, tuple[str, str]]] = {
    "esnp-line": ("ESNP messages made of lines", "bma.go.esp, docs/esnp/protocol.txt (2014-12)"),
    "esnp-frame": (
        "ESNP messages made of frames, the older text",
        "bma.go.esp, docs/esnp/protocol.txt (2014-03)",
    ),
    "hessian1": ("Hessian 1.0", "Hessian 1.0 specification (Caucho)"),
    "hessian2-draft": (
        "Hessian 2.0, first draft (SOFA RPC, Caucho 3.1.2 to 3.2.0)",
        "Hessian 2.0 draft specification (Caucho)",
    ),
    "hessian2": (
        "Hessian 2.0 as published (Dubbo, XXL-JOB, Caucho 3.2.1 and later)",
        "Hessian 2.0 serialization protocol (Caucho)",
    ),
    "mevent": ("mevent requests and replies", "mevent, server/protocol.txt"),
    "magline": ("Magline frames with the specified 16-byte head", "magline, doc/proto.md"),
    "magline-old": ("Magline frames with the deployed 12-byte head", "magline, its older code"),
    "dubbo": ("Dubbo requests and responses", "Apache Dubbo, the dubbo protocol"),
    "bolt": ("Bolt v1 and v2, of SOFA", "sofa-bolt, RPC protocol v1 and v2"),
    "http": ("HTTP/1.1 that carries Hessian", "RFC 9112"),
}

# Usual ports, and the protocols that are looked for there with a little less evidence.
PORTS: Final[dict[int, tuple[str, ...]]] = {
    1080: ("esnp-line", "esnp-frame"),
    8082: ("magline-old",),
    9757: ("magline",),
    12200: ("bolt",),
    20880: ("dubbo",),
    26000: ("mevent",),
    26010: ("mevent",),
}

_loaded: Final[dict[str, Codec]] = {}


def names() -> list[str]:
    """The ids of all protocols."""
    return [name for ids in MODULES.values() for name in ids]


def about(name: str) -> tuple[str, str]:
    """A protocol's title and its specification, each in a line."""
    return ABOUT.get(name) or (get(name).title, "")


def get(name: str) -> Codec:
    """The codec of a protocol's id. Raises LookupError where there is none of that name."""
    codec = _loaded.get(name)
    if codec is None:
        for module, ids in MODULES.items():
            if name in ids:
                for one in import_module(module).CODECS:
                    _loaded[one.name] = one
                return _loaded[name]
        raise LookupError(f"no protocol {name!r}; there are {', '.join(names())}")
    return codec


def codecs() -> list[Codec]:
    """All codecs, in the order of the list."""
    return [get(name) for name in names()]

"""The one list of protocols."""

from importlib import import_module
from typing import Final

from wirelens.codecs.codec import Codec

# Each module has CODECS, a tuple of its codecs, under these ids. The order is that of listings.
MODULES: Final[dict[str, tuple[str, ...]]] = {
    "wirelens.codecs.esnp": ("esnp-line", "esnp-frame"),
    "wirelens.codecs.hessian.codec": ("hessian1", "hessian2-draft", "hessian2"),
    "wirelens.codecs.mevent": ("mevent",),
    "wirelens.codecs.magline": ("magline", "magline-old"),
    "wirelens.codecs.dubbo": ("dubbo",),
}

# Usual ports, and the protocols that are looked for there with a little less evidence.
PORTS: Final[dict[int, tuple[str, ...]]] = {
    1080: ("esnp-line", "esnp-frame"),
    8082: ("magline", "magline-old"),
    12200: ("bolt",),
    20880: ("dubbo",),
    26000: ("mevent",),
}

_loaded: Final[dict[str, Codec]] = {}


def names() -> list[str]:
    """The ids of all protocols."""
    return [name for ids in MODULES.values() for name in ids]


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

"""Modules that another imports as it starts, imported when it uses them."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


class Later(ModuleType):
    """Stands in `sys.modules` for a module, and imports it when one of its attributes is asked for."""

    def __enter__(self) -> None:
        """Take the module's place, unless it is imported already."""
        sys.modules.setdefault(self.__name__, self)

    def __exit__(self, *_error: object) -> None:
        """Leave it: only those that imported the module meanwhile keep this in its place."""
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]

    def __getattr__(self, name: str) -> Any:
        self.__exit__()
        return getattr(import_module(self.__name__), name)

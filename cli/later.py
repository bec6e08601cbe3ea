"""Modules that another imports as it starts, imported when it uses them."""

from __future__ import annotations

import sys
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


class Later(ModuleType):
    """Stands in `sys.modules` for a module, and imports it when one of its attributes is asked for.

    Those of `functions` may be asked for: the module is imported when one is called.
    """

    def __init__(self, name: str, *functions: str) -> None:
        super().__init__(name)
        self._functions = functions

    def __enter__(self) -> None:
        """Take the module's place, unless it is imported already."""
        sys.modules.setdefault(self.__name__, self)

    def __exit__(self, *_error: object) -> None:
        """Leave it: only those that imported the module meanwhile keep this in its place."""
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]

    def __getattr__(self, name: str) -> Any:
        if name == "__path__":  # of a package: the import system asks
            raise AttributeError(name)
        if name in self._functions:
            return partial(self._call, name)
        return self._attribute(name)

    def _attribute(self, name: str) -> Any:
        self.__exit__()
        return getattr(import_module(self.__name__), name)

    def _call(self, name: str, *arguments: Any) -> Any:
        return self._attribute(name)(*arguments)

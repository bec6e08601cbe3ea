"""Folders are evidence, not instructions: what a walk takes of them."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class FolderWalk:
    """The paths of the regular files below a folder, by name, except hidden ones.

    FIFOs, devices, sockets, links to folders, and links that lead out of the folder or to nothing are in
    `skipped`: reading them could wait forever, follow a cycle, or show files of another user.
    `hidden`: how the names begin that are left out.
    """

    def __init__(
        self, path: str, onerror: Callable[[OSError], None] | None = None, hidden: tuple[str, ...] = (".",)
    ) -> None:
        self.path = path
        self.onerror = onerror
        self.hidden = hidden
        self.skipped = 0

    def __iter__(self) -> Iterator[str]:
        top = os.path.realpath(self.path)
        for folder, folders, files in os.walk(self.path, onerror=self.onerror):
            names = [name for name in folders if not name.startswith(self.hidden)]
            linked = [name for name in names if os.path.islink(os.path.join(folder, name))]
            self.skipped += len(linked)
            folders[:] = sorted(set(names) - set(linked))
            for name in sorted(files):
                path = os.path.join(folder, name)
                if name.startswith(self.hidden):
                    continue
                if self._is_evidence(path, top):
                    yield path
                else:
                    self.skipped += 1

    def _is_evidence(self, path: str, top: str) -> bool:
        try:
            if os.path.islink(path):
                target = os.path.realpath(path)
                if os.path.commonpath([top, target]) != top:
                    return False
            return stat.S_ISREG(os.stat(path).st_mode)
        except (OSError, ValueError):
            return False

    def skipped_text(self) -> str:
        """What was skipped, for people."""
        from wirelens.codecs.words import count

        things = count(self.skipped, "entry", "entries")
        return f"{things} skipped: only regular files, and links to them inside the folder, are read"

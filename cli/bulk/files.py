"""Files anywhere: local paths, and URIs through pyarrow's file systems.

A place is a path or a URI; processes pass it on as text, and each opens its own connection.
"""

from __future__ import annotations

import errno
import os
import posixpath
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from wirelens.cli.bulk import stores
from wirelens.cli.folders import FolderWalk
from wirelens.cli.stderr import warn

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

CHUNK = 1 << 20  # bytes read at a time
READ_TRIES = 3
MOVE_THREADS = 16


class File(NamedTuple):
    """A file: the place it was found in, its path in that file system, its name; bytes and µs."""

    root: str
    path: str
    name: str
    size: int
    modified_us: int


def is_uri(place: str) -> bool:
    """Whether a place is a URI, as in s3://bucket/folder, and not a path."""
    scheme, colon, _ = place.partition("://")
    return bool(colon) and scheme.replace("+", "").replace("-", "").replace(".", "").isalnum()


def open_place(place: str) -> tuple[FileSystem, str]:
    """The file system of a place, and the place's path in it. Raises OSError, ValueError."""
    from pyarrow.fs import FileSystem, LocalFileSystem

    if is_uri(place):
        return FileSystem.from_uri(place)  # type: ignore[no-any-return]
    return LocalFileSystem(), os.path.abspath(place)


def absolute(place: str) -> str:
    """A place that is valid in every process and folder."""
    return place if is_uri(place) else os.path.abspath(place)


def is_inside(place: str, folder: str) -> bool:
    """Whether a place is a folder or something in it."""
    if is_uri(place) or is_uri(folder):
        return (
            is_uri(place)
            and is_uri(folder)
            and f"{shown(place)}/".startswith(f"{shown(folder).rstrip('/')}/")
        )
    inner, outer = os.path.realpath(place), os.path.realpath(folder)
    return os.path.isdir(outer) and os.path.commonpath([inner, outer]) == outer


def below(place: str, *parts: str) -> str:
    """The place of something inside the folder `place`; a URI keeps its query."""
    base, mark, query = place.partition("?") if is_uri(place) else (place, "", "")
    return posixpath.join(base, *parts) + mark + query


def shown(place: str) -> str:
    """A place without secrets: a URI's query, and a password before its host."""
    if not is_uri(place):
        return place
    scheme, _, rest = place.partition("?")[0].partition("://")
    host, slash, path = rest.partition("/")
    user, at, bare = host.rpartition("@")
    return f"{scheme}://{bare if at and ':' in user else host}{slash}{path}"


def find(place: str) -> list[File]:
    """The file at a place, or all below it by name, without hidden ones. Raises OSError."""
    from pyarrow.fs import FileSelector, FileType

    place = absolute(place)
    if not is_uri(place):
        return _find_local(place)
    system, path = open_place(place)
    info = system.get_file_info(path)
    if info.type == FileType.NotFound:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), shown(place))
    if info.type != FileType.Directory:
        return [_file(place, place, info)]
    selector = FileSelector(path, recursive=True)
    top = path.rstrip("/")
    files = []
    for entry in system.get_file_info(selector):
        inner = entry.path[len(top) :].lstrip("/")
        if entry.type != FileType.Directory and not any(
            part.startswith((".", "_")) for part in inner.split("/")
        ):
            files.append(_file(place, below(place, inner), entry))
    return sorted(files, key=lambda file: file.name)


def find_all(places: Iterable[str]) -> list[File]:
    """The files at several places, each once, by name; a place may be a pattern with `*`, `?` or `[…]`.

    Raises OSError for a place, or a pattern, without a file.
    """
    files: dict[str, File] = {}
    for place in places:
        for file in _find_pattern(place) if _is_pattern(place) else find(place):
            files[file.name] = file
    return sorted(files.values(), key=lambda file: file.name)


def _is_pattern(place: str) -> bool:
    """Whether a place is a pattern, and there is no file of that name."""
    return any(sign in place for sign in "*?[") and (is_uri(place) or not os.path.exists(place))


def _find_pattern(place: str) -> list[File]:
    """The files at the places that match a pattern, or below them. Raises FileNotFoundError if none does."""
    from fnmatch import fnmatchcase
    from glob import glob

    if not is_uri(place):
        found = [file for path in sorted(glob(place, recursive=True)) for file in find(path)]
    else:
        fixed = place[: min(place.index(sign) for sign in "*?[" if sign in place)].rpartition("/")[0]
        found = [file for file in find(fixed) if fnmatchcase(file.path, place)]
    if not found:
        raise FileNotFoundError(errno.ENOENT, "no file matches", place)
    return found


def _find_local(place: str) -> list[File]:
    """The local file, or the files below the local folder; what is skipped of that is reported."""
    if not os.path.isdir(place):
        return [_local_file(place, place)]
    walk = FolderWalk(place, hidden=(".", "_"))
    files = [_local_file(place, path) for path in walk]
    if walk.skipped:
        warn(f"{place}: {walk.skipped_text()}")
    return sorted(files, key=lambda file: file.name)


def _local_file(root: str, path: str) -> File:
    info = os.stat(path)
    return File(root, path, decodable(path), info.st_size, info.st_mtime_ns // 1000)


def decodable(path: str) -> str:
    """A path as text that tables take: bytes of a name that are not UTF-8 as escapes."""
    return path.encode("utf-8", "backslashreplace").decode()


def _file(root: str, place: str, info: object) -> File:
    size = getattr(info, "size", None) or 0
    nanoseconds = getattr(info, "mtime_ns", None) or 0
    return File(root, str(getattr(info, "path", "")), shown(place), size, nanoseconds // 1000)


class Readers:
    """Opens files by (root, path), one connection for each root."""

    def __init__(self) -> None:
        self._systems: dict[str, FileSystem] = {}

    def system(self, root: str) -> FileSystem:
        """The file system of a root, opened once."""
        system = self._systems.get(root)
        if system is None:
            system = self._systems[root] = open_place(root)[0]
        return system

    def chunks(self, root: str, path: str, offset: int = 0, length: int = -1) -> Iterator[bytes]:
        """A file's bytes from `offset`; failed reads are repeated from where they stopped. Raises OSError."""
        local = not is_uri(root)  # names may be other bytes than UTF-8, which pyarrow refuses
        system = self.system(root)
        position, end = offset, offset + length if length >= 0 else -1
        tries = 0
        while True:
            try:
                with open(path, "rb") if local else system.open_input_file(path) as file:
                    file.seek(position)
                    while end < 0 or position < end:
                        chunk = file.read(CHUNK if end < 0 else min(CHUNK, end - position))
                        if not chunk:
                            return
                        position += len(chunk)
                        yield chunk
                return
            except OSError as error:
                tries += 1
                if tries == READ_TRIES or isinstance(error, FileNotFoundError | PermissionError):
                    raise
                time.sleep(tries)

    def head(self, root: str, path: str, size: int) -> bytes:
        """The first bytes of a file, at most `size`, all of them with -1. Raises OSError."""
        return b"".join(self.chunks(root, path, 0, size))


class Folder:
    """The folder that a run writes to."""

    def __init__(self, place: str) -> None:
        self.place = absolute(place)
        self.system, self.path = open_place(self.place)

    def at(self, *parts: str) -> str:
        """The path of something inside, in the file system."""
        return posixpath.join(self.path, *parts)

    def exists(self, *parts: str) -> bool:
        """Whether there is such a file or folder."""
        from pyarrow.fs import FileType

        return bool(self.system.get_file_info(self.at(*parts)).type != FileType.NotFound)

    def names(self, *parts: str) -> list[str]:
        """The names in a folder; [] if it does not exist."""
        from pyarrow.fs import FileSelector

        selector = FileSelector(self.at(*parts), allow_not_found=True)
        return sorted(info.base_name for info in self.system.get_file_info(selector))

    def walk(self, *parts: str) -> list[str]:
        """The paths, relative to the folder itself, of all files below."""
        return sorted(self.sizes(*parts))

    def sizes(self, *parts: str) -> dict[str, int]:
        """The paths, relative to the folder itself, of all files below, with their bytes."""
        from pyarrow.fs import FileSelector, FileType

        selector = FileSelector(self.at(*parts), allow_not_found=True, recursive=True)
        top = len(self.path.rstrip("/")) + 1
        infos = self.system.get_file_info(selector)
        return {info.path[top:]: info.size or 0 for info in infos if info.type == FileType.File}

    def make(self, *parts: str) -> None:
        """Create a folder, and those above it."""
        self.system.create_dir(self.at(*parts), recursive=True)

    def read(self, *parts: str) -> bytes:
        """The bytes of a file."""
        with self.system.open_input_stream(self.at(*parts), compression=None) as file:
            return bytes(file.read())

    def write(self, data: bytes, *parts: str) -> None:
        """Write a file completely or not at all."""
        path = self.at(*parts)
        draft = f"{path}.{uuid.uuid4().hex[:8]}.draft"  # two tries of one task may run at once
        with self.system.open_output_stream(draft, compression=None) as file:
            file.write(data)
        self.system.move(draft, path)

    def create(self, data: bytes, *parts: str) -> bool:
        """Write a file completely unless it exists; whether it was written. One of several processes does.

        On stores other than local disks and S3, this needs a look first: two processes within the time of a
        request may both succeed.
        """
        path = self.at(*parts)
        if self.system.type_name == "s3":
            return stores.create_object(self.place, path, data)
        if self.exists(*parts):
            return False
        if self.system.type_name != "local":
            self.write(data, *parts)
            return True
        draft = f"{path}.{uuid.uuid4().hex[:8]}.draft"
        try:
            with open(draft, "xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.link(draft, path)
        except FileExistsError:
            return False
        finally:
            with suppress(FileNotFoundError):
                os.unlink(draft)
        return True

    def move(self, source: str, target: str) -> None:
        """Move a file inside the folder; doing it again changes nothing."""
        if not self.exists(source) and self.exists(target):
            return
        self.system.create_dir(posixpath.dirname(self.at(target)), recursive=True)
        self.system.move(self.at(source), self.at(target))

    @property
    def renames(self) -> bool:
        """Whether a folder can be moved in one step."""
        return bool(self.system.type_name == "local")

    def move_all(self, moves: Sequence[Sequence[str]]) -> None:
        """Move files, or folders if it `renames`, inside the folder; doing it again changes nothing.

        On S3 the sources stay: a request for each file copies it there, and another one removes many.
        """
        if self.renames:
            for source, target in moves:
                self.move(source, target)
            return
        with ThreadPoolExecutor(MOVE_THREADS) as pool:
            move = self._copy if self.system.type_name == "s3" else self.move
            list(pool.map(lambda both: move(*both), moves))

    def _copy(self, source: str, target: str) -> None:
        if not stores.copy_object(self.place, self.at(source), self.at(target)) and not self.exists(target):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), source)

    def take_away(self, path: str, into: str) -> None:
        """Remove a file or a folder: in one step, with what is left of it in a folder, if it `renames`."""
        if not self.renames:
            self.remove(path)
        elif self.exists(path):
            self.move(path, f"{into}/{path}")

    def remove_empty(self, *parts: str) -> None:
        """Remove a folder if it is empty; only on local disks, as others need a look first."""
        if self.system.type_name == "local":
            with suppress(OSError):
                os.rmdir(self.at(*parts))

    def remove(self, *parts: str) -> None:
        """Remove a file or a folder with everything in it, if it exists."""
        from pyarrow.fs import FileType

        path = self.at(*parts)
        kind = self.system.get_file_info(path).type
        if kind == FileType.Directory:
            for last in (False, False, True):
                try:
                    self.system.delete_dir(path)
                    return
                except OSError:
                    if last:
                        raise
                    time.sleep(0.2)  # another process is still writing in it
        elif kind != FileType.NotFound:
            self.system.delete_file(path)

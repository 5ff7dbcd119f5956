"""The files of a checkpoint: their names, their sizes, and ranges of their bytes."""

from __future__ import annotations

import os
import stat
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Protocol

from shardproof.errors import InvalidInput, LimitExceeded

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["Files", "open_files"]

MAX_FILES: Final = 10_000_000
"""Files below one directory. The largest real checkpoints, in plain zarr, have some hundred thousand."""

WHOLE_FILE_BYTES: Final = 1 << 32
"""Bytes of a file that is read whole. A DCP checkpoint of 1e7 chunks has 1.4 GB of metadata."""


_SPEAKS_FOR_A_DIRECTORY: Final = (".metadata", ".index.json", "zarr.json", ".zarray", ".zgroup", "metadata.json")
"""Ends of names of files that describe the directory they lie in."""


class _Store(Protocol):
    """Where bytes come from: a local directory or a remote one."""

    def read(self, path: str, start: int, length: int) -> bytes: ...


class Files:
    """Names, sizes and bytes of the files below one directory.

    Only files that were found by listing can be read, so a name that was taken from a file never leads outside.

    Attributes
    ----------
    location
        What the caller named: a path or a URL.
    sizes
        Bytes of each file, by its path relative to the directory, with ``/`` between its parts.
    """

    __slots__ = ("_directories", "_store", "_top", "directory", "location", "sizes")

    def __init__(self, location: str, sizes: Mapping[str, int], store: _Store, directory: str = "") -> None:
        self.location = location
        self.sizes: Mapping[str, int] = MappingProxyType(dict(sizes))
        self.directory: Final = directory
        """Where these files lie in the checkpoint: empty, or a path that ends in ``/``."""
        self._store = store
        self._top: tuple[str, ...] | None = None
        self._directories: tuple[str, ...] | None = None

    def __contains__(self, path: object) -> bool:
        return path in self.sizes

    def __iter__(self) -> Iterator[str]:
        return iter(self.sizes)

    def __len__(self) -> int:
        return len(self.sizes)

    def __repr__(self) -> str:
        return f"<{len(self)} files in {self.location}>"

    @property
    def top(self) -> tuple[str, ...]:
        """Names of the files that lie in the directory itself, sorted."""
        if self._top is None:
            self._top = tuple(sorted(path for path in self.sizes if "/" not in path))
        return self._top

    @property
    def directories(self) -> tuple[str, ...]:
        """Names of the directories that hold files and lie in the directory itself, sorted."""
        if self._directories is None:
            self._directories = tuple(sorted({path.partition("/")[0] for path in self.sizes if "/" in path}))
        return self._directories

    def below(self, directory: str) -> Files:
        """Show only what lies below `directory`, with paths relative to it."""
        prefix = f"{directory.rstrip('/')}/"
        sizes = {path[len(prefix) :]: size for path, size in self.sizes.items() if path.startswith(prefix)}
        return Files(self.location, sizes, self._store, self.directory + prefix)

    def split(self) -> dict[str, Files]:
        """Show what lies below each of the directories, by name: `below` for all of them in one pass."""
        sizes: dict[str, dict[str, int]] = {name: {} for name in self.directories}
        for path, size in self.sizes.items():
            name, slash, rest = path.partition("/")
            if slash:
                sizes[name][rest] = size
        return {
            name: Files(self.location, below, self._store, f"{self.directory}{name}/") for name, below in sizes.items()
        }

    def read(self, path: str, start: int = 0, length: int | None = None) -> bytes:
        """Read a range of a file, or all of it; fewer bytes when it ends earlier.

        Raises
        ------
        KeyError
            If no file of that name was listed.
        LimitExceeded
            If more than 4 GiB are asked for.
        OSError
            If the file cannot be read.
        """
        size = self.sizes[path]
        wanted = max(size - start, 0) if length is None else length
        if wanted > WHOLE_FILE_BYTES:
            raise LimitExceeded(f"{path}: {wanted} bytes are more than the limit of {WHOLE_FILE_BYTES}")
        return self._store.read(self.directory + path, start, wanted)


class _LocalStore:
    """A directory of this machine."""

    def __init__(self, root: str) -> None:
        self._root = Path(root)

    def read(self, path: str, start: int, length: int) -> bytes:
        with (self._root / path).open("rb", buffering=0) as file:
            if start:
                file.seek(start)
            pieces = []
            while length > 0 and (piece := file.read(length)):
                pieces.append(piece)
                length -= len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def exists(self) -> bool:
        return self._root.exists()

    def is_file(self) -> bool:
        return self._root.is_file()

    def size(self) -> int:
        return self._root.stat().st_size

    def sizes(self) -> dict[str, int]:
        """List regular files; links to files are followed (model hubs use them), links to directories are not."""
        found: dict[str, int] = {}
        pending = [("", os.fspath(self._root))]
        while pending:
            prefix, directory = pending.pop()
            with os.scandir(directory) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        pending.append((f"{prefix}{entry.name}/", entry.path))
                        continue
                    try:
                        status = entry.stat()
                    except OSError:  # a link that leads nowhere is a file that is not there
                        continue
                    if stat.S_ISREG(status.st_mode):
                        found[_text(prefix + entry.name)] = status.st_size
            if len(found) > MAX_FILES:
                raise LimitExceeded(f"{self._root}: more than {MAX_FILES} files")
        return found


def _text(path: str) -> str:
    """Put a name that is not UTF-8 in a form that is: metadata cannot name it anyway."""
    return path if path.isascii() else path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


class _RemoteStore:
    """A directory that fsspec can reach."""

    def __init__(self, url: str) -> None:
        try:
            fsspec: Any = import_module("fsspec")
        except ImportError as error:
            raise InvalidInput(f"{url}: reading URLs needs fsspec; install shardproof[remote]") from error
        self._system: Any
        try:
            self._system, root = fsspec.core.url_to_fs(url)
        except (ImportError, ValueError) as error:  # a protocol that nobody knows, or whose package is not installed
            raise InvalidInput(f"{url}: {error}") from error
        self._root: str = root.rstrip("/")

    def read(self, path: str, start: int, length: int) -> bytes:
        content: bytes = self._system.cat_file(f"{self._root}/{path}", start=start, end=start + length)
        return content

    def sizes(self) -> dict[str, int]:
        listed: Mapping[str, Mapping[str, Any]] = self._system.find(self._root, detail=True)
        prefix = f"{self._root}/"
        return {
            path.removeprefix(prefix).lstrip("/"): int(entry["size"] or 0)
            for path, entry in listed.items()
            if path.startswith(prefix)
        }

    def exists(self) -> bool:
        return bool(self._system.exists(self._root))

    def is_file(self) -> bool:
        return bool(self._system.isfile(self._root))

    def size(self) -> int:
        return int(self._system.size(self._root))


def open_files(path: str | os.PathLike[str]) -> Files:
    """List the files of a checkpoint, given its directory, its metadata file or its only file; local or by URL.

    Raises
    ------
    FileNotFoundError
        If nothing is there.
    InvalidInput
        If a URL is given and fsspec, or what it needs for the protocol, is not installed; or if the path is empty.
    """
    location = os.fspath(path)
    if not location:  # a variable of a shell that is not set, and not the directory that happens to be current
        raise InvalidInput("the path is empty; the current directory is .")
    make = _RemoteStore if "://" in location else _LocalStore
    store: _LocalStore | _RemoteStore = make(location)
    if not store.is_file():
        if not store.exists():
            raise FileNotFoundError(f"{location}: nothing is there")
        return Files(location, store.sizes(), store)
    directory, slash, name = location.rpartition("/")
    beside = make(directory or slash or ".")
    sizes = beside.sizes() if name.endswith(_SPEAKS_FOR_A_DIRECTORY) else {name: store.size()}
    return Files(location, sizes, beside)

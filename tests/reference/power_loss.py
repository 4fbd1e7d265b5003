"""Record what SQLite writes, syncs and deletes in a folder, and rebuild the folder as a loss of power may leave it.

The recording wraps the methods of SQLite's own file layer in this process. A rebuilt folder has what was synced, and of what was
not, any part: writes that are kept, dropped or torn at sectors of 512 bytes, and names that were made or deleted up to some
point, since file systems keep the order of those.
"""

import _sqlite3
import ctypes
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

SECTOR = 512
_OPEN_JOURNAL, _OPEN_WAL = 0x0800, 0x80000
_POINTER, _INT = ctypes.c_void_p, ctypes.c_int
_OPEN = ctypes.CFUNCTYPE(_INT, _POINTER, _POINTER, _POINTER, _INT, _POINTER)  # SQLite keeps the address of the name
_DELETE = ctypes.CFUNCTYPE(_INT, _POINTER, _POINTER, _INT)
_WRITE = ctypes.CFUNCTYPE(_INT, _POINTER, _POINTER, _INT, ctypes.c_int64)
_TRUNCATE = ctypes.CFUNCTYPE(_INT, _POINTER, ctypes.c_int64)
_SYNC = ctypes.CFUNCTYPE(_INT, _POINTER, _INT)


class _Vfs(ctypes.Structure):
    """The first fields of ``sqlite3_vfs``."""

    _fields_ = (
        ("version", _INT),
        ("file_size", _INT),
        ("max_path", _INT),
        ("next", _POINTER),
        ("name", ctypes.c_char_p),
        ("data", _POINTER),
        ("open", _POINTER),
        ("delete", _POINTER),
    )


class _Methods(ctypes.Structure):
    """``sqlite3_io_methods``; those after ``sync`` stay as they are."""

    _fields_ = (
        ("version", _POINTER),  # an int and its padding
        ("close", _POINTER),
        ("read", _POINTER),
        ("write", _POINTER),
        ("truncate", _POINTER),
        ("sync", _POINTER),
        ("rest", _POINTER * 13),
    )


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened: ``kind`` is make, write, truncate, sync, unlink, sync_names or acknowledged."""

    kind: str
    file: int = 0
    """A file, which keeps its number when its name is deleted."""
    name: str = ""
    offset: int = 0
    data: bytes = b""
    note: Any = None


@dataclass
class Trace:
    """What happened in a folder, in order."""

    folder: Path
    events: list[Event] = field(default_factory=list)
    _files: dict[str, int] = field(default_factory=dict)
    _handles: dict[int, tuple[int, bool]] = field(default_factory=dict)
    _count: int = 0

    def acknowledge(self, note: Any) -> None:
        """Note that a change was acknowledged."""
        self.events.append(Event("acknowledged", note=note))

    def opened(self, handle: int, path: str, flags: int) -> None:
        """Note that a file was opened, and made if it was not there."""
        if Path(path).parent != self.folder:
            return
        name = Path(path).name
        new = name not in self._files
        if new:
            self._count += 1
            self._files[name] = self._count
            self.events.append(Event("make", self._count, name))
        self._handles[handle] = self._files[name], new and bool(flags & (_OPEN_JOURNAL | _OPEN_WAL))

    def deleted(self, path: str, sync: bool) -> None:
        """Note that a name was deleted."""
        file = self._files.pop(Path(path).name, None) if Path(path).parent == self.folder else None
        if file is not None:
            self.events.append(Event("unlink", file, Path(path).name))
            if sync:
                self.events.append(Event("sync_names"))

    def add(self, kind: str, handle: int, **values: Any) -> None:
        """Note a write, a truncation or a sync of an open file; SQLite syncs the folder with a new journal."""
        if handle not in self._handles:
            return
        file, new = self._handles[handle]
        self.events.append(Event(kind, file, **values))
        if kind == "sync" and new:
            self._handles[handle] = file, False
            self.events.append(Event("sync_names"))


_KEPT: list[Any] = []
"""Callbacks that SQLite may call as long as this process runs."""


@contextmanager
def recorded(folder: Path) -> Iterator[Trace]:
    """Record what SQLite does in a folder, whose files must be opened in the block."""
    library: Any = ctypes.CDLL(getattr(_sqlite3, "__file__", None))
    library.sqlite3_vfs_find.restype = ctypes.POINTER(_Vfs)
    vfs = library.sqlite3_vfs_find(None).contents
    trace = Trace(folder)
    before = vfs.open, vfs.delete
    opening, deleting = _OPEN(before[0]), _DELETE(before[1])
    wrapped: dict[int, Any] = {}

    def opened(own: int, name: int | None, file: int, flags: int, given: int | None) -> int:
        result = opening(own, name, file, flags, given)
        slot = ctypes.cast(file, ctypes.POINTER(_POINTER))
        if result == sqlite3.SQLITE_OK and name is not None and slot[0]:
            trace.opened(file, ctypes.string_at(name).decode(), flags)
            methods = wrapped.get(slot[0]) or wrapped.setdefault(slot[0], _wrapped(slot[0], trace))
            slot[0] = ctypes.addressof(methods)
        return int(result)

    def deleted(own: int, name: int, sync: int) -> int:
        result = deleting(own, name, sync)
        if result == sqlite3.SQLITE_OK:
            trace.deleted(ctypes.string_at(name).decode(), bool(sync))
        return int(result)

    callbacks = _OPEN(opened), _DELETE(deleted)
    _KEPT.append((callbacks, wrapped))
    vfs.open, vfs.delete = (ctypes.cast(one, _POINTER).value for one in callbacks)
    try:
        yield trace
    finally:
        vfs.open, vfs.delete = before


def _wrapped(address: int, trace: Trace) -> _Methods:
    """Return the methods of a file that record what they do."""
    methods = _Methods.from_buffer_copy(_Methods.from_address(address))
    writing, truncating, syncing = _WRITE(methods.write), _TRUNCATE(methods.truncate), _SYNC(methods.sync)

    def recording(call: Callable[..., int], kind: str, values: Callable[..., dict[str, Any]]) -> Callable[..., int]:
        def called(file: int, *given: Any) -> int:
            noted = values(*given)
            result = call(file, *given)
            if result == sqlite3.SQLITE_OK:
                trace.add(kind, file, **noted)
            return result

        return called

    write = _WRITE(
        recording(writing, "write", lambda data, count, at: {"offset": at, "data": ctypes.string_at(data, count)})
    )
    truncate = _TRUNCATE(recording(truncating, "truncate", lambda size: {"offset": size}))
    sync = _SYNC(recording(syncing, "sync", lambda _: {}))
    _KEPT.append((write, truncate, sync))
    methods.write, methods.truncate, methods.sync = (
        ctypes.cast(one, _POINTER).value for one in (write, truncate, sync)
    )
    return methods


@dataclass
class _File:
    content: bytearray = field(default_factory=bytearray)
    pending: list[Event] = field(default_factory=list)


Choice = Callable[[Sequence[Event]], list[Event]]
"""Which of the pending writes of a file are kept, each whole or in part."""


def kept_all(pending: Sequence[Event]) -> list[Event]:
    """Keep everything, as after a kill."""
    return list(pending)


def kept_none(_: Sequence[Event]) -> list[Event]:
    """Keep nothing that was not synced."""
    return []


def kept_some(rng: np.random.Generator) -> Choice:
    """Keep any of the writes, and of those some sectors only."""

    def choose(pending: Sequence[Event]) -> list[Event]:
        share, torn = rng.uniform(), rng.uniform()
        kept: list[Event] = []
        for event in pending:
            if rng.uniform() < share:
                kept += _torn(event, rng) if event.kind == "write" and rng.uniform() < torn else [event]
        return kept

    return choose


def _torn(event: Event, rng: np.random.Generator) -> list[Event]:
    """Return some of the sectors of a write."""
    first = event.offset // SECTOR
    last = (event.offset + len(event.data) - 1) // SECTOR
    parts = []
    for sector in range(first, last + 1):
        begin, end = max(event.offset, sector * SECTOR), min(event.offset + len(event.data), (sector + 1) * SECTOR)
        if rng.uniform() < 0.5:
            part = event.data[begin - event.offset : end - event.offset]
            parts.append(Event("write", event.file, offset=begin, data=part))
    return parts


def rebuilt(events: Sequence[Event], choose: Choice, names_kept: float = 1.0) -> dict[str, bytes]:
    """Return the files after a loss of power behind these events; ``names_kept`` is the share of pending names that is kept."""
    files: dict[int, _File] = {}
    names: dict[str, int] = {}
    pending: list[Event] = []
    for event in events:
        match event.kind:
            case "make" | "unlink":
                pending.append(event)
                files.setdefault(event.file, _File())
            case "write" | "truncate":
                files[event.file].pending.append(event)
            case "sync":
                _apply(files[event.file], files[event.file].pending)
                files[event.file].pending = []
            case "sync_names":
                _rename(names, pending)
                pending = []
    _rename(names, pending[: round(names_kept * len(pending))])
    for file in files.values():
        _apply(file, choose(file.pending))
    return {name: bytes(files[file].content) for name, file in names.items()}


def _rename(names: dict[str, int], events: Sequence[Event]) -> None:
    for event in events:
        if event.kind == "make":
            names[event.name] = event.file
        elif names.get(event.name) == event.file:
            del names[event.name]


def _apply(file: _File, events: Sequence[Event]) -> None:
    for event in events:
        if event.kind == "truncate":
            del file.content[event.offset :]
            continue
        end = event.offset + len(event.data)
        file.content.extend(bytes(max(0, end - len(file.content))))
        file.content[event.offset : end] = event.data

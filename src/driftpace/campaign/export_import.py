"""Export a campaign to one file and import it into another store.

The file is gzipped lines of JSON: a header, one line for each log entry (its rows in base64), and a last line with the checkpoint
and the SHA-256 of everything before. Nothing in it is executed.
"""

import base64
import gzip
import hashlib
import io
import json
import os
import zlib
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from driftpace.campaign import transitions
from driftpace.campaign.campaign import Campaign
from driftpace.campaign.definition import Definition, check_name
from driftpace.campaign.fleet.campaign import FleetCampaign
from driftpace.campaign.fleet.transfer import current, imported
from driftpace.campaign.handle import unknown_campaign, utc_now, with_rows, with_state_hash
from driftpace.campaign.kept_states import dropped_rows, erased_rows_of, stored_part
from driftpace.campaign.packing import hash_of
from driftpace.campaign.recomputation import Gap, LogMismatch, resumed_steps
from driftpace.campaign.state import CampaignState, from_checkpoint, packed_checkpoint, states_agree, to_checkpoint
from driftpace.campaign.status import summary
from driftpace.campaign.verification import ROWS_KINDS, check_erased, rows_hashes, unnoted_rows
from driftpace.errors import ConflictError, ParameterError, StateFileError
from driftpace.storage import open_store
from driftpace.storage.atomic_file import atomic_file
from driftpace.storage.base import Change, Entry, Store, require_change
from driftpace.storage.codec import METHOD, SHAPE_ERRORS
from driftpace.storage.inflate import most_bytes

FORMAT = "driftpace-campaign"
VERSION = 1
LARGEST_FILE = 16 << 30
"""Bytes that an exported campaign may have unpacked."""


def export_campaign(campaign: Campaign | FleetCampaign, path: str | os.PathLike[str]) -> None:
    """Write a campaign with its log and rows to one file, atomically.

    Parameters
    ----------
    campaign : Campaign or FleetCampaign
        The campaign.
    path : str or path-like
        The file; an existing one is replaced.
    """
    with atomic_file(path, owner="export", private=True) as file:
        for chunk in export_chunks(campaign):
            file.write(chunk)


def export_chunks(campaign: Campaign | FleetCampaign) -> Iterator[bytes]:
    """Yield the bytes of an export file."""
    store, name = campaign.store, campaign.name
    seq, checkpoint, waiting = (current if isinstance(campaign, FleetCampaign) else _now)(store, name)
    log = store.entries(name, limit=seq)
    digest = hashlib.sha256()
    packer = zlib.compressobj(6, zlib.DEFLATED, 31)  # 31: gzip format, without time or file name

    def line(value: dict[str, Any]) -> bytes:
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode() + b"\n"
        digest.update(text)
        return packer.compress(text)

    yield line({"format": FORMAT, "version": VERSION, "name": name, "entries": seq})
    for entry in log:
        rows = waiting.get(entry.seq) or store.rows(name, [entry.seq]).get(entry.seq)
        yield line(
            {
                "kind": entry.kind,
                "body": dict(entry.body),
                "at": entry.at,
                "key": entry.key,
                "rows": None if rows is None else base64.b64encode(rows).decode("ascii"),
            }
        )
    yield line({"checkpoint": base64.b64encode(checkpoint).decode("ascii"), "sha256": digest.hexdigest()})
    yield packer.flush()


def _now(store: Store, name: str) -> tuple[int, bytes, dict[int, bytes]]:
    """Return the checkpoint with the rows of the open period, which are dropped when it is closed."""
    last = None
    while True:
        record = store.checkpoint(name)
        if record is None:
            raise unknown_campaign(name, store)
        opened = from_checkpoint(*record).opened
        rows = {} if opened is None else store.rows(name, (*opened.deliveries, *opened.draws))
        if opened is None or all(seq in rows for seq in opened.deliveries) or record[0] == last:
            return *record, rows
        last = record[0]


def import_campaign(
    path: str | os.PathLike[str], *, storage: Any, name: str | None = None, who: str = "", dry_run: bool = False
) -> Campaign | FleetCampaign:
    """Read a campaign from an export file into a store.

    Where all rows were kept, the log is replayed and must lead to the checkpoint of the file: bit for bit, or up to rounding if
    another machine wrote it. An entry "imported" records the origin in the log.

    Parameters
    ----------
    path : str or path-like
        The file.
    storage : str, path-like or Store
        The store to import into.
    name : str, optional
        Another name for the campaign.
    who : str
        Recorded in the log.
    dry_run : bool, default False
        Check the file without importing it.

    Raises
    ------
    StateFileError
        If the file is truncated, edited, or from a newer version.
    ParameterError
        If the name is taken.
    """
    if name is not None:
        check_name(name)
    where = Path(path)
    if not where.is_file():
        raise ParameterError(f"must be a file written by export; got {os.fspath(path)!r}.", owner="import", name="path")
    file_name = where.name.encode("utf-8", "replace").decode()  # file names need not be valid UTF-8
    with where.open("rb") as file:
        entries, rows, checkpoint = _read(file, file_name=file_name)
    with _readable(file_name):
        final_name, change = (imported if "fleet" in entries[0].body else _imported)(
            entries, rows, checkpoint, name=name, who=who, source=file_name
        )
        require_change("import", change)
    store = open_store(storage, create=not dry_run)
    taken = ParameterError(f"must not be taken; a campaign named {final_name!r} exists.", owner="import", name="name")
    if store.head(final_name) is not None:
        raise taken
    if not dry_run:
        try:
            with _readable(file_name):
                store.create(final_name, change)
        except ConflictError:
            raise taken from None
    return FleetCampaign(final_name, store) if "fleet" in entries[0].body else Campaign(final_name, store)


def _imported(
    entries: list[Entry], rows: dict[int, bytes], checkpoint: bytes, *, name: str | None, who: str, source: str
) -> tuple[str, Change]:
    """Return the name of a campaign of one model, and the change that creates it."""
    state = _checked(entries, rows, checkpoint, source)
    state = transitions.with_stored_parts(state, partial(stored_part, entries, lambda seq: rows.get(seq - 1)))
    state = with_rows(state, {place + 1: data for place, data in rows.items()})
    old_name = state.definition.name
    hashes, put = unnoted_rows(entries, lambda seq: rows.get(seq - 1))
    rows |= {seq - 1: data for seq, data in put.items()}
    body = {"name": old_name, "source": source, "entries": len(entries), "rows": hashes, "who": who}
    entries.append(Entry(kind="imported", body=body, at=utc_now(), seq=len(entries) + 1))
    if name is not None and name != old_name:
        entries[0] = _renamed(entries[0], name)
        state = replace(state, definition=replace(state.definition, name=name))
    state = replace(transitions.imported(state, old_name), seq=len(entries))
    made, digest = packed_checkpoint(state)
    change = Change(entries=with_state_hash(entries, digest), checkpoint=made, summary=summary(state), rows=rows)
    return state.definition.name, change


def _renamed(entry: Entry, name: str) -> Entry:
    return replace(entry, body={**entry.body, "definition": {**entry.body["definition"], "name": name}})


def _read(file: BinaryIO, *, file_name: str) -> tuple[list[Entry], dict[int, bytes], bytes]:
    """Return the log, its rows by place, and the checkpoint, or raise StateFileError."""
    entries: list[Entry] = []
    rows: dict[int, bytes] = {}
    digest = hashlib.sha256()
    before = ""
    last: dict[str, Any] = {}
    with _readable(file_name):
        with gzip.GzipFile(fileobj=file) as unpacked:
            stream = _Bounded(unpacked, most_bytes(os.fstat(file.fileno()).st_size, largest=LARGEST_FILE))
            head = _line(stream, digest)
            if head.get("format") != FORMAT:
                raise StateFileError(f"{file_name!r} is not an exported campaign.")
            if head.get("version") != VERSION:
                raise StateFileError(
                    f"{file_name!r} has version {head.get('version')!r} and this driftpace reads version {VERSION}; "
                    "upgrade driftpace."
                )
            for place in range(head["entries"]):
                value = _line(stream, digest)
                entries.append(_entry(value, place + 1))
                if value["rows"] is not None:
                    rows[place] = base64.b64decode(value["rows"], validate=True)
            before = digest.hexdigest()
            last = _line(stream, digest)
            if stream.read(1):  # also verifies the checksum of gzip
                raise EOFError("something follows its end")
        if last["sha256"] != before:
            raise StateFileError(f"{file_name!r} was edited or damaged: its checksum does not match.")
        for seq, expected in rows_hashes(entries).items():
            if seq - 1 in rows and hash_of(rows[seq - 1]) != expected:
                raise StateFileError(f"{file_name!r} was edited: the rows of entry {seq} do not have their hash.")
        return entries, rows, base64.b64decode(last["checkpoint"], validate=True)


def _entry(value: dict[str, Any], seq: int) -> Entry:
    if not isinstance(value["body"], dict):
        raise TypeError(f"entry {seq} has no body")
    return Entry(kind=value["kind"], body=value["body"], at=value["at"], key=value["key"], seq=seq)


@contextmanager
def _readable(file_name: str) -> Iterator[None]:
    """Turn what a truncated or edited file runs into to one sentence."""
    try:
        yield
    except StateFileError:
        raise
    except (OSError, EOFError, zlib.error, *SHAPE_ERRORS) as error:
        raise StateFileError(
            f"{file_name!r} is truncated, or not an exported campaign: {str(error).rstrip('.')}."
        ) from None


class _Bounded:
    """A stream of which no more than so many bytes are read."""

    def __init__(self, stream: io.BufferedIOBase, most: int) -> None:
        self._stream, self._most, self._left = stream, most, most

    def readline(self) -> bytes:
        """Return the next line."""
        text = self._stream.readline(self._left + 1)
        self._left -= len(text)
        if self._left < 0:
            raise EOFError(f"it unpacks to more than {self._most:,} bytes")
        return text

    def read(self, size: int) -> bytes:
        """Return the next bytes."""
        return self._stream.read(size)


def _line(stream: _Bounded, digest: Any) -> dict[str, Any]:
    text = stream.readline()
    if not text.endswith(b"\n"):
        raise EOFError("a line is missing")
    digest.update(text)
    value: dict[str, Any] = json.loads(text)
    return value


def _check_erased(entries: list[Entry], rows: dict[int, bytes], file_name: str) -> None:
    """Raise StateFileError where rows are missing that the log does not say were erased, or stored that it does."""
    noted, dropped = erased_rows_of(entries), dropped_rows(entries)
    for place, data in rows.items():
        entry = entries[place]
        if entry.kind in ROWS_KINDS:
            try:
                check_erased(entry, data, noted.get(entry.seq, {}), dropped=entry.seq in dropped)
            except LogMismatch as mismatch:
                raise StateFileError(f"{file_name!r} was edited: {mismatch}") from None


def _checked(entries: list[Entry], rows: dict[int, bytes], checkpoint: bytes, file_name: str) -> CampaignState:
    """Return the state of the checkpoint, verified by replaying the log where the rows are there."""
    state = from_checkpoint(len(entries), checkpoint)
    Definition.of(entries[0].body["definition"])
    _check_erased(entries, rows, file_name)
    if entries[0].body["tracker"]["numbers"]["method"] != METHOD:  # another version computed other numbers
        return state
    (last,) = deque(resumed_steps(entries, lambda seq: rows.get(seq - 1)), maxlen=1)
    if isinstance(last, Gap):
        return state
    again = last.after
    if to_checkpoint(again) != checkpoint and not states_agree(state, again):
        raise StateFileError(f"{file_name!r} was edited: its log leads to another state than its checkpoint.")
    return state

"""A campaign as one file, to be carried to another store: the whole log with the rows that were kept, and a checksum.

The file is lines of JSON, compressed by gzip: first what it is, then one line for each entry (its rows in base64), last the
checkpoint and the SHA-256 of everything before. Nothing in it is run. Where all rows were kept, the log is folded anew while it is
read, and must lead to the checkpoint: bit for bit, or up to rounding where another machine wrote it.
"""

import base64
import binascii
import gzip
import hashlib
import io
import json
import os
import zlib
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

from driftpace.campaign import transitions
from driftpace.campaign.campaign import Campaign
from driftpace.campaign.compare import states_agree
from driftpace.campaign.definition import Definition, check_name
from driftpace.campaign.handle import unknown_campaign, utc_now, with_rows
from driftpace.campaign.state import CampaignState, from_checkpoint, to_checkpoint
from driftpace.campaign.summary import summary
from driftpace.errors import ConflictError, ParameterError, StateFileError
from driftpace.storage import open_store
from driftpace.storage.atomic_file import atomic_file
from driftpace.storage.base import Change, Entry, Store
from driftpace.storage.codec import METHOD

FORMAT = "driftpace-campaign"
VERSION = 1
LONGEST_LINE = 1 << 30
"""Bytes: no delivery and no state is larger; a longer line is a bomb."""


def export_campaign(campaign: Campaign, path: str | os.PathLike[str]) -> None:
    """Write a campaign to one file: complete or not at all."""
    with atomic_file(path, owner="export") as file:
        for chunk in export_chunks(campaign):
            file.write(chunk)


def export_chunks(campaign: Campaign) -> Iterator[bytes]:
    """Yield the bytes of the file."""
    store, name = campaign.store, campaign.name
    seq, checkpoint, waiting = _now(store, name)
    log = campaign.log(limit=seq)
    seen = hashlib.sha256()
    packer = zlib.compressobj(6, zlib.DEFLATED, 31)  # 31: as gzip writes it, without a time or a name

    def line(value: dict[str, Any]) -> bytes:
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode() + b"\n"
        seen.update(text)
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
    yield line({"checkpoint": base64.b64encode(checkpoint).decode("ascii"), "sha256": seen.hexdigest()})
    yield packer.flush()


def _now(store: Store, name: str) -> tuple[int, bytes, dict[int, bytes]]:
    """Return where a campaign stands, with the rows of its open period, which may be dropped any moment when it is closed."""
    last = None
    while True:
        found = store.checkpoint(name)
        if found is None:
            raise unknown_campaign(name, store)
        opened = from_checkpoint(*found).opened
        rows = {} if opened is None else store.rows(name, (*opened.deliveries, *opened.draws))
        if opened is None or all(seq in rows for seq in opened.deliveries) or found[0] == last:
            return *found, rows
        last = found[0]


def import_campaign(
    path: str | os.PathLike[str], *, storage: Any, name: str | None = None, who: str = "", dry_run: bool = False
) -> Campaign:
    """Read a campaign from a file into a store, under its own name or another; refused where that is taken.

    An entry "imported" says in the log where it came from.
    """
    if name is not None:
        check_name(name)
    where = Path(path)
    if not where.is_file():
        raise ParameterError(f"must be a file that export wrote; got {os.fspath(path)!r}.", owner="import", name="path")
    shown = where.name.encode("utf-8", "replace").decode()  # a name on a disk may be no UTF-8, which no log can keep
    with where.open("rb") as file:
        entries, rows, folded = _read(file, shown=shown)
    was = folded.definition.name
    body = {"name": was, "source": shown, "entries": len(entries), "who": who}
    entries.append(Entry(kind="imported", body=body, at=utc_now(), seq=len(entries) + 1))
    if name is not None and name != was:
        entries[0] = _renamed(entries[0], name)
        folded = replace(folded, definition=replace(folded.definition, name=name))
    folded = replace(transitions.imported(folded, was), seq=len(entries))
    store = open_store(storage, create=not dry_run)
    change = Change(entries=entries, checkpoint=to_checkpoint(folded), summary=summary(folded), rows=rows)
    called = folded.definition.name
    taken = ParameterError(f"must be a name that is free; got {called!r}, which exists.", owner="import", name="name")
    if store.head(called) is not None:
        raise taken
    if not dry_run:
        try:
            store.create(called, change)
        except ConflictError:
            raise taken from None
    return Campaign(called, store)


def _renamed(entry: Entry, name: str) -> Entry:
    return replace(entry, body={**entry.body, "definition": {**entry.body["definition"], "name": name}})


def _read(file: BinaryIO, *, shown: str) -> tuple[list[Entry], dict[int, bytes], CampaignState]:
    """Return the log, its rows by place, and where it leads to; or raise StateFileError in one sentence."""
    entries: list[Entry] = []
    rows: dict[int, bytes] = {}
    seen = hashlib.sha256()
    before = ""
    last: dict[str, Any] = {}
    try:
        with gzip.GzipFile(fileobj=file) as stream:
            head = _line(stream, seen)
            if head.get("format") != FORMAT:
                raise StateFileError(f"{shown!r} is not a campaign that driftpace exported.")
            if head.get("version") != VERSION:
                raise StateFileError(
                    f"{shown!r} has version {head.get('version')!r} and this driftpace reads {VERSION}; upgrade driftpace."
                )
            for place in range(head["entries"]):
                value = _line(stream, seen)
                entries.append(
                    Entry(kind=value["kind"], body=value["body"], at=value["at"], key=value["key"], seq=place + 1)
                )
                if value["rows"] is not None:
                    rows[place] = base64.b64decode(value["rows"], validate=True)
            before = seen.hexdigest()
            last = _line(stream, seen)
            if stream.read(1):  # which also reads the checksum of gzip itself
                raise EOFError("something follows its end")
        if last["sha256"] != before:
            raise StateFileError(f"{shown!r} was edited or damaged: its checksum does not match.")
        folded = _checked(entries, rows, base64.b64decode(last["checkpoint"], validate=True), shown)
        folded = with_rows(folded, {place + 1: data for place, data in rows.items()})
    except StateFileError:
        raise
    except (OSError, EOFError, zlib.error, binascii.Error, ValueError, KeyError, TypeError, AttributeError) as error:
        raise StateFileError(f"{shown!r} is truncated, or not a campaign that driftpace exported: {error}.") from None
    return entries, rows, folded


def _line(stream: io.BufferedIOBase, seen: Any) -> dict[str, Any]:
    text = stream.readline(LONGEST_LINE)
    if not text.endswith(b"\n"):
        raise EOFError("a line is missing or too long")
    seen.update(text)
    value: dict[str, Any] = json.loads(text)
    return value


def _checked(entries: list[Entry], rows: dict[int, bytes], checkpoint: bytes, shown: str) -> CampaignState:
    """Return where the log leads to: folded anew where the rows are there, else as the checkpoint says."""
    folded = from_checkpoint(len(entries), checkpoint)
    Definition.of(entries[0].body["definition"])
    if any(entry.kind == "delivered" and place not in rows for place, entry in enumerate(entries)):
        return folded
    if entries[0].body["tracker"]["numbers"]["method"] != METHOD:  # another version computed other numbers
        return folded
    ((_, again),) = deque(transitions.replay((entry, rows.get(entry.seq - 1)) for entry in entries), maxlen=1)
    if to_checkpoint(again) != checkpoint and not states_agree(folded, again):
        raise StateFileError(f"{shown!r} was edited: its log leads to another state than the one it holds.")
    return folded

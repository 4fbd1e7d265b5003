"""Which rows to label: drawn from the user's pool, remembered in the log, and written where people label them."""

import hashlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from driftpace.errors import ConflictError, ParameterError

if TYPE_CHECKING:
    from driftpace.campaign import Campaign, Definition
    from driftpace.campaign.records import Order
    from driftpace.cli.shared.printing import Line
    from driftpace.tables import DrawnRows
    from driftpace.typing import BoolArray

_ENDINGS = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet")
_TRIES = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """From where, to where, and how rows are to be drawn."""

    select: Path
    out: Path | None
    stratify: str | None
    shape: str
    instead: bool
    label_studio: str | None
    project: int | None

    @classmethod
    def of(cls, *, dry_run: bool, **given: Any) -> "Wanted | None":
        """Return what is wanted, None where only the number is; refuse what does not go together."""
        select, out = given["select"], given["out"]
        if select is None:
            extra = {
                "--out": out,
                "--stratify": given["stratify"],
                "--instead": given["instead"] or None,
                "--label-studio": given["label_studio"],
                "--project": given["project"],
                "--as": None if given["shape"] == "table" else given["shape"],
            }
            for option, value in extra.items():
                if value is not None:
                    raise ParameterError(f"{option} must come with --select, the file to draw rows from; got none.")
            return None
        if (given["label_studio"] is None) != (given["project"] is None):
            raise ParameterError(
                "--label-studio must come with --project, the number of the project; got one of the two."
            )
        if given["label_studio"] is not None:
            from driftpace.cli.period.label_studio import studio_at

            studio_at(given["label_studio"]).close()  # refused before anything is drawn where it cannot be used
        if out is None and given["label_studio"] is None and not dry_run:
            raise ParameterError("--select must come with --out, the file for the drawn rows; got none.")
        if not select.is_file():
            what = "is a folder" if select.is_dir() else "does not exist"
            raise ParameterError(f"--select must be a file of rows; {str(select)!r} {what}.")
        if out is not None:
            _refuse_ending(out, given["shape"])
            if not out.absolute().parent.is_dir():
                raise ParameterError(f"--out must be in a folder that exists; got {str(out)!r}.")
            if out.exists() and out.samefile(select):
                raise ParameterError(f"--out must be another file than --select; got {str(out)!r} twice.")
        return cls(**given)


def _refuse_ending(out: Path, shape: str) -> None:
    ending = out.suffix.lower()
    if shape == "label-studio" and ending != ".json":
        raise ParameterError(f"--out must end in .json for tasks of Label Studio; got {out.name!r}.")
    if shape == "table" and ending not in _ENDINGS:
        hint = "; give --as label-studio for its tasks" if ending == ".json" else ""
        raise ParameterError(f"--out must end in {', '.join(_ENDINGS[:-1])} or {_ENDINGS[-1]}; got {out.name!r}{hint}.")


def pool_of(campaign: "Campaign", wanted: Wanted) -> Callable[[], Any]:
    """Return what reads the pool when it is needed, once."""

    @cache
    def read() -> Any:
        from driftpace.cli.shared import tables

        name = tables.readable(wanted.select.name)
        return tables.read(campaign.definition, name, wanted.select, owner="ask", exact=True)

    return read


def draw(
    campaign: "Campaign", order: "Order", wanted: Wanted, read: Callable[[], Any], *, who: str, dry_run: bool
) -> list["Line"]:
    """Draw what the period still lacks, remember it, and write it; return what is to be said about it.

    Rows drawn before in this period are not drawn again. Where none are lacking, those drawn are written again if their file is
    gone, and left alone if it is there: people may have begun to fill it in. Where somebody else drew at the same moment, what
    they drew is there now, and it is looked at again.
    """
    for _ in range(_TRIES):
        with suppress(ConflictError):
            return _drawn(campaign, order, wanted, read, who=who, dry_run=dry_run)
    return _drawn(campaign, order, wanted, read, who=who, dry_run=dry_run)


def _drawn(
    campaign: "Campaign", order: "Order", wanted: Wanted, read: Callable[[], Any], *, who: str, dry_run: bool
) -> list["Line"]:
    if order.closed or order.samples == 0:
        return [("Rows", "none are drawn")]
    from driftpace.cli.shared.tables import readable
    from driftpace.tables import draw_rows

    definition = campaign.definition
    rng_key = _rng_key(campaign, order.period)
    begun = campaign.status().period == order.period  # a dry run may speak of the next one
    already = tuple(dict.fromkeys(campaign.drawn())) if begun else ()
    waiting = campaign.awaited()[: order.missing] if begun else ()
    lacking = order.missing if wanted.instead else order.missing - len(waiting)
    out = wanted.out
    there = out is not None and out.exists()
    if order.missing == 0:
        return [("Rows", "none are drawn, for none are missing")]
    if lacking == 0 and there:
        return [("Rows", f"the {len(waiting):,} rows that are missing were drawn before; {out} is left as it is")]
    if there:
        also = f" on top of {len(already):,} drawn before" if already else ""
        raise ParameterError(f"--out must be a new file for the {lacking:,} rows to draw{also}; {str(out)!r} exists.")
    pool = read()
    left: list[Line] = []
    if lacking == 0:
        drawn = _again(pool, waiting, definition.id)
        said = f"the {len(drawn):,} rows drawn before that are still missing, written again"
    else:
        leave, left = _untellable(campaign, pool, wanted)
        drawn = draw_rows(
            pool,
            lacking,
            rng_key=rng_key,
            strata=wanted.stratify,
            already=already,
            leave=leave,
            id_column=definition.id,
            owner="ask",
        )
        said = drawn.sentence
    if lacking and len(drawn) == 0:
        raise ParameterError(f"--select must have rows that were not drawn before; {wanted.select.name} has none left.")
    if dry_run:
        return [("Rows", said), *left]
    if lacking:
        source = readable(wanted.select.name)
        campaign.record_draw(
            drawn.ids, period=order.period, before=already, source=source, pool_rows=drawn.pool, who=who
        )
    return [("Rows", said), *left, *_put(campaign, order, pool, drawn, wanted)]


def _untellable(campaign: "Campaign", pool: Any, wanted: Wanted) -> "tuple[BoolArray, list[Line]]":
    """Return which rows are not drawn, for tell would have to refuse them with their labels; and how many those are, and why."""
    import numpy as np

    from driftpace.campaign.schema import invalid_rows
    from driftpace.campaign.state import from_checkpoint

    kept = campaign.store.checkpoint(campaign.name)
    known = None if kept is None else from_checkpoint(*kept).state.columns
    found = invalid_rows(campaign.definition, pool, known=known, owner="--select")
    leave = np.zeros(next(iter(pool.values())).missing.size, dtype=np.bool_)
    for rows in found.values():
        leave |= rows
    why = ", ".join(f"{int(rows.sum()):,} {one}" for one, rows in found.items())
    if leave.all():
        raise ParameterError(f"--select must have rows that can be told; {wanted.select.name} has none: {why}.")
    said = f"{int(leave.sum()):,} of the {leave.size:,} rows of the pool, which could not be told: {why}"
    return leave, [("Left out", said)] if found else []


def _again(pool: Any, ids: tuple[str, ...], id_column: str | None) -> "DrawnRows":
    """Return the rows of those ids, in that order."""
    import numpy as np

    from driftpace.tables import DrawnRows, row_ids

    places = {one: place for place, one in enumerate(row_ids(pool, id_column=id_column, owner="ask"))}
    gone = next((one for one in ids if one not in places), None)
    if gone is not None:
        raise ParameterError(
            f"--select must hold the rows that were drawn from it before; {gone!r:.80} is not there any more."
        )
    found = np.array([places[one] for one in ids], dtype=np.int64)
    return DrawnRows(places=found, ids=ids, sentence="", pool=len(places))


def _rng_key(campaign: "Campaign", period: int) -> tuple[int, ...]:
    """Return what the draw depends on: the campaign, the period, and how many draws there were in it."""
    seed = campaign.definition.seed
    if seed is None:
        made = hashlib.sha256(f"{campaign.name}\n{campaign.status().created_at}".encode()).digest()
        seed = int.from_bytes(made[:4], "big")
    before = sum(entry.body["period"] == period for entry in campaign.log(kinds=("selected",)))
    return seed, period, before


def _labelled_before(definition: "Definition", pool: Any, drawn: "DrawnRows", wanted: Wanted) -> list["Line"]:
    """Return how many of the rows have a label in the pool already, which is not written: it may be one of long ago."""
    from driftpace.tables.cells import without_marks

    column = without_marks(pool[definition.target], definition.classes or ())
    count = int((~column.missing[drawn.places]).sum())
    if not count:
        return []
    said = f"{count:,} of them have a label in {wanted.select.name}, which is left out, for it may be of another time"
    return [("Careful", f"{said}; tell {wanted.select.name} itself where it is of this period")]


def _put(campaign: "Campaign", order: "Order", pool: Any, drawn: "DrawnRows", wanted: Wanted) -> list["Line"]:
    """Write the rows, as a table with an empty column for the label or as tasks."""
    from driftpace.tables import rows_of, write_rows

    definition, out = campaign.definition, wanted.out
    as_text = wanted.shape == "table" and out is not None and out.suffix.lower() in (".csv", ".tsv")
    rows = rows_of(pool, drawn, id_column=definition.id, as_text=as_text and wanted.label_studio is None)
    lines = []
    if definition.target is not None and rows.pop(definition.target, None) is not None:
        lines = _labelled_before(definition, pool, drawn, wanted)
    if out is not None and wanted.shape == "table":
        empty = () if definition.target is None else (definition.target,)
        write_rows(out, rows, empty=empty, owner="ask")
        fill = f"; fill in the column {definition.target!r}" if empty else ""
        lines.append(("Written", f"{out}, {len(drawn):,} rows{fill}"))
    if wanted.shape == "label-studio" or wanted.label_studio is not None:
        from driftpace.cli.period.label_studio import make_tasks, tasks_of, write_tasks

        tasks = tasks_of(campaign, order, rows, drawn)
        if out is not None and wanted.shape == "label-studio":
            lines.append(write_tasks(tasks, out))
        if wanted.label_studio is not None and wanted.project is not None:
            lines.append(make_tasks(tasks, wanted.label_studio, wanted.project))
    return lines

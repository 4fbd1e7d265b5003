"""``driftpace ask``: how many rows to label this period, and which ones."""

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from driftpace.cli.options import STUDIO, Address, DryRun, Engine, Key, Name, Project, Sheet, Shown, Storage, Who
from driftpace.cli.output import Form
from driftpace.errors import ParameterError

if TYPE_CHECKING:
    from driftpace.campaign import Campaign
    from driftpace.campaign.records import Order
    from driftpace.campaign.sampling import Sample
    from driftpace.cli.output import Line

_ROWS = "Rows to label"


class TaskFormat(StrEnum):
    """What the drawn rows are written as."""

    TABLE = "table"
    LABEL_STUDIO = "label-studio"


class RowChoice(StrEnum):
    """How the rows to label are chosen."""

    UNIFORM = "uniform"
    STRATIFIED = "stratified"
    INFORMATIVE = "informative"


def ask(
    name: Name,
    key: Key = None,
    pool: Annotated[
        int | None, typer.Option(help="How many rows are available in this period.", show_default=False)
    ] = None,
    select: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The pool: draw the rows to label from it.", rich_help_panel=_ROWS),
    ] = None,
    sheet: Sheet = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write the drawn rows to a .csv, .jsonl or .parquet file.", rich_help_panel=_ROWS
        ),
    ] = None,
    per_segment: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write the drawn rows of each segment to a file of their own in this folder.",
            rich_help_panel=_ROWS,
        ),
    ] = None,
    stratify: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Draw in proportion to the values of a column.", rich_help_panel=_ROWS),
    ] = None,
    choose: Annotated[
        RowChoice,
        typer.Option(
            help="Draw all rows alike, in proportion to their predictions, or those more often that tell more about the model.",
            rich_help_panel=_ROWS,
        ),
    ] = RowChoice.UNIFORM,
    task_format: Annotated[
        TaskFormat, typer.Option("--as", help="Write a table, or Label Studio tasks (.json).", rich_help_panel=_ROWS)
    ] = TaskFormat.TABLE,
    instead: Annotated[
        bool,
        typer.Option("--instead", help="Draw other rows for those that cannot be labelled.", rich_help_panel=_ROWS),
    ] = False,
    label_studio: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="Create the drawn rows as tasks in this Label Studio.", rich_help_panel=STUDIO
        ),
    ] = None,
    project: Project = None,
    executor: Engine = None,
    address: Address = None,
    form: Shown = Form.TABLE,
    dry_run: DryRun = False,
    who: Who = None,
    storage: Storage = None,
) -> None:
    """Compute how many rows to label this period, and draw them.

    Asking again returns the same order. With --key, your name of the period, a script may ask as often as it likes; a new key
    opens the next period. Of a campaign with segments, --out without --select writes the number of rows of each.

    Exit code: 0 label rows, 10 no rows this period, 20 the budget is exhausted, 30 a check failed that labelling the rows does
    not resolve, 2 error.

    Example: driftpace ask churn --key 2026-W46 --select pool.csv --out tasks.csv
    """
    from driftpace.campaign.text import annotator_lines, base_lines, lateness_lines
    from driftpace.cli.fleet import ask as ask_segments
    from driftpace.cli.fleet import has_segments, refuse_for_one_model, refuse_options
    from driftpace.cli.options import open_engine, user_name
    from driftpace.cli.output import print_order
    from driftpace.cli.stores import opened_campaign

    if has_segments(storage, name):
        refuse_options(
            name,
            stratify=stratify,
            choose=None if choose is RowChoice.UNIFORM else choose,
            as_=None if task_format is TaskFormat.TABLE else task_format,
            instead=instead,
            label_studio=label_studio,
            project=project,
        )
        code = ask_segments(
            name,
            key=key,
            pool=pool,
            select=select,
            sheet=sheet,
            out=out,
            per_segment=per_segment,
            form=form,
            dry_run=dry_run,
            who=who,
            storage=storage,
            executor=open_engine(executor, address, owner="ask"),
        )
        raise typer.Exit(code)
    refuse_for_one_model(name, per_segment=per_segment, executor=executor, address=address)
    task = _Task.of(
        select=select,
        sheet=sheet,
        out=out,
        stratify=stratify,
        choose=choose,
        task_format=task_format,
        instead=instead,
        label_studio=label_studio,
        project=project,
        dry_run=dry_run,
    )
    notes: list[Line] = []
    order = None if task is not None or pool is not None else _open_order(name, key, storage)
    if order is None:
        with opened_campaign(storage, name) as campaign:
            user = user_name(who)
            if task is None:
                order = campaign.ask(key=key, pool=pool, who=user, dry_run=dry_run)
            else:
                order = campaign.ask(key=key, pool=pool, who=user, dry_run=True)
                notes = task.run(campaign, order, who=user, dry_run=True)  # an error leaves the campaign unchanged
                if not dry_run:
                    order = campaign.ask(key=key, pool=pool, who=user)
                    notes = task.run(campaign, order, who=user, dry_run=False)
            notes = [*lateness_lines(campaign.lateness()), *annotator_lines(campaign.annotators(), order), *notes]
            last = campaign.status().last
            notes += base_lines(None if last is None else last.retrain)
    print_order(order, form, dry_run=dry_run, notes=notes)
    raise typer.Exit(order.code)


def _open_order(name: str, key: str | None, storage: str | None) -> "Order | None":
    """Return the open order where asking would only repeat it, which starts faster; None where something is to be decided."""
    from driftpace.campaign.status import may_be_late, read_snapshot
    from driftpace.cli.stores import opened_to_read, require_campaign

    with opened_to_read(storage) as store:
        snapshot = read_snapshot(store, name)
        if snapshot is None:
            require_campaign(store, name)
        elif snapshot.annotators is not None or may_be_late(store, snapshot.head):
            return None
    if snapshot is not None and snapshot.last is not None and snapshot.last.retrain is not None:
        return None
    order = None if snapshot is None else snapshot.order
    return order if order is not None and key in (None, order.key) else None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Task:
    """Draw the rows to label and write them to a file or to Label Studio."""

    select: Path
    sheet: str | None
    out: Path | None
    stratify: str | None
    choose: RowChoice
    task_format: TaskFormat
    instead: bool
    label_studio: str | None
    project: int | None
    pools: list[Any] = field(default_factory=list)

    @classmethod
    def of(cls, *, dry_run: bool, **options: Any) -> "_Task | None":
        """Return the task, None where only the number of rows is asked for; refuse options that do not go together."""
        select, out, studio = options["select"], options["out"], options["label_studio"]
        if select is None:
            _refuse_without_select(options)
            return None
        if (studio is None) != (options["project"] is None):
            raise ParameterError("--label-studio and --project must be given together; got one of them.")
        if studio is not None:
            from driftpace.cli.label_studio import connect

            connect(studio).close()  # refused before anything is drawn
        if out is None and studio is None and not dry_run:
            raise ParameterError("--select must be used with --out, the file for the drawn rows; got none.")
        from driftpace.cli.files import require_table

        require_table(select, "--select")
        if out is not None:
            _require_task_file(out, select, options["task_format"])
        return cls(**options)

    def run(self, campaign: "Campaign", order: "Order", *, who: str, dry_run: bool) -> list["Line"]:
        """Draw the rows that the order still needs, record and write them; return what was done.

        A file that exists is left unchanged where nothing is to be drawn: labellers may have started to fill it in.
        """
        if order.closed or order.samples == 0 or order.missing == 0:
            return [("Rows", "none drawn: no rows are missing")]
        shortfall = campaign.shortfall(order, replace=self.instead)
        exists = self.out is not None and self.out.exists()
        if exists and shortfall.samples:
            before = f" in addition to {len(shortfall.drawn):,} drawn before" if shortfall.drawn else ""
            raise ParameterError(
                f"--out must be a new file for the {shortfall.samples:,} rows to draw{before}; {str(self.out)!r} exists."
            )
        if exists:
            return [("Rows", f"{len(shortfall.awaited):,} missing rows were drawn before; {self.out} is unchanged")]
        sample = campaign.sample(
            self._pool(campaign),
            order=order,
            strata=self.stratify,
            choose=self.choose.value,
            replace=self.instead,
            source=self._source,
            who=who,
            dry_run=dry_run,
        )
        again = "" if sample.new else ", written again"
        lines: list[Line] = [("Rows", f"{sample.sentence}{again}")]
        if sample.skipped:
            reasons = ", ".join(f"{count:,} {reason}" for reason, count in sample.invalid.items())
            lines.append(
                (
                    "Skipped",
                    f"{sample.skipped:,} of the {sample.pool_rows:,} rows in the pool cannot be drawn: {reasons}",
                )
            )
        return lines if dry_run else [*lines, *self._write(campaign, order, sample)]

    @property
    def _source(self) -> str:
        from driftpace.cli.files import printable

        return printable(self.select.name)

    def _pool(self, campaign: "Campaign") -> Any:
        """Return the columns of the pool, read once."""
        if not self.pools:
            from driftpace.cli.files import read_rows

            pool = read_rows(campaign, self._source, self.select, option="--select", exact=True, sheet=self.sheet)
            self.pools.append(pool)
        return self.pools[0]

    def _write(self, campaign: "Campaign", order: "Order", sample: "Sample") -> list["Line"]:
        """Write the rows, as a table with an empty column for the label or as tasks."""
        from driftpace.tables import write_rows

        target, out = campaign.definition.target, self.out
        table = out is not None and self.task_format is TaskFormat.TABLE
        as_text = table and self.label_studio is None and out is not None and out.suffix.lower() in (".csv", ".tsv")
        rows = sample.rows(as_text=as_text)
        lines: list[Line] = []
        if sample.labelled:
            text = f"{sample.labelled:,} of these rows have a label in {self._source}, which is not copied: it may be outdated"
            lines.append(("Warning", f"{text}; if it is current, deliver {self._source} itself with --accept-others"))
        if table and out is not None:
            empty = [name for name in (target, campaign.definition.annotator) if name is not None]
            write_rows(out, rows, empty=empty, owner="Campaign.sample")
            fill = (
                f"; fill in the column{'s' if len(empty) > 1 else ''} {' and '.join(map(repr, empty))}" if empty else ""
            )
            lines.append(("Written", f"{out}, {len(sample):,} rows{fill}"))
        if self.task_format is TaskFormat.LABEL_STUDIO or self.label_studio is not None:
            from driftpace.cli.label_studio import create_tasks, write_tasks
            from driftpace.labelling import to_tasks

            tasks = to_tasks(rows, sample.ids, campaign=campaign.name, period=order.period)
            if out is not None and not table:
                lines.append(write_tasks(tasks, out))
            if self.label_studio is not None and self.project is not None:
                lines.append(create_tasks(tasks, self.label_studio, self.project))
        return lines


def _refuse_without_select(options: dict[str, Any]) -> None:
    given = {
        "--out": options["out"],
        "--sheet": options["sheet"],
        "--stratify": options["stratify"],
        "--choose": None if options["choose"] is RowChoice.UNIFORM else options["choose"],
        "--instead": options["instead"] or None,
        "--label-studio": options["label_studio"],
        "--project": options["project"],
        "--as": None if options["task_format"] is TaskFormat.TABLE else options["task_format"],
    }
    for option, value in given.items():
        if value is not None:
            raise ParameterError(f"{option} must be used with --select, the file to draw rows from; got none.")


def _require_task_file(out: Path, select: Path, task_format: TaskFormat) -> None:
    from driftpace.cli.files import ROW_ENDINGS, require_output

    if task_format is TaskFormat.LABEL_STUDIO and out.suffix.lower() != ".json":
        raise ParameterError(f"--out must end in .json for Label Studio tasks; got {out.name!r}.")
    if task_format is TaskFormat.TABLE and out.suffix.lower() == ".json":
        raise ParameterError(f"--out must not end in .json unless --as label-studio is given; got {out.name!r}.")
    require_output(out, ROW_ENDINGS if task_format is TaskFormat.TABLE else (".json",))
    if out.exists() and out.samefile(select):
        raise ParameterError(f"--out must be another file than --select; got {str(out)!r} twice.")

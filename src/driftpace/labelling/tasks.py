"""Label Studio tasks for the rows of an order, and the labelling interface of a project."""

from collections.abc import Mapping, Sequence
from typing import Any
from xml.sax.saxutils import quoteattr

from driftpace.errors import DataError, ParameterError
from driftpace.tables.json_format import as_written
from driftpace.tables.label_studio import ROW_FOR, ROW_ID, ROW_SHOWN, row_for
from driftpace.tables.limits import clip


def to_tasks(
    rows: Mapping[str, Sequence[Any]],
    ids: Sequence[str],
    *,
    campaign: str | None = None,
    period: str | int | None = None,
    order: str | int | None = None,
    shown: Sequence[str] | None = None,
) -> list[dict[str, Any]]:
    r"""Return Label Studio tasks for rows.

    ``data`` of a task holds the row unchanged, so that an existing labelling interface finds its columns, the id, which every
    export returns, and the row as lines of text for :func:`labelling_config`. With campaign and period it also records for
    which they were drawn: a label of one period does not count in another. ``meta`` repeats that.

    Parameters
    ----------
    rows : mapping of str to sequence
        Values by column.
    ids : sequence of str
        The id of each row.
    campaign, period, order : optional
        What the rows were drawn for.
    shown : sequence of str, optional
        Columns to show as text, all by default.

    Examples
    --------
    >>> task, = to_tasks({"age": [41], "city": [None]}, ["r7"], campaign="churn", period=3)
    >>> task["data"]
    {'age': 41, 'city': None, 'driftpace_id': 'r7', 'driftpace_shown': 'age: 41\ncity: -', 'driftpace_for': 'churn/3'}
    >>> task["meta"]
    {'driftpace': {'id': 'r7', 'campaign': 'churn', 'period': 3}}
    """
    names = [name for name in rows if name not in (ROW_ID, ROW_SHOWN, ROW_FOR)]
    lengths = {len(rows[name]) for name in names} | {len(ids)}
    if len(lengths) > 1:
        raise DataError(f"to_tasks: rows and ids must be of one length; got lengths {sorted(lengths)}.")
    listed = names if shown is None else list(shown)
    unknown = [name for name in listed if name not in names]
    if unknown:
        raise ParameterError(f"must be columns of the rows; got {clip(unknown[0])!r}.", owner="to_tasks", name="shown")
    about = {"campaign": campaign, "period": period, "order": order}
    known = {name: value for name, value in about.items() if value is not None}
    tasks = []
    for place, row_id in enumerate(ids):
        row = {name: rows[name][place] for name in names}
        text = "\n".join(f"{name}: {'-' if row[name] is None else as_written(row[name])}" for name in listed)
        data = {**row, ROW_ID: str(row_id), ROW_SHOWN: text or str(row_id)}
        if campaign is not None and period is not None:
            data[ROW_FOR] = row_for(campaign, period)
        tasks.append({"data": data, "meta": {"driftpace": {"id": str(row_id), **known}}})
    return tasks


def labelling_config(
    target: str, *, classes: Sequence[str] | None = None, question: str | None = None, shown: str = ROW_SHOWN
) -> str:
    """Return the labelling interface of a Label Studio project: the row, and one question named after the target.

    Parameters
    ----------
    target : str
        The column to label.
    classes : sequence of str, optional
        The classes to choose from; a number is entered without them.
    question : str, optional
        The question, the target by default.
    shown : str
        The field of a task that is shown as text.

    Examples
    --------
    >>> print(labelling_config("churned", classes=["no", "yes"], question="Did they leave?"))
    <View>
      <Text name="row" value="$driftpace_shown"/>
      <Header value="Did they leave?"/>
      <Choices name="churned" toName="row" choice="single" showInline="true" required="true">
        <Choice value="no" hotkey="1"/>
        <Choice value="yes" hotkey="2"/>
      </Choices>
    </View>
    """
    for name, word in (("target", target), ("question", question or "?"), ("shown", shown)):
        _check_text(name, word)
    if not shown.isidentifier():
        raise ParameterError(f"must be a plain name; got {clip(shown)!r}.", owner="labelling_config", name="shown")
    lines = [f"  <Text name={quoteattr('row' if target != 'row' else 'shown')} value={quoteattr('$' + shown)}/>"]
    lines.append(f"  <Header value={quoteattr(question or target)}/>")
    to = f"toName={quoteattr('row' if target != 'row' else 'shown')}"
    if classes is None:
        lines.append(f'  <Number name={quoteattr(target)} {to} required="true"/>')
    else:
        lines.append(f'  <Choices name={quoteattr(target)} {to} choice="single" showInline="true" required="true">')
        lines += [_choice(word, place) for place, word in enumerate(_classes(classes), start=1)]
        lines.append("  </Choices>")
    return "\n".join(["<View>", *lines, "</View>"])


def _choice(word: str, place: int) -> str:
    key = f' hotkey="{place}"' if place <= 9 else ""
    return f"    <Choice value={quoteattr(word)}{key}/>"


def _classes(classes: Sequence[str]) -> list[str]:
    words = list(classes)
    if isinstance(classes, str) or len(words) < 2 or len({*map(str, words)}) != len(words):
        raise ParameterError(
            f"must be two or more distinct classes; got {clip(repr(classes))}.",
            owner="labelling_config",
            name="classes",
        )
    for word in words:
        _check_text("classes", word)
    return words


def _check_text(name: str, word: object) -> None:
    """Refuse text that XML cannot hold unchanged."""
    if not isinstance(word, str) or not word or word != word.strip() or not word.isprintable():
        raise ParameterError(f"must be a printable text; got {clip(repr(word))}.", owner="labelling_config", name=name)

"""An order as work for people: tasks that carry their row, and the screen on which a row is labelled."""

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
    r"""Return Label Studio tasks for rows, given as values by column, and the id of each.

    ``data`` holds the row as it is, so that a project's own screen finds its columns; beside it the id, which every export
    brings back, and the row as lines of text (only the columns ``shown``, all where None), which
    :func:`labelling_config` shows. Where campaign and period are given, it also says for which it was made: a label that
    was given in one period is none of another. ``meta`` repeats that.

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
    """Return the screen of a fresh Label Studio project: the row, and one question of the target's name.

    With ``classes`` one of them is chosen, without a number is typed in. ``shown`` is the part of a task that is shown as text.

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
        _refuse_odd(name, word)
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
            f"must be two or more different words; got {clip(repr(classes))}.",
            owner="labelling_config",
            name="classes",
        )
    for word in words:
        _refuse_odd("classes", word)
    return words


def _refuse_odd(name: str, word: object) -> None:
    """Refuse what XML cannot hold, or holds otherwise than it was given."""
    if not isinstance(word, str) or not word or word != word.strip() or not word.isprintable():
        raise ParameterError(f"must be a printable text; got {clip(repr(word))}.", owner="labelling_config", name=name)

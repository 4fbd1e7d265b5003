"""A check of a table in words: labelled lines, plain words first."""

from collections.abc import Sequence

import numpy as np

from driftpace.backtest.check_result import NOTHING_GAINED, DriftGlance, LabelEstimate, TableCheck
from driftpace.formatting import count, first_names, number, plural

MOST_LISTED = 12
"""Names listed in one line."""
Line = tuple[str, str]


def check_lines(check: TableCheck, file: str = "FILE") -> list[Line]:
    """Return the lines of a check: a label and a text each.

    >>> lines = check_lines(TableCheck(name="sales", rows=0, columns=(), problems=("it has no rows.",)))
    >>> lines[0]
    ('Problem', 'It has no rows.')
    """
    lines = [("Problem", problem[:1].upper() + problem[1:]) for problem in check.problems]
    lines += _titled("Warning", check.warnings[:MOST_LISTED])
    lines += [("Periods", _periods(check))] if check.period is not None else []
    lines.append(("Target", _target(check)))
    if check.features:
        lines.append(("Features", _features(check)))
    lines += _left_out(check)
    more = [f"and {len(check.notes) - MOST_LISTED} more, in --format json."] if len(check.notes) > MOST_LISTED else []
    lines += _titled("Notes", [*check.notes[:MOST_LISTED], *more, *_many_categories(check)])
    lines += _leakage(check)
    if check.drift is not None:
        lines.append(("Drift", drift_sentence(check.drift)))
    lines += _titled("Labels", [_estimate(estimate, check) for estimate in check.labels])
    if check.l2 is not None:
        text = f"Some columns are linear combinations of others, so a penalty is needed: --l2 {check.l2:g}."
        lines.append(("Penalty", text))
    if check.caution is not None:
        lines.append(("Caution", check.caution))
    lines.append(("Next", check.command.replace("FILE", file, 1)))
    if check.init_command is not None:
        lines.append(("Campaign", check.init_command.replace("FILE", file, 1)))
    return lines


def _many_categories(check: TableCheck) -> list[str]:
    """Return what may take fewer labels than hashed categories do."""
    hashed = [note.partition(" became ")[0] for note in check.notes if " are hashed into " in note]
    if not hashed:
        return []
    return [f"Means of the target by {' and by '.join(hashed)} (tables.TargetEncoder) may take far fewer labels."]


def _titled(label: str, texts: Sequence[str]) -> list[Line]:
    """Return lines of which the first has the label."""
    return [("" if place else label, text) for place, text in enumerate(texts)]


def _leakage(check: TableCheck) -> list[Line]:
    if check.leaks:
        apart = [_without(check)] if check.suspects else []
        return _titled("Leakage", [*(leak.sentence for leak in check.leaks), *apart])
    return [("Leakage", "none found: no feature gives the target away")] if check.features else []


def _without(check: TableCheck) -> str:
    numbers = "The numbers below are" if check.labels or check.l2 is not None else "What follows is"
    return f"{numbers} without {'it' if len(check.suspects) == 1 else 'them'}, and so is the next command."


def _periods(check: TableCheck) -> str:
    what = f"{check.period}"
    if check.periods:
        sizes = sorted(check.sizes)
        rows = count(sizes[0]) if sizes[0] == sizes[-1] else f"{count(sizes[0])} to {count(sizes[-1])}"
        what += f": {plural(len(check.periods), 'period')}, {check.periods[0]} to {check.periods[-1]}, {rows} rows each"
        if sizes[-1] > 2 * sizes[0]:
            what += f", mostly about {count(float(np.median(sizes)))}"
    if not check.proposals:
        return what
    others = [proposal.period for proposal in check.proposals[1:4]]
    also = f"; also possible: {', '.join(others)}" if others else ""
    return f"{what} (chosen {_why(check.proposals[0].reason)}{also}; --period names another)"


def _why(reason: str) -> str:
    return reason if reason.startswith("by") else f"because {reason}" if ":" in reason else f"as {reason}"


def _target(check: TableCheck) -> str:
    if check.target is None:
        if not check.candidates:
            return "none: no other column holds numbers or classes"
        return f"not named. Which column do you want to predict? Possible: {_listed(check.candidates)}"
    if not check.features and check.problems and check.periods and check.target not in check.candidates:
        return f"{check.target} cannot be used; columns that can be predicted: {_listed(check.candidates) or 'none'}"
    detail = f": {check.target_detail}" if check.target_detail else ""
    waiting = f"; {count(check.unlabelled)} rows have none yet and are not used" if check.unlabelled else ""
    proposed = " (chosen by its name; --target names another)" if check.target_proposed else ""
    return f"{check.target}{detail}{waiting}{proposed}"


def _listed(names: Sequence[str]) -> str:
    return first_names([name or "(no name)" for name in names], MOST_LISTED)


def _features(check: TableCheck) -> str:
    size = plural(len(check.features), "column")
    if check.coefficients != len(check.features):
        size += f", {check.coefficients} after encoding"
    return f"{size}: {_listed(check.features)}"


def _left_out(check: TableCheck) -> list[Line]:
    if not check.left_out:
        return []
    reasons: dict[str, list[str]] = {}
    for name, reason in check.left_out.items():
        reasons.setdefault(reason, []).append(name)
    hints = {
        "dates": "dates; --calendar month,weekday makes features of them",
        "free text or ids": "free text or ids; --features uses the columns that it names",
    }
    listed = "; ".join(f"{_listed(names)} ({hints.get(reason, reason)})" for reason, names in reasons.items())
    return [("Left out", listed)]


def drift_sentence(drift: DriftGlance) -> str:
    """Return what an old model loses, in words.

    >>> print(drift_sentence(DriftGlance(first="1977 to 1985", last="1994 to 2002", stale=1.3, fresh=1.0, constant=1.2)))
    A model fitted to periods 1977 to 1985 has 30 % more loss on periods 1994 to 2002 than one fitted there; predicting the same
    for every row would be better than the old model.
    """
    if drift.constant <= drift.fresh * (1.0 + NOTHING_GAINED):
        return (
            "The features explain nothing on the last third of the periods: no model of this kind is better than "
            "predicting the same for every row."
        )
    if drift.excess < 0.01:
        return f"A model fitted to periods {drift.first} is as good on periods {drift.last} as one fitted there: hardly any drift."
    worse = (
        "; predicting the same for every row would be better than the old model" if drift.stale > drift.constant else ""
    )
    if drift.excess > 1.0:
        more = f"{number(1.0 + drift.excess)} times the loss on periods {drift.last} of"
    else:
        more = f"{number(100.0 * drift.excess)} % more loss on periods {drift.last} than"
    return f"A model fitted to periods {drift.first} has {more} one fitted there{worse}."


def _estimate(estimate: LabelEstimate, check: TableCheck) -> str:
    share = f"{100.0 * estimate.tolerance:g} %"
    rows = float(np.mean(check.sizes))
    labels = f"about {count(estimate.later)} a period, after {count(estimate.first)} in the first"
    text = f"{labels}, to stay within {share} of the best loss"
    if estimate.missed:
        return f"{text}; the target was missed, so expect more"
    if estimate.too_fine:
        return f"{text}; a backtest on {count(rows)} rows a period cannot judge it"
    if estimate.later > 0.5 * rows:
        return f"{text}: most of the {count(rows)} rows of a period"
    return text

"""Checks of the assumptions behind a period's prediction: one verdict and one sentence each."""

import math
from dataclasses import dataclass

import numpy as np

from driftpace.adaptive.coordinates import coordinates, with_diagonal
from driftpace.adaptive.dependence import standard_products
from driftpace.adaptive.rows import DesignRows
from driftpace.adaptive.state import AdaptiveState, PeriodJudgement, products_with
from driftpace.losses import SquaredLoss
from driftpace.losses.vector import summed_over_outputs
from driftpace.records import Assumption, Audit, Verdict
from driftpace.records.requests import MEASURED_RISK
from driftpace.typing import IntArray

STATUSES = ("stable", "warning", "drift")
_WARNING, _DRIFT = 0.05, 0.001
_JUMP_WARNING, _JUMP = 0.2, 0.5
_ROWS_WARN, _ROWS_FAIL = 10.0, 4.0
_SLOW = 10.0
_ORDER_WARN, _ORDER_FAIL = 1e-2, 1e-4
_NEIGHBOURS_WARN = 5e-4
_GROUPS_WARN = 10.0
_MEASURED = 5
_NAMED = 3
"""Columns that a sentence names."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Supply:
    """The rows of a period: ``gathered`` were delivered, ``missing`` are still needed, and whether the pool is ``exhausted``."""

    gathered: int
    missing: int
    exhausted: bool


def counted(rows: int) -> str:
    """Return a number of rows in words.

    >>> counted(1), counted(12)
    ('1 row', '12 rows')
    """
    return f"{rows} row" if rows == 1 else f"{rows} rows"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.01 else f"{100 * share:.2g} %"


def status(judged: PeriodJudgement) -> str:
    """Return "stable", "warning" or "drift": whether the period's rows agree with the prediction.

    A jump that is more likely than not, or a surprise of one in a thousand, is a drift; one in twenty is a warning.
    """
    from scipy.special import gammaincc  # slow to import, and not always needed

    fit = judged.fit
    if fit is None or not judged.banks or fit.freedom == 0:
        return STATUSES[0]
    jump = max(float(posterior.shares[-1]) for posterior in fit.posteriors)
    chance = float(gammaincc(0.5 * fit.freedom, 0.5 * fit.surprise))
    if jump >= _JUMP or chance < _DRIFT:
        return STATUSES[2]
    return STATUSES[1] if jump >= _JUMP_WARNING or chance < _WARNING else STATUSES[0]


def checks(state: AdaptiveState, rows: DesignRows, judged: PeriodJudgement, supply: Supply) -> tuple[Assumption, ...]:
    """Return the verdicts of the period."""
    return (
        _curvature(state, rows, judged),
        _tails(rows, judged),
        _exchangeable(rows, judged),
        _independent(state, rows, judged),
        _enough_rows(state, rows, supply),
        _pool(supply),
        _slow_drift(state, judged),
        _target(state, judged),
        *_season(state),
    )


def measured_risk(audit: Audit | None, epsilon: float) -> Assumption:
    """Check the promise itself: the excess risk measured from labels against the target."""
    name = MEASURED_RISK
    if audit is None or audit.all_periods < _MEASURED:
        return _assumption(name, Verdict.PASS, "Not checked: too few periods were measured.", judged=False)
    sentence = f"{audit.sentence[0].upper()}{audit.sentence[1:]} (target {epsilon:.3g})"
    if audit.interval[0] > epsilon:
        return _assumption(name, Verdict.FAIL, f"{sentence}: the target is not met on average.")
    if audit.mean - 2.0 * audit.mean_error > epsilon:
        return _assumption(name, Verdict.WARN, f"{sentence}: the last periods are above the target.")
    return _assumption(name, Verdict.PASS, f"{sentence}.")


def _assumption(name: str, verdict: Verdict, sentence: str, *, judged: bool = True) -> Assumption:
    return Assumption(name=name, verdict=verdict, sentence=sentence, judged=judged)


def _curvature(state: AdaptiveState, rows: DesignRows, judged: PeriodJudgement) -> Assumption:
    """Check how much of a column is left when the others have explained what they can (one over its variance inflation).

    With H = L L' the inflation of column j is H_jj (H^-1)_jj.
    """
    name, white, outputs = "curvature", judged.coordinates, state.outputs
    seen = state.memory.hessian.diagonal().reshape(-1, outputs).sum(axis=1)
    curvature = seen + np.einsum("ij,ij->j", rows.X, rows.X) + rows.penalty[::outputs]
    if not curvature.all():  # the intercept has its share, and no row is affected before one differs
        return _assumption(name, Verdict.WARN, _constant_columns(state, rows, np.flatnonzero(curvature == 0.0)))
    if outputs > 1:  # contrasts of rare classes are collinear in any case
        both = state.memory.hessian + (rows.hessian_sum(judged.model) if len(rows) else 0.0)
        mean = summed_over_outputs(both, outputs) / max(state.memory.hessian_rows + rows.mass, 1.0)
        white = coordinates(with_diagonal(mean, outputs * rows.penalty[::outputs]))
    heights = np.square(white.factor).sum(axis=1)
    left = 1.0 / np.maximum(heights * np.square(white.inverse).sum(axis=0), 1.0)
    least = float(left.min())
    which = _column(state, rows, int(left.argmin()))
    if least < 1e-6:
        return _assumption(
            name,
            Verdict.FAIL,
            f"Columns are collinear, {which} with others: their coefficients cannot be estimated separately.",
        )
    if least < 1e-3:
        return _assumption(
            name,
            Verdict.WARN,
            f"Columns are nearly collinear: the others explain all but {_percent(least)} of the variance of {which}.",
        )
    return _assumption(
        name,
        Verdict.PASS,
        f"Columns are not collinear: at least {_percent(least)} of each is not explained by the others.",
    )


def _column(state: AdaptiveState, rows: DesignRows, index: int) -> str:
    """Return the name of a column of rows; without names, its number from 1, the intercept not counted."""
    if rows.names is not None:
        return rows.names[index]
    if state.place is None:
        return f"column {index + 1}"
    return f"column {index}" if index else "intercept"


def _constant_columns(state: AdaptiveState, rows: DesignRows, constant: IntArray) -> str:
    """Return which columns are constant, such as a category that no row has."""
    named = ", ".join(_column(state, rows, int(index)) for index in constant[:_NAMED])
    more = f" and {constant.size - _NAMED} more" if constant.size > _NAMED else ""
    are, each = ("are", "each of them") if constant.size > 1 else ("is", "it")
    return f"{named}{more} {are} the same in all rows so far: the coefficient of {each} is unknown until one differs."


def _tails(rows: DesignRows, judged: PeriodJudgement) -> Assumption:
    """Check whether a few rows dominate the noise: then its mean cannot be estimated from such rows."""
    name, count = "tails", rows.units
    kind = "row" if rows.groups is None else "group"
    if judged.fit is not None and judged.fit.sums.total <= 1e-6 * judged.epsilon * len(rows):
        return _assumption(
            name,
            Verdict.WARN,
            f"There is no noise in the {counted(len(rows))} of this period; if later rows have some, more are needed.",
        )
    if judged.fit is None or count < 40:
        return _assumption(
            name,
            Verdict.PASS,
            f"Not checked: {count} {kind}{'s' if count != 1 else ''} are too few to judge tails.",
            judged=False,
        )
    largest = judged.fit.largest
    usual = min(4.0 * math.log(count) / count, 0.5)  # what the largest of so many squared Gaussian scores has
    share = f"{_percent(largest)} of the noise in {count} {kind}s"
    if largest > 0.5:
        advice = f"check that {kind}" + (", or use HuberLoss" if isinstance(rows.loss, SquaredLoss) else "")
        sentence = f"One outlier dominates the variance ({share}), so the noise cannot be estimated: {advice}."
        return _assumption(name, Verdict.FAIL, sentence)
    if largest > 2.5 * usual:
        sentence = f"Tails are heavy: one {kind} has {share}, where {_percent(usual)} is usual."
        return _assumption(name, Verdict.WARN, sentence)
    return _assumption(name, Verdict.PASS, f"No outlier dominates: the largest {kind} has {share}.")


def _exchangeable(rows: DesignRows, judged: PeriodJudgement) -> Assumption:
    """Check whether the order of rows matters: the mean gradient of the first half against that of the second."""
    name, half = "exchangeable rows", len(rows) // 2
    if judged.fit is None or half < 10:
        sentence = f"Not checked: {counted(len(rows))} are too few to judge their order."
        return _assumption(name, Verdict.PASS, sentence, judged=False)
    slopes, rest = judged.fit.slopes, len(rows) - half
    first, last = slice(0, half), slice(half, None)
    gap = rows.gradient_sum(slopes, first) / half - rows.gradient_sum(slopes, last) / rest
    gradients = judged.fit.gradients
    own = np.einsum("ij,ij->j", gradients, gradients) / len(
        rows
    )  # a column that varies only now has no noise in earlier periods
    spread = np.maximum(np.maximum(np.diag(judged.fit.scatter), own), 1e-300)
    standard = np.square(judged.coordinates.inverse @ gap) / (spread * (1.0 / half + 1.0 / rest))
    chance = min(1.0, gap.size * math.erfc(math.sqrt(0.5 * float(standard.max()))))
    if chance < _ORDER_FAIL:
        return _assumption(
            name,
            Verdict.FAIL,
            "The first rows of the period differ from the last: they were not drawn at random from it.",
        )
    if chance < _ORDER_WARN:
        return _assumption(
            name,
            Verdict.WARN,
            "The first rows of the period may differ from the last: draw rows at random from it.",
        )
    return _assumption(name, Verdict.PASS, "The first and the last rows of the period are alike.")


def _independent(state: AdaptiveState, rows: DesignRows, judged: PeriodJudgement) -> Assumption:
    """Check whether neighbouring rows, or groups, resemble each other: then the noise is larger than it looks."""
    name, what = "independent rows", "rows" if rows.groups is None else "groups of rows"
    if rows.groups is not None:
        groups = state.memory.noise.estimate().units + rows.units
        if groups < _GROUPS_WARN:
            seen = f"{groups:.0f} {'group of rows was' if groups == 1 else 'groups of rows were'} seen"
            sentence = f"Only {seen}: the noise of a group is only roughly known."
            return _assumption(name, Verdict.WARN, sentence)
    standard = standard_products(products_with(state, judged))
    if judged.fit is None or not standard.any():
        return _assumption(name, Verdict.PASS, "Not checked: too few rows were seen.", judged=False)
    chance = standard.size * 0.5 * math.erfc(math.sqrt(0.5) * float(standard.max()))
    if chance < _NEIGHBOURS_WARN:
        advice = "draw them at random" + (", or give groups where rows belong together" if rows.groups is None else "")
        sentence = (
            f"Neighbouring {what} resemble each other, so that the noise is larger than it looks and the target may be "
            f"missed: {advice}."
        )
        return _assumption(name, Verdict.WARN, sentence)
    return _assumption(name, Verdict.PASS, f"Neighbouring {what} are not more alike than chance allows.")


def _season(state: AdaptiveState) -> tuple[Assumption, ...]:
    """Warn where the drift repeats itself and no season was given."""
    length = None if state.search is None else state.search.found()
    if length is None:
        return ()
    sentence = (
        f"The drift seems to repeat itself every {length} periods: the model of {length} periods ago predicts better than the last "
        f"one. Give season={length}, so that it is used."
    )
    return (_assumption("season", Verdict.WARN, sentence),)


def _enough_rows(state: AdaptiveState, period: DesignRows, supply: Supply) -> Assumption:
    """Check how many rows were seen for each coefficient; of uneven weights, so many equal ones as say as much."""
    lost = len(period) - int(period.effective)
    rows = state.memory.rows + supply.gathered - lost
    each = rows / state.columns
    verdict = Verdict.FAIL if each < _ROWS_FAIL else Verdict.WARN if each < _ROWS_WARN else Verdict.PASS
    doubt = "" if verdict is Verdict.PASS else f"; with fewer than {_ROWS_WARN:.0f} the noise is only roughly known"
    return _assumption(
        "enough rows",
        verdict,
        f"{counted(rows)} {'was' if rows == 1 else 'were'} seen for {in_words(state)}, {each:.1f} for each{doubt}.",
    )


def in_words(state: AdaptiveState) -> str:
    """Return the number of coefficients, as in "3 coefficients" or "3 coefficients of each class"."""
    return f"{state.columns} coefficients" + (" of each class" if state.outputs > 1 else "")


def _pool(supply: Supply) -> Assumption:
    if supply.missing > 0 and supply.exhausted:
        missing = f"{counted(supply.missing)} {'is' if supply.missing == 1 else 'are'}"
        return _assumption("pool", Verdict.FAIL, f"The pool of this period is exhausted, and {missing} still missing.")
    if supply.missing > 0:
        return _assumption("pool", Verdict.PASS, "More rows are needed, and the pool of this period is not exhausted.")
    return _assumption("pool", Verdict.PASS, "The pool of this period had enough rows.")


def _slow_drift(state: AdaptiveState, judged: PeriodJudgement) -> Assumption:
    """Check whether past periods help: the predicted excess loss of the last model against the target."""
    name = "slow drift"
    if not judged.banks:
        return _assumption(name, Verdict.PASS, "This is the first period: there is no drift yet.")
    variances = np.array([view.total for view in judged.views])
    cost = 0.5 * float(state.sizes @ variances)
    times = cost / judged.epsilon
    if times > _SLOW:
        return _assumption(
            name,
            Verdict.WARN,
            f"The drift may be fast: the predicted excess loss of the last model is {cost:.2g}, {times:.3g} times the target, so "
            "this period is fitted almost from scratch.",
        )
    return _assumption(
        name,
        Verdict.PASS,
        f"The last model is a useful start: its predicted excess loss is {cost:.2g} before any row of this period "
        f"(target {judged.epsilon:.2g}).",
    )


def _target(state: AdaptiveState, judged: PeriodJudgement) -> Assumption:
    """Check whether the target is tight enough: it should be well below what the model explains.

    Where the loss is a quadratic only near its minimiser a lax target lets the model stray to where it is not one.
    """
    name = "target"
    slopes = judged.coordinates.white(judged.model)[state.parts[min(1, len(state.parts) - 1)].start :]
    explained = 0.5 * float(slopes @ slopes)
    sentence = f"The columns reduce the loss by about {explained:.2g} (target {judged.epsilon:.2g})"
    if judged.epsilon <= 0.5 * explained:
        return _assumption(name, Verdict.PASS, f"{sentence}.")
    verdict = Verdict.WARN if judged.quadratic or judged.epsilon <= explained else Verdict.FAIL
    return _assumption(name, verdict, f"{sentence}: the target is so loose that a constant model nearly meets it.")

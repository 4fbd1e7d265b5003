"""Whether what the promise rests on looks true in a period: one verdict and one sentence each."""

import math
from dataclasses import dataclass

import numpy as np

from driftpace.adaptive.rows import PeriodRows
from driftpace.adaptive.state import AdaptiveState, Judgement
from driftpace.records import Assumption, Verdict

STATUSES = ("stable", "warning", "drift")
_WARNING, _DRIFT = 0.05, 0.001
_JUMP_WARNING, _JUMP = 0.2, 0.5
_ROWS_WARN, _ROWS_FAIL = 10.0, 4.0
_SLOW = 10.0
_ORDER_WARN, _ORDER_FAIL = 1e-2, 1e-4


@dataclass(frozen=True, kw_only=True, slots=True)
class Supply:
    """What the pool could give: ``came`` rows, ``missing`` that were still needed, and whether it is ``exhausted``."""

    came: int
    missing: int
    exhausted: bool


def counted(rows: int) -> str:
    """Return so many rows in words.

    >>> counted(1), counted(12)
    ('1 row', '12 rows')
    """
    return f"{rows} row" if rows == 1 else f"{rows} rows"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.01 else f"{100 * share:.2g} %"


def status(judged: Judgement) -> str:
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


def checks(state: AdaptiveState, rows: PeriodRows, judged: Judgement, supply: Supply) -> tuple[Assumption, ...]:
    """Return the verdicts of the period."""
    return (
        _curvature(state, rows, judged),
        _tails(rows, judged),
        _exchangeable(rows, judged),
        _enough_rows(state, supply),
        _pool(supply),
        _slow_drift(state, judged),
        _target(state, judged),
    )


def _assumption(name: str, verdict: Verdict, sentence: str, *, judged: bool = True) -> Assumption:
    return Assumption(name=name, verdict=verdict, sentence=sentence, judged=judged)


def _curvature(state: AdaptiveState, rows: PeriodRows, judged: Judgement) -> Assumption:
    """Judge how much of a column is left when the others have explained what they can (one over its variance inflation).

    With H = L L' the inflation of column j is H_jj (H^-1)_jj.
    """
    name, white = "curvature", judged.coordinates
    curvature = np.diag(state.memory.hessian) + np.square(rows.X).sum(axis=0) + rows.penalty
    if not curvature.all():
        return _assumption(
            name, Verdict.FAIL, "A column never changed in the rows seen: nothing is known of its coefficient."
        )
    heights = np.square(white.factor).sum(axis=1)
    left = 1.0 / np.maximum(heights * np.square(white.inverse).sum(axis=0), 1.0)
    least = float(left.min())
    if least < 1e-6:
        return _assumption(
            name, Verdict.FAIL, "A column is nearly a combination of others: their coefficients cannot be told apart."
        )
    if least < 1e-3:
        return _assumption(
            name,
            Verdict.WARN,
            f"The others explain all but {_percent(least)} of one column, which is hard to tell apart.",
        )
    return _assumption(name, Verdict.PASS, f"Every column says something of its own: at least {_percent(least)} of it.")


def _tails(rows: PeriodRows, judged: Judgement) -> Assumption:
    """Judge whether a few rows carry the noise: then its mean is not known from rows like these."""
    name, count = "tails", len(rows)
    if judged.fit is not None and judged.fit.sums.total <= 1e-6 * judged.epsilon * count:
        return _assumption(
            name,
            Verdict.WARN,
            f"No noise is seen in the {counted(count)} that came; if others have some, more are needed.",
        )
    if judged.fit is None or count < 40:
        return _assumption(name, Verdict.PASS, f"With {counted(count)} nothing is said about tails.", judged=False)
    largest = judged.fit.largest
    usual = min(4.0 * math.log(count) / count, 0.5)  # what the largest of so many squared Gaussian scores has
    told = f"One row of {count} carries {100 * largest:.0f} % of the noise"
    if largest > 0.5:
        return _assumption(name, Verdict.FAIL, f"{told}, so its size is not known: look at that row, or use HuberLoss.")
    if largest > 2.5 * usual:
        return _assumption(name, Verdict.WARN, f"{told}, where {100 * usual:.0f} % is usual: tails are heavy.")
    return _assumption(name, Verdict.PASS, f"No row carries the noise alone: the largest has {100 * largest:.0f} %.")


def _exchangeable(rows: PeriodRows, judged: Judgement) -> Assumption:
    """Judge whether the order of rows matters: the mean gradient of the first half against that of the second."""
    from scipy.special import gammaincc  # slow to import, and not always needed

    name, half = "exchangeable rows", len(rows) // 2
    if judged.fit is None or half < 10:
        said = f"With {counted(len(rows))} nothing is said about their order."
        return _assumption(name, Verdict.PASS, said, judged=False)
    slopes, rest = judged.fit.slopes, len(rows) - half
    gap = slopes[:half] @ rows.X[:half] / half - slopes[half:] @ rows.X[half:] / rest
    standard = np.square(judged.coordinates.inverse @ gap) / (
        np.maximum(np.diag(judged.fit.scatter), 1e-300) * (1.0 / half + 1.0 / rest)
    )
    chance = min(1.0, gap.size * float(gammaincc(0.5, 0.5 * float(standard.max()))))
    if chance < _ORDER_FAIL:
        return _assumption(
            name,
            Verdict.FAIL,
            "The first rows of the period differ from the last: they were not drawn at random within it.",
        )
    if chance < _ORDER_WARN:
        return _assumption(
            name,
            Verdict.WARN,
            "The first rows of the period seem to differ from the last: draw them at random within it.",
        )
    return _assumption(name, Verdict.PASS, "The first rows of the period look like the last.")


def _enough_rows(state: AdaptiveState, supply: Supply) -> Assumption:
    rows = state.memory.rows + supply.came
    each = rows / state.size
    verdict = Verdict.FAIL if each < _ROWS_FAIL else Verdict.WARN if each < _ROWS_WARN else Verdict.PASS
    doubt = "" if verdict is Verdict.PASS else f"; below {_ROWS_WARN:.0f} the noise is known roughly only"
    return _assumption(
        "enough rows",
        verdict,
        f"{counted(rows)} {'was' if rows == 1 else 'were'} seen for {state.size} coefficients, {each:.1f} for each{doubt}.",
    )


def _pool(supply: Supply) -> Assumption:
    if supply.missing > 0 and supply.exhausted:
        missing = f"{counted(supply.missing)} {'is' if supply.missing == 1 else 'are'}"
        return _assumption("pool", Verdict.FAIL, f"The pool of this period is exhausted and {missing} still missing.")
    if supply.missing > 0:
        return _assumption(
            "pool", Verdict.PASS, "Rows are still missing, but the pool of this period is not exhausted yet."
        )
    return _assumption("pool", Verdict.PASS, "The pool of this period had what was needed.")


def _slow_drift(state: AdaptiveState, judged: Judgement) -> Assumption:
    """Judge whether the past is of use: the predicted excess loss of the last model against the target."""
    name = "slow drift"
    if not judged.banks:
        return _assumption(name, Verdict.PASS, "This is the first period: nothing moved yet.")
    variances = np.array([view.moments(view.shares)[1] for view in judged.views])
    cost = 0.5 * float(state.sizes @ variances)
    times = cost / judged.epsilon
    if times > _SLOW:
        return _assumption(
            name,
            Verdict.WARN,
            f"The drift may be fast: the last model was foretold to cost {cost:.2g}, {times:.3g} times the target, so this "
            "period is fitted almost from scratch.",
        )
    return _assumption(
        name, Verdict.PASS, f"The last model was foretold to cost {cost:.2g}, {times:.1f} times the target."
    )


def _target(state: AdaptiveState, judged: Judgement) -> Assumption:
    """Judge whether the target asks for anything: it should be well below what the model explains.

    Where the loss is a quadratic only near its minimiser a lax target lets the model stray to where it is not one.
    """
    name = "target"
    slopes = judged.coordinates.white(judged.model)[state.parts[-1]]
    explained = 0.5 * float(slopes @ slopes)
    told = f"The columns lower the loss by about {explained:.2g}, and the target is {judged.epsilon:.2g}"
    if judged.epsilon <= 0.5 * explained:
        return _assumption(name, Verdict.PASS, f"{told}.")
    verdict = Verdict.WARN if judged.quadratic or judged.epsilon <= explained else Verdict.FAIL
    return _assumption(name, verdict, f"{told}: hardly more than a constant is asked for.")

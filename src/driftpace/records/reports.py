"""What a closed period leaves behind: its report, the fitted model, the chosen candidate and the data for estimators."""

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from driftpace.records.annotators import LabelSums
from driftpace.records.metric import MetricReport
from driftpace.records.money import Money
from driftpace.records.requests import Assumption, Outcome
from driftpace.records.retraining import Retraining

if TYPE_CHECKING:  # reports are read without NumPy
    from driftpace.records.constants import Constants
    from driftpace.typing import FloatArray


@dataclass(frozen=True, kw_only=True, slots=True)
class Fit:
    """A fitted model.

    Parameters
    ----------
    coef : array of shape (features,)
        The coefficients.
    gradient : array of shape (features,)
        The mean gradient at ``coef`` over the rows used, penalty included; the direct drift estimate needs it (theory 3.1).
    rows : int
        The rows used.
    updates : int
        The steps of the solver.
    outcome : Outcome
        MET, NONFINITE or STALLED.
    """

    coef: "FloatArray"
    gradient: "FloatArray"
    rows: int
    updates: int
    outcome: Outcome


@dataclass(frozen=True, kw_only=True, slots=True)
class PeriodData:
    """A closed period as estimators of constants and of drift use it: its rows, the model before and the model after.

    Parameters
    ----------
    period : int
        The period, from 1.
    X, y : array
        The rows that trained ``coef``.
    X_held, y_held : array
        Rows held out from training; may be empty.
    start, coef : array
        The model before and after.
    gradient : array
        The mean gradient at ``coef`` over the training rows.
    scatter : float
        C, a bound on the distance of two independent fits of the period, sqrt(E||w - w~||^2) <= C (B.3); infinite when
        unknown.
    constants : Constants
        The constants known when the period closed.
    """

    period: int
    X: "FloatArray"
    y: "FloatArray"
    X_held: "FloatArray"
    y_held: "FloatArray"
    start: "FloatArray"
    coef: "FloatArray"
    gradient: "FloatArray"
    scatter: float
    constants: "Constants"


@dataclass(frozen=True, kw_only=True, slots=True)
class Selected:
    """The candidate that cross-validation chose in a period, with the score of each.

    Parameters
    ----------
    candidates : tuple of str
        The labels of the candidates.
    chosen : str
        The label of the one chosen.
    scores : tuple of float
        The mean held-out loss of each, without penalty.
    errors : tuple of float
        The standard errors of the scores.
    gaps : tuple of float
        The standard errors of the differences from the chosen candidate.
    folds : int
        The number of folds. With 0 there were too few rows to compare, the scores are empty, and the choice of the
        previous period is kept.

    Examples
    --------
    >>> Selected(candidates=("l2=0.1", "l2=1"), chosen="l2=1").index
    1
    """

    candidates: tuple[str, ...]
    chosen: str
    scores: tuple[float, ...] = ()
    errors: tuple[float, ...] = ()
    gaps: tuple[float, ...] = ()
    folds: int = 0

    @property
    def index(self) -> int:
        """The index of the chosen candidate."""
        return self.candidates.index(self.chosen)


@dataclass(frozen=True, kw_only=True, slots=True)
class Audit:
    """The excess risk measured from labels, without drift models, against the one that was promised.

    Parameters
    ----------
    measured, error : float, optional
        The excess risk of this period and its standard error; None where no rows were kept from the decisions of the period.
        A single period is noisy, and its estimate may be negative.
    mean, mean_error : float
        The weighted mean over the last ``periods`` measured periods and its standard error.
    promised : float
        The mean of the predicted excess risks of the same periods.
    periods : int
        The periods that are pooled, at most twenty.
    interval : tuple of float
        A 95 % interval for the weighted mean over all measured periods, valid at every period at once (asymptotically).
    all_periods : int
        The number of measured periods so far.
    aim : float
        The correction of the orders: they aim at so many times their usual share of the target.
    held_out : int, default 0
        The rows held out in the pooled periods, where ``audit=`` asks for them; they entered no fit and no decision.

    Examples
    --------
    >>> audit = Audit(
    ...     measured=0.03, error=0.02, mean=0.027, mean_error=0.004, promised=0.02, periods=20,
    ...     interval=(0.015, 0.039), all_periods=32, aim=0.8,
    ... )
    >>> audit.sentence
    'promised 0.020, measured 0.027 ± 0.0040 over 20 periods; orders aim 20 % lower'
    """

    measured: float | None
    error: float | None
    mean: float
    mean_error: float
    promised: float
    periods: int
    interval: tuple[float, float]
    all_periods: int
    aim: float
    held_out: int = 0

    @property
    def sentence(self) -> str:
        """The audit in words, without a full stop."""
        over = "1 period" if self.periods == 1 else f"{self.periods} periods"
        change = round(100.0 * abs(self.aim - 1.0))
        corrected = f"; orders aim {change} % {'lower' if self.aim < 1.0 else 'higher'}" if change >= 5 else ""
        measured = f"measured {max(self.mean, 0.0):#.2g} ± {self.mean_error:#.2g} over {over}"
        rows = f" on {self.held_out:,} held-out rows" if self.held_out else ""
        return f"promised {self.promised:#.2g}, {measured}{rows}{corrected}"


@dataclass(frozen=True, kw_only=True, slots=True)
class StepReport:
    """A closed period: what was predicted and what was measured.

    Parameters
    ----------
    period : int
        The period, from 1.
    asked, samples : int
        The rows requested and the rows delivered.
    rho, rho_upper : float, optional
        The estimated drift after this period and its upper confidence limit; None before the second period. The adaptive
        method measures it in the norm of the Hessian, where rho^2/2 is the excess loss of a model left unchanged; methods
        of parts measure it in the units of the coefficients.
    measures : str, optional
        "rho" where that is the movement of the minimiser, "distance" where it is the distance from the last model to the
        new minimiser.
    risk_bound : float
        The excess risk predicted for the fitted model: its mean, or its quantile where a confidence is set.
    certificate : float, optional
        An upper confidence bound of the excess risk from the data of the period.
    outcome : Outcome
        Whether the target is met, and if not, why.
    samples_theory : int
        The sample size of the proven rule.
    epsilon : float
        The target of the period.
    status : str, optional
        Whether the rows agreed with the prediction: "stable", "warning" or "drift".
    assumptions : tuple of Assumption
        What the prediction relies on.
    audit : Audit, optional
        The excess risk measured from labels; None before any period was measured, and for methods made of parts.
    metric : MetricReport, optional
        Where the target is given in a metric, its value measured from labels beside the target.
    cost : Money, optional
        With a budget, the cost of the delivered rows as one order.
    selected : Selected, optional
        Where candidates were compared, which was chosen; the other fields describe that one.
    effective_samples : float, optional
        Where rows have weights, the number of fitted rows of equal weight that would say as much, (sum w)^2 / sum w^2.
    label_sums : LabelSums, optional
        Where labels have annotators, what the rows that several of them labelled show; :meth:`Tracker.annotators` adds them up.
    retrain : Retraining, optional
        Where the tracker is one of a model, whether its base should be trained again; true where it should.
    seconds : float
        How long closing the period took; excluded from equality, so that replays compare equal.
    """

    period: int
    asked: int
    samples: int
    rho: float | None
    rho_upper: float | None
    measures: str | None
    risk_bound: float
    certificate: float | None
    outcome: Outcome
    samples_theory: int = 0
    epsilon: float = math.nan
    status: str | None = None
    assumptions: tuple[Assumption, ...] = ()
    audit: Audit | None = None
    metric: MetricReport | None = None
    cost: Money | None = None
    selected: Selected | None = None
    effective_samples: float | None = None
    label_sums: LabelSums | None = None
    retrain: Retraining | None = None
    seconds: float = field(compare=False)

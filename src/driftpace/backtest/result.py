"""The result of a backtest as plain arrays over runs and periods."""

from dataclasses import dataclass, field, fields

from driftpace.backtest.compare_result import ModelComparison
from driftpace.records import Assumption
from driftpace.typing import FloatArray


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Strategy:
    """A strategy, replayed: arrays are (runs, periods).

    ``name`` is a key, ``title`` is for display, ``note`` is one sentence on its configuration. ``excess_risk`` compares with the
    best model of each period's rows; ``held_out_risk`` estimates on test rows, without bias but noisily, the excess risk in the
    world that these rows are a sample of. ``metrics`` are those on test rows, by name.
    """

    name: str
    title: str
    note: str
    samples: FloatArray
    excess_risk: FloatArray
    test_loss: FloatArray
    held_out_risk: FloatArray | None = None
    metrics: dict[str, FloatArray] = field(default_factory=dict)

    @property
    def auc(self) -> FloatArray | None:
        """The AUC on test rows, of several classes the mean of one against the others; None for regression."""
        return self.metrics.get("auc")


@dataclass(frozen=True, kw_only=True, slots=True)
class SkippedBaseline:
    """A baseline that could not run on the table, with the ``reason`` in one sentence."""

    name: str
    title: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class TrackerLedger:
    """What the tracker reported in each period: arrays are (runs, periods).

    ``drift`` and ``drift_upper`` are costs in units of the loss: the excess risk that an unchanged model would gain in the
    period (NaN where nothing was reported). ``status`` is 0 stable, 1 warning, 2 drift. ``measured`` is the excess risk that the
    tracker measured from its labels, ``measured_error`` its standard error, ``measured_mean`` and ``measured_mean_error`` those of
    the mean over the last periods, and ``aim`` the correction of its orders; NaN where nothing was measured. ``orders`` is how
    many orders were placed in the period, initial samples included. Where the target is given in a metric,
    ``metric`` is its value as the tracker measured it, ``metric_error`` its standard error, ``metric_mean`` the mean over the last
    periods, ``metric_best`` that of the best model as estimated, and ``out_of_reach`` whether the report says so; NaN otherwise.
    """

    orders: FloatArray
    samples_theory: FloatArray
    risk_bound: FloatArray
    certificate: FloatArray
    drift: FloatArray
    drift_upper: FloatArray
    status: FloatArray
    measured: FloatArray
    measured_error: FloatArray
    measured_mean: FloatArray
    measured_mean_error: FloatArray
    aim: FloatArray
    metric: FloatArray
    metric_error: FloatArray
    metric_mean: FloatArray
    metric_best: FloatArray
    out_of_reach: FloatArray


LEDGER_FIELDS = tuple(one.name for one in fields(TrackerLedger))


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class CheckVerdicts:
    """The verdicts of the checks in ``names``, (checks, runs, periods): 0 pass, 1 warn, 2 fail, NaN where not judged."""

    names: tuple[str, ...]
    verdicts: FloatArray


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class CandidateChoices:
    """The chosen candidates, (runs, periods): places in ``candidates``, NaN where none was chosen."""

    candidates: tuple[str, ...]
    chosen: FloatArray


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class BacktestResult:
    """The result of a backtest: the tracker and the baselines on the same rows.

    ``strategies[0]`` is driftpace; the baselines follow, those that were chosen of "up_front", "even", "from_scratch",
    "first_model", "paper" and "best_constant". ``skipped`` are the baselines that could not run, with the reason.
    ``epsilon`` has one entry for each period (it moves when a tolerance was asked for).
    ``best_loss`` is the least mean loss that any model of its kind has on all rows of a period.
    ``pool`` and ``test_rows`` are how many rows each period has for training and for testing. ``assumptions`` are the
    worst verdicts over runs and periods, one for each name, with their frequency. ``choices`` is None without candidates.
    ``checks`` are the verdicts of each period and run. ``movement`` (periods, coefficients), the intercept last, is how far each
    coefficient of the best model moved since the period before, as the excess risk of a model that is the best one but for the
    old value of that coefficient, or of those of its column where there are several classes; NaN in the first period. ``metric`` is
    the name and the value of a target in a metric. ``comparison`` is that of kinds of models, None where none was asked for.
    ``classes`` are the values of the target that are 0, 1, ...; none for numbers.
    """

    table: str
    target: str
    features: tuple[str, ...]
    loss: str
    classification: bool
    periods: tuple[str, ...]
    pool: tuple[int, ...]
    test_rows: tuple[int, ...]
    epsilon: tuple[float, ...]
    tolerance: float | None
    confidence: float | None
    certificate_level: float
    runs: int
    seed: int
    price: float
    currency: str
    strategies: tuple[Strategy, ...]
    ledger: TrackerLedger
    assumptions: tuple[tuple[Assumption, float], ...]
    notes: tuple[str, ...]
    seconds: float
    best_loss: tuple[float, ...] = ()
    classes: tuple[str, ...] = ()
    skipped: tuple[SkippedBaseline, ...] = ()
    choices: CandidateChoices | None = None
    checks: CheckVerdicts | None = None
    movement: FloatArray | None = None
    metric: tuple[str, float] | None = None
    comparison: ModelComparison | None = None

    def __repr__(self) -> str:
        """Return the size in one line; ``render`` shows the numbers."""
        size = f"{len(self.periods)} periods, {self.runs} runs, {len(self.strategies)} strategies"
        return f"BacktestResult({self.table!r}, {size}; driftpace.backtest.render(...) shows them)"

"""What a backtest found, as plain arrays: every number is there for each run and each period."""

from dataclasses import dataclass, fields

from driftpace.records import Assumption
from driftpace.typing import FloatArray


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Strategy:
    """One way of buying labels, replayed. Arrays are (runs, periods).

    ``name`` is a key for machines, ``title`` is what people read, ``note`` one sentence on how it was set.
    ``auc`` is None for regression.
    """

    name: str
    title: str
    note: str
    samples: FloatArray
    excess_risk: FloatArray
    test_loss: FloatArray
    auc: FloatArray | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class SkippedBaseline:
    """A baseline that could not run on the table, with the ``reason`` in one sentence."""

    name: str
    title: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class TrackerLedger:
    """What the tracker said each period, beside what was measured. Arrays are (runs, periods).

    ``drift`` and ``drift_upper`` are costs in units of the loss: the excess risk that a model left alone would gain in the
    period (NaN where nothing was said). ``status`` is 0 stable, 1 warning, 2 drift.
    """

    samples_theory: FloatArray
    risk_bound: FloatArray
    certificate: FloatArray
    drift: FloatArray
    drift_upper: FloatArray
    status: FloatArray


LEDGER_FIELDS = tuple(field.name for field in fields(TrackerLedger))


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class CandidateChoices:
    """Which candidate the tracker chose, (runs, periods): places in ``candidates``, NaN where none was chosen."""

    candidates: tuple[str, ...]
    chosen: FloatArray


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class BacktestResult:
    """A table replayed: the tracker beside every other way of buying labels.

    ``strategies[0]`` is driftpace; the baselines follow, those that were chosen of "up_front", "even", "from_scratch",
    "first_model", "paper" and "best_constant". ``skipped`` are the baselines that could not run, with the reason.
    ``epsilon`` has one entry for each period (it moves when a tolerance was asked for).
    ``best_loss`` is the least mean loss that any model of its kind has on all rows of a period.
    ``pool`` and ``test_rows`` are how many rows each period has for training and for testing. ``assumptions`` are the
    worst verdicts over runs and periods, one for each name, with how often they came. ``choices`` is None where nothing was chosen
    among.
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
    skipped: tuple[SkippedBaseline, ...] = ()
    choices: CandidateChoices | None = None

    def __repr__(self) -> str:
        """Return what was replayed in one line; the arrays are long, and ``render`` makes a table of them."""
        size = f"{len(self.periods)} periods, {self.runs} runs, {len(self.strategies)} strategies"
        return f"BacktestResult({self.table!r}, {size}; driftpace.backtest.render(...) shows them)"

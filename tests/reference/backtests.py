"""Made-up backtests with the shape of real ones: for developing what shows them, not for any claim about the rule."""

from dataclasses import replace

import numpy as np

from driftpace.backtest.result import BacktestResult, CheckVerdicts, Strategy, TrackerLedger
from driftpace.backtest.tracker_run import METRIC
from driftpace.records import Assumption, Verdict
from driftpace.typing import FloatArray

TITLES = {
    "driftpace": ("driftpace", "asks each period for what the drift it has seen calls for"),
    "up_front": ("Everything up front", "all of driftpace's labels bought in the first period, then none"),
    "even": ("Same total, spread evenly", "driftpace's total divided by the number of periods"),
    "from_scratch": ("Re-fit from scratch", "each period on its own, as many labels as a fresh fit needs"),
    "first_model": ("Keep the first model", "driftpace's first period, then never again"),
    "paper": ("The paper's rule", "the published bound with known constants, capped at the pool"),
    "best_constant": (
        "Best constant in hindsight",
        "the smallest fixed number that keeps the promise; nobody knows it beforehand",
    ),
}
MEAN_SAMPLES = {"even": 50.0, "from_scratch": 146.0, "paper": 780.0, "best_constant": 42.0}
MEAN_RISK = {"driftpace": 0.7, "up_front": 3.0, "even": 0.9, "from_scratch": 0.8, "first_model": 4.0, "paper": 0.1}

ASSUMPTIONS = (
    (Assumption(name="curvature", verdict=Verdict.PASS, sentence="The loss curves enough in every direction."), 1.0),
    (
        Assumption(
            name="tails",
            verdict=Verdict.WARN,
            sentence="The largest 1 % of rows carry 23 % of the noise; bounds widen for it.",
        ),
        0.18,
    ),
    (Assumption(name="pool", verdict=Verdict.FAIL, sentence="The period had fewer rows than were asked for."), 0.0036),
)


def made_up(
    *,
    runs: int = 20,
    periods: int = 28,
    classification: bool = False,
    epsilon: float = 0.02,
    price: float = 1.0,
    currency: str = "",
    seed: int = 3,
) -> BacktestResult:
    """Return a backtest of a table that was never there, with one jump two thirds of the way."""
    rng = np.random.default_rng(seed)
    shape = (runs, periods)
    pool = tuple(int(rows) for rows in rng.integers(880, 1240, periods))
    jump = 2 * periods // 3
    shift = np.zeros(periods)
    shift[jump] = 0.05 if periods > 1 else 0.0
    drift = rng.gamma(4.0, 0.002, shape) + shift
    drift[:, 0] = np.nan
    samples = np.round(25.0 + 900.0 * np.nan_to_num(drift) + rng.gamma(3.0, 4.0, shape))
    samples[:, 0] += 120.0
    bound = np.minimum(epsilon, 0.0194 + rng.normal(0.0, 0.0003, shape))
    certificate = 0.028 + rng.gamma(3.0, 0.002, shape)
    certificate[:, 0] = np.inf
    status = np.where(np.nan_to_num(drift) > 0.04, 2.0, np.where(np.nan_to_num(drift) > 0.013, 1.0, 0.0))
    return BacktestResult(
        table="gss_income",
        target="log_income",
        features=("age", "age_squared", "education", "female", "hours", "year_of_birth"),
        loss="SmoothedHinge(l2=0.1)" if classification else "SquaredLoss(l2=0.0)",
        classification=classification,
        periods=tuple(str(1972 + 2 * index) for index in range(periods)),
        pool=pool,
        test_rows=tuple(rows // 4 for rows in pool),
        epsilon=(epsilon,) * periods,
        tolerance=None,
        confidence=None,
        certificate_level=0.95,
        runs=runs,
        seed=0,
        price=price,
        currency=currency,
        strategies=tuple(
            _strategy(rng, name, samples, np.array(pool, float), epsilon, classification) for name in TITLES
        ),
        ledger=TrackerLedger(
            orders=np.where(samples > np.median(samples), 2.0, 1.0),
            samples_theory=np.round(samples * 11.0 + 900.0),
            risk_bound=bound,
            certificate=certificate,
            drift=drift,
            drift_upper=drift * 1.7 + 0.002,
            status=status,
            **_audited(np.random.default_rng(1), shape),
            **{name: np.full(shape, np.nan) for name in METRIC},
        ),
        assumptions=ASSUMPTIONS,
        notes=("12 rows with missing values were dropped.",),
        seconds=41.3,
        checks=CheckVerdicts(names=("tails", "measured risk"), verdicts=np.zeros((2, *shape))),
        movement=np.vstack([np.full((1, 7), np.nan), np.full((periods - 1, 7), 0.002) * np.arange(1, 8)]),
    )


def _audited(rng: np.random.Generator, shape: tuple[int, int]) -> dict[str, FloatArray]:
    """Return what a tracker measured from its labels: nothing in the first two periods."""
    measured = rng.normal(0.018, 0.02, shape)
    measured[:, :2] = np.nan
    count = np.maximum(np.arange(shape[1]) - 1.0, 1.0)
    mean = np.nancumsum(measured, axis=1) / count
    mean[:, :2] = np.nan
    return {
        "measured": measured,
        "measured_error": np.where(np.isnan(measured), np.nan, 0.02),
        "measured_mean": mean,
        "measured_mean_error": np.where(np.isnan(mean), np.nan, 0.02 / np.sqrt(count)),
        "aim": np.where(np.isnan(mean), np.nan, 0.9),
    }


def broken(result: BacktestResult) -> BacktestResult:
    """Return the same backtest with nothing measured in the second half: NaN and infinity wherever they may come."""
    half = len(result.periods) // 2

    def spoil(array: FloatArray, value: float) -> FloatArray:
        outcome = array.copy()
        outcome[:, half:] = value
        return outcome

    strategies = tuple(
        replace(each, excess_risk=spoil(each.excess_risk, np.nan), test_loss=spoil(each.test_loss, np.inf))
        for each in result.strategies
    )
    ledger = replace(
        result.ledger,
        samples_theory=np.full_like(result.ledger.samples_theory, np.inf),
        risk_bound=spoil(result.ledger.risk_bound, np.inf),
        certificate=np.full_like(result.ledger.certificate, np.nan),
        drift=np.full_like(result.ledger.drift, np.nan),
        drift_upper=spoil(result.ledger.drift_upper, np.inf),
        status=np.full_like(result.ledger.status, np.nan),
    )
    return replace(result, strategies=strategies, ledger=ledger)


def _strategy(
    rng: np.random.Generator, name: str, own: FloatArray, pool: FloatArray, epsilon: float, classification: bool
) -> Strategy:
    title, note = TITLES[name]
    risk = epsilon * MEAN_RISK.get(name, 0.95) * rng.gamma(4.0, 0.25, own.shape)
    if name in {"up_front", "first_model"}:
        risk *= np.linspace(0.1, 2.0, own.shape[1])
    samples = own if name == "driftpace" else np.minimum(pool, np.full_like(own, MEAN_SAMPLES.get(name, 0.0)))
    if name in {"up_front", "first_model"}:
        samples = np.zeros_like(own)
        samples[:, 0] = own.sum(axis=1) if name == "up_front" else own[:, 0]
    loss = 0.42 + 0.03 * np.sin(np.arange(own.shape[1]) / 4.0) + risk + rng.normal(0.0, 0.002, own.shape)
    auc = np.clip(0.85 - 2.0 * risk, 0.5, 1.0) if classification else None
    return Strategy(
        name=name,
        title=title,
        note=note,
        samples=samples,
        excess_risk=risk,
        test_loss=loss,
        metrics={} if auc is None else {"auc": auc},
    )

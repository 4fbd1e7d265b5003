"""Other tools on the same rows in the same order, each at its best setting in hindsight.

None of them takes a target, so each is given what it needs to know in its favour: scikit-learn and river the label counts of
driftpace to go by, and everyone the setting that a user could only have known in hindsight.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks.retraining import PRICES, retrainopt
from driftpace.backtest.baselines import even_sizes
from driftpace.backtest.job import Job, SplitRows
from driftpace.backtest.metrics import RunMetrics, measure
from driftpace.typing import FloatArray

RATES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)
BURST = 10  # rows per coefficient in the first period and after an alarm
SHARES = (0.5, 1.0)  # of what driftpace buys in a mean period
LEAST_BASE = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class Peer:
    """A tool: ``run(job, run, total, setting)`` replays it, ``note`` says in a line how it was used."""

    title: str
    needs: str
    note: str
    run: Callable[[Job, int, int, Any], RunMetrics]
    settings: tuple[Any, ...]


def replay_peers(job: Job, item: tuple[int, int]) -> dict[str, tuple[RunMetrics, ...]]:
    """Replay one run of every peer that is installed, once for each setting; ``item`` is (run, labels of driftpace)."""
    run, total = item
    return {
        name: tuple(peer.run(job, run, total, setting) for setting in peer.settings)
        for name, peer in PEERS.items()
        if find_spec(peer.needs) is not None
    }


def scikit_learn(job: Job, run: int, total: int, setting: float | None) -> RunMetrics:
    """Measure ``partial_fit`` on a fixed schedule: ``total`` labels spread evenly, one pass a period."""
    linear_model = import_module("sklearn.linear_model")
    rows, sizes = job.rows(run), even_sizes(total, job.pools)
    steps = {"learning_rate": "invscaling", "power_t": 0.25, "eta0": setting}
    if not job.classification:
        model = linear_model.SGDRegressor(random_state=run, **({} if setting is None else steps))
    else:  # twice the smoothed hinge, so twice its penalty
        model = linear_model.SGDClassifier(
            loss="squared_hinge", alpha=2.0 * job.loss.l2, random_state=run, **({} if setting is None else steps)
        )
    known = {"classes": np.array([-1.0, 1.0])} if job.classification else {}
    coefs, level = np.zeros((len(rows), job.coefficients)), _level(job, rows, int(sizes[0]))
    for period, (now, size) in enumerate(zip(rows, sizes, strict=True)):
        X, y = now.bought(0, int(size))
        if len(y):
            model.partial_fit(X[:, :-1], y - level, **known)
        if hasattr(model, "coef_"):
            coefs[period] = np.append(model.coef_, model.intercept_ + level)
    return measure(rows, _finite(coefs), sizes.astype(np.float64))


def river(job: Job, run: int, total: int, setting: tuple[float, float]) -> RunMetrics:
    """Measure a linear model that learns a few rows each period, and a burst when ADWIN finds that their losses have changed."""
    rows, (share, rate) = job.rows(run), setting
    model, names = _river_model(job, rate), [str(column) for column in range(job.coefficients - 1)]
    alarm = import_module("river.drift").ADWIN(clock=1)  # looks at every row, since rows are few
    base = max(round(share * total / len(rows)), LEAST_BASE)
    coefs, samples = np.zeros((len(rows), job.coefficients)), np.zeros(len(rows))
    level = _level(job, rows, BURST * job.coefficients)
    weights = np.append(np.zeros(job.coefficients - 1), level)
    for period, now in enumerate(rows):
        wanted, came = base if period else BURST * job.coefficients, 0
        while came < min(wanted, now.pool):
            X, y = now.bought(came, came + 1)
            alarm.update(float(now.population.loss.value(weights, X, y)))
            if alarm.drift_detected and period:
                wanted = max(wanted, came + BURST * job.coefficients)
            with np.errstate(all="ignore"):
                model.learn_one(dict(zip(names, X[0, :-1].tolist(), strict=True)), _label(job, y[0] - level))
            weights = _finite(np.array([*(model.weights.get(name, 0.0) for name in names), model.intercept + level]))
            came += 1
        coefs[period], samples[period] = weights, came
    return measure(rows, coefs, samples)


def _river_model(job: Job, rate: float) -> Any:
    linear_model, optim = import_module("river.linear_model"), import_module("river.optim")

    class Smoothed(optim.losses.Hinge):  # type: ignore[misc, name-defined]
        def gradient(self, y_true: bool, y_pred: float) -> float:
            sign = 1.0 if y_true else -1.0
            return -sign * max(1.0 - sign * y_pred, 0.0)

    if not job.classification:
        return linear_model.LinearRegression(optimizer=optim.SGD(rate), intercept_lr=rate)
    return linear_model.LogisticRegression(  # the name says logistic, the loss decides
        optimizer=optim.SGD(rate), loss=Smoothed(), l2=job.loss.l2, intercept_lr=rate
    )


def _level(job: Job, rows: tuple[SplitRows, ...], size: int) -> float:
    """Return the mean target of the first rows, to be subtracted before taking steps from zero."""
    _, y = rows[0].bought(0, size)
    return 0.0 if job.classification or not len(y) else float(y.mean())


def _label(job: Job, y: float) -> float | bool:
    return bool(y > 0.0) if job.classification else float(y)


def _finite(coefs: FloatArray) -> FloatArray:
    """Return the coefficients, those that overflowed held at a large number, so that a risk can still be computed."""
    return np.clip(np.nan_to_num(coefs, nan=1e6, posinf=1e6, neginf=-1e6), -1e6, 1e6)


def _retrainopt(job: Job, run: int, total: int, setting: float) -> RunMetrics:  # noqa: ARG001
    rows: tuple[SplitRows, ...] = job.rows(run)
    return retrainopt(job, rows, setting)


PEERS = {
    "scikit-learn": Peer(
        title="scikit-learn",
        needs="sklearn",
        note=(
            "SGDRegressor or SGDClassifier, partial_fit once a period on driftpace's total spread evenly; its defaults, or its "
            "inverse scaling with the eta0 that proved best"
        ),
        run=scikit_learn,
        settings=(None, *RATES),
    ),
    "river": Peer(
        title="river, ADWIN",
        needs="river",
        note=(
            f"a linear model, one SGD step a row at the rate that proved best; {BURST} rows per coefficient in the first "
            "period, then half or all, whichever proved best, of what driftpace buys in a mean period, and "
            f"{BURST} rows per coefficient more when ADWIN on their losses alarms"
        ),
        run=river,
        settings=tuple((share, rate) for share in SHARES for rate in RATES),
    ),
    "retrainopt": Peer(
        title="retrainopt",
        needs="retrainopt",
        note=(
            "its exact plan of the first fifth of the periods, all candidates bought there, then its Base online policy "
            "(a fixed interval and size, fresh fits); it weighs losses against costs and takes no target, so the price of "
            "a label is the one that proved best; labels that it evaluates on are not counted"
        ),
        run=_retrainopt,
        settings=PRICES,
    ),
}

"""Several classes on real tables: whether the target is met, with how many labels, and how good the models are.

python -m benchmarks classes [--runs 3] [--only NAME ...] [--tolerance 0.05 ...] [--no-yardstick]

The tables are read from ../shared/data (--data). scikit-learn, where it is installed, is re-fitted in every period on the labels
that driftpace had bought: on those of the period, and on all so far; the better of both is shown.
"""

import argparse
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from driftpace.backtest import BacktestResult, promise, replay
from driftpace.backtest.job import Job, TrackerConfig, prepare
from driftpace.backtest.table import Panel, read_table
from driftpace.backtest.yardstick import JUDGED_AFTER
from driftpace.executors import one_thread
from driftpace.losses import SoftmaxLoss
from driftpace.typing import FloatArray

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
TEST_FRACTION, SEED = 0.2, 0
HEADS = (
    *(
        "table",
        "classes",
        "coefficients",
        "tolerance",
        "risk/target",
        "above",
        "promise",
        "labels/period",
        "yardstick K",
    ),
    *("x yardstick", "coverage", "test loss", "scikit-learn", "accuracy", "macro F1", "AUC", "seconds"),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class ClassTable:
    """A table of several classes: its file, target and features."""

    name: str
    target: str
    features: tuple[str, ...]


TABLES = (
    ClassTable(
        name="rodents",
        target="species_id",
        features=("weight", "hindfoot_length", "sex", "plot_type", "month"),
    ),
    ClassTable(name="gss_party", target="partyid", features=("age", "educ", "race", "sex")),
    ClassTable(
        name="flights",
        target="outcome",
        features=(
            *("hour", "log_dist", "jfk", "lga", "temp", "humid", "wind_speed", "visib", "rain"),
            *("c_UA", "c_B6", "c_EV", "c_DL", "c_AA"),
        ),
    ),
)


def sklearn_losses(job: Job, result: BacktestResult) -> FloatArray:
    """Return the mean test log loss of logistic regression on the labels of each period, and on all so far.

    Its penalty is that of the loss. Classes that it has not seen get the probability of one row in a million.
    """
    from sklearn.linear_model import LogisticRegression

    losses = np.zeros((2, result.runs, len(job.populations)))
    for run in range(result.runs):
        bought: list[tuple[FloatArray, FloatArray]] = []
        for period, now in enumerate(job.rows(run)):
            bought.append(now.bought(0, int(result.strategies[0].samples[run, period])))
            X_test, y_test = now.test()
            for way, parts in enumerate((bought[-1:], bought)):
                X, y = (np.concatenate(each) for each in zip(*parts, strict=True))
                fitted = losses[way, run, period - 1] if len(y) < 2 and period else math.nan
                if len(np.unique(y)) > 1:
                    model = LogisticRegression(C=1.0 / (job.loss.l2 * len(y)), max_iter=1000).fit(X[:, :-1], y)
                    fitted = _log_loss(model, X_test[:, :-1], y_test)
                losses[way, run, period] = fitted
    return np.asarray(np.nanmean(losses, axis=(1, 2)))


def _log_loss(model: Any, X: FloatArray, y: FloatArray) -> float:
    shares = np.full((len(y), int(max(y.max(), model.classes_.max())) + 1), 1e-6)
    shares[:, model.classes_.astype(np.int64)] = np.maximum(model.predict_proba(X), 1e-6)
    return -float(np.mean(np.log(shares[np.arange(len(y)), y.astype(np.int64)])))


def row(table: ClassTable, panel: Panel, tolerance: float, runs: int, *, yardstick: bool) -> list[str]:
    """Return one line of the result."""
    began = time.perf_counter()
    baselines = ["best_constant"] if yardstick else []
    result = replay(panel, tolerance=tolerance, runs=runs, seed=SEED, workers=1, baselines=baselines, progress=False)
    seconds = time.perf_counter() - began
    asked = TrackerConfig(tolerance=tolerance)
    with one_thread():
        job = prepare(panel, loss=None, asked=asked, test_fraction=TEST_FRACTION, seed=SEED)
        losses = sklearn_losses(job, result) if find_spec("sklearn") else np.array([math.nan])
    assert isinstance(job.loss, SoftmaxLoss)
    own = result.strategies[0]
    judged = promise(own.excess_risk, np.array(result.epsilon))
    covered = float((own.excess_risk <= result.ledger.certificate).mean())
    cells = [table.name, str(job.loss.classes), str(job.coefficients), f"{tolerance:g}"]
    cells += [f"{judged.mean / float(np.mean(result.epsilon)):.2f}", f"{judged.periods_above}/{len(panel.periods)}"]
    cells += ["kept" if judged.kept else "missed", f"{own.samples.mean():.0f}"]
    best = next((each for each in result.strategies if each.name == "best_constant"), None)
    if best is None:
        cells += ["-", "-"]
    else:
        late = best.samples[:, JUDGED_AFTER:]
        cells += [f"{late.max():.0f}", f"{own.samples.sum() / best.samples.sum():.2f}"]
    cells += [f"{covered:.3f}", f"{own.test_loss.mean():.4f}", f"{losses.min():.4f}"]
    cells += [f"{np.nanmean(own.metrics[name]):.3f}" for name in ("accuracy", "macro_f1", "auc")]
    return [*cells, f"{seconds:.0f}"]


def main(options: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks classes")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=[table.name for table in TABLES])
    parser.add_argument("--tolerance", nargs="*", type=float, default=[0.05, 0.02])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--no-yardstick", action="store_true")
    given = parser.parse_args(list(options))
    print("| " + " | ".join(HEADS) + " |")
    print("|" + "---|" * len(HEADS))
    for table in TABLES:
        if table.name not in given.only:
            continue
        panel = read_table(
            given.data / f"{table.name}.csv.gz", period="period", target=table.target, features=table.features
        )
        for tolerance in given.tolerance:
            cells = row(table, panel, tolerance, given.runs, yardstick=not given.no_yardstick)
            print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()

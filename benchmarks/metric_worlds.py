"""Targets in metrics in worlds with known truth: classes, counts, amounts and a quantile (``absolute_targets --worlds``)."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.special import ndtri

from benchmarks.real_tables import markdown
from driftpace import GammaLoss, PoissonLoss, QuantileLoss, SoftmaxLoss, Tracker, TweedieLoss
from driftpace.losses import LinearLoss, Loss
from driftpace.metrics import accuracy, auc, evaluate, get_metric, log_loss
from driftpace.records import StepReport
from driftpace.synthetic import ShapedCounts, ShapedMulticlass, ShapedRegression
from driftpace.typing import FloatArray

PERIODS, JUDGED_AFTER, FEATURES, TESTED = 24, 5, 4, 20_000
HEADS = (
    "world",
    "target",
    "best",
    "runs kept",
    "true mean",
    "labels/period",
    "out of reach",
    "undecided",
    "CPU s a run",
)
OF_CLASSES: dict[str, Callable[[Any, FloatArray], float]] = {
    "accuracy": lambda y, chances: accuracy(y, chances.argmax(axis=1)),
    "auc": lambda y, chances: auc(y.astype(int), chances),
    "log_loss": log_loss,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Kind:
    """A world of four columns, by its seed, the loss that is tracked, and the metrics with their targets."""

    make: Callable[[int], Any]
    loss: Loss
    targets: tuple[tuple[str, float], ...]


def _counts(loss: Any, kind: Any, dispersion: float) -> Callable[[int], Any]:
    return lambda seed: ShapedCounts(
        features=FEATURES,
        cost=0.01,
        shape="walk",
        rng=100 + seed,
        mean=5.0,
        dispersion=dispersion,
        kind=kind,
        loss=loss,
    )


KINDS = {
    "three classes": Kind(
        make=lambda seed: ShapedMulticlass(
            features=FEATURES, classes=3, cost=0.01, shape="walk", rng=100 + seed, signal=4.0
        ),
        loss=SoftmaxLoss(l2=1e-3, classes=3),
        targets=(("accuracy", 0.6), ("accuracy", 0.705), ("accuracy", 0.8), ("auc", 0.85), ("log_loss", 0.68)),
    ),
    "counts": Kind(
        make=_counts(PoissonLoss(), "count", 0.2),
        loss=PoissonLoss(l2=1e-4),
        targets=(("mae", 2.9), ("mae", 2.6), ("mae", 2.55), ("rmse", 3.8), ("deviance_explained", 0.34)),
    ),
    "amounts": Kind(
        make=_counts(GammaLoss(), "amount", 0.5),
        loss=GammaLoss(),
        targets=(("mae", 3.2), ("mae", 2.9), ("mae", 2.2), ("deviance_explained", 0.25)),
    ),
    "sums": Kind(
        make=_counts(TweedieLoss(power=1.5), "compound", 0.2),
        loss=TweedieLoss(power=1.5),
        targets=(("mae", 4.4), ("mae", 4.0), ("mae", 3.0)),
    ),
    "0.9 quantile": Kind(
        make=lambda seed: ShapedRegression(features=FEATURES, cost=0.005, shape="walk", rng=100 + seed),
        loss=QuantileLoss(tau=0.9),
        targets=(("pinball", 0.19), ("pinball", 0.15)),
    ),
}


def run(kind: Kind, metric: str, target: float, seed: int) -> tuple[float, float, list[StepReport]]:
    """Return the mean metric of the models of a run after the first periods, that of the best models, and the reports."""
    world, higher = kind.make(seed), get_metric(metric).higher
    given: dict[str, Any] = {"at_least" if higher else "at_most": target}
    tracker = Tracker(kind.loss, metric=metric, features=FEATURES, rng=seed, **given)
    drawn, tested = np.random.default_rng(seed), np.random.default_rng((seed, 1))
    reached, best, reports = [], [], []
    for number in range(1, PERIODS + 1):
        period = world.period(number)
        reports.append(tracker.step(partial(period.draw, rng=drawn)))
        X, y = period.draw(TESTED, rng=tested)
        if isinstance(kind.loss, SoftmaxLoss):
            value = OF_CLASSES[metric]
            reached.append(value(y, tracker.predict_proba(X)))
            best.append(value(y, period.probabilities(X)))
            continue
        assert isinstance(kind.loss, LinearLoss)
        loss = kind.loss.tuned(1.0) if kind.loss.open else kind.loss
        level = ndtri(0.9) if isinstance(loss, QuantileLoss) else period.level
        for scores, into in ((X @ tracker.coef + tracker.intercept, reached), (X @ period.coef + level, best)):
            into.append(evaluate(loss, y, scores)[metric])
    return float(np.mean(reached[JUDGED_AFTER:])), float(np.mean(best[JUDGED_AFTER:])), reports


def line(name: str, metric: str, target: float, runs: int) -> tuple[str, ...]:
    """Return one line of the table."""
    began = time.process_time()
    found = [run(KINDS[name], metric, target, seed) for seed in range(runs)]
    seconds = (time.process_time() - began) / runs
    values, higher = np.array([one[0] for one in found]), get_metric(metric).higher
    later = [report for one in found for report in one[2][JUDGED_AFTER:]]
    beyond = sum(any(r.metric is not None and r.metric.out_of_reach for r in one[2]) for one in found)
    undecided = float(np.mean([report.outcome.value == "undecided" for report in later]))
    labels = np.mean([report.samples for one in found for report in one[2]])
    return (
        name,
        f"{metric} {target:g}",
        f"{np.mean([one[1] for one in found]):.4g}",
        f"{int(((values >= target) if higher else (values <= target)).sum())} of {runs}",
        f"{values.mean():.4g}",
        f"{labels:.0f}",
        f"{beyond} of {runs}",
        f"{100.0 * undecided:.0f} %",
        f"{seconds:.1f}",
    )


def worlds(runs: int, names: Sequence[str]) -> None:
    """Print the table of the worlds that are named."""
    lines = [line(name, metric, target, runs) for name in names for metric, target in KINDS[name].targets]
    print(markdown(HEADS, lines))

"""How many labels some targets take, by quick replays of the last periods of a table."""

from dataclasses import replace

import numpy as np

from driftpace.backtest.check_result import MOST_MODEL_ERROR, LabelEstimate
from driftpace.backtest.job import default_loss
from driftpace.backtest.population import find_population, model_error_share, scores_of
from driftpace.backtest.replay import replay
from driftpace.backtest.result import BacktestResult
from driftpace.backtest.table import Panel
from driftpace.errors import DataError, DriftpaceError
from driftpace.losses import Loss
from driftpace.progress import Progress

REPLAYED_PERIODS, REPLAYED_ROWS = 16, 2_000
"""The last periods that are replayed to estimate labels, and the most rows of each."""
TOLERANCES = (0.2, 0.1, 0.05, 0.02, 0.01, 0.005)
"""Targets to try: the first three that are well below what the features explain."""
LOOSER = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
"""Larger targets to try where none of these can be expected to be met, as long as a constant does not nearly meet them."""
NEARLY_ALL = 0.9
"""A target above this share of what the features explain is nearly met by a constant."""
L2 = 0.001
"""Penalty where columns are linear combinations of others."""
MODELS = 30
"""The most periods whose best models are fitted to see how uncertain they are."""
SMALL_MODEL, LARGE_MODEL = 20, 80
"""Models of at most so many coefficients besides intercepts are replayed twice; of those with at least the second, fewer periods
and targets are."""
FEW_PERIODS, FEW_MODELS = 6, 4
"""Periods that are replayed for them, and whose best models are fitted."""


def is_large(panel: Panel) -> bool:
    """Whether the model of a table has so many coefficients, all classes together, that one fit takes long."""
    return _coefficients(panel) >= LARGE_MODEL


def _coefficients(panel: Panel) -> int:
    return (len(panel.features) + 1) * scores_of(default_loss(panel))


def problem_of(error: DriftpaceError) -> str:
    """Return what is wrong with a table, with the name of what is wrong."""
    return f"{error.name} {error.problem}" if error.name else error.problem


def estimate_labels(
    panel: Panel, gain: float, bar: Progress
) -> tuple[tuple[LabelEstimate, ...], float | None, tuple[str, ...]]:
    """Replay the last periods for up to three targets, and for larger ones until one can be expected to be met.

    Of a large model fewer periods are replayed, for the smallest target that the table can judge, and for one larger where it is
    missed.

    Parameters
    ----------
    panel : Panel
        The table.
    gain : float
        What the features explain, as a share of the loss that is left: larger targets are met by a constant.
    bar : Progress
        Shows which target is replayed.

    Returns
    -------
    tuple
        The estimates, the penalty that was needed for them or None, and why there are none.
    """
    large, part = is_large(panel), _last_periods(panel)
    tolerances = [tolerance for tolerance in TOLERANCES if tolerance <= gain / 2.0][:3] or [TOLERANCES[-1]]
    larger = [tolerance for tolerance in LOOSER if tolerances[0] < tolerance < NEARLY_ALL * gain]
    runs = 2 if _coefficients(panel) - scores_of(default_loss(panel)) <= SMALL_MODEL else 1
    rows = float(np.mean(panel.sizes))
    penalty: float | None = None
    model_error: float | None = None
    if large:
        bar.searching("fitting models of single periods")
        model_error = _model_error(panel, penalty)
        tried = sorted({*tolerances, *larger})
        judged = [one for one in tried if model_error <= MOST_MODEL_ERROR * one] or tried[-1:]
        tolerances, larger = judged[:1], judged[1:2]
    estimates: list[LabelEstimate] = []
    for tolerance in tolerances:
        bar.searching(f"replaying the last periods for {100.0 * tolerance:g} %")
        try:
            try:
                result = _replay(part, tolerance, runs, penalty)
            except DataError as error:
                if error.name != "features" or penalty is not None:
                    raise
                penalty = L2  # columns are collinear
                result = _replay(part, tolerance, runs, penalty)
            model_error = _model_error(panel, penalty) if model_error is None else model_error
            estimates.append(_estimate(result, tolerance, model_error))
        except DriftpaceError as error:
            if error.name == "X":
                raise
            return tuple(estimates), None, (problem_of(error),)
        if estimates[-1].missed or estimates[-1].later > 0.5 * rows:
            break  # a smaller target takes more than there is
    while larger and not any(estimate.feasible(rows) for estimate in estimates):
        bar.searching(f"replaying the last periods for {100.0 * larger[0]:g} %")
        result = _replay(part, larger[0], runs, penalty)
        estimates.insert(0, _estimate(result, larger.pop(0), estimates[0].best_model_error * estimates[0].tolerance))
    return tuple(estimates), penalty, ()


def _last_periods(panel: Panel) -> Panel:
    """Return the periods that are replayed, with at most so many rows of each."""
    last = slice(max(len(panel.periods) - (FEW_PERIODS if is_large(panel) else REPLAYED_PERIODS), 0), None)
    rng = np.random.default_rng(0)
    chosen = [np.sort(rng.permutation(size)[:REPLAYED_ROWS]) for size in panel.sizes[last]]
    return replace(
        panel,
        periods=panel.periods[last],
        X=tuple(X[rows] for X, rows in zip(panel.X[last], chosen, strict=True)),
        y=tuple(y[rows] for y, rows in zip(panel.y[last], chosen, strict=True)),
        groups=None
        if panel.groups is None
        else tuple(groups[rows] for groups, rows in zip(panel.groups[last], chosen, strict=True)),
        weights=None
        if panel.weights is None
        else tuple(weights[rows] for weights, rows in zip(panel.weights[last], chosen, strict=True)),
    )


def _replay(panel: Panel, tolerance: float, runs: int, l2: float | None) -> BacktestResult:
    """Replay some periods quickly."""
    loss = _loss(panel, l2)
    return replay(panel, loss=loss, tolerance=tolerance, runs=runs, workers=1, baselines=[], progress=False)


def _estimate(result: BacktestResult, tolerance: float, model_error: float) -> LabelEstimate:
    """Return the labels of a replay; the best models of the table are ``model_error`` best losses from those of the world."""
    followed = result.strategies[0]
    return LabelEstimate(
        tolerance=tolerance,
        first=float(followed.samples[:, 0].mean()),
        later=float(followed.samples[:, 1:].mean()),
        reached=float((followed.excess_risk / np.asarray(result.epsilon)).mean()),
        best_model_error=model_error / tolerance,
    )


def _loss(panel: Panel, l2: float | None) -> Loss:
    """Return the default loss for the target, with that penalty."""
    return default_loss(panel) if l2 is None else default_loss(panel, l2)


def _model_error(panel: Panel, l2: float | None) -> float:
    """Return how far the best models of periods are from those of the world, as a share of the best loss."""
    count = len(panel.periods)
    most = FEW_MODELS if is_large(panel) else MODELS
    some = np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(np.int64)).tolist()
    loss = _loss(panel, l2)
    nothing = (None,) * count
    populations = [
        find_population(panel.periods[n], loss, panel.X[n], panel.y[n], groups, weights)
        for n, groups, weights in ((n, (panel.groups or nothing)[n], (panel.weights or nothing)[n]) for n in some)
    ]
    return model_error_share(populations, np.array([now.least for now in populations]))

"""Cost of selecting among C penalties by P folds, compared with C times P fits and with scikit-learn.

One period: rows come, C candidates are fitted, and cross-validation compares them. "By refits" fits every candidate once more for
every fold, as the paper's text has it; "shared" is what driftpace does. Both give the same scores for the squared loss.
"""

import time
from collections.abc import Callable

import numpy as np

from driftpace.constraints import WholeSpace
from driftpace.learners.newton import minimise
from driftpace.losses import LinearLoss, LogisticLoss, SquaredLoss
from driftpace.selection import Design, Held, left_out, losses_left_out, make_folds
from driftpace.typing import FloatArray

GRID = tuple(np.logspace(-3.0, 1.0, 10))
FOLDS = 10
SHAPES = ((50, 5), (200, 20), (2000, 20), (2000, 100))


def timed(task: Callable[[], FloatArray], least: float = 0.3) -> tuple[float, FloatArray]:
    """Return the best time of one call, over calls that fill ``least`` seconds, and what it gave."""
    result = task()
    best, began = np.inf, time.perf_counter()
    while time.perf_counter() - began < least:
        start = time.perf_counter()
        result = task()
        best = min(best, time.perf_counter() - start)
    return float(best), result


def penalised(loss: LinearLoss) -> list[LinearLoss]:
    return [type(loss)(l2=float(l2)) for l2 in GRID]


def fitted(loss: LinearLoss, X: FloatArray, y: FloatArray, start: FloatArray) -> FloatArray:
    return minimise(loss, WholeSpace(), start, X, y, 0.0)[0]


def by_refits(loss: LinearLoss, X: FloatArray, y: FloatArray, fold: np.ndarray) -> FloatArray:
    """One fit for every candidate and fold, from zero."""
    zero = np.zeros(X.shape[1])
    scores = []
    for one in penalised(loss):
        losses = np.empty(len(y))
        for f in range(FOLDS):
            keep = fold != f
            w = fitted(one, X[keep], y[keep], zero)
            losses[~keep] = loss.curve.phi(X[~keep] @ w, y[~keep])
        scores.append(losses.mean())
    return np.array(scores)


def shared(loss: LinearLoss, X: FloatArray, y: FloatArray, fold: np.ndarray, full: list[FloatArray]) -> FloatArray:
    """The same from the fits to all rows, which the period needs anyway."""
    design = Design(X=X, y=y, fold=fold)
    nothing = np.zeros((X.shape[1], X.shape[1]))
    return np.array(
        [
            losses_left_out(design, left_out(design, Held(loss=one, model=w, strength=nothing)), loss).mean()
            for one, w in zip(penalised(loss), full, strict=True)
        ]
    )


def by_sklearn(loss: LinearLoss, X: FloatArray, y: FloatArray, fold: np.ndarray) -> FloatArray:
    """GridSearchCV over the same folds; its penalties are per sum of rows instead of per mean."""
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.model_selection import GridSearchCV, PredefinedSplit

    stay = len(y) * (FOLDS - 1) / FOLDS
    if isinstance(loss, SquaredLoss):
        search = GridSearchCV(
            Ridge(fit_intercept=False),
            {"alpha": [l2 * stay for l2 in GRID]},
            cv=PredefinedSplit(fold),
            scoring="neg_mean_squared_error",
        )
    else:
        search = GridSearchCV(
            LogisticRegression(fit_intercept=False, max_iter=1000),
            {"C": [1.0 / (l2 * stay) for l2 in GRID]},
            cv=PredefinedSplit(fold),
            scoring="neg_log_loss",
        )
    search.fit(X, y)
    half = 0.5 if isinstance(loss, SquaredLoss) else 1.0
    return np.asarray(-half * search.cv_results_["mean_test_score"])


def case(loss: LinearLoss, rows: int, columns: int) -> str:
    """Return one line of the table."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, columns))
    score = X @ rng.standard_normal(columns) / np.sqrt(columns) + rng.standard_normal(rows)
    y = score if isinstance(loss, SquaredLoss) else np.where(score > 0.0, 1.0, -1.0)
    fold = make_folds(rows, FOLDS, rng=0, classes=None if isinstance(loss, SquaredLoss) else y)
    zero = np.zeros(columns)
    full = [fitted(one, X, y, zero) for one in penalised(loss)]
    whole, _ = timed(lambda: np.array([fitted(one, X, y, zero) for one in penalised(loss)]))
    ours, scores = timed(lambda: shared(loss, X, y, fold, full))
    theirs, again = timed(lambda: by_refits(loss, X, y, fold))
    peer, _ = timed(lambda: by_sklearn(loss, X, y, fold))
    off = float(np.abs(scores - again).max() / np.abs(again).max())
    return (
        f"| {type(loss).__name__} | {rows}, {columns} | {1e3 * whole:.2f} ms | {1e3 * ours:.2f} ms | {1e3 * theirs:.1f} ms "
        f"| {theirs / ours:.1f}x | {peer / ours:.0f}x | {off:.0e} |"
    )


def main() -> None:
    print(f"\n## Choosing among {len(GRID)} penalties by {FOLDS} folds: one period\n")
    print(
        "| loss | rows, columns | fits to all rows (needed anyway) | folds, shared | folds by refits | refits / shared "
        "| scikit-learn / shared | largest difference of scores |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for loss in (SquaredLoss(), LogisticLoss()):
        for rows, columns in SHAPES:
            print(case(loss, rows, columns))


if __name__ == "__main__":
    main()

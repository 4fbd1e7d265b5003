from typing import Any

import numpy as np
import pytest

from driftpace.errors import DataError, ParameterError
from driftpace.losses import LogisticLoss, SquaredLoss
from driftpace.selection import make_folds, select_l2

GRID = [0.0, 0.03, 0.3, 3.0]


def test_the_scores_are_those_of_one_fit_for_each_fold_and_penalty(rng: np.random.Generator) -> None:
    X = rng.standard_normal((50, 6))
    y = X[:, 0] + rng.standard_normal(50)
    selected, coef = select_l2(SquaredLoss(), X, y, GRID, folds=5, rng=3)
    fold = make_folds(50, 5, rng=3)

    def ridge(keep: np.ndarray, l2: float) -> np.ndarray:
        return np.linalg.solve(X[keep].T @ X[keep] + keep.sum() * l2 * np.eye(6), X[keep].T @ y[keep])

    by_hand = []
    for l2 in GRID:
        losses = np.empty(50)
        for f in range(5):
            losses[fold == f] = 0.5 * (y[fold == f] - X[fold == f] @ ridge(fold != f, l2)) ** 2
        by_hand.append(losses.mean())
    assert selected.scores == pytest.approx(by_hand)
    assert selected.index == int(np.argmin(by_hand))
    assert coef == pytest.approx(ridge(np.ones(50, dtype=bool), GRID[selected.index]))


@pytest.mark.statistical
def test_much_noise_wants_a_penalty_and_none_wants_none(seed: int) -> None:
    """40 problems of each kind; a chance of 1/2 each way would give 30 or more of 40 with probability 0.001."""
    heavy = light = 0
    for problem in range(40):
        rng = np.random.default_rng((seed, problem))
        X = rng.standard_normal((40, 10))
        heavy += select_l2(SquaredLoss(), X, 5.0 * rng.standard_normal(40), [0.0, 3.0])[0].index
        light += select_l2(SquaredLoss(), X, X.sum(axis=1) + 0.1 * rng.standard_normal(40), [0.0, 3.0])[0].index
    assert heavy >= 30
    assert light == 0


def test_classes_and_groups_are_kept_as_they_should(rng: np.random.Generator) -> None:
    X = rng.standard_normal((60, 3))
    y = np.where(X[:, 0] + 0.5 * rng.standard_normal(60) > 0.0, 1.0, 0.0)
    selected, coef = select_l2(LogisticLoss(), X, y, [0.01, 1.0], folds=4, groups=[f"p{i // 3}" for i in range(60)])
    assert selected.folds == 4
    assert np.isfinite(coef).all()
    with pytest.raises(DataError, match="class 1 has 2 rows, for 10 folds"):
        select_l2(LogisticLoss(), X, np.array([1.0] * 2 + [0.0] * 58), [0.01, 1.0])


def test_bad_input_is_refused(rng: np.random.Generator) -> None:
    X, y = rng.standard_normal((8, 2)), rng.standard_normal(8)
    for changes, error, sentence in (
        ({"l2": [0.1]}, ParameterError, "at least two numbers"),
        ({"folds": 9}, DataError, "must be at most the 8 rows; got 9"),
        ({"groups": [1, 2]}, DataError, "one entry for each of 8 rows"),
        ({"X": X * np.nan}, DataError, "must be finite"),
        ({"y": y[:3]}, DataError, "one entry for each of 8 rows"),
    ):
        given: dict[str, Any] = {"X": X, "y": y, "l2": [0.0, 1.0], "folds": 4} | changes
        with pytest.raises(error, match=sentence):
            select_l2(SquaredLoss(), given.pop("X"), given.pop("y"), given.pop("l2"), **given)

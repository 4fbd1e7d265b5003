"""Shrunken means of categories: close to the best shrinkage, and a true promise only where rows are encoded by earlier ones."""

from typing import Literal

import numpy as np
import pytest

from driftpace import SquaredLoss, Tracker
from driftpace.errors import DataError
from driftpace.tables import TargetEncoder

CATEGORIES = 300


def test_the_smoothing_is_the_ratio_of_the_variances() -> None:
    """Of 40 runs the mean of log k has a standard error below 0.05."""
    ratios = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        effects = 0.5 * rng.standard_normal(CATEGORIES)
        codes = rng.integers(CATEGORIES, size=3000)
        encoder = TargetEncoder().updated(codes, effects[codes] + rng.standard_normal(3000))
        ratios.append(encoder.smoothing)
    assert np.exp(np.mean(np.log(ratios))) == pytest.approx(4.0, rel=0.15)


def test_shrunken_means_are_closer_than_means() -> None:
    rng = np.random.default_rng(0)
    effects = rng.standard_normal(CATEGORIES)
    codes = rng.integers(CATEGORIES, size=600)
    y = effects[codes] + 2.0 * rng.standard_normal(600)
    encoder = TargetEncoder().updated(codes, y)
    every = np.unique(codes)
    means = np.array([y[codes == code].mean() for code in every])
    error = np.mean((encoder.transform(every) - effects[every]) ** 2)
    assert error < 0.9 * np.mean(effects[every] ** 2)
    assert error < 0.6 * np.mean((means - effects[every]) ** 2)


def test_deliveries_add_up_and_unknown_categories_are_the_mean() -> None:
    both = TargetEncoder().updated(["a", "b", "a", "b"], [1.0, 2.0, 1.5, 2.5])
    apart = TargetEncoder().updated(["a", "b"], [1.0, 2.0]).updated(["a", "b"], [1.5, 2.5])
    assert both == apart
    assert both.transform(["new", None]).tolist() == [both.mean] * 2
    assert TargetEncoder().transform(["a"]).tolist() == [0.0]
    with pytest.raises(
        DataError, match=r"TargetEncoder.updated\(y=...\) must be one finite number for each of 2 values"
    ):
        both.updated(["a", "b"], [1.0])


def excess(encode: Literal["earlier rows", "own labels"], seed: int, epsilon: float = 0.05) -> float:
    """Track eight periods with a column of categories; return the mean excess loss on new rows over the target."""
    rng = np.random.default_rng(seed)
    effects, found = rng.standard_normal(CATEGORIES), []
    encoder = TargetEncoder()
    tracker = Tracker(SquaredLoss(), epsilon=epsilon, rng=seed)

    def rows(count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        X, codes = rng.standard_normal((count, 2)), rng.integers(CATEGORIES, size=count)
        return X, codes, X @ [1.0, -1.0] + effects[codes] + rng.standard_normal(count)

    first = rows(200)
    encoder = encoder.updated(first[1], first[2])
    for _ in range(8):
        labelled, now = [], encoder
        while count := tracker.ask().samples:
            X, codes, y = rows(count)
            if encode == "own labels":
                now = now.updated(codes, y)
            tracker.tell(np.column_stack([X, now.transform(codes)]), y, final=False)
            labelled.append((codes, y))
        tracker.tell()
        X, codes, y = rows(20_000)
        Z = np.column_stack([X, now.transform(codes), np.ones(len(X))])
        best = np.linalg.lstsq(Z, y, rcond=None)[0]
        model = np.append(tracker.coef, tracker.intercept)
        found.append(0.5 * np.mean((y - Z @ model) ** 2) - 0.5 * np.mean((y - Z @ best) ** 2))
        for codes, y in labelled:
            encoder = encoder.updated(codes, y)
    return float(np.mean(found)) / epsilon


def test_the_promise_holds_with_means_of_earlier_rows_and_breaks_with_those_of_the_rows_themselves() -> None:
    """Twelve runs of eight periods: a mean ratio of 0.7 has a standard error of 0.08 at most."""
    assert np.mean([excess("earlier rows", seed) for seed in range(12)]) <= 1.0
    assert np.mean([excess("own labels", seed) for seed in range(12)]) > 1.3

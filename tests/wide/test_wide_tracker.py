"""The wide method behind a tracker: what it asks, that it is saved, and what it refuses."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from driftpace import Budget, LinearCost, LogisticLoss, SoftmaxLoss, SquaredLoss, Tracker
from driftpace.errors import DataError, ParameterError
from driftpace.losses import LinearLoss
from driftpace.records import Outcome
from driftpace.typing import FloatArray

COLUMNS = 150
SCALE = (1.0 + np.arange(COLUMNS)) ** -0.5


class World:
    """Rows whose variances fall as 1/k, and a linear model of the first columns."""

    def __init__(self, seed: int, *, classes: bool = False) -> None:
        self.rng, self.classes = np.random.default_rng(seed), classes
        self.coef = self.rng.standard_normal(COLUMNS) * SCALE

    def rows(self, count: int) -> FloatArray:
        return np.asarray(self.rng.standard_normal((count, COLUMNS)) * SCALE)

    def draw(self, count: int) -> tuple[FloatArray, FloatArray]:
        X = self.rows(count)
        scores = 0.5 + X @ self.coef
        if self.classes:
            return X, np.where(self.rng.random(count) < 1.0 / (1.0 + np.exp(-scores)), 1.0, -1.0)
        return X, scores + self.rng.standard_normal(count)


@pytest.mark.parametrize("loss", [SquaredLoss(), LogisticLoss()])
def test_many_columns_are_followed_and_saved(loss: LinearLoss, tmp_path: Path) -> None:
    world = World(1, classes=isinstance(loss, LogisticLoss))
    tracker = Tracker(loss, epsilon=0.2, rng=0)
    tracker.fit_pool(world.rows(1500))
    assert tracker.ask().samples < 150
    reports = [tracker.step(world.draw) for _ in range(4)]
    assert all(report.outcome.promised and report.risk_bound <= 0.2 for report in reports)
    assert all((report.certificate or 0.0) >= report.risk_bound for report in reports)
    assert reports[-1].samples < reports[0].samples
    tracker.ask()
    tracker.tell(*world.draw(7), final=False)
    tracker.save(tmp_path / "state")
    again = Tracker.load(tmp_path / "state")
    X = world.rows(5)
    np.testing.assert_array_equal(again.predict(X), tracker.predict(X))
    assert again.ask() == tracker.ask()
    assert getattr(again.tell(), "risk_bound", 1) == getattr(tracker.tell(), "risk_bound", 2)


def test_sparse_rows_give_the_same_numbers_as_dense_ones() -> None:
    world = World(2)
    pool, (X, y) = world.rows(600), world.draw(120)
    X[np.abs(X) < 0.2] = 0.0
    pool[np.abs(pool) < 0.2] = 0.0
    risks, scores = [], []
    forms: list[Any] = [np.asarray, sparse.csr_matrix, sparse.csc_array]
    for form in forms:
        tracker = Tracker(SquaredLoss(), epsilon=0.3, rng=0)
        tracker.fit_pool(form(pool))
        tracker.ask()
        report = tracker.tell(form(X), y)
        assert report is not None
        risks.append(report.risk_bound)
        scores.append(tracker.decision_function(form(X[:3])))
    np.testing.assert_allclose(risks, risks[0], rtol=1e-3)
    np.testing.assert_allclose(scores, np.tile(scores[0], (3, 1)), rtol=1e-2, atol=1e-3)


def test_without_a_pool_the_rows_show_the_components_and_a_check_says_so() -> None:
    world, tracker = World(3), Tracker(SquaredLoss(), epsilon=0.3, rng=0)
    tracker.ask()
    tracker.tell(*world.draw(10), final=False)  # the first rows show how many columns there are
    request = tracker.ask()
    assert 100 < request.samples < 300
    report = tracker.step(world.draw)
    assert "fit_pool" in next(one for one in report.assumptions if one.name == "components").sentence


def test_fewer_columns_or_another_method_stay_as_they_are() -> None:
    world = World(4)
    X, y = world.draw(40)
    for tracker, rows in (
        (Tracker(SquaredLoss(), epsilon=0.3, rng=0), X[:, :5]),
        (Tracker(SquaredLoss(), epsilon=0.3, rng=0, method="adaptive"), X),
    ):
        tracker.ask()
        tracker.tell(rows, y, final=False)
        assert type(tracker.snapshot()[0]).__name__ == "AdaptiveMethod"


@pytest.mark.parametrize(("method", "name"), [(None, "WideMethod"), ("adaptive", "AdaptiveMethod")])
def test_a_tracker_saved_before_its_first_rows_chooses_as_it_would_have(
    method: str | None, name: str, tmp_path: Path
) -> None:
    tracker = Tracker(SquaredLoss(), epsilon=0.3, method=method, rng=0)
    tracker.ask()
    tracker.save(tmp_path / "state")
    again = Tracker.load(tmp_path / "state")
    again.tell(*World(9).draw(20), final=False)
    assert type(again.snapshot()[0]).__name__ == name


def test_a_budget_is_kept() -> None:
    world = World(5)
    budget = Budget(total=900, horizon=6, cost=LinearCost(per_sample=1))
    tracker = Tracker(SquaredLoss(), epsilon=0.2, budget=budget, rng=0)
    tracker.fit_pool(world.rows(800))
    bought = sum(tracker.step(world.draw).samples for _ in range(6))
    assert 100 < bought <= 900


@pytest.mark.parametrize("dtype", ["torch.float32", "torch.bfloat16"])
def test_rows_of_another_library_come_in(dtype: str) -> None:
    class Tensor:
        """An array on a device: it must be detached, copied and of a type of NumPy before NumPy reads it."""

        def __init__(self, values: Any, *, moved: bool = False, dtype: str = dtype) -> None:
            self.values, self.moved, self.shape, self.dtype = values, moved, values.shape, dtype

        def __dlpack__(self) -> Any:
            raise AssertionError

        def detach(self) -> Any:
            return self

        def cpu(self) -> Any:
            return Tensor(self.values, moved=True)

        def float(self) -> Any:
            return Tensor(self.values, moved=self.moved, dtype="torch.float32")

        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            assert self.moved
            if self.dtype == "torch.bfloat16":
                raise TypeError("Got unsupported ScalarType BFloat16")
            return self.values

    world, tracker = World(6), Tracker(SquaredLoss(), epsilon=0.3, rng=0)
    X, y = world.draw(100)
    tracker.fit_pool(Tensor(world.rows(300).astype(np.float32)))
    tracker.ask()
    report = tracker.tell(Tensor(X.astype(np.float32)), y)
    assert report is not None
    assert report.samples == 100


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (lambda X: sparse.csr_matrix(np.where(X[3, 7] == X, np.nan, X)), "column 7 has nan in row 3"),
        (lambda X: np.where(X[3, 7] == X, np.inf, X), "column 7 has inf in row 3"),
        (lambda X: X[:, :-1], "must have 150 columns; got 149"),
        (lambda X: sparse.csr_matrix((len(X), 10**6)), "at most 200,000 columns"),
    ],
)
def test_bad_rows_are_refused_and_change_nothing(rows: Callable[[FloatArray], Any], words: str) -> None:
    world, tracker = World(7), Tracker(SquaredLoss(), epsilon=0.3, rng=0)
    tracker.fit_pool(world.rows(300))
    tracker.ask()
    before = tracker.snapshot()
    X, y = world.draw(20)
    with pytest.raises(DataError, match=words):
        tracker.tell(rows(X), y)
    assert tracker.snapshot() == before
    with pytest.raises(DataError, match="must have 150 columns"):
        tracker.fit_pool(np.ones((50, 140)))
    assert tracker.snapshot() == before


@pytest.mark.parametrize(
    "kwargs",
    [{"season": 12}, {"delay": 2}, {"l2": [0.1, 1.0]}, {"start": np.zeros(151)}],
    ids=lambda kwargs: next(iter(kwargs)),
)
def test_what_the_wide_method_does_not_support_is_said(kwargs: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="wide method"):
        Tracker(SquaredLoss(), epsilon=0.1, method="wide", **kwargs)


def test_rows_with_groups_or_weights_stay_with_the_adaptive_method() -> None:
    tracker = Tracker(SquaredLoss(), epsilon=0.3, rng=0)
    tracker.ask()
    tracker.tell(*World(8).draw(20), sample_weight=np.ones(20), final=False)
    assert type(tracker.snapshot()[0]).__name__ == "AdaptiveMethod"


def test_groups_and_weights_are_refused_in_a_sentence() -> None:
    world, tracker = World(8), Tracker(SquaredLoss(), epsilon=0.3, method="wide", rng=0)
    tracker.ask()
    X, y = world.draw(20)
    with pytest.raises(ParameterError, match="wide method"):
        tracker.tell(X, y, groups=np.ones(20))
    with pytest.raises(ParameterError, match="wide method"):
        tracker.tell(X, y, sample_weight=np.ones(20))
    assert tracker.snapshot()[1].gathered == 0


@pytest.mark.parametrize("loss", [SoftmaxLoss(), LogisticLoss()])
def test_one_class_promises_nothing(loss: Any) -> None:
    """Rows of one class show no model: the period is short with a sentence, and the first one is still to come."""
    rng, tracker = np.random.default_rng(0), Tracker(loss, epsilon=0.2, method="wide", rng=0)
    tracker.ask()
    tracker.tell(rng.standard_normal((200, 4)), np.ones(200), final=False)
    request = tracker.ask()
    assert "only one class has been seen yet in 200 rows" in request.reason
    assert 0 < request.samples <= 200
    report = tracker.tell()
    assert report is not None
    assert report.outcome is Outcome.SHORT
    assert report.risk_bound == np.inf
    later = tracker.step(lambda rows: (X := rng.standard_normal((rows, 4)), np.where(X[:, 0] > 0.0, 1, 0)))
    assert later.outcome is Outcome.MET

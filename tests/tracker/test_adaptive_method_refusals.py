"""What the default tracker refuses, in a sentence and without a trace."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from driftpace import Ball, LogisticLoss, SquaredLoss, Tracker
from driftpace.adaptive import judge
from driftpace.errors import DataError, ParameterError
from driftpace.records import Outcome
from driftpace.rules import DoNotUpdate
from driftpace.tracker import adaptive_method
from tests.tracker.test_adaptive_method import TRUTH, default, rows
from tests.tracker.test_tracker import OwnLoss, fingerprint


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        pytest.param({"epsilon": None}, r"epsilon=...\) must be given, or tolerance .* got none of them", id="neither"),
        pytest.param(
            {"tolerance": 0.05}, r"epsilon=...\) must be given, or tolerance .* got epsilon and tolerance", id="both"
        ),
        pytest.param({"epsilon": None, "tolerance": 0.0}, r"tolerance=...\) must be positive", id="tolerance-zero"),
        pytest.param({"epsilon": None, "tolerance": "5 %"}, r"tolerance=...\) must be", id="tolerance-text"),
        pytest.param({"epsilon": 0.0}, r"epsilon=...\) must be positive", id="epsilon-zero"),
        pytest.param({"epsilon": math.nan}, r"epsilon=...\) must be positive", id="epsilon-nan"),
        pytest.param({"confidence": 1.0}, r"confidence=...\) must be", id="confidence-one"),
        pytest.param({"confidence": 0.0}, r"confidence=...\) must be", id="confidence-zero"),
        pytest.param({"confidence": 95}, r"confidence=...\) must be", id="confidence-percent"),
        pytest.param({"certificate_level": 1.5}, r"certificate_level=...\) must be", id="certificate"),
        pytest.param({"domain": Ball(3.0)}, r"domain=...\) must be WholeSpace\(\) for the adaptive method", id="ball"),
        pytest.param({"cap": 0}, r"cap=", id="cap"),
        pytest.param({"start": [1.0, 2.0], "features": 3}, r"features=.* start has, 2", id="start"),
    ],
)
def test_bad_parameters_are_refused_in_a_sentence(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message) as refusal:
        default(**changes)
    assert "\n" not in str(refusal.value)


class Strange:
    """A loss of the user's own that is not a curve of a score."""

    l2 = 0.0

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **rest: 0.0

    def with_unpenalised(self, trailing: int) -> "Strange":
        return self

    def encode(self, y: Any) -> Any:
        return y


def test_a_loss_that_is_no_curve_needs_parts() -> None:
    with pytest.raises(ParameterError, match=r"loss=...\) must be"):
        Tracker(Strange(), epsilon=0.1)
    assert Tracker(OwnLoss(), epsilon=0.1).ask().samples > 0  # a LinearLoss of the user's own is one


def test_targets_that_are_no_classes_change_nothing() -> None:
    tracker = Tracker(LogisticLoss(), epsilon=0.1, rng=0)
    tracker.ask()
    before = fingerprint(tracker)
    with pytest.raises(DataError, match=r"^Tracker\.tell\(y=\.\.\.\) must be -1/1 or 0/1"):
        tracker.tell(np.eye(3), [0, 1, 2])
    assert fingerprint(tracker) == before


def test_rows_that_overflow_are_reported_before_the_period_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing more is asked, closing refuses in a sentence, and taking the rows back helps."""
    tracker = default()
    tracker.ask()
    tracker.tell(*rows(30, seed=0), final=False)
    with monkeypatch.context() as patch:
        patch.setattr(adaptive_method, "judge", lambda *given: replace(judge(*given), variances=np.full(2, np.nan)))
        request = tracker.ask()
        assert (request.samples, request.outcome, request.risk_bound) == (0, Outcome.NONFINITE, math.inf)
        before = fingerprint(tracker)
        with pytest.raises(DataError, match="rescale the columns"):
            tracker.tell()
        assert fingerprint(tracker) == before
    tracker.forget()
    assert tracker.ask().samples > 0
    assert tracker.tell(*rows(30, seed=0)) is not None


def test_a_start_is_where_the_first_model_is() -> None:
    tracker = default(start=[1.0, -2.0, 0.5, 1.0], features=3)
    np.testing.assert_array_equal(tracker.coef, TRUTH)
    assert tracker.intercept == 1.0
    tracker.ask()
    tracker.tell(*rows(2, seed=0))
    assert np.abs(tracker.coef - TRUTH).max() < 3.0


@pytest.mark.parametrize("l2", [None, [0.0, 0.1]])
def test_columns_that_only_a_bad_delivery_had_are_forgotten_with_it(l2: list[float] | None) -> None:
    tracker = Tracker(SquaredLoss(), epsilon=0.1, rng=0, l2=l2)
    rng = np.random.default_rng(0)
    tracker.ask()
    tracker.tell(rng.normal(size=(9, 5)), rng.normal(size=9), final=False)
    tracker.forget()
    report = tracker.tell(rng.normal(size=(30, 2)), rng.normal(size=30))
    assert report is not None
    assert tracker.coef.shape == (2,)


@pytest.mark.parametrize("season", [1, 0, -12, 2.5, "12", True, 1001])
def test_a_season_is_a_whole_number_of_periods(season: object) -> None:
    with pytest.raises(
        ParameterError, match=r"Tracker\(season=\.\.\.\) must be a whole number from 2 to 1000, or one of"
    ):
        Tracker(SquaredLoss(), epsilon=0.1, season=season)  # type: ignore[arg-type]


def test_a_season_is_refused_with_parts() -> None:
    with pytest.raises(ParameterError, match="season"):
        Tracker(SquaredLoss(), epsilon=0.1, season=12, rule=DoNotUpdate())

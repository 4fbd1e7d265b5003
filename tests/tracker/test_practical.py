"""The default tracker as a user meets it: the loop, what comes in, what is refused, and what does not change its mind."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from driftpace import Ball, HuberLoss, LogisticLoss, SmoothedHinge, SquaredLoss, Tracker
from driftpace.errors import DataError, ParameterError, ProtocolError, StateFileError
from driftpace.losses import Loss
from driftpace.pacing import FIRST_ROWS, judge
from driftpace.records import Outcome, StepReport, Verdict
from driftpace.storage import write_state
from driftpace.tracker import engine, practical
from driftpace.tracker.events import Asked, Closed, Event, Forgot, Told
from driftpace.tracker.saving import to_body
from driftpace.tracker.tracker import Draw
from driftpace.typing import FloatArray
from tests.tracker.test_tracker import OwnLoss, fingerprint

TRUTH = np.array([1.0, -2.0, 0.5])


def rows(count: int, seed: int, moved: float = 0.0) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng([seed, 5])
    X = rng.standard_normal((count, 3))
    return X, X @ TRUTH + 1.0 + moved + rng.standard_normal(count)


def default(**changes: Any) -> Tracker:
    return Tracker(SquaredLoss(), **{"epsilon": 0.05, "rng": 0, **changes})


def period(tracker: Tracker, seed: int, moved: float = 0.0) -> StepReport:
    rng = np.random.default_rng([seed, 9])

    def draw(count: int) -> tuple[FloatArray, FloatArray]:
        return rows(count, int(rng.integers(2**31)), moved)

    return tracker.step(draw)


def after(periods: int, **changes: Any) -> Tracker:
    tracker = default(**changes)
    for seed in range(periods):
        period(tracker, seed)
    return tracker


def by_name(report: Any) -> dict[str, Verdict]:
    return {one.name: one.verdict for one in report.assumptions}


# the loop


@pytest.mark.parametrize("periods", [0, 1, 3])
def test_asking_again_gives_the_same_answer(periods: int) -> None:
    tracker = after(periods)
    assert tracker.ask() == tracker.ask()
    tracker.tell(*rows(3, seed=1), final=False)
    assert tracker.ask() == tracker.ask()
    with pytest.raises(ProtocolError, match=r"ask\(pool=1\) came after period"):
        tracker.ask(pool=1)


def test_the_first_question_is_small_and_says_that_nothing_is_known() -> None:
    request = default().ask()
    assert request.samples == FIRST_ROWS
    assert request.outcome is Outcome.PILOT
    assert request.risk_bound == math.inf
    assert "nothing is known" in request.reason
    known = default(features=20).ask()
    assert known.samples > 20  # more rows than coefficients, since their number is known
    assert known.outcome is Outcome.PILOT


def test_a_first_period_asks_until_its_bound_is_met() -> None:
    tracker = default()
    batches, request = [], tracker.ask()
    while request.samples:
        batches.append(request.samples)
        assert len(batches) < 40
        tracker.tell(*rows(request.samples, seed=len(batches)), final=False)
        request = tracker.ask()
        assert request.reason
    assert len(batches) > 2
    assert request.risk_bound <= 0.05
    assert request.outcome is Outcome.MET
    report = tracker.tell()
    assert report is not None
    assert report.outcome is Outcome.MET
    assert report.samples == sum(batches)
    assert report.risk_bound <= 0.05
    assert report.certificate is not None
    assert report.certificate > report.risk_bound
    np.testing.assert_allclose(tracker.coef, TRUTH, atol=0.8)
    assert report.rho is None  # nothing moved that could be seen
    assert period(tracker, 1).rho is not None


def test_both_numbers_are_shown() -> None:
    request = after(3).ask()
    assert request.samples_theory > 0
    assert request.interval[0] <= request.interval[1]
    assert request.epsilon == 0.05


@pytest.mark.parametrize("count", [0, 1, 3, 8, 500])
def test_whatever_came_is_accounted_for(count: int) -> None:
    tracker = after(3)
    tracker.ask()
    report = tracker.tell(*rows(count, seed=50))
    assert report is not None
    assert report.samples == count
    assert np.isfinite(report.risk_bound)
    assert (report.outcome in (Outcome.MET, Outcome.ENOUGH)) == (report.risk_bound <= 0.05)
    assert tracker.period == 5
    assert period(tracker, 60).outcome is Outcome.MET


def test_fewer_rows_have_an_honest_larger_bound() -> None:
    bounds, certificates = [], []
    for count in (0, 2, 20, 400):
        tracker = after(2)
        tracker.ask()
        report = tracker.tell(*rows(count, seed=77))
        assert report is not None
        bounds.append(report.risk_bound)
        assert report.certificate is not None
        certificates.append(report.certificate)
    assert bounds == sorted(bounds, reverse=True)
    assert certificates == sorted(certificates, reverse=True)


def test_a_first_period_closed_early_is_short_and_not_an_error() -> None:
    tracker = default()
    tracker.ask()
    report = tracker.tell(*rows(6, seed=0))
    assert report is not None
    assert report.outcome is Outcome.SHORT
    assert report.risk_bound > 0.05
    assert by_name(report)["enough rows"] is Verdict.FAIL
    assert period(tracker, 1).outcome is Outcome.MET


def test_nothing_at_all_is_ordinary_life() -> None:
    tracker = default()
    for expected in (1, 2):
        request = tracker.ask()
        assert request.period == expected
        report = tracker.tell()
        assert report is not None
        assert (report.samples, report.outcome) == (0, Outcome.SHORT)
        assert report.risk_bound == math.inf
    report = period(tracker, 0)
    assert (report.period, report.outcome) == (3, Outcome.MET)
    tracker.ask()
    empty = tracker.tell(np.empty((0, 3)), np.empty(0))
    assert empty is not None
    assert empty.samples == 0
    assert np.isfinite(empty.risk_bound)


def test_a_pool_that_is_too_small_is_said() -> None:
    tracker = default(epsilon=1e-3)
    supply = iter([rows(10, seed=seed) for seed in range(100)])

    def draw(count: int) -> tuple[FloatArray, FloatArray]:
        X, y = next(supply)
        return X[:count], y[:count]

    report = tracker.step(draw, pool=40)
    assert report.samples == 40
    assert report.outcome is Outcome.POOL
    assert report.risk_bound > 1e-3
    assert by_name(report)["pool"] is Verdict.FAIL
    missing = next(one.sentence for one in report.assumptions if one.name == "pool")
    assert int("".join(ch for ch in missing if ch.isdigit())) > 100
    assert default(pool=7).ask().samples == 7
    assert not default(pool=7).ask().outcome.promised


def test_a_pool_that_was_not_emptied_is_not_to_blame() -> None:
    tracker = default(epsilon=1e-3)
    tracker.ask(pool=400)
    tracker.tell(*rows(10, seed=0), final=False)
    tracker.ask()
    report = tracker.tell()
    assert report is not None
    assert report.outcome is Outcome.SHORT
    assert by_name(report)["pool"] is Verdict.PASS


def test_the_cap_is_said_aloud() -> None:
    tracker = default(epsilon=1e-4, cap=60)
    supply = iter(range(1000))
    request = tracker.ask()
    while request.samples:
        tracker.tell(*rows(request.samples, seed=next(supply)), final=False)
        request = tracker.ask()
    assert request.outcome is Outcome.CAPPED
    assert by_name(request)["pool"] is Verdict.PASS
    report = tracker.tell()
    assert report is not None
    assert (report.samples, report.outcome) == (60, Outcome.CAPPED)


def test_a_period_that_needs_nothing_asks_for_nothing() -> None:
    """In a world that stands still some period needs no rows; it is closed without any, and the next goes on."""
    tracker = default()
    for seed in range(80):
        request = tracker.ask()
        if request.samples == 0:
            break
        period(tracker, seed)
    assert (request.samples, request.outcome) == (0, Outcome.ENOUGH)
    assert "that is enough" in request.reason
    before = tracker.coef
    report = tracker.tell()
    assert report is not None
    assert (report.samples, report.outcome) == (0, Outcome.ENOUGH)
    assert report.risk_bound <= 0.05
    assert report.certificate is not None
    np.testing.assert_allclose(tracker.coef, before, atol=0.3)
    assert period(tracker, 100).outcome.promised


def test_a_bad_delivery_can_be_taken_back() -> None:
    tracker = after(2)
    request = tracker.ask()
    before = fingerprint(tracker)
    tracker.tell(*rows(6, seed=3, moved=1e6), final=False)
    assert tracker.ask() != request
    tracker.forget()
    assert tracker.ask().samples == request.samples
    assert tracker.ask().status == request.status
    tracker.tell(*rows(30, seed=4))
    other = after(2)
    other.ask()
    assert fingerprint(other) == before
    other.tell(*rows(30, seed=4))
    np.testing.assert_array_equal(tracker.coef, other.coef)


def test_parts_are_the_whole() -> None:
    X, y = rows(60, seed=8)
    whole, parts = after(2), after(2)
    whole.ask()
    whole.tell(X, y)
    parts.ask()
    parts.tell(X[:13], y[:13], final=False)
    parts.tell(X[13:], y[13:])
    np.testing.assert_array_equal(whole.coef, parts.coef)
    assert whole.history[-1].risk_bound == parts.history[-1].risk_bound


# saved, replayed


@pytest.mark.parametrize("stop", ["fresh", "asked", "part", "asked-again", "told"])
@pytest.mark.parametrize("loss", [SquaredLoss(), LogisticLoss(l2=0.1)], ids=["squared", "logistic"])
def test_save_and_load_go_on_to_the_bit(tmp_path: Path, stop: str, loss: Loss) -> None:
    def give(count: int, seed: int) -> tuple[FloatArray, FloatArray]:
        X, y = rows(count, seed)
        return X, y if isinstance(loss, SquaredLoss) else np.sign(y)

    tracker = Tracker(loss, tolerance=0.2, confidence=0.8, certificate=0.9, rng=0)
    for seed in range(0 if stop == "fresh" else 3):
        tracker.ask()
        tracker.tell(*give(40, seed))
    if stop in ("asked", "part", "asked-again"):
        tracker.ask(pool=200)
    if stop in ("part", "asked-again"):
        tracker.tell(*give(5, 9), final=False)
    if stop == "asked-again":
        tracker.ask()
    tracker.save(tmp_path / "state")
    loaded = Tracker.load(tmp_path / "state")
    assert fingerprint(loaded) == fingerprint(tracker)
    assert loaded.history == tracker.history
    for seed in range(3):
        assert loaded.ask() == tracker.ask()
        assert loaded.tell(*give(15, seed)) == tracker.tell(*give(15, seed))
    assert fingerprint(loaded) == fingerprint(tracker)


def test_a_log_of_events_folds_to_the_same_state() -> None:
    tracker = default()
    log: list[Event] = []
    for seed in range(4):
        X, y = rows(40, seed)
        log += [Asked(), Told(X=X[:5], y=y[:5]), Asked(), Forgot(), Asked(), Told(X=X[:9], y=y[:9])]
        log += [Asked(), Told(X=X[9:], y=y[9:]), Closed()]
        tracker.ask()
        tracker.tell(X[:5], y[:5], final=False)
        tracker.ask()
        tracker.forget()
        tracker.ask()
        tracker.tell(X[:9], y[:9], final=False)
        tracker.ask()
        tracker.tell(X[9:], y[9:])
    state, reports = engine.replay(tracker._settings, log)
    assert reports == list(tracker.history)
    body = to_body(tracker._settings, tracker._state, tracker._reports)["state"]
    assert json.dumps(to_body(tracker._settings, state, reports)["state"]) == json.dumps(body)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        pytest.param(("method", "kind"), "parts", id="parts"),
        pytest.param(("method", "with", "epsilon"), None, id="no-target"),
        pytest.param(("method", "with", "level"), 2.0, id="level"),
        pytest.param(("state", "period"), 9, id="period"),
    ],
)
def test_a_state_no_tracker_wrote_is_refused(tmp_path: Path, path: tuple[str, ...], value: Any) -> None:
    tracker = after(2)
    body = to_body(tracker._settings, tracker._state, tracker._reports)
    inner = body
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = value
    write_state(tmp_path / "state", body)
    with pytest.raises(StateFileError):
        Tracker.load(tmp_path / "state")


# what comes in


@pytest.mark.parametrize("frame", [pl.DataFrame, pd.DataFrame, pa.table], ids=["polars", "pandas", "pyarrow"])
def test_frames_are_rows_with_names(frame: Any) -> None:
    plain, framed = default(), default()
    for seed in range(3):
        X, y = rows(40, seed)
        named = {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]}
        for tracker in (plain, framed):
            tracker.ask()
        plain.tell(X, y)
        framed.tell(frame(named), y)
    np.testing.assert_array_equal(plain.coef, framed.coef)
    np.testing.assert_array_equal(plain.predict(X), framed.predict(frame(named)))


def test_without_an_intercept_there_is_none() -> None:
    tracker = default(fit_intercept=False)
    rng = np.random.default_rng(0)

    def draw(count: int) -> tuple[FloatArray, FloatArray]:
        X = rng.standard_normal((count, 3))
        return X, X @ TRUTH + rng.standard_normal(count)

    for _ in range(4):
        assert tracker.step(draw).outcome is Outcome.MET
    assert tracker.intercept == 0.0
    np.testing.assert_allclose(tracker.coef, TRUTH, atol=0.7)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_single_column_is_enough(fit_intercept: bool) -> None:
    tracker = default(fit_intercept=fit_intercept)
    rng = np.random.default_rng(0)
    for _ in range(4):
        report = tracker.step(lambda count: ((x := rng.standard_normal((count, 1))), x[:, 0] + rng.normal(size=count)))
        assert report.outcome.promised
    assert tracker.coef.shape == (1,)


@pytest.mark.parametrize("kind", ["constant", "zero", "copy", "sum"])
def test_columns_that_cannot_be_told_apart_are_refused_once_that_is_clear(kind: str) -> None:
    tracker = default()
    rng = np.random.default_rng(0)

    def draw(count: int) -> tuple[FloatArray, FloatArray]:
        X = rng.standard_normal((count, 4))
        X[:, 2] = {"constant": np.full(count, 2.0), "zero": np.zeros(count), "copy": X[:, 0], "sum": X[:, 0] + X[:, 1]}[
            kind
        ]
        return X, X[:, 0] + rng.standard_normal(count)

    def ten_periods() -> None:
        for _ in range(10):
            tracker.step(draw)

    with pytest.raises(DataError, match=r"linearly independent columns when l2=0; .*column 2") as refusal:
        ten_periods()
    assert "\n" not in str(refusal.value)
    held = Tracker(SquaredLoss(l2=0.1), epsilon=0.05, rng=0)
    for _ in range(3):
        assert np.isfinite(held.step(draw).risk_bound)


def test_a_few_rows_may_have_a_constant_column() -> None:
    tracker = after(2)
    X, y = rows(5, seed=3)
    X[:, 1] = 4.0
    tracker.ask()
    report = tracker.tell(X, y)
    assert report is not None
    assert np.isfinite(tracker.coef).all()


REFUSED = {
    "outliers-x": "cannot be told apart",  # beside rows a million times larger, columns look alike
    "outliers": "cannot be told apart",
    "both-huge": "rescale the columns",  # HuberLoss has no curvature so far out
    "huge-y": "rescale the columns",
}


def stepped(tracker: Tracker, draw: Draw, said: str | None) -> StepReport | None:
    """A period; or None where it is refused with a sentence that is expected."""
    try:
        return tracker.step(draw)
    except DataError as refusal:
        sentence = str(refusal)
    if said is None or said not in sentence or "\n" in sentence:
        raise AssertionError(sentence)
    assert tracker._state.gathered == 0  # what was drawn is taken back
    return None


def regression(kind: str, rng: np.random.Generator, count: int) -> tuple[FloatArray, FloatArray]:
    X, noise = rng.standard_normal((count, 3)), rng.standard_normal(count)
    y = X @ TRUTH + noise
    match kind:
        case "no-noise":
            return X, X @ TRUTH
        case "zero-targets":
            return X, np.zeros(count)
        case "huge-x":
            return 1e70 * X, y
        case "tiny-x":
            return 1e-12 * X, y
        case "mixed-x":
            return X * [1e12, 1.0, 1e-12], y
        case "huge-y":
            return X, 1e70 * y
        case "tiny-y":
            return X, 1e-12 * y
        case "both-huge":
            return 1e70 * X, 1e70 * y
        case "outliers-y":
            return X, np.where(rng.random(count) < 0.05, 1e6, y)
        case "outliers-x":
            return np.where(rng.random((count, 1)) < 0.05, 1e6, 1.0) * X, y
        case "cauchy":
            return X, X @ TRUTH + rng.standard_cauchy(count)
        case "few-values":
            return np.round(X), np.round(y)
    raise AssertionError(kind)


@pytest.mark.parametrize("loss", [SquaredLoss(), SquaredLoss(l2=0.1), HuberLoss()], ids=["squared", "ridge", "huber"])
@pytest.mark.parametrize(
    "kind",
    [
        "no-noise",
        "zero-targets",
        "huge-x",
        "tiny-x",
        "mixed-x",
        "huge-y",
        "tiny-y",
        "both-huge",
        "outliers-y",
        "outliers-x",
        "cauchy",
        "few-values",
    ],
)
def test_hard_numbers_are_survived(loss: Loss, kind: str) -> None:
    """Never NaN, never an exception: at worst an honest large bound, and never more rows than the cap."""
    tracker = Tracker(loss, epsilon=0.05, cap=600, rng=0)
    rng = np.random.default_rng(1)
    for _ in range(4):
        report = stepped(tracker, lambda count: regression(kind, rng, count), REFUSED.get(kind))
        if report is None:
            return
        assert report.samples <= 600
        assert np.isfinite(tracker.coef).all()
        assert not math.isnan(report.risk_bound)
        assert report.certificate is not None
        assert report.certificate >= 0.0
        assert report.outcome.promised == (report.risk_bound <= 0.05)
        assert np.isfinite(tracker.predict(regression(kind, rng, 3)[0])).all()


def classes(kind: str, batch: int, rng: np.random.Generator, count: int) -> tuple[FloatArray, FloatArray]:
    X = rng.standard_normal((count, 3))
    y = np.where(rng.random(count) < 1.0 / (1.0 + np.exp(-X.sum(axis=1))), 1.0, -1.0)
    match kind:
        case "ordinary":
            return X, y
        case "one-class-pilot":
            return X, np.ones(count) if batch == 0 else y
        case "one-class":
            return X, np.ones(count)
        case "separable":
            return X, np.where(X[:, 0] > 0.0, 1.0, -1.0)
        case "rare":
            return X, np.where(rng.random(count) < 0.02, 1.0, -1.0)
        case "huge-x":
            return 1e70 * X, y
        case "tiny-x":
            return 1e-12 * X, y
        case "outliers":
            return np.where(rng.random((count, 1)) < 0.05, 1e6, 1.0) * X, y
    raise AssertionError(kind)


@pytest.mark.parametrize(
    "loss", [LogisticLoss(), LogisticLoss(l2=0.1), SmoothedHinge(), SmoothedHinge(l2=0.1)], ids=repr
)
@pytest.mark.parametrize(
    "kind", ["ordinary", "one-class-pilot", "one-class", "separable", "rare", "huge-x", "tiny-x", "outliers"]
)
def test_hard_classes_are_survived(loss: Loss, kind: str) -> None:
    tracker = Tracker(loss, epsilon=0.05, cap=400, rng=0)
    rng = np.random.default_rng(1)
    batches = iter(range(10**6))
    for _ in range(4):
        report = stepped(tracker, lambda count: classes(kind, next(batches), rng, count), REFUSED.get(kind))
        if report is None:
            return
        assert report.samples <= 400
        assert np.isfinite(tracker.coef).all()
        assert not math.isnan(report.risk_bound)
        assert report.certificate is not None
        assert report.certificate >= 0.0
        assert report.outcome.promised == (report.risk_bound <= 0.05)
    if kind in ("ordinary", "one-class-pilot"):
        X, y = classes("ordinary", 1, rng, 2000)
        assert np.mean(tracker.predict(X) == y) > 0.6


# what does not change its mind


def followed(
    change: Any, epsilon: float = 0.05, loss: Loss | None = None, **settings: Any
) -> tuple[list[Any], FloatArray]:
    """Samples, bounds over epsilon and scores on fixed rows, when X and y are passed through ``change``."""
    tracker = Tracker(SquaredLoss() if loss is None else loss, epsilon=epsilon, rng=0, **settings)
    rng, told = np.random.default_rng(4), []
    probe = rng.standard_normal((6, 3))
    for index in range(5):

        def draw(count: int, index: int = index) -> tuple[FloatArray, FloatArray]:
            X = rng.standard_normal((count, 3))
            y = X @ TRUTH + 0.3 * index + rng.standard_normal(count)
            return change(X, y if loss is None else np.where(y > 0.0, 1.0, -1.0))  # type: ignore[no-any-return]

        report = tracker.step(draw)
        assert report.certificate is not None
        told.append((report.samples, report.risk_bound / epsilon, report.certificate / epsilon))
    seen, _ = change(probe, np.zeros(6))
    return told, seen @ tracker.coef + tracker.intercept


SHIFT = np.array([5.0, -20.0, 0.1])
ROTATION = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]


@pytest.mark.parametrize("loss", [None, LogisticLoss(), SmoothedHinge()], ids=["squared", "logistic", "hinge"])
@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda X, y: (X * [1e6, 1.0, 1e-6], y), id="scaled"),
        pytest.param(lambda X, y: (X + SHIFT, y), id="shifted"),
        pytest.param(lambda X, y: (X @ ROTATION, y), id="rotated"),
        pytest.param(lambda X, y: (1e3 * X @ ROTATION + 50.0, y), id="all"),
    ],
)
def test_units_of_the_columns_do_not_matter(change: Any, loss: Loss | None) -> None:
    """Without a penalty the same rows in other units get the same answers, up to rounding and a ridge of 1e-9."""
    plain, scores = followed(lambda X, y: (X, y), loss=loss)
    other, same = followed(change, loss=loss)
    assert [one[0] for one in other] == [one[0] for one in plain]
    np.testing.assert_allclose(np.array(other), np.array(plain), rtol=2e-4)
    np.testing.assert_allclose(same, scores, rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("unit", [1e-6, 37.0, 1e8])
def test_units_of_the_target_do_not_matter(unit: float) -> None:
    """A target in other units with epsilon in their square: the same rows, bounds in the same proportion."""
    plain, scores = followed(lambda X, y: (X, y))
    other, scaled = followed(lambda X, y: (X, unit * y), epsilon=0.05 * unit**2)
    np.testing.assert_allclose(np.array(other), np.array(plain), rtol=1e-6)
    np.testing.assert_allclose(scaled / unit, scores, rtol=1e-6)


# refusals


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        pytest.param({"epsilon": None}, r"epsilon=...\) must be given, or tolerance= .* got neither", id="neither"),
        pytest.param({"tolerance": 0.05}, r"epsilon=...\) must be given, or tolerance= .* got both", id="both"),
        pytest.param({"epsilon": None, "tolerance": 0.0}, r"tolerance=...\) must be positive", id="tolerance-zero"),
        pytest.param({"epsilon": None, "tolerance": "5 %"}, r"tolerance=...\) must be", id="tolerance-text"),
        pytest.param({"epsilon": 0.0}, r"epsilon=...\) must be positive", id="epsilon-zero"),
        pytest.param({"epsilon": math.nan}, r"epsilon=...\) must be positive", id="epsilon-nan"),
        pytest.param({"confidence": 1.0}, r"confidence=...\) must be", id="confidence-one"),
        pytest.param({"confidence": 0.0}, r"confidence=...\) must be", id="confidence-zero"),
        pytest.param({"confidence": 95}, r"confidence=...\) must be", id="confidence-percent"),
        pytest.param({"certificate": 1.5}, r"certificate=...\) must be", id="certificate"),
        pytest.param({"domain": Ball(3.0)}, r"domain=...\) must be WholeSpace\(\) for the practical method", id="ball"),
        pytest.param({"cap": 0}, r"cap=", id="cap"),
        pytest.param({"start": [1.0, 2.0], "features": 3}, r"features=.* start has, 2", id="start"),
    ],
)
def test_bad_parameters_are_refused_in_a_sentence(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError, match=said) as refusal:
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
    with pytest.raises(DataError, match="-1/1 or 0/1"):
        tracker.tell(np.eye(3), [0, 1, 2])
    assert fingerprint(tracker) == before


def test_rows_that_overflow_are_said_before_the_period_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing more is asked, closing refuses in a sentence, and taking the rows back helps."""
    tracker = default()
    tracker.ask()
    tracker.tell(*rows(30, seed=0), final=False)
    with monkeypatch.context() as patch:
        patch.setattr(practical, "judge", lambda *given: replace(judge(*given), variances=np.full(2, np.nan)))
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

"""A tracker of a model of any kind: asks, tells, trains again, and refuses what it cannot use."""

from functools import partial
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import pytest

from driftpace import Tracker
from driftpace.errors import DataError, ParameterError, ProtocolError
from driftpace.losses import HuberLoss, LogisticLoss, PoissonLoss, SquaredLoss
from driftpace.models import Head
from driftpace.tracker.model_tracker import ModelTracker
from driftpace.typing import FloatArray


def truth(X: FloatArray, extra: float = 0.0) -> FloatArray:
    """A function of three columns; ``extra`` is a term that no base of these tests was trained on, and no line reaches."""
    return np.asarray(np.sin(2.0 * X[:, 0]) + X[:, 1] * (X[:, 2] > 0.0) + extra * np.cos(3.0 * X[:, 3]))


def draw(
    rows: int, rng: np.random.Generator, *, extra: float = 0.0, level: float = 0.0
) -> tuple[FloatArray, FloatArray]:
    X = rng.uniform(-2.0, 2.0, (rows, 4))
    return X, level + truth(X, extra) + 0.5 * rng.standard_normal(rows)


def trained(rng: np.random.Generator, rows: int = 3000) -> Any:
    return lightgbm.LGBMRegressor(n_estimators=60, verbose=-1, n_jobs=1).fit(*draw(rows, rng))


@pytest.fixture(scope="module")
def model() -> Any:
    return trained(np.random.default_rng(7))


def test_a_base_that_is_right_needs_few_labels_and_a_level_is_followed(model: Any, rng: np.random.Generator) -> None:
    tracker = Tracker.for_model(model, epsilon=0.05, rng=0)
    tracker.fit_pool(draw(500, rng)[0])
    X, _ = draw(2000, rng)
    risks, labels = [], []
    for period in range(8):
        level = 0.2 * period
        report = tracker.step(partial(draw, rng=rng, level=level))
        labels.append(report.samples)
        risks.append(0.5 * float(np.square(tracker.predict(X) - truth(X) - level).mean()))
        assert not report.retrain
    before = 0.5 * float(np.square(model.predict(X) - truth(X)).mean())
    assert np.mean(risks) <= before + 0.05
    assert np.mean(labels[1:]) < 60


def test_training_again_is_advised_where_no_head_reaches_the_truth(model: Any, rng: np.random.Generator) -> None:
    tracker = Tracker.for_model(model, epsilon=0.05, rng=0)
    tracker.fit_pool(draw(500, rng)[0])
    X, _ = draw(2000, rng)

    def risk() -> float:
        return 0.5 * float(np.square(tracker.predict(X) - truth(X, 1.0)).mean())

    advised = []
    for _ in range(6):
        report = tracker.step(lambda rows: draw(max(rows, 120), rng, extra=1.0))
        advised.append(bool(report.retrain))
        if report.retrain:
            break
    assert any(advised)
    before = risk()
    tracker.retrain()
    assert tracker.period == len(advised) + 1
    for _ in range(2):
        tracker.step(lambda rows: draw(max(rows, 120), rng, extra=1.0))
    assert risk() < before - 0.05
    assert tracker.history[-1].period == len(advised) + 2


def test_a_saved_tracker_goes_on_alike(model: Any, rng: np.random.Generator, tmp_path: Path) -> None:
    tracker = Tracker.for_model(model, epsilon=0.05, rng=0)
    tracker.step(lambda rows: draw(rows, rng))
    tracker.ask()
    tracker.tell(*draw(5, rng), final=False)
    tracker.save(tmp_path / "state.json")
    again = Tracker.load(tmp_path / "state.json")
    assert isinstance(again, ModelTracker)
    X, y = draw(50, rng)
    one, other = (each.tell(X, y) for each in (tracker, again))
    assert one == other
    np.testing.assert_array_equal(tracker.predict(X), again.predict(X))


def test_classes_and_probabilities(rng: np.random.Generator) -> None:
    X = rng.uniform(-2.0, 2.0, (1500, 3))
    words = np.array(["low", "mid", "top"])
    y = words[np.digitize(X[:, 0] + 0.3 * rng.standard_normal(1500), [-0.6, 0.6])]
    model = lightgbm.LGBMClassifier(n_estimators=30, verbose=-1, n_jobs=1).fit(X, y)
    tracker = Tracker.for_model(model, epsilon=0.1, rng=0)
    assert tracker.classes == ("low", "mid", "top")
    tracker.ask()
    report = tracker.tell(X[:300], y[:300])
    assert report is not None
    assert report.samples == 300
    shares = tracker.predict_proba(X[:10])
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert set(tracker.predict(X)) == set(words)


def test_losses_of_the_task_are_taken_and_others_refused(model: Any) -> None:
    for loss in (SquaredLoss(), HuberLoss(threshold=1.0)):
        assert Tracker.for_model(model, epsilon=0.1, loss=loss, rng=0).epsilon == 0.1
    for wrong in (LogisticLoss(), PoissonLoss()):
        with pytest.raises(ParameterError, match="must be a loss for regression, such as SquaredLoss"):
            Tracker.for_model(model, epsilon=0.1, loss=wrong, rng=0)


def test_frames_with_categories(rng: np.random.Generator) -> None:
    city = rng.choice(["Oslo", "Rome", "Lima"], 1200)
    frame = pd.DataFrame({"age": rng.uniform(20, 60, 1200), "city": pd.Categorical(city)})
    y = 0.05 * frame["age"].to_numpy() + (city == "Rome") + 0.3 * rng.standard_normal(1200)
    model = lightgbm.LGBMRegressor(n_estimators=40, verbose=-1, n_jobs=1).fit(frame[:800], y[:800])
    tracker = Tracker.for_model(model, epsilon=0.05, rng=0)
    tracker.ask()
    tracker.tell(frame[800:1100], y[800:1100])
    assert tracker.head_features is not None
    assert "column city=Oslo" in tracker.head_features
    shuffled = frame[["city", "age"]][1100:]
    np.testing.assert_array_equal(tracker.predict(frame[1100:]), tracker.predict(shuffled))


class TestRefusals:
    def test_of_models(self) -> None:
        for wrong, sentence in (
            (object(), "must be a fitted model of a known kind"),
            (lightgbm.LGBMRegressor(), "must be fitted"),
            (lightgbm.LGBMRegressor, "must be a fitted model; got the class"),
            (lambda X: X[:, 0], "must be given with a function"),
        ):
            with pytest.raises(ParameterError, match=sentence):
                Tracker.for_model(wrong, epsilon=0.1)

    def test_of_rows(self, model: Any, rng: np.random.Generator) -> None:
        tracker = Tracker.for_model(model, epsilon=0.1, rng=0)
        tracker.ask()
        X, y = draw(30, rng)
        with pytest.raises(DataError, match="must have the 4 columns of the model; got 3"):
            tracker.tell(X[:, :3], y)
        with pytest.raises(DataError, match="one entry for each of the 30 rows"):
            tracker.tell(X, y[:-1])
        with pytest.raises(DataError, match="finite"):
            tracker.tell(X, np.where(np.arange(30) == 3, np.nan, y))
        assert tracker.ask().samples == Tracker.for_model(model, epsilon=0.1, rng=0).ask().samples

    def test_of_a_model_that_changes(self, rng: np.random.Generator) -> None:
        shift = [0.0]
        tracker = Tracker.for_model(lambda X: X[:, 0] + shift[0], task="regression", epsilon=0.1, rng=0)
        tracker.ask()
        tracker.tell(*draw(60, rng))
        shift[0] = 1.0
        tracker.ask()
        with pytest.raises(ParameterError, match="must score the same rows alike in every call"):
            tracker.tell(*draw(20, rng))

    def test_of_bad_scores(self, rng: np.random.Generator) -> None:
        for wrong, sentence in (
            (lambda X: np.full(len(X), np.nan), "must have finite scores"),
            (lambda X: X, "must score 30 rows as"),
            (lambda X: 1 / 0, "it said: division by zero"),
        ):
            tracker = Tracker.for_model(wrong, task="regression", epsilon=0.1, rng=0)
            tracker.ask()
            with pytest.raises((ParameterError, DataError), match=sentence):
                tracker.tell(*draw(30, rng))

    def test_of_rows_the_model_may_have_seen(self, model: Any, rng: np.random.Generator) -> None:
        tracker = Tracker.for_model(model, epsilon=0.1, rng=0, trained_until="2026-01-31")
        tracker.ask()
        X, y = draw(2, rng)
        with pytest.raises(DataError, match="until when the model was trained; row 1"):
            tracker.tell(X, y, times=["2026-02-01", "2026-01-30"])
        with pytest.raises(DataError, match="must be given for each row, since trained_until is"):
            tracker.tell(X, y)
        with pytest.raises(ParameterError, match=r"trained_until=.*must be a date, such as 2026-01-31"):
            Tracker.for_model(model, epsilon=0.1, trained_until="soon")
        with pytest.raises(DataError, match="must be None without trained_until"):
            Tracker.for_model(model, epsilon=0.1).tell(X, y, times=["2026-02-01", "2026-02-02"])

    def test_of_training_without_rows(self, model: Any) -> None:
        tracker = Tracker.for_model(model, epsilon=0.1, rng=0)
        with pytest.raises(ProtocolError, match="needs labelled rows, 40 or more"):
            tracker.retrain()

    def test_of_unknown_classes(self, rng: np.random.Generator) -> None:
        X = rng.standard_normal((200, 2))
        model = lightgbm.LGBMClassifier(n_estimators=5, verbose=-1).fit(X, np.where(X[:, 0] > 0, "yes", "no"))
        tracker = Tracker.for_model(model, epsilon=0.1, rng=0)
        tracker.ask()
        with pytest.raises(DataError, match=r"must be classes of the model \(no, yes\); got 'maybe' in row 1"):
            tracker.tell(X[:2], ["yes", "maybe"])


def test_head_settings_are_checked() -> None:
    with pytest.raises(ParameterError, match="share"):
        Head(share=1.5)


def test_periods_without_rows_count(model: Any, rng: np.random.Generator) -> None:
    tracker = Tracker.for_model(model, epsilon=0.1, rng=0)
    tracker.ask()
    tracker.tell()
    tracker.ask(pool=100)
    tracker.tell(*draw(0, rng), final=False)
    report = tracker.tell(*draw(40, rng))
    assert report is not None
    assert (report.period, report.samples, tracker.period) == (2, 40, 3)


def test_a_failed_call_changes_nothing(model: Any, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    tracker, plain = (Tracker.for_model(model, epsilon=0.1, rng=0) for _ in range(2))
    rows = [draw(40, rng) for _ in range(2)]
    for each in (tracker, plain):
        each.ask()
        each.tell(*rows[0])
        each.ask()
    with monkeypatch.context() as patch:
        patch.setattr("driftpace.tracker.head_rows.gain_of_training", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            tracker.tell(*rows[1])
    assert tracker.period == 2
    assert tracker.tell(*rows[1]) == plain.tell(*rows[1])


def test_rows_that_the_model_was_trained_on_are_remembered_for_training_it_again(rng: np.random.Generator) -> None:
    X, y = draw(400, rng)
    tracker = Tracker.for_model(lightgbm.LGBMRegressor(n_estimators=5, verbose=-1).fit(X, y), epsilon=0.1, rng=0)
    with pytest.raises(DataError, match=r"Tracker.remember\(sample_weight=...\) must be finite and not negative"):
        tracker.remember(X, y, sample_weight=np.full(400, -1.0))
    tracker.remember(X, y)
    for _ in range(3):
        tracker.ask()
        tracker.tell(*draw(40, rng))
    tracker.retrain()
    assert sum(len(part) for part in tracker._state.rows) == 520
    advice = tracker.history[-1].retrain
    assert advice is not None
    assert advice.rows == 120  # the rows of the base are never evidence


def test_dates_of_training_go_on_in_a_saved_tracker_and_with_a_new_model(
    model: Any, rng: np.random.Generator, tmp_path: Path
) -> None:
    tracker = Tracker.for_model(model, epsilon=0.1, rng=0, trained_until=pd.Timestamp("2026-01-31"))
    tracker.ask()
    X, y = draw(3, rng)
    tracker.save(tmp_path / "state.json")
    for each in (tracker, Tracker.load(tmp_path / "state.json")):
        with pytest.raises(DataError, match=r"row 1 is from '31\.01\.2026'"):
            each.tell(X, y, times=["1.2.2026", "31.01.2026", "2.2.2026"])
        each.tell(X, y, times=pd.to_datetime(["2026-02-01", "2026-02-02", "2026-02-03"]))
    with pytest.raises(ParameterError, match=r"trained_until=.*must be left out without model="):
        tracker.retrain(trained_until="2026-03")
    with pytest.raises(ParameterError, match="must be a date"):
        tracker.retrain(model=model, trained_until="soon")
    tracker.retrain(model=model, trained_until="2026-03")
    tracker.ask()
    with pytest.raises(DataError, match="must be after 2026-03, until when the model was trained; row 0"):
        tracker.tell(X, y, times=["2026-03-31", "2026-04-01", "2026-04-02"])
    tracker.tell(X, y, times=["2026-04-01"] * 3)


def test_a_period_of_one_row_and_one_without_rows_are_closed(model: Any, rng: np.random.Generator) -> None:
    tracker = Tracker.for_model(model, epsilon=0.05, rng=0)
    for rows in (60, 60, 1, 0, 60):
        tracker.ask()
        report = tracker.tell(*draw(rows, rng))
        assert report is not None
        assert report.samples == rows
        assert np.isfinite(report.risk_bound)
    assert tracker.predict(np.empty((0, 4))).shape == (0,)


def test_rows_are_of_one_kind_in_every_call(model: Any, rng: np.random.Generator) -> None:
    tracker = Tracker.for_model(model, epsilon=0.05, rng=0)
    tracker.ask()
    tracker.tell(*draw(60, rng))
    X, y = draw(60, rng)
    tracker.ask()
    with pytest.raises(DataError, match="one kind in every call, arrays; got frames of pandas"):
        tracker.tell(pd.DataFrame(X), y)
    assert tracker.tell(X, y) is not None


def test_columns_of_frames_are_taken_by_name_for_a_function_too(rng: np.random.Generator) -> None:
    tracker = Tracker.for_model(lambda X: X["a"].to_numpy(), task="regression", epsilon=0.05, rng=0)
    for order in ("ab", "ba"):
        X = pd.DataFrame(rng.standard_normal((60, 2)), columns=["a", "b"])
        tracker.ask()
        tracker.tell(X[list(order)], X.a + 0.1 * rng.standard_normal(60))
    tracker.ask()
    with pytest.raises(DataError, match="must have the columns of the rows before; got no 'b'"):
        tracker.tell(X[["a"]], X.a)


@pytest.mark.parametrize("cell", [np.inf, 1e300])
def test_a_cell_that_no_head_can_use_is_refused_from_the_first_row_on(
    model: Any, rng: np.random.Generator, cell: float
) -> None:
    X, y = draw(60, rng)
    wrong = X.copy()
    wrong[5, 1] = cell
    tracker = Tracker.for_model(model, epsilon=0.05, rng=0)
    for _ in range(2):
        tracker.ask()
        for call in (tracker.fit_pool, lambda rows: tracker.tell(rows, y)):
            if tracker.head_features is None or call != tracker.fit_pool:
                with pytest.raises(DataError, match=r"must be below 1e\+75 in size, or missing; column '1' has"):
                    call(wrong)
        tracker.tell(X, y)
        with pytest.raises(DataError, match=r"must be below 1e\+75 in size"):
            tracker.predict(wrong)


def test_single_precision_is_kept_when_a_tracker_is_saved(rng: np.random.Generator, tmp_path: Path) -> None:
    from sklearn.linear_model import Ridge

    X, y = draw(300, rng)
    tracker = Tracker.for_model(Ridge().fit(X, y), epsilon=0.05, rng=0)
    for _ in range(2):
        tracker.ask()
        tracker.tell(X.astype(np.float32), y)
    tracker.save(tmp_path / "state.json")
    again = Tracker.load(tmp_path / "state.json")
    gains = []
    for one in (tracker, again):
        one.ask()
        report = one.tell(X.astype(np.float32), y)
        assert report is not None
        assert report.retrain is not None
        gains.append(report.retrain.gain)
    assert gains[0] is not None
    assert gains[0] == gains[1]


def test_a_function_cannot_be_trained_again_and_says_so() -> None:
    tracker = Tracker.for_model(lambda X: X[:, 0], task="regression", epsilon=0.05)
    with pytest.raises(ParameterError, match=r"retrain\(model=...\) must be given"):
        tracker.retrain()


def test_a_constant_target_that_scores_and_columns_fit_exactly_is_no_overflow(rng: np.random.Generator) -> None:
    X = rng.standard_normal((300, 4))
    tracker = Tracker.for_model(lambda rows: rows[:, 0], task="regression", epsilon=0.05, rng=0)
    tracker.ask()
    report = tracker.tell(X, np.ones(300))
    assert report is not None
    assert 0.0 < report.risk_bound <= 0.035
    assert np.allclose(tracker.predict(X), 1.0, atol=1e-3)


def test_the_head_goes_on_where_the_base_is_trained_again(model: Any, rng: np.random.Generator, tmp_path: Path) -> None:
    tracker = Tracker.for_model(model, epsilon=0.05, rng=0)
    tracker.fit_pool(draw(500, rng)[0])
    X, _ = draw(2000, rng)
    for _ in range(6):
        report = tracker.step(lambda rows: draw(max(rows, 60), rng, extra=1.0))
        if report.retrain:
            break
    assert report.retrain
    coef, before = tracker.head.coef.copy(), np.square(tracker.predict(X) - truth(X, 1.0)).mean()
    names, most = tracker.head_features, max(each.samples for each in tracker.history)
    tracker.retrain()
    assert (tracker.base.corrections, tracker.head_features) == (1, names)
    np.testing.assert_array_equal(tracker.head.coef, coef)
    assert np.square(tracker.predict(X) - truth(X, 1.0)).mean() < before
    tracker.save(tmp_path / "state.json")
    again = Tracker.load(tmp_path / "state.json")
    rows = draw(300, rng, extra=1.0)
    told = []
    for one in (tracker, again):
        assert one.ask().samples < most  # nothing begins anew
        told.append(one.tell(*rows))
        told.append(one.predict(X).tolist())
    assert told[:2] == told[2:]


def test_a_model_of_one_class_is_refused(rng: np.random.Generator) -> None:
    from sklearn.tree import DecisionTreeClassifier

    X = rng.standard_normal((20, 2))
    with pytest.raises(ParameterError, match="must be a model of at least two classes; got 1"):
        Tracker.for_model(DecisionTreeClassifier().fit(X, ["a"] * 20), epsilon=0.1)


def test_a_model_that_changed_is_refused_when_it_predicts_and_after_a_pool(rng: np.random.Generator) -> None:
    shift = [0.0]
    tracker = Tracker.for_model(lambda X: X[:, 0] + shift[0], task="regression", epsilon=0.1, rng=0)
    X, y = draw(60, rng)
    tracker.fit_pool(X)
    tracker.ask()
    shift[0] = 1.0
    with pytest.raises(ParameterError, match=r"Tracker.tell\(model=...\) must score the same rows alike"):
        tracker.tell(X, y)
    with pytest.raises(ParameterError, match=r"Tracker.predict\(model=...\) must score the same rows alike"):
        tracker.predict(X)
    shift[0] = 0.0
    assert tracker.tell(X, y) is not None


def estimator(library: str) -> Any:
    """A small regressor of a library, which draws its own sample where it is fitted."""
    if library == "LightGBM":
        return lightgbm.LGBMRegressor(n_estimators=5, verbose=-1, n_jobs=1)
    if library == "XGBoost":
        return pytest.importorskip("xgboost").XGBRegressor(n_estimators=5, n_jobs=1)
    kind = pytest.importorskip("catboost").CatBoostRegressor
    return kind(iterations=5, verbose=0, thread_count=1, allow_writing_files=False)


@pytest.mark.parametrize("library", ["LightGBM", "XGBoost", "CatBoost"])
@pytest.mark.parametrize("head", [None, False], ids=["head", "no head"])
def test_an_estimator_that_is_fitted_again_in_place_is_noticed(
    library: str, head: Any, rng: np.random.Generator
) -> None:
    X, y = draw(200, rng)
    given = estimator(library).fit(X, y)
    tracker = Tracker.for_model(given, epsilon=0.1, head=head, rng=0)
    tracker.ask()
    given.fit(X, -y)
    for call in (partial(tracker.tell, X, y), partial(tracker.predict, X)):
        with pytest.raises(ParameterError, match=r"model=...\) must be left as it was given; it was fitted again"):
            call()
    assert tracker.period == 1
    if head is None:
        tracker.retrain(given)
        np.testing.assert_allclose(tracker.predict(X), given.predict(X), rtol=1e-6)


def test_a_new_base_of_other_columns_is_refused_and_nothing_is_lost(model: Any, rng: np.random.Generator) -> None:
    from sklearn.linear_model import Ridge

    tracker = Tracker.for_model(model, epsilon=0.1, rng=0)
    X, y = draw(60, rng)
    tracker.ask()
    tracker.tell(X, y)
    before = tracker.predict(X)
    with pytest.raises(
        ParameterError, match=r"retrain\(model=...\) must be a model of the same columns as before; got"
    ):
        tracker.retrain(Ridge().fit(X[:, :2], y))
    np.testing.assert_array_equal(tracker.predict(X), before)


def test_a_new_base_of_other_columns_is_refused_before_any_rows(model: Any, rng: np.random.Generator) -> None:
    X, y = draw(200, rng)
    tracker = Tracker.for_model(model, epsilon=0.1, rng=0)
    with pytest.raises(ParameterError, match="same columns as before; got one of 2 in place of 4"):
        tracker.retrain(lightgbm.LGBMRegressor(n_estimators=3, verbose=-1).fit(X[:, :2], y))
    np.testing.assert_array_equal(tracker.predict(X), model.predict(X))


def test_seeds_are_checked(model: Any) -> None:
    with pytest.raises(ParameterError, match=r"for_model\(rng=...\) must be a Generator, a whole number or None"):
        Tracker.for_model(model, epsilon=0.1, rng="seven")

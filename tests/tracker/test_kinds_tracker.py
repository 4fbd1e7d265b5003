"""Several kinds of models on the same labels: in worlds whose truth is known, the kind that is right ends up in use."""

from functools import partial
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pytest

from driftpace import Tracker
from driftpace.errors import DataError, ParameterError, ProtocolError
from driftpace.losses import SquaredLoss
from driftpace.selection import Tally
from driftpace.tracker.kinds_tracker import CHANGE, _change
from driftpace.typing import FloatArray

EPSILON = 0.03


def line(X: FloatArray) -> FloatArray:
    return np.asarray(X @ np.array([1.0, -1.0, 0.5, 0.0]))


def steps(X: FloatArray) -> FloatArray:
    """A truth that no line reaches: the best one loses about 0.4."""
    return np.asarray(np.sin(2.0 * X[:, 0]) + X[:, 1] * (X[:, 2] > 0.0))


def draw(rows: int, rng: np.random.Generator, truth: Any, level: float = 0.0) -> tuple[FloatArray, FloatArray]:
    X = rng.uniform(-2.0, 2.0, (rows, 4))
    return X, truth(X) + level + 0.5 * rng.standard_normal(rows)


def trees(rng: np.random.Generator, truth: Any) -> Any:
    return lightgbm.LGBMRegressor(n_estimators=60, verbose=-1, n_jobs=1).fit(*draw(1500, rng, truth))


def followed(tracker: Any, rng: np.random.Generator, truth: Any, periods: int = 7) -> tuple[list[int], float]:
    """Return the labels of each period, and the mean excess loss over the last three, whose levels move."""
    X, _ = draw(3000, rng, truth)
    labels, excess = [], []
    for period in range(periods):
        level = 0.3 * np.sin(period)
        labels.append(tracker.step(partial(draw, rng=rng, truth=truth, level=level)).samples)
        excess.append(0.5 * float(np.square(tracker.predict(X) - truth(X) - level).mean()))
    return labels, float(np.mean(excess[-3:]))


@pytest.mark.parametrize("head_first", [True, False])
@pytest.mark.parametrize(("truth", "right"), [(line, "linear"), (steps, "head on Booster")])
def test_the_kind_that_is_right_ends_up_in_use(
    truth: Any, right: str, head_first: bool, rng: np.random.Generator
) -> None:
    base = trees(rng, truth)
    tracker = Tracker.for_models([base, "linear"] if head_first else ["linear", base], epsilon=EPSILON, rng=0)
    assert tracker.in_use == ("head on Booster" if head_first else "linear")
    tracker.fit_pool(draw(300, rng, truth)[0])
    labels, excess = followed(tracker, rng, truth)
    assert tracker.in_use == right
    selected = tracker.history[-1].selected
    assert selected is not None
    assert selected.chosen == right
    assert f"{right} is in use" in tracker.history[-1].assumptions[-1].sentence
    assert np.mean(labels[-3:]) < 60
    if right == "linear":  # the promise is about the best line, which is the truth here
        assert excess < 2.0 * EPSILON
    else:
        assert excess < 0.1 < 0.4


def test_a_line_needs_fewer_labels_than_the_head_where_the_truth_is_one(rng: np.random.Generator) -> None:
    base = trees(rng, line)
    both = Tracker.for_models(["linear", base], epsilon=EPSILON, rng=0)
    alone = Tracker.for_model(base, epsilon=EPSILON, rng=0)
    used, _ = followed(both, rng, line, 6)
    without, _ = followed(alone, rng, line, 6)
    assert both.in_use == "linear"
    assert sum(used) < sum(without)


def tally(losses: FloatArray) -> Tally:
    return Tally.of(losses)


class TestChange:
    """The rule itself, on losses whose differences are known."""

    reports = staticmethod(
        lambda *needs: [type("Report", (), {"risk_bound": need, "epsilon": 1.0})() for need in needs]
    )

    def test_kinds_that_are_equal_seldom_take_over(self) -> None:
        """The other kind is the same plus noise: 400 looks, and at most one in ten may change, which the rule states."""
        changes = 0
        for seed in range(400):
            rng = np.random.default_rng(seed)
            one = rng.standard_normal(60) ** 2
            other = one + 0.3 * rng.standard_normal(60)
            changes += _change(tally(np.array([one, other])), 0, self.reports(1.0, 1.0), 0.05)
        assert changes <= 400 * 0.1 + 3.0 * np.sqrt(400 * 0.1 * 0.9)

    def test_a_kind_that_is_better_takes_over_and_one_that_only_looks_so_does_not(self) -> None:
        rng = np.random.default_rng(0)
        one = 1.0 + rng.standard_normal(400) ** 2
        better = one - 0.2 + 0.3 * rng.standard_normal(400)
        assert _change(tally(np.array([one, better])), 0, self.reports(1.0, 1.0), 0.1) == 1
        assert _change(tally(np.array([one, better])), 1, self.reports(1.0, 1.0), 0.1) == 1
        few = np.array([one, better])[:, :4] + np.array([[0.0] * 4, [0.0, 2.0, -2.0, 0.1]])
        assert _change(tally(few), 0, self.reports(1.0, 1.0), 0.1) == 0

    def test_one_as_good_that_needs_fewer_labels_takes_over_and_stays(self) -> None:
        rng = np.random.default_rng(0)
        one = 1.0 + rng.standard_normal(4000) ** 2
        other = one + 0.1 * CHANGE + 0.05 * rng.standard_normal(4000)
        found = tally(np.array([one, other]))
        assert _change(found, 0, self.reports(1.0, 0.5), 1.0) == 1
        assert _change(found, 1, self.reports(1.0, 0.5), 1.0) == 1
        assert _change(found, 0, self.reports(1.0, 0.9), 1.0) == 0
        worse = tally(np.array([one, other + 2.0 * CHANGE]))
        assert _change(worse, 0, self.reports(1.0, 0.5), 1.0) == 0


def test_classes_probabilities_and_a_saved_tracker(rng: np.random.Generator, tmp_path: Path) -> None:
    X, z = draw(900, rng, steps)
    y = np.where(z > 0.0, "yes", "no")
    base = lightgbm.LGBMClassifier(n_estimators=20, verbose=-1, n_jobs=1).fit(X, y)
    tracker = Tracker.for_models([base, "linear"], epsilon=0.1, rng=0)

    def more(rows: int) -> tuple[FloatArray, Any]:
        X, z = draw(rows, rng, steps)
        return X, np.where(z > 0.0, "yes", "no")

    tracker.step(more)
    tracker.ask()
    tracker.tell(*more(30), final=False)
    tracker.save(tmp_path / "kinds.json")
    again = Tracker.load(tmp_path / "kinds.json")
    assert (again.in_use, again.period, list(again.kinds)) == (tracker.in_use, 2, list(tracker.kinds))
    assert again.tell() == tracker.tell() or again.history[-1].selected == tracker.history[-1].selected
    shares = tracker.predict_proba(X)
    np.testing.assert_array_equal(again.predict_proba(X), shares)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert set(tracker.predict(X)) <= {"yes", "no"}
    assert tracker.classes == ("no", "yes")


def test_a_refused_call_changes_no_kind(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    tracker = Tracker.for_models([trees(rng, steps), "linear"], epsilon=0.1, rng=0)
    tracker.ask()
    X, y = draw(40, rng, steps)
    tracker.tell(X, y, final=False)
    before = [kind.ask().samples for kind in tracker.kinds.values()]
    with pytest.raises(DataError, match="4 columns of the model; got 3"):
        tracker.tell(X[:, :3], y)
    with monkeypatch.context() as patch:  # the head has taken the rows when the line refuses them
        patch.setattr(tracker.kinds["linear"], "tell", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            tracker.tell(X, y)
    with monkeypatch.context() as patch:
        patch.setattr("driftpace.tracker.head_rows.gain_of_training", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            tracker.tell()
    assert [kind.ask().samples for kind in tracker.kinds.values()] == before
    assert {kind.period for kind in tracker.kinds.values()} == {1}
    report = tracker.tell()
    assert report is not None
    assert report.samples == 40


def test_training_again_is_that_of_a_kind_and_forgets_its_losses(rng: np.random.Generator) -> None:
    tracker = Tracker.for_models(["linear", trees(rng, steps)], epsilon=0.1, rng=0)
    tracker.ask()
    tracker.tell(*draw(120, rng, line))
    with pytest.raises(ProtocolError, match="linear has none"):
        tracker.retrain(kind="linear")
    with pytest.raises(ParameterError, match="must be one of"):
        tracker.retrain(kind="trees")
    tracker.retrain(trees(rng, line), kind="head on Booster")
    tracker.ask()
    report = tracker.tell(*draw(120, rng, line))
    assert report is not None
    assert report.selected is not None
    assert abs(report.selected.scores[0] - report.selected.scores[1]) < 0.1


@pytest.mark.parametrize(
    ("models", "options", "wrong"),
    [
        (["linear"], {}, "two or more models"),
        ("linear", {}, "two or more models"),
        (["linear", "linear"], {}, "at least one model besides 'linear'"),
        ([lambda X: X[:, 0], lambda X: X[:, 1], "linear", "linear"], {"task": "regression"}, "got 'linear' twice"),
        ([lambda X: X[:, 0], "linear"], {}, "must be given with a function"),
        ([lambda X: X[:, 0], "linear"], {"task": "regression", "budget": 3}, "must be left out with several kinds"),
        ([lambda X: X[:, 0], "linear"], {"task": "regression", "audit": 0.1}, "must be left out with several kinds"),
        (["linear", lambda X: X[:, 0]], {"task": "regression", "method": "sgd"}, "must be one of"),
        ([lambda X: X[:, 0], "linear"], {"task": "counts", "loss": SquaredLoss()}, "must be a loss for counts"),
        ([lambda X: X[:, 0], "linear"], {"task": "regression", "epsilon": -1.0}, "epsilon"),
    ],
)
def test_what_does_not_go_together_is_refused(models: Any, options: dict[str, Any], wrong: str) -> None:
    with pytest.raises(ParameterError, match=wrong):
        Tracker.for_models(models, **{"epsilon": 0.1, **options})


def test_models_of_other_tasks_are_refused(rng: np.random.Generator) -> None:
    X, y = draw(200, rng, steps)
    one, other = trees(rng, steps), lightgbm.LGBMClassifier(n_estimators=3, verbose=-1).fit(X, y > 0.0)
    with pytest.raises(ParameterError, match="models of one task and the same classes"):
        Tracker.for_models([one, other], epsilon=0.1)
    assert list(Tracker.for_models([one, one], epsilon=0.1).kinds) == ["head on Booster 1", "head on Booster 2"]

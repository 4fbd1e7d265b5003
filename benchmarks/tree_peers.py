"""What people do with trees as data drift, on given labels: the ways of three libraries, re-training by ADWIN, and retrainopt.

Each is at its best setting in hindsight, and is left out (NaN) where its package is not installed or it cannot run.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from itertools import product
from typing import Any

import numpy as np

from driftpace.backtest.model_runs import HALF_LIVES, SplitHistory, refit_run, refitted
from driftpace.models import ModelAdapter, losses_of
from driftpace.models.rows import take
from driftpace.typing import FloatArray

SCHEDULE = 4
DECAYS = (0.5, 0.9)
ROUNDS = (5, 20)
DELTAS = (0.002, 0.05)
PRICES = tuple(np.geomspace(1e-6, 1e-2, 5).tolist())
SHARES = (1.0, 2.0, 4.0)
LEAST_HISTORY = 3
EQUAL = 1.05
LEAVES, RATE, DEPTH = 15, 0.08, 4
HELD = 3
"""One row in so many of the first periods is what retrainopt's history is evaluated on."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Setup:
    """A run with its base, the labels of each period, and the places at which losses are compared."""

    split: SplitHistory
    base: ModelAdapter
    trees: int
    labels: FloatArray
    places: Sequence[int]

    def bought(self, place: int, periods: int = 1) -> tuple[Any, FloatArray]:
        """Return the rows bought in a period followed, or in the last ``periods``."""
        parts = [
            self.split.bought(one, 0, int(self.labels[one])) for one in range(max(place - periods + 1, 0), place + 1)
        ]
        return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])

    def followed(self, train: Callable[[int], None], scores: Callable[[Any], FloatArray]) -> float:
        """Return the mean loss of a model that is trained at the end of each period."""
        losses = []
        for place in range(len(self.split.splits)):
            train(place)
            if place in self.places:
                losses.append(self.split.test_loss(place, np.asarray(scores(self.split.test_rows(place)))))
        return float(np.mean(losses))


def lightgbm_refit(setup: Setup, decay: float) -> float:
    """Return the loss of LightGBM's refit(), which keeps the trees and moves their values, on the rows of each period."""
    booster = setup.base.model

    def train(place: int) -> None:
        nonlocal booster
        X, y = setup.bought(place)
        if len(y):
            booster = booster.refit(X, y, decay_rate=decay)

    return setup.followed(train, lambda X: booster.predict(X, raw_score=True))


def xgboost_refresh(setup: Setup, periods: int) -> float:
    """Return the loss of XGBoost's refresh, which keeps the trees and computes their values again, on the rows of some periods."""
    xgboost = import_module("xgboost")
    task, classes = setup.base.task, setup.base.outputs
    objective = {"regression": "reg:squarederror", "classification": "binary:logistic", "counts": "count:poisson"}
    params = {"objective": objective.get(task, "multi:softprob"), "eta": RATE, "max_leaves": LEAVES, "nthread": 1}
    params |= {"grow_policy": "lossguide", "max_depth": 0, "verbosity": 0}
    params |= {"num_class": classes} if task == "multiclass" else {}
    X, y = setup.split.history.first_rows()
    booster = xgboost.train(params, xgboost.DMatrix(X, y), num_boost_round=setup.trees)
    again = params | {"process_type": "update", "updater": "refresh", "refresh_leaf": True}

    def train(place: int) -> None:
        nonlocal booster
        X, y = setup.bought(place, periods)
        if len(y):
            booster = xgboost.train(again, xgboost.DMatrix(X, y), num_boost_round=setup.trees, xgb_model=booster)

    return setup.followed(train, lambda X: booster.predict(xgboost.DMatrix(X), output_margin=True))


def catboost_init_model(setup: Setup, rounds: int) -> float:
    """Return the loss of CatBoost with init_model, which adds trees, fitted to the rows of each period."""
    catboost = import_module("catboost")
    task = setup.base.task
    loss = {"regression": "RMSE", "classification": "Logloss", "counts": "Poisson"}.get(task, "MultiClass")
    params = {"loss_function": loss, "learning_rate": RATE, "depth": DEPTH, "thread_count": 1, "random_seed": 0}
    params |= {"logging_level": "Silent", "allow_writing_files": False}
    params |= {"classes_count": setup.base.outputs} if task == "multiclass" else {}
    X, y = setup.split.history.first_rows()
    model = catboost.CatBoost(params | {"iterations": setup.trees}).fit(catboost.Pool(X, y))

    def train(place: int) -> None:
        nonlocal model
        X, y = setup.bought(place)
        if len(np.unique(y)) > 1:
            model = catboost.CatBoost(params | {"iterations": rounds}).fit(catboost.Pool(X, y), init_model=model)

    return setup.followed(train, lambda X: model.predict(X, prediction_type="RawFormulaVal"))


def scheduled(setup: Setup, half_life: float) -> float:
    """Return the loss of re-fitting on everything bought, every few periods."""
    places = list(setup.places)
    run = refit_run(setup.split, setup.base, setup.labels, half_life=half_life, places=places, interval=SCHEDULE)
    return float(run.losses[places].mean())


def adwin(setup: Setup, setting: tuple[float, float]) -> float:
    """Return the loss of re-fitting on everything bought whenever ADWIN finds that the losses of the rows bought have changed."""
    delta, half_life = setting
    detector, model = import_module("river.drift").ADWIN(delta=delta, clock=1), setup.base

    def train(place: int) -> None:
        nonlocal model
        X, y = setup.bought(place)
        found = False
        if len(y):
            losses = losses_of(setup.split.history.loss, np.asarray(model.scores(X)).reshape(len(y), -1), y)
            for loss in losses.tolist():
                detector.update(loss)
                found = found or detector.drift_detected
        if found:
            model = refitted(setup.split, setup.base, setup.labels, half_life=half_life, now=place)

    return setup.followed(train, lambda X: model.scores(X))


def retrainopt(setup: Setup, half_life: float) -> float:
    """Return the least loss of retrainopt's Base policy over prices of a label that spend as many labels or fewer.

    The first periods, all labelled, are its history; where they are fewer than three, periods followed join them. A model is
    fitted to the first periods and to the rows that it buys in one.
    """
    api = import_module("retrainopt")
    history, first = setup.split.history, setup.split.history.first
    steps = max(first, LEAST_HISTORY)
    if steps + 1 >= len(history.y):
        return float("nan")
    timeline, models = _timeline(api, setup), _models(api, setup, half_life)
    mean = float(setup.labels.mean())
    config = api.PlannerConfig(n_choices=tuple(sorted({max(round(share * mean), 10) for share in SHARES})))
    best = float("nan")
    for price in PRICES:

        def cost(*, n_samples: int, price: float = price, **_: Any) -> float:
            return price * n_samples

        learned = api.collect_online_training_data(timeline, models, config, history_steps=steps, training_cost_fn=cost)
        last = timeline.get_train_block(steps - 1)
        model = models.fit(last, step=steps - 1)
        controller = api.OnlineController(
            timeline,
            models,
            api.BaseOnlinePolicy.from_plan(learned.plan),
            config,
            initial_model=model,
            initial_reference_loss=models.evaluate(model, timeline.get_eval_block(steps - 1), step=steps - 1),
            start_step=steps,
            initial_trained_at=steps - 1,
            training_cost_fn=cost,
        )
        spent, losses = 0.0, []
        for period in range(steps, len(history.y)):
            spent += controller.step().decision.n_samples or 0
            if period - first in setup.places:
                losses.append(models.evaluate(controller.current_model, timeline.get_eval_block(period), step=period))
        if spent <= EQUAL * setup.labels[steps - first :].sum():
            best = float(np.nanmin([best, np.mean(losses)]))
    return best


def _timeline(api: Any, setup: Setup) -> Any:
    """Return the run as its kind of timeline: all periods, rows in the order in which they are bought, and the test rows."""
    split, history = setup.split, setup.split.history

    class Timeline(api.TimelineDataset):  # type: ignore[misc]
        @property
        def num_steps(self) -> int:
            return len(history.y)

        def _rows(self, step: int, *, held: bool) -> tuple[Any, FloatArray]:
            if step >= history.first:
                parts = split.splits[step - history.first]
                at = parts.test if held else parts.pool
            else:
                rows = np.arange(len(history.y[step]))
                at = rows[(rows % HELD == 0) == held]
            return take(history.X[step], at), history.y[step][at]

        def get_train_block(self, step: int) -> tuple[Any, FloatArray]:
            return self._rows(step, held=False)

        def get_eval_block(self, step: int) -> tuple[Any, FloatArray]:
            return self._rows(step, held=True)

        def train_size(self, step: int) -> int:
            return len(self._rows(step, held=False)[1])

        def sample_train_block(self, step: int, n_samples: int, *, seed: int) -> tuple[Any, FloatArray]:  # noqa: ARG002
            X, y = self.get_train_block(step)
            return X[:n_samples], y[:n_samples]

    return Timeline()


def _models(api: Any, setup: Setup, half_life: float) -> Any:
    """Return fits of the base's kind as its kind of model; one that was fitted is kept for the other prices."""
    history, fitted = setup.split.history, {}
    timeline = _timeline(api, setup)

    class Models(api.ModelAdapter):  # type: ignore[misc]
        def fit(self, train_data: tuple[Any, FloatArray], *, step: int, **_: int) -> ModelAdapter:
            key = step, len(train_data[1])
            if key not in fitted:
                parts = [(timeline.get_train_block(one), step - one) for one in range(min(step, history.first))]
                parts.append((train_data, 0))
                weights = np.concatenate([np.full(len(part[1]), 0.5 ** (age / half_life)) for part, age in parts])
                X, y = (np.concatenate([part[column] for part, _ in parts]) for column in (0, 1))
                fitted[key] = setup.base.refit(X, y, sample_weight=weights / weights.mean())
            return fitted[key]

        def evaluate(self, model: ModelAdapter, eval_data: tuple[Any, FloatArray], *, step: int) -> float:  # noqa: ARG002
            X, y = eval_data
            return float(losses_of(history.loss, np.asarray(model.scores(X)).reshape(len(y), -1), y).mean())

    return Models()


@dataclass(frozen=True, kw_only=True, slots=True)
class TreePeer:
    """A way to keep trees up to date: its package, and the settings of which the best in hindsight counts."""

    needs: str
    run: Callable[[Setup, Any], float]
    settings: Sequence[Any]

    def loss(self, setup: Setup) -> float:
        """Return the loss at the best setting; NaN without its package."""
        if find_spec(self.needs) is None:
            return float("nan")
        return min((self.run(setup, setting) for setting in self.settings), key=lambda loss: (np.isnan(loss), loss))


def _mean_of_refits(setup: Setup, half_life: float) -> float:
    places = list(setup.places)
    return float(
        refit_run(setup.split, setup.base, setup.labels, half_life=half_life, places=places).losses[places].mean()
    )


PEERS = {
    "refit all": TreePeer(needs="lightgbm", run=_mean_of_refits, settings=HALF_LIVES),
    "LightGBM refit": TreePeer(needs="lightgbm", run=lightgbm_refit, settings=DECAYS),
    "XGBoost refresh": TreePeer(needs="xgboost", run=xgboost_refresh, settings=(1, 4)),
    "CatBoost init_model": TreePeer(needs="catboost", run=catboost_init_model, settings=ROUNDS),
    f"every {SCHEDULE}": TreePeer(needs="lightgbm", run=scheduled, settings=HALF_LIVES),
    "ADWIN": TreePeer(needs="river", run=adwin, settings=tuple(product(DELTAS, HALF_LIVES))),
    "retrainopt": TreePeer(needs="retrainopt", run=retrainopt, settings=HALF_LIVES),
}
"""Ways to keep trees up to date, by the heads of their columns."""

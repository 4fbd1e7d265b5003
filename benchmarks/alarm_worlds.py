"""Worlds for the alarm: how scores depend on columns, and what changes; numbers, two classes, three classes, and counts.

The threshold of the alarm was chosen on the five worlds of numbers that come first. The others were made later, with other
shapes and dependent columns, and nothing was chosen on them.
"""

from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

import numpy as np

from driftpace.losses import LinearLoss, LogisticLoss, PoissonLoss, SoftmaxLoss, SquaredLoss, VectorLoss
from driftpace.models import losses_of
from driftpace.typing import FloatArray

Task = Literal["numbers", "two classes", "three classes", "counts"]

COLUMNS, NOISE = 4, 0.5
TRAINED_ON, TREES = 3000, 60
MORE_ROWS, MORE_TREES = 15_000, 150
"""Where outcomes say less, and for more columns, so that a base is nearly right at first."""

CHANGE, LOST, CORRELATION = 5, 0.75, 0.4
CHOSEN_ON = ("right", "level", "interaction", "meaning", "slow")
UNSEEN = ("waves", "fading", "product", "threshold")
_OBJECTIVES: dict[Task, str] = {
    "numbers": "regression",
    "two classes": "binary",
    "three classes": "multiclass",
    "counts": "poisson",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class World:
    """A function of columns that changes in a period; ``name`` says how, ``task`` what is predicted from it."""

    name: str
    task: Task = "numbers"

    @property
    def columns(self) -> int:
        """The number of columns."""
        return COLUMNS if self.name in CHOSEN_ON else COLUMNS + 2

    @property
    def loss(self) -> LinearLoss | VectorLoss:
        """The loss, without penalty."""
        losses: dict[Task, LinearLoss | VectorLoss] = {
            "numbers": SquaredLoss(),
            "two classes": LogisticLoss(l2=0.0),
            "three classes": SoftmaxLoss(classes=3, l2=0.0),
            "counts": PoissonLoss(l2=0.0),
        }
        return losses[self.task]

    def truth(self, X: FloatArray, period: int) -> FloatArray:
        """Return the true scores of rows in a period, (rows,) or (rows, 3); base models are trained in period -1."""
        score = self._function(X, period)
        if self.task == "counts":
            return 0.5 + 0.5 * score
        if self.task == "three classes":
            return np.column_stack([1.5 * score, 1.5 * self._function(X[:, ::-1], period), np.zeros(len(X))])
        return score if self.task == "numbers" else 2.0 * score

    def _function(self, X: FloatArray, period: int) -> FloatArray:
        since = max(period - CHANGE + 1, 0)
        if self.name in CHOSEN_ON:
            lost = {"interaction": min(since, 1.0), "slow": min(since / 4.0, 1.0)}.get(self.name, 0.0)
            X = X[:, [3, 1, 2, 0]] if self.name == "meaning" and since else X
            here, there = X[:, 1] * (X[:, 2] > 0.0), X[:, 1] * (X[:, 3] > 0.0)
            moved = NOISE * (period + 1) * (1.0 + 0.3 * X[:, 1]) if self.name == "level" else 0.0
            return np.asarray(np.sin(2.0 * X[:, 0]) + here + LOST * lost * (there - here) + moved)
        product = -0.6 if self.name == "product" and since else 0.6
        step = (X[:, 4] > 1.0) * (X[:, 5] > 0.0) if self.name == "threshold" and since else X[:, 4] * X[:, 5] < 0.0
        score = np.tanh(X[:, 0] + X[:, 1]) + product * X[:, 2] * X[:, 3] + 1.5 * step
        if self.name == "fading":
            score = score * (1.0 - 0.08 * (period + 1))
        if self.name == "waves":
            score = score + NOISE * np.sin(period) * (1.0 + X[:, 0])
        return np.asarray(score)

    def draw_columns(self, rows: int, rng: np.random.Generator) -> FloatArray:
        """Return fresh columns: even and independent, or normal and correlated."""
        if self.name in CHOSEN_ON:
            return rng.uniform(-2.0, 2.0, (rows, self.columns))
        common = rng.standard_normal((rows, 1))
        own = rng.standard_normal((rows, self.columns))
        return np.asarray(np.sqrt(CORRELATION) * common + np.sqrt(1.0 - CORRELATION) * own)

    def draw(self, rows: int, period: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Return fresh rows of a period."""
        X = self.draw_columns(rows, rng)
        score = self.truth(X, period)
        if self.task == "numbers":
            return X, score + NOISE * rng.standard_normal(rows)
        if self.task == "counts":
            return X, rng.poisson(np.exp(score)).astype(np.float64)
        if self.task == "two classes":
            return X, (rng.random(rows) < 1.0 / (1.0 + np.exp(-score))).astype(np.float64)
        best = np.argmax(score + rng.gumbel(size=score.shape), axis=1)
        return X, best.astype(np.float64)

    def base(self, rng: np.random.Generator) -> Any:
        """Return LightGBM trained on rows before the first period."""
        lightgbm = import_module("lightgbm")
        few = self.name in CHOSEN_ON and self.task == "numbers"
        X, y = self.draw(TRAINED_ON if few else MORE_ROWS, -1, rng)
        params: dict[str, Any] = {"learning_rate": 0.1, "num_leaves": 15, "num_threads": 1, "verbosity": -1}
        params |= {"objective": _OBJECTIVES[self.task]}
        params |= {"num_class": 3} if self.task == "three classes" else {}
        return lightgbm.train(params, lightgbm.Dataset(X, label=y), num_boost_round=TREES if few else MORE_TREES)

    def gap(self, phi: FloatArray, X: FloatArray, period: int) -> float:
        """Return how much the best head on features ``phi`` of rows is worse than the truth, in the mean over outcomes."""
        design, score = np.column_stack([phi, np.ones(len(phi))]), self.truth(X, period)
        if self.task == "numbers":
            return 0.5 * float(np.square(score - design @ np.linalg.lstsq(design, score, rcond=None)[0]).mean())
        rows, weights, y = self._outcomes(score)
        loss = self.loss

        def mean_loss(scores: FloatArray) -> float:
            return float(losses_of(loss, scores.reshape(len(score), -1)[rows], y) @ weights) / len(score)

        def of(coef: FloatArray) -> tuple[float, FloatArray]:
            scores = design @ coef.reshape(design.shape[1], -1)
            return mean_loss(scores), (design.T @ self._residuals(scores, score)).ravel() / len(score)

        minimize = import_module("scipy.optimize").minimize
        start = np.linalg.lstsq(design, score, rcond=None)[0].ravel()
        found = minimize(of, start, jac=True, method="L-BFGS-B", options={"maxiter": 500, "ftol": 1e-10})
        return float(found.fun) - mean_loss(score)

    def _outcomes(self, score: FloatArray) -> tuple[Any, FloatArray, FloatArray]:
        """Return rows, the weights of their outcomes, and these; of counts the mean, in which the loss is linear."""
        count = len(score)
        if self.task == "counts":
            return np.arange(count), np.ones(count), np.exp(score)
        shares = _shares(score)
        classes = shares.shape[1]
        return (
            np.repeat(np.arange(count), classes),
            shares.ravel(),
            np.tile(np.arange(classes, dtype=np.float64), count),
        )

    def _residuals(self, scores: FloatArray, truth: FloatArray) -> FloatArray:
        if self.task == "counts":
            return np.exp(scores) - np.exp(truth)[:, None]
        if self.task == "two classes":
            return _shares(scores[:, 0])[:, 1:] - _shares(truth)[:, 1:]
        return _shares(scores) - _shares(truth)


def _shares(score: FloatArray) -> FloatArray:
    """Return probabilities of classes."""
    each = np.column_stack([np.zeros(len(score)), score]) if score.ndim == 1 else score
    each = np.exp(each - each.max(axis=1, keepdims=True))
    return np.asarray(each / each.sum(axis=1, keepdims=True))

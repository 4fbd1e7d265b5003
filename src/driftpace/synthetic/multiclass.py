"""Classification into several classes whose scores rotate along a path of a given shape and cost."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from scipy.optimize import brentq

from driftpace import validation
from driftpace.errors import ParameterError
from driftpace.losses.softmax import helmert
from driftpace.synthetic.paths import Path, Shape, check_shape, random_start
from driftpace.typing import FloatArray

_ROWS = 1 << 13
_STREAM = 5
_WINDOW = 12


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ShapedMulticlass:
    """Several classes with x ~ N(0, I) and softmax probabilities, each step of drift costing a stale model a given log loss.

    The scores of the classes are b + QW'x, with Helmert contrasts Q; W rotates along a path (:mod:`driftpace.synthetic.paths`) and
    keeps its length, so that the classes stay equally hard to separate, and b gives them their shares.

    Parameters
    ----------
    features : int
        Number of columns of X.
    classes : int
        Number of classes.
    cost : float
        Excess log loss that one step of drift costs a stale model, in the mean over the first steps.
    shape : {'line', 'walk', 'seasonal', 'jump', 'still'}
        Shape of the path.
    rng : int
        Seed; every period is a function of it alone.
    signal : float, default 2.0
        Variance of each score.
    shares : sequence of float, optional
        How common the classes are for a row at the origin, up to a factor; alike by default.
    turn, jump_at : int
        Periods in a season, and the period of the jump.

    Examples
    --------
    >>> population = ShapedMulticlass(features=3, classes=4, cost=0.02, shape="walk", rng=0)
    >>> X, y = population.period(1).draw(5, rng=0)
    >>> X.shape, y.shape
    ((5, 3), (5,))
    >>> stale = population.period(3).probabilities
    >>> 0.01 < population.period(4).excess_risk(stale) < 0.04
    True
    """

    features: int
    classes: int
    cost: float
    shape: Shape
    rng: int
    signal: float = 2.0
    shares: Sequence[float] | None = None
    turn: int = 12
    jump_at: int = 20
    _path: Path = field(init=False, repr=False)
    _levels: FloatArray = field(init=False, repr=False)
    _rows: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        owner = "ShapedMulticlass"
        check_shape(owner, self.shape, self.cost, self.rng, self.turn, self.jump_at)
        validation.count(owner, least=1, features=self.features)
        validation.count(owner, least=2, classes=self.classes)
        validation.positive(owner, signal=self.signal)
        shares = np.ones(self.classes)
        if self.shares is not None:
            shares = validation.vector(owner, length=self.classes, shares=self.shares)
            if not (shares > 0.0).all():
                raise ParameterError(f"must be above 0; got {shares.tolist()!r}.", owner=owner, name="shares")
        outputs = self.classes - 1
        path = Path(
            shape=self.shape,
            size=0.0,
            start=random_start(self.features * outputs, self.signal * outputs, self.rng),
            rng=self.rng,
            turn=self.turn,
            jump_at=self.jump_at,
            sphere=True,
        )
        object.__setattr__(self, "_levels", np.log(shares) @ helmert(self.classes))
        object.__setattr__(
            self, "_rows", np.random.default_rng([self.rng, _STREAM]).standard_normal((_ROWS, self.features))
        )
        object.__setattr__(self, "_path", self._scaled(path))

    def period(self, n: int) -> "MulticlassPeriod":
        """Return the population of period n = 1, 2, ..."""
        validation.count("ShapedMulticlass.period", least=1, n=n)
        return self._at(self._path.at(n))

    def _at(self, place: FloatArray) -> "MulticlassPeriod":
        coef = place.reshape(self.features, self.classes - 1)
        return MulticlassPeriod(coef=coef, levels=self._levels, rows=self._rows)

    def _scaled(self, path: Path) -> Path:
        """Return the path with the size at which a step has the cost."""
        if self.cost == 0.0 or self.shape == "still":
            return path
        periods = 2 if self.shape == "jump" else self.turn + 1 if self.shape == "seasonal" else _WINDOW

        def mean_cost(size: float) -> float:
            places = replace(path, size=size, jump_at=2).upto(periods)
            known = [self._at(place) for place in places]
            return float(np.mean([now.excess_risk(last.probabilities) for last, now in pairwise(known)]))

        widest = 0.5 * math.pi
        if mean_cost(widest) < self.cost:
            raise ParameterError(
                f"must be at most {mean_cost(widest):.3g}, what a right angle costs with this signal; got {self.cost!r}.",
                owner="ShapedMulticlass",
                name="cost",
            )
        size = brentq(lambda size: math.sqrt(max(mean_cost(size), 0.0)) - math.sqrt(self.cost), 0.0, widest, rtol=1e-3)
        return replace(path, size=float(size))


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class MulticlassPeriod:
    """One period of a :class:`ShapedMulticlass`.

    Risks are means over 8,192 fixed rows of the exact expectation over the classes, about 2 % off.

    Parameters
    ----------
    coef : ndarray of shape (features, classes - 1)
        The contrasts W.
    levels : ndarray of shape (classes - 1,)
        The contrasts of b.
    rows : ndarray
        The rows that risks are means over.
    """

    coef: FloatArray
    levels: FloatArray
    rows: FloatArray = field(repr=False)

    def probabilities(self, X: FloatArray) -> FloatArray:
        """Return the true probabilities of the classes of rows."""
        scores = (X @ self.coef + self.levels) @ helmert(len(self.levels) + 1).T
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))

    def draw(self, samples: int, *, rng: np.random.Generator | int) -> tuple[FloatArray, FloatArray]:
        """Return X, (samples, features), and the numbers of the classes, (samples,)."""
        rng = np.random.default_rng(rng)
        X = rng.standard_normal((samples, len(self.coef)))
        below = np.cumsum(self.probabilities(X), axis=1)[:, :-1] < rng.random(samples)[:, None]
        return X, below.sum(axis=1).astype(np.float64)

    def excess_risk(self, predict_proba: Callable[[FloatArray], FloatArray]) -> float:
        """Return how far the log loss of predicted probabilities is above the least possible one."""
        true, given = self.probabilities(self.rows), predict_proba(self.rows)
        return float((true * (np.log(true) - np.log(np.maximum(given, 1e-300)))).sum(axis=1).mean())

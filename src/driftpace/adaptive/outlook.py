"""The outlook of the adaptive method: the predicted bound of its fits, from the open period on."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from driftpace import validation
from driftpace.adaptive.bank import Bank
from driftpace.adaptive.rows import DesignRows
from driftpace.adaptive.state import AdaptiveConfig, AdaptiveState, PeriodJudgement, advance, drift
from driftpace.bounds import FormulaBound, Nature
from driftpace.planning import Outlook
from driftpace.typing import FloatArray, IntArray


@dataclass(frozen=True, kw_only=True, slots=True)
class PredictedBound(FormulaBound):
    """What K fresh rows leave of a distance, in the norm of the Hessian: b = scale d v/2 for d = ``size`` coefficients.

    v is the variance that :mod:`driftpace.adaptive.sizing` predicts for one block of coordinates which are known with variance
    t = distance^2/d each, s^2 being the ``noise``,

        1/v = 1/t + (K/s^2) / (1 + (d + 1) v/s^2),

    a quadratic: with u = v/t, a = (d+1) t/s^2 and B = 1 + K t/s^2 - a, it is a u^2 + B u - 1 = 0. ``scale`` is what a mean of 1
    counts for: above 1 where a quantile is meant, or a margin is kept.

    In the squared distance it is concave: t = v (1 + c v)/(1 + e v), with c = (d+1)/s^2 and e = c - K/s^2, has the second
    derivative 2 (K/s^2)/(1 + e v)^3 >= 0, so t is convex in v, and v concave in t.

    >>> bound = PredictedBound(noise=1.0, size=3)
    >>> bound(1.0, 0), bound(1.0, 20), bound(1e6, 14)  # the last one is least squares: s^2 d / (2 (K - d - 1))
    (0.5, 0.0764843, 0.15)
    >>> bound.smallest(1.0, 0.1, cap=1_000)
    16
    """

    noise: float
    size: int
    scale: float = 1.0

    name: ClassVar[str] = "prediction of the adaptive method"
    nature: ClassVar[Nature] = Nature.ASYMPTOTIC
    rate: ClassVar[float] = -1.0
    concave: ClassVar[bool] = True
    """In the squared distance: see above."""

    def __post_init__(self) -> None:
        validation.positive("PredictedBound", noise=self.noise, scale=self.scale)
        validation.count("PredictedBound", least=1, size=self.size)

    @property
    def conditions(self) -> tuple[str, ...]:
        """Rows like those seen, a loss like its quadratic, and noise as estimated."""
        return (
            "rows are independent draws of the period's distribution",
            "the loss is its quadratic approximation near the best model",
            f"the noise in each of {self.size} whitened coordinates has variance {self.noise:.4g}",
            "what is not known of the model is spread evenly over the coordinates",
        )

    def start(self, distance: float) -> float:
        """Return scale distance^2/2."""
        return 0.5 * self.scale * distance * distance

    def raw(self, distance: float, samples: int) -> float:
        """Return scale d v/2."""
        t = distance * distance / self.size
        a = (self.size + 1.0) * (t / self.noise)
        B = 1.0 + (samples - self.size - 1.0) * (t / self.noise)
        root = math.sqrt(B * B + 4.0 * a)
        return self.start(distance) * (2.0 / (B + root) if B >= 0.0 else (root - B) / (2.0 * a))

    def table(self, distances: FloatArray, samples: IntArray) -> FloatArray:
        """Return the bound from each distance (a row) after each number of samples (a column), at once.

        >>> PredictedBound(noise=1.0, size=3).table(np.array([1.0, 2.0]), np.array([1, 20])).round(4)
        array([[0.433 , 0.0765],
               [1.5952, 0.0886]])
        """
        squared = np.square(distances)[:, None]
        ratio = squared / self.size / self.noise
        a = (self.size + 1.0) * ratio
        B = 1.0 + (samples - self.size - 1.0) * ratio
        root = np.sqrt(B * B + 4.0 * a)
        small = np.divide(root - B, 2.0 * a, out=np.ones_like(B), where=B < 0.0)
        share = np.where(B < 0.0, small, np.divide(2.0, B + root, out=np.ones_like(B), where=B >= 0.0))
        return np.asarray(0.5 * self.scale * squared * share)

    def guess(self, distance: float, epsilon: float) -> float:
        """Return K of the formula, solved for it: (s^2/v - s^2/t) (1 + (d + 1) v/s^2)."""
        v, t = 2.0 * epsilon / (self.scale * self.size), distance * distance / self.size
        return (self.noise / v - self.noise / t) * (1.0 + (self.size + 1.0) * v / self.noise)

    def reach(self, risk: float) -> float:
        """Return sqrt(2 risk/scale)."""
        validation.nonnegative("Foreseen.reach", risk=risk)
        return math.sqrt(2.0 * risk / self.scale)


def outlook_of(config: AdaptiveConfig, state: AdaptiveState, rows: DesignRows, judged: PeriodJudgement) -> Outlook:
    """Return how the risk develops from this period on, before any row of it: in the mean, with the margin that is aimed at.

    The step is the root mean square over every drift that is still plausible, as in the prediction of this period: what is not
    known of the drift makes it longer, and that is its margin. (Its upper end instead, tried on worlds that drift slowly and fast,
    leaves too little for the periods at hand: the true gaps of such plans are 1.3 to 3.5 times as large.) In a first period, which
    must have its pilot rows, the start is as far away as the pilot leaves possible, so that the samples of the period are all of
    them, the pilot included; and the drift is what is plausible before any was seen.
    """
    squared = float(state.sizes @ np.array([view.total for view in judged.views]))
    return _outlook(config, state, judged, squared, judged.banks or advance(config, state, rows, judged).banks)


def outlook_from_here(
    config: AdaptiveConfig, state: AdaptiveState, rows: DesignRows, judged: PeriodJudgement
) -> tuple[Outlook, int]:
    """Return the outlook with the rows delivered in sight, and how many it has: the samples of this period are those beyond them.

    The drift is then as the rows show it. In a first period none are in sight: the variances of few rows are those along their own
    axes, and plans from them buy too little.
    """
    if not state.banks or len(rows) == 0:
        return outlook_of(config, state, rows, judged), 0
    squared = float(state.sizes @ judged.variances)
    return _outlook(config, state, judged, squared, advance(config, state, rows, judged).banks), len(rows)


def _outlook(
    config: AdaptiveConfig, state: AdaptiveState, judged: PeriodJudgement, squared: float, banks: tuple[Bank, ...]
) -> Outlook:
    fitted = 1.0 - (config.audit or 0.0)  # rows held out are bought too: each row is worth so much of one
    bound = PredictedBound(noise=judged.noise_upper / fitted, size=state.size, scale=_scale(config, state, judged))
    return Outlook(bound=bound, rho=drift(banks)[0], start=math.sqrt(squared), steps="walk")


def _scale(config: AdaptiveConfig, state: AdaptiveState, judged: PeriodJudgement) -> float:
    """Return what a mean of 1 counts for against the target: with the margin aimed at, and as a quantile where one is asked for.

    The risk of d coordinates of equal variance is chi^2_d times its mean over d.
    """
    from scipy.special import gammaincinv  # slow to import, and not always needed

    margin = judged.epsilon / config.criterion(judged, state.audit).epsilon
    if config.confidence is None:
        return margin
    return margin * float(gammaincinv(0.5 * state.size, config.confidence)) / (0.5 * state.size)

"""Estimators of constants: the protocol, constants given by the user, and estimates from rows pooled over periods (theory 2)."""

import math
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from driftpace import validation
from driftpace.constants import moments
from driftpace.constants.curvature import Curvatures, Smoothness, curvatures
from driftpace.constants.gradients import Gradients, ZeroModel, diameter
from driftpace.constants.growth import CLOSE, Probes, curvature_trace, gaussian_tail, growth, row_ratio, smooth_growth
from driftpace.constants.moments import RowMoments, RowSummary, add_weighted_rows, penalty
from driftpace.constants.scores import ResidualVariance, Scores, fit_separately
from driftpace.losses import LinearLoss, SquaredLoss
from driftpace.losses.protocol import Loss
from driftpace.records import Constants, Estimate
from driftpace.typing import FloatArray


@runtime_checkable
class ConstantsEstimator(Protocol):
    """Protocol of estimators of a problem's constants from rows pooled over periods, with O(features^2) memory.

    Rows reach :meth:`update` before any model is fitted on them, at the model they did not train (``coef``), so their gradients
    are unbiased. The state is a frozen dataclass of numbers, arrays and tuples.
    """

    def init(self, features: int) -> Any:
        """Return the state before the first period."""
        ...

    def update(self, state: Any, loss: Loss, coef: FloatArray, X: FloatArray, y: FloatArray) -> Any:
        """Return the state after one more period of rows."""
        ...

    def constants(self, state: Any, loss: Loss) -> Constants:
        """Return the constants as far as they are known, each with its interval."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class NoState:
    """State of an estimator that keeps nothing."""


@dataclass(frozen=True, slots=True)
class GivenConstants:
    """Constants given by the user, which rows do not change.

    Parameters
    ----------
    given : Constants
        The constants.

    Examples
    --------
    >>> from driftpace.losses import SquaredLoss
    >>> estimator = GivenConstants(Constants.given(m=1.0, M=2.0))
    >>> estimator.constants(estimator.init(3), SquaredLoss()).safe("M")
    2.0
    """

    given: Constants

    def init(self, features: int) -> NoState:
        """Return the empty state."""
        del features
        return NoState()

    def update(self, state: NoState, loss: Loss, coef: FloatArray, X: FloatArray, y: FloatArray) -> NoState:
        """Return the state as it was."""
        del loss, coef, X, y
        return state

    def constants(self, state: NoState, loss: Loss) -> Constants:
        """Return what the user gave."""
        del state, loss
        return self.given


_POWERS = {"hc2": 0.5, "hc3": 1.0}


@dataclass(frozen=True, kw_only=True, slots=True)
class PooledState:
    """State of :class:`PooledEstimator`: sums over all rows so far, O(features^2) numbers.

    ``near`` are curvature-weighted rows at the periods' own minimisers, and ``before`` at the previous models, without the first
    period once there are more; the squared loss has the same curvature everywhere and needs neither.
    """

    periods: int
    rows: RowMoments
    near: RowMoments
    before: RowMoments
    noise: ResidualVariance
    scores: Scores
    gradients: Gradients
    probes: Probes
    smoothness: Smoothness
    zero: ZeroModel


@dataclass(frozen=True, kw_only=True, slots=True)
class PooledEstimator:
    """Estimate the constants of a problem from all rows so far, each with an interval (theory 2).

    ==================  ==================================================================================================
    m, M                extreme eigenvalues of the pooled Hessian
    L                   the largest row times (N+1)/N, or a quantile over rows
    noise               residuals of periods fitted separately (squared loss)
    A, B, sigma, V      closed forms from moments of rows (squared loss); else by probing around the previous models, or from
                        the smoothness of the loss, whichever is lower
    sigma_star          gradients at the minimisers of periods fitted separately, and at the previous models
    R2, trace, spread   moments of rows; tr(H^-1 Cov g)
    G, diameter         the largest gradient observed; a ball that contained the first minimiser
    ==================  ==================================================================================================

    A constant that cannot be estimated yet is None. Fewer rows than features and collinear columns are allowed: m is then zero
    (or l2), and :meth:`collinear` names the columns. Curvature is pooled over periods at equal weight: it usually drifts more
    slowly than the minimiser. For losses other than the squared one, m is the smaller of the curvatures at the previous models
    and at the periods' own minimisers; it does not cover the rest of the set, and its interval ignores the uncertainty of
    the minimiser itself. The upper end of M holds everywhere: it is the largest second derivative of the loss times that of
    E xx'. Moments of rows (A, B, V, R2, trace) have intervals for rows with roughly Gaussian tails.

    Parameters
    ----------
    confidence : float, default 0.95
        One-sided confidence at either end of an interval.
    method : {'gaussian', 'bernstein'}, default 'gaussian'
        Interval of m and M: for rows with roughly Gaussian tails, or for bounded rows (matrix Bernstein, much wider).
    residuals : {'hc2', 'hc3'}, default 'hc2'
        Leverage correction of gradients: unbiased for constant noise, or conservative.
    smoothness_quantile : float, optional
        Take this quantile of the rows' smoothness as L, in place of the largest.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((500, 2))
    >>> y = X @ np.array([1.0, -1.0]) + rng.standard_normal(500)
    >>> estimator, loss = PooledEstimator(), SquaredLoss()
    >>> constants = estimator.constants(estimator.update(estimator.init(2), loss, np.zeros(2), X, y), loss)
    >>> 0.8 < constants.safe("m") <= 1.0 <= constants.safe("M") < 1.3
    True
    """

    confidence: float = 0.95
    method: str = "gaussian"
    residuals: str = "hc2"
    smoothness_quantile: float | None = None

    def __post_init__(self) -> None:
        validation.fraction("PooledEstimator", confidence=self.confidence)
        validation.choice("PooledEstimator", ("gaussian", "bernstein"), method=self.method)
        validation.choice("PooledEstimator", tuple(_POWERS), residuals=self.residuals)
        if self.smoothness_quantile is not None:
            validation.fraction("PooledEstimator", smoothness_quantile=self.smoothness_quantile)

    def least_rows(self, features: int) -> int:
        """Return the fewest rows of a period that can be fitted separately, which some constants need."""
        return features + 3

    def init(self, features: int) -> PooledState:
        """Return the state before the first period."""
        none = RowMoments.none(features)
        return PooledState(
            periods=0,
            rows=none,
            near=none,
            before=none,
            noise=ResidualVariance(),
            scores=Scores.none(features),
            gradients=Gradients(),
            probes=Probes.none(),
            smoothness=Smoothness(),
            zero=ZeroModel(),
        )

    def update(self, state: PooledState, loss: Loss, coef: FloatArray, X: FloatArray, y: FloatArray) -> PooledState:
        """Return the state after one more period of rows, at the model they did not train."""
        if len(y) == 0:
            return state
        squared = isinstance(loss, SquaredLoss)
        fit = fit_separately(loss, coef, X, y)
        near, before, noise, scores = state.near, state.before, state.noise, state.scores
        if not squared:
            near = near if fit is None else add_weighted_rows(near, loss, fit.minimiser, X, y)
            before = RowMoments.none(coef.size) if state.periods == 1 else before
            before = add_weighted_rows(before, loss, coef, X, y)
        if fit is not None:
            noise = noise.add(fit, X, y) if squared else noise
            scores = scores.add(loss, fit, X, y, power=_POWERS[self.residuals])
        return PooledState(
            periods=state.periods + 1,
            rows=state.rows.add(X),
            near=near,
            before=before,
            noise=noise,
            scores=scores,
            gradients=state.gradients.add(loss.row_gradients(coef, X, y)),
            probes=state.probes if squared else state.probes.add(loss, coef, X, y),
            smoothness=state.smoothness.add(loss.row_smoothness(X)),
            zero=state.zero.add(loss.row_values(np.zeros_like(coef), X, y)) if loss.l2 > 0.0 else state.zero,
        )

    def constants(self, state: PooledState, loss: Loss) -> Constants:
        """Return the constants as far as they are known, each with its interval."""
        if state.rows.count == 0:
            return Constants()
        squared = isinstance(loss, SquaredLoss)
        weights = penalty(loss, len(state.rows.outer))
        rows = state.rows.summary()
        best = rows if squared else (state.near if state.near.count else state.before).summary()
        curved = self._curvatures(best, weights)
        if not squared:
            curved = curved.widest(self._curvatures(state.before.summary(), weights))
            if isinstance(loss, LinearLoss):
                plain = self._curvatures(rows, np.zeros_like(weights))
                curved = curved.smooth_everywhere(loss.curvature * plain.M.upper + loss.l2)
        everywhere = loss.l2 if loss.unpenalised == 0 else 0.0
        hessian = best.second * best.unit * best.unit + np.diag(weights)
        common: dict[str, Estimate | None] = {
            "m": curved.m,
            "M": curved.M,
            "L": state.smoothness.estimate(self.smoothness_quantile),
            "G": state.gradients.limit(),
            "trace": curvature_trace(best, weights, self.confidence),
            "diameter": diameter(state.gradients, state.zero, curved.m, l2=everywhere, confidence=self.confidence),
            "spread": state.scores.spread(hessian, self.confidence),
        }
        rest = self._squared(state, rows, weights) if squared else self._other(state, rows, loss, curved.m)
        return Constants(**common, **rest)

    def collinear(self, state: PooledState) -> tuple[int, ...]:
        """Return the columns that are zero, or linear combinations of others, in every row so far."""
        return moments.collinear(state.rows)

    def identified(self, state: PooledState) -> bool:
        """Return whether the rows so far identify every coefficient."""
        return moments.identified(state.rows)

    def _curvatures(self, rows: RowSummary, weights: FloatArray) -> Curvatures:
        return curvatures(rows, weights, confidence=self.confidence, method=self.method)

    def _squared(self, state: PooledState, rows: RowSummary, weights: FloatArray) -> dict[str, Estimate | None]:
        grown = growth(rows, state.scores, weights, self.confidence)
        lengths = state.scores.squared_length(self.confidence, floor=gaussian_tail(rows))
        fallback = state.gradients.spread(self.confidence)  # no period was long enough to be fitted separately
        return {
            "noise": state.noise.estimate(self.confidence),
            "R2": row_ratio(rows, self.confidence),
            "sigma_star": _root(fallback if lengths is None else lengths),
            "A": fallback if grown.A is None else grown.A,
            "B": grown.B,
            "sigma": _root(fallback) if grown.sigma is None else grown.sigma,
            "V": grown.V,
        }

    def _other(self, state: PooledState, rows: RowSummary, loss: Loss, m: Estimate) -> dict[str, Estimate | None]:
        spreads = [state.gradients.spread(self.confidence), state.scores.squared_length(self.confidence)]
        spread = max((estimate for estimate in spreads if estimate is not None), key=lambda estimate: estimate.upper)
        off = state.gradients.distance_slope / m.lower if m.lower > 0.0 else math.inf
        lines = [state.probes.growth(centred=centred, off=off, confidence=self.confidence) for centred in (False, True)]
        proven = None
        if isinstance(loss, LinearLoss):
            proven = smooth_growth(
                rows,
                curvature=loss.curvature,
                l2=loss.l2,
                at_minimiser=spread.upper,
                confidence=self.confidence,
            )
        estimates: dict[str, Estimate | None] = {"sigma_star": _root(spread)}
        close = (CLOSE * state.probes.radius) * (CLOSE * state.probes.radius)
        for which, names in enumerate((("A", "B"), ("sigma", "V"))):
            choices = [line for line in (lines[which], proven[which] if proven else None) if line is not None]
            if choices:
                constant, slope = min(choices, key=lambda line: line[0] + (line[1] * close if close > 0.0 else 0.0))
                whole = math.sqrt(constant) if names[0] == "sigma" else constant
                estimates[names[0]] = _at_most(whole, state.rows.count)
                estimates[names[1]] = _at_most(slope, state.rows.count)
        return estimates


def _at_most(number: float, rows: int) -> Estimate:
    account = "gradients probed around the previous models, or the smoothness of the loss"
    return Estimate(value=number, lower=0.0, upper=number, rows=rows, account=account)


def _root(estimate: Estimate | None) -> Estimate | None:
    if estimate is None:
        return None
    value, lower, upper = (math.sqrt(end) for end in (estimate.value, estimate.lower, estimate.upper))
    return Estimate(value=value, lower=lower, upper=upper, rows=estimate.rows, account=estimate.account)

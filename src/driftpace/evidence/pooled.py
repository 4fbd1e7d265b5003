"""Every constant of theory section 2, from rows pooled over periods."""

import math
from dataclasses import dataclass

import numpy as np

from driftpace import require
from driftpace.evidence import columns
from driftpace.evidence.bent_rows import BentRows, penalty
from driftpace.evidence.curvature import curvatures
from driftpace.evidence.gradients import Gradients
from driftpace.evidence.growth import gaussian_tail, growth, row_ratio, trace
from driftpace.evidence.noise import Noise
from driftpace.evidence.own_fit import own_fit
from driftpace.evidence.probes import Probes
from driftpace.evidence.scores import Scores
from driftpace.evidence.smoothness import Smoothness
from driftpace.evidence.starting import ZeroModel, diameter
from driftpace.losses import SquaredLoss
from driftpace.losses.protocol import Loss
from driftpace.records import Constants, Estimate
from driftpace.typing import FloatArray

_POWERS = {"hc2": 0.5, "hc3": 1.0}


@dataclass(frozen=True, kw_only=True, slots=True)
class PooledState:
    """Sums over every row seen; O(features^2) numbers."""

    rows: BentRows
    noise: Noise
    scores: Scores
    gradients: Gradients
    probes: Probes
    smoothness: Smoothness
    zero: ZeroModel


@dataclass(frozen=True, kw_only=True, slots=True)
class PooledEvidence:
    """Estimates the constants of a problem, each with an interval of one-sided ``confidence`` at either end (theory 2).

    ==================  ==================================================================================================
    m, M                extreme eigenvalues of the pooled Hessian, by ``method`` "gaussian" or "bernstein"
    L                   the largest row times (N+1)/N, or the ``smoothness_quantile`` of rows
    noise               residuals of periods fitted on their own (squared loss)
    A, B, sigma, V      closed forms from moments of rows (squared loss); else by probing around the models before
    sigma_star          gradients at the minimisers of periods fitted on their own (squared loss); else at the models before
    R2, trace, spread   moments of rows; tr(H^-1 Cov g) with ``residuals`` "hc2" (unbiased for constant noise) or "hc3" (safe)
    G, diameter         the largest gradient seen; a ball that held the first minimiser
    ==================  ==================================================================================================

    What cannot be known yet is None. Fewer rows than features and collinear columns are ordinary: m is then zero (or l2),
    and :meth:`collinear` names the columns. Curvature is pooled over periods at equal weight: it usually drifts more slowly than
    the minimiser. For losses other than the squared one it is the curvature near the models seen, not over the whole set.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((500, 2))
    >>> y = X @ np.array([1.0, -1.0]) + rng.standard_normal(500)
    >>> evidence, loss = PooledEvidence(), SquaredLoss()
    >>> found = evidence.constants(evidence.update(evidence.init(2), loss, np.zeros(2), X, y), loss)
    >>> 0.8 < found.safe("m") <= 1.0 <= found.safe("M") < 1.3
    True
    """

    confidence: float = 0.95
    method: str = "gaussian"
    residuals: str = "hc2"
    smoothness_quantile: float | None = None

    def __post_init__(self) -> None:
        require.fraction("PooledEvidence", confidence=self.confidence)
        require.choice("PooledEvidence", ("gaussian", "bernstein"), method=self.method)
        require.choice("PooledEvidence", tuple(_POWERS), residuals=self.residuals)
        if self.smoothness_quantile is not None:
            require.fraction("PooledEvidence", smoothness_quantile=self.smoothness_quantile)

    def init(self, features: int) -> PooledState:
        """Return the state before the first period."""
        return PooledState(
            rows=BentRows.none(features),
            noise=Noise(),
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
        fit = own_fit(loss, coef, X, y)
        return PooledState(
            rows=state.rows.add(loss, coef, X, y),
            noise=state.noise if fit is None or not squared else state.noise.add(fit, X, y),
            scores=state.scores if fit is None else state.scores.add(loss, fit, X, y, power=_POWERS[self.residuals]),
            gradients=state.gradients.add(loss.row_gradients(coef, X, y)),
            probes=state.probes if squared else state.probes.add(loss, coef, X, y),
            smoothness=state.smoothness.add(loss.row_smoothness(X)),
            zero=state.zero.add(loss.row_values(np.zeros_like(coef), X, y)) if loss.l2 > 0.0 else state.zero,
        )

    def constants(self, state: PooledState, loss: Loss) -> Constants:
        """Return the constants as far as they are known, each with its interval."""
        rows = state.rows
        if rows.count == 0:
            return Constants()
        weights = penalty(loss, len(rows.gram))
        curved = curvatures(rows, weights, confidence=self.confidence, method=self.method)
        everywhere = loss.l2 if loss.unpenalised == 0 else 0.0
        unit = rows.unit * rows.unit
        shared = {
            "m": curved.m,
            "M": curved.M,
            "L": state.smoothness.estimate(self.smoothness_quantile),
            "G": state.gradients.limit(),
            "trace": trace(rows, weights, self.confidence),
            "diameter": diameter(state.gradients, state.zero, curved.m, l2=everywhere, confidence=self.confidence),
            "spread": state.scores.spread(rows.hessian / rows.count * unit + np.diag(weights), self.confidence),
        }
        if isinstance(loss, SquaredLoss):
            return Constants(**shared, **self._squared(state, weights))
        return Constants(**shared, **self._probed(state, curved.m))

    def collinear(self, state: PooledState) -> tuple[int, ...]:
        """Return the columns that are zero, or linear combinations of others, in every row seen."""
        return columns.collinear(state.rows)

    def identified(self, state: PooledState) -> bool:
        """Return whether the rows seen tell every coefficient apart."""
        return columns.identified(state.rows)

    def _squared(self, state: PooledState, weights: FloatArray) -> dict[str, Estimate | None]:
        found = growth(state.rows, state.scores, weights, self.confidence)
        lengths = state.scores.squared_length(self.confidence, floor=gaussian_tail(state.rows))
        fallback = state.gradients.spread(self.confidence)  # no period was long enough to be fitted on its own
        return {
            "noise": state.noise.estimate(self.confidence),
            "R2": row_ratio(state.rows, self.confidence),
            "sigma_star": _root(fallback if lengths is None else lengths),
            "A": fallback if found.A is None else found.A,
            "B": found.B,
            "sigma": _root(fallback) if found.sigma is None else found.sigma,
            "V": found.V,
        }

    def _probed(self, state: PooledState, m: Estimate) -> dict[str, Estimate | None]:
        spread = state.gradients.spread(self.confidence)
        off = state.gradients.distance_slope / m.lower if m.lower > 0.0 else math.inf
        whole = state.probes.growth(centred=False, off=off, confidence=self.confidence)
        centred = state.probes.growth(centred=True, off=off, confidence=self.confidence)
        account = "gradients probed around the models before"
        rows = state.probes.rows
        found: dict[str, Estimate | None] = {"sigma_star": _root(spread)}
        for names, line in ((("A", "B"), whole), (("sigma", "V"), centred)):
            if line is not None:
                for name, number in zip(names, line, strict=True):
                    safe = math.sqrt(number) if name == "sigma" else number
                    found[name] = Estimate(value=safe, lower=0.0, upper=safe, rows=rows, account=account)
        return found


def _root(estimate: Estimate | None) -> Estimate | None:
    if estimate is None:
        return None
    value, lower, upper = (math.sqrt(end) for end in (estimate.value, estimate.lower, estimate.upper))
    return Estimate(value=value, lower=lower, upper=upper, rows=estimate.rows, account=estimate.account)

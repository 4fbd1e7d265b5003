"""Several full passes of gradient descent over the fresh rows."""

from dataclasses import KW_ONLY, dataclass

import numpy as np

from driftpace import validation
from driftpace.bounds import FullPasses, RiskBound
from driftpace.constraints import ConstraintSet
from driftpace.losses.protocol import Loss
from driftpace.records import Constants, Fit, Outcome
from driftpace.typing import FloatArray


@dataclass(frozen=True, slots=True)
class GradientPasses:
    """Full passes of gradient descent over the fresh rows, from the last model (theory 1.8c).

    w <- Pi(w - gradient of the mean loss / L), ``passes`` times. The bound reads M, sigma_star, and what holds for the mean loss of
    any rows: m_rows (a penalty on every coefficient) and L. :meth:`driftpace.bounds.FullPasses.passes_needed` gives the number of
    passes after which the remaining error is small.

    Parameters
    ----------
    passes : int
        Number of passes.
    eta : float, optional
        Weight that splits the bound so that it factors; None for the best at each distance.

    Examples
    --------
    >>> constants = Constants.given(m=0.1, M=1.6, m_rows=0.1, L=1.6, sigma_star=0.2**0.5)
    >>> GradientPasses(100).bound(constants, features=2)(1.0, 400)
    0.0592563
    """

    passes: int
    _: KW_ONLY
    eta: float | None = None

    def __post_init__(self) -> None:
        validation.count("GradientPasses", least=1, passes=self.passes)
        if self.eta is not None:
            validation.positive("GradientPasses", eta=self.eta)

    def bound(self, constants: Constants, features: int) -> RiskBound:
        """Return the bound after these passes."""
        validation.count("GradientPasses.bound", least=1, features=features)
        return FullPasses(
            m=constants.safe("m_rows"),
            M=constants.safe("M"),
            L=constants.safe("L"),
            trace_sigma=constants.safe("sigma_star") ** 2,
            passes=self.passes,
            eta=self.eta,
        )

    def fit(
        self,
        loss: Loss,
        domain: ConstraintSet,
        start: FloatArray,
        X: FloatArray,
        y: FloatArray,
        *,
        constants: Constants,
        distance: float,
    ) -> Fit:
        """Return the model after the passes; ``distance`` is not used."""
        del distance
        X, y = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
        rows, features = X.shape
        w = np.array(start, dtype=np.float64)
        if rows == 0:
            return Fit(coef=w, gradient=np.zeros(features), rows=0, updates=0, outcome=Outcome.MET)
        step = 1.0 / constants.safe("L")
        with np.errstate(all="ignore"):
            gradient = loss.gradient(w, X, y)
            for _ in range(self.passes):
                w = domain.project(w - step * gradient)
                gradient = loss.gradient(w, X, y)
            finite = np.isfinite(w).all() and np.isfinite(gradient).all()
        outcome = Outcome.MET if finite else Outcome.NONFINITE
        return Fit(
            coef=w, gradient=np.array(gradient, dtype=np.float64), rows=rows, updates=self.passes, outcome=outcome
        )

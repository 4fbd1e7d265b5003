"""The minimiser of the fresh rows' loss, held back towards the last model."""

import math
from dataclasses import dataclass

import numpy as np

from driftpace import validation
from driftpace.bounds import (
    Anchored,
    AnchoredFixedDesign,
    AnchoredMinimiser,
    Minimiser,
    OrdinaryLeastSquares,
    PenalisedMinimiser,
    RiskBound,
    StableMinimiser,
)
from driftpace.constraints import ConstraintSet
from driftpace.errors import ParameterError
from driftpace.learners.newton import minimise
from driftpace.losses.protocol import Loss
from driftpace.records import Constants, Fit, Outcome
from driftpace.typing import FloatArray

ERM_FORMS = ("harmonic", "m-estimation", "fixed-design", "ols", "penalised", "stable")
_ALIKE = 1.0 + 1e-9


@dataclass(frozen=True, kw_only=True, slots=True)
class AnchoredErm:
    """Minimiser of the mean loss of the fresh rows, anchored at the last model (theory 1.5, 1.6, 1.8).

    w = argmin over the set of the mean loss of the rows + (lam/2)||w - start||^2. ``form`` names the bound, and with it the
    strength lam of the anchor unless ``strength`` gives it:

    ==============  ===================  ======================================================================
    form            lam                  bound, and the constants it reads
    ==============  ===================  ======================================================================
    harmonic        noise d/(K d0^2)     :class:`~driftpace.bounds.Anchored`: squared loss, Gaussian features, in
                                         coordinates with equal curvature (m = M); noise
    m-estimation    spread/(K d0^2)      :class:`~driftpace.bounds.AnchoredMinimiser`, a leading term: any smooth loss,
                                         m = M; spread. With strength=0 :class:`~driftpace.bounds.Minimiser`: any m, M
    fixed-design    ``strength``         :class:`~driftpace.bounds.AnchoredFixedDesign`: the risk over the same rows, whose
                                         Hessian has ``eigenvalues`` (or m = M); noise
    ols             0                    :class:`~driftpace.bounds.OrdinaryLeastSquares`; noise
    penalised       0                    :class:`~driftpace.bounds.PenalisedMinimiser`: a penalty, m_rows; sigma_star
    stable          0                    :class:`~driftpace.bounds.StableMinimiser`: the same, and Lipschitz rows; G
    ==============  ===================  ======================================================================

    Squared loss is solved exactly, others by Newton's method to a gradient of 1e-10 of those of single rows; the outcome is
    STALLED where that is not reached, and may be where there is no minimiser (separable classes without a penalty).
    Where many models are equally good (fewer rows than features and no anchor or penalty), the one nearest to the start is
    taken. The minimiser may lie on the boundary of the set, but no bound here covers that case.

    Parameters
    ----------
    form : {'harmonic', 'm-estimation', 'fixed-design', 'ols', 'penalised', 'stable'}, default 'harmonic'
        The bound, see the table.
    strength : float, optional
        Strength of the anchor; by default the one for which the bound holds.
    eigenvalues : tuple[float, ...], optional
        Eigenvalues of the Hessian of the rows, for ``form='fixed-design'``.

    Examples
    --------
    >>> constants = Constants.given(m=1.0, M=1.0, noise=0.5)
    >>> learner = AnchoredErm()
    >>> learner.bound(constants, features=2).smallest(1.0, 0.1, cap=100)
    7
    >>> from driftpace.losses import SquaredLoss
    >>> from driftpace.constraints import WholeSpace
    >>> X, y = np.array([[1.0], [1.0]]), np.array([1.0, 3.0])
    >>> learner.fit(SquaredLoss(), WholeSpace(), np.zeros(1), X, y, constants=constants, distance=0.5).coef
    array([1.])
    """

    form: str = "harmonic"
    strength: float | None = None
    eigenvalues: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        validation.choice("AnchoredErm", ERM_FORMS, form=self.form)
        if self.strength is not None:
            validation.nonnegative("AnchoredErm", strength=self.strength)
        elif self.form == "fixed-design":
            raise ParameterError(
                "must be given with form='fixed-design'; got None.",
                owner="AnchoredErm",
                name="strength",
            )
        if self.eigenvalues is not None:
            values = validation.vector("AnchoredErm", eigenvalues=self.eigenvalues).tolist()
            object.__setattr__(self, "eigenvalues", tuple(values))

    @property
    def about_squares(self) -> bool:
        """Whether its bound is about squared loss without a penalty."""
        return self.form in ("harmonic", "ols", "fixed-design")

    def bound(self, constants: Constants, features: int) -> RiskBound:
        """Return the bound of this learner under these constants; ParameterError where none is known."""
        validation.count("AnchoredErm.bound", least=1, features=features)
        m, M = constants.safe("m"), constants.safe("M")
        if self.form == "fixed-design":
            assert self.strength is not None
            values = self.eigenvalues or (self._alike(m, M),) * features
            return AnchoredFixedDesign(noise=constants.safe("noise"), strength=self.strength, eigenvalues=values)
        if self.form == "harmonic" and self.strength is None:
            return Anchored(noise=constants.safe("noise"), features=features, h=self._alike(m, M))
        if self.form == "m-estimation" and self.strength is None:
            return AnchoredMinimiser(spread=constants.safe("spread"), features=features, h=self._alike(m, M))
        if self.strength:
            raise ParameterError(
                f"must be {'0 or ' if self.form == 'm-estimation' else ''}left to the bound with "
                f"form={self.form!r}, as no bound is known for another; got {self.strength!r}.",
                owner="AnchoredErm",
                name="strength",
            )
        if self.form in ("ols", "harmonic"):
            return OrdinaryLeastSquares(noise=constants.safe("noise"), features=features, m=m, M=M)
        if self.form == "m-estimation":
            return Minimiser(spread=constants.safe("spread"), features=features, m=m, M=M)
        if self.form == "penalised":
            return PenalisedMinimiser(m=constants.safe("m_rows"), M=M, trace_sigma=constants.safe("sigma_star") ** 2)
        return StableMinimiser(m=constants.safe("m_rows"), G=constants.safe("G"), M=M)

    def anchor(self, constants: Constants, features: int, distance: float, samples: int) -> float:
        """Return lam: the strength given, or the one for which the bound holds; infinity keeps the start.

        Examples
        --------
        >>> AnchoredErm().anchor(Constants.given(m=1.0, M=1.0, noise=0.5), 2, 1.0, 20)
        0.05
        """
        if self.strength is not None:
            return float(self.strength)
        if self.form not in ("harmonic", "m-estimation") or math.isinf(distance):
            return 0.0
        bound = self.bound(constants, features)
        assert isinstance(bound, Anchored | AnchoredMinimiser)
        return bound.strength(distance, samples)

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
        """Return the minimiser; ``updates`` counts Newton steps."""
        X, y = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
        rows, features = X.shape
        coef = np.array(start, dtype=np.float64)
        if rows == 0:
            return Fit(coef=coef, gradient=np.zeros(features), rows=0, updates=0, outcome=Outcome.MET)
        strength = self.anchor(constants, features, distance, rows)
        with np.errstate(all="ignore"):
            updates, outcome = 0, Outcome.MET
            if strength < math.inf:
                coef, updates, outcome = minimise(loss, domain, coef, X, y, strength)
            gradient = np.array(loss.gradient(coef, X, y), dtype=np.float64)
            if not (np.isfinite(coef).all() and np.isfinite(gradient).all()):
                outcome = Outcome.NONFINITE
        return Fit(coef=coef, gradient=gradient, rows=rows, updates=updates, outcome=outcome)

    def _alike(self, m: float, M: float) -> float:
        if m * _ALIKE < M:
            raise ParameterError(
                f"AnchoredErm(form={self.form!r}) requires whitened coordinates, in which m = M; got m={m!r}, M={M!r}."
            )
        return M

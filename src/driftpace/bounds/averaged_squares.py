"""Least squares by SGD with a constant step, averaged (theory 1.4).

In this file the model is the average of w_1 .. w_K, the points at which the K gradients were taken (w_1 is the start), or of
the last of them. R2 is such that E||x||^2 xx' <= R2 H, and ``noise`` such that E r^2 xx' <= noise H for the residual r = y - x'w*.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from driftpace import validation
from driftpace.bounds.base import Factors, FormulaBound, Nature
from driftpace.errors import ParameterError
from driftpace.schedules import ConstantSteps
from driftpace.typing import FloatArray


@dataclass(frozen=True, kw_only=True, slots=True)
class _ConstantStepSquares(FormulaBound):
    """What the bounds of averaged least squares with steps mu < 1/R2 share; ``m`` and ``M`` may be left out."""

    noise: float
    features: int
    R2: float
    step: float
    m: float | None = None
    M: float | None = None

    unconstrained: ClassVar[bool] = True
    nature: ClassVar[Nature] = Nature.UPPER
    rate: ClassVar[float] = -1.0

    def __post_init__(self) -> None:
        owner = type(self).__name__
        validation.nonnegative(owner, noise=self.noise)
        validation.count(owner, least=1, features=self.features)
        validation.positive(owner, R2=self.R2, step=self.step)
        for name, value in (("m", self.m), ("M", self.M)):
            if value is not None:
                validation.positive(owner, **{name: value})
        if self.step * self.R2 > 1.0 + 1e-12:
            raise ParameterError(
                f"must be at most 1/R2={1.0 / self.R2:.6g}; got {self.step!r}.",
                owner=owner,
                name="step",
            )
        self._check(owner)

    def _check(self, owner: str) -> None:
        """Refuse what a subclass cannot work with."""

    @property
    def conditions(self) -> tuple[str, ...]:
        """Squared loss without penalty or constraint, the moments of the rows, the step and the average."""
        return (
            "rows are independent draws of the period's distribution, each used once",
            "squared loss without penalty, and no constraint",
            f"the Hessian H = E xx' has E||x||^2 xx' <= {self.R2:.4g} H",
            f"the residual r = y - x'w* has E r^2 xx' <= {self.noise:.4g} H",
            f"every step has length {self.step:.4g}",
            f"the model is the plain average of the iterates before each step{self._but_for()}",
        )

    def _but_for(self) -> str:
        return ""

    @property
    def schedule(self) -> ConstantSteps:
        """The steps for which this bound holds."""
        return ConstantSteps(step=self.step)

    @property
    def g(self) -> float:
        """The step in units of 1/R2."""
        return self.step * self.R2

    def weights(self, samples: int) -> FloatArray:
        """Return the weights of w_1 .. w_K, not normalised."""
        return np.ones(samples)

    def start(self, distance: float) -> float:
        """Return (M/2) d0^2, with R2 for M where that is not known."""
        return 0.5 * (self.R2 if self.M is None else self.M) * distance * distance

    def reach(self, risk: float) -> float:
        """Return sqrt(2 risk/m), by strong convexity; infinity when m is not known."""
        validation.nonnegative(f"{type(self).__name__}.reach", risk=risk)
        return math.inf if self.m is None else math.sqrt(2.0 * risk / self.m)


@dataclass(frozen=True, kw_only=True, slots=True)
class BachMoulines(_ConstantStepSquares):
    """Bound on averaged least-squares SGD as published by Bach and Moulines in 2013 (theory 1.4).

    b = (1/2K) [sqrt(noise d)/(1 - sqrt(g)) + d0/sqrt(mu)]^2, g = mu R2 < 1, as published in 2013 (theory 1.4).

    ``factored`` uses (a + b)^2 <= 2a^2 + 2b^2: at mu = 1/(4 R2), (4/K)(noise d + R2 d0^2). No m is needed.
    :class:`AveragedSquares` is never larger, under the same conditions with ``well_specified=False``.

    Parameters
    ----------
    noise : float
        Least number with E r^2 xx' <= noise H, r the residual.
    features : int
        Number of features d.
    R2 : float
        Least number with E||x||^2 xx' <= R2 H.
    step : float
        Length mu of every step.
    m : float, optional
        Strong convexity of the risk.
    M : float, optional
        Smoothness of the risk.
    factored : bool, default False
        Whether to use 2a^2 + 2b^2 in place of (a + b)^2, so that the bound factors.

    Examples
    --------
    >>> bound = BachMoulines(noise=0.5, features=2, R2=4.0, step=1 / 16)
    >>> bound(1.0, 100), bound.smallest(1.0, 0.1, cap=1_000)
    (0.18, 180)
    """

    factored: bool = False

    def _check(self, owner: str) -> None:
        if not self.g < 1.0:
            raise ParameterError(
                f"must be below 1/R2={1.0 / self.R2:.6g}; got {self.step!r}.",
                owner=owner,
                name="step",
            )

    name: ClassVar[str] = "averaged least-squares SGD (Bach and Moulines)"

    def raw(self, distance: float, samples: int) -> float:
        """Return the bound, in the form asked for."""
        noise, start = self._parts(distance)
        above = 2.0 * (noise**2 + start**2) if self.factored else (noise + start) ** 2
        return 0.5 * above / samples

    def factors(self, samples: int) -> Factors | None:
        """Return alpha, beta in the factored form, else None."""
        if not self.factored:
            return None
        if samples == 0:
            return Factors(alpha=self.start(1.0), beta=0.0)
        noise, start = self._parts(1.0)
        return Factors(alpha=start**2 / samples, beta=noise**2 / samples)

    def guess(self, distance: float, epsilon: float) -> float:
        """Return the bound at K = 1 over epsilon."""
        return self.raw(distance, 1) / epsilon

    def _parts(self, distance: float) -> tuple[float, float]:
        return math.sqrt(self.noise * self.features) / (1.0 - math.sqrt(self.g)), distance / math.sqrt(self.step)


@dataclass(frozen=True, kw_only=True, slots=True)
class TailAverage(_ConstantStepSquares):
    """Bound on tail-averaged least-squares SGD as published by Jain and others in 2017 (theory 1.4).

    b = (sqrt(R2 e^(-mu m t) d0^2/2) + sqrt((1 + g/(1-g)) noise d/(2(K-t))))^2, where the first t = floor(skip K) iterates are left
    out. For residuals that do not depend on x their rho_misspec is 1, and 1 is also safe with ``noise`` as defined here.
    :class:`AveragedSquares` with the same ``skip`` is never larger, under the same conditions with ``well_specified=False``.

    Parameters
    ----------
    noise : float
        Least number with E r^2 xx' <= noise H, r the residual.
    features : int
        Number of features d.
    R2 : float
        Least number with E||x||^2 xx' <= R2 H.
    step : float
        Length mu of every step.
    m : float, optional
        Strong convexity of the risk; required here.
    M : float, optional
        Smoothness of the risk.
    skip : float, default 0.5
        Fraction of the iterates left out of the average, from the first on.

    Examples
    --------
    >>> bound = TailAverage(noise=0.5, features=2, R2=4.0, step=1 / 16, m=1.0)
    >>> bound(1.0, 100), bound.smallest(1.0, 0.1, cap=1_000)
    (0.169666, 122)
    """

    skip: float = 0.5

    def _check(self, owner: str) -> None:
        validation.fraction(owner, skip=self.skip)
        if self.m is None:
            raise ParameterError("must be given; got None.", owner=owner, name="m")
        if not self.g < 1.0:
            raise ParameterError(
                f"must be below 1/R2={1.0 / self.R2:.6g}; got {self.step!r}.",
                owner=owner,
                name="step",
            )

    name: ClassVar[str] = "tail average of least-squares SGD (Jain and others)"

    def _but_for(self) -> str:
        return f", but for the first {self.skip:.4g} K of them"

    def weights(self, samples: int) -> FloatArray:
        """Return the weights of w_1 .. w_K, not normalised: none for the first floor(skip K)."""
        return (np.arange(samples) >= math.floor(self.skip * samples)).astype(np.float64)

    def raw(self, distance: float, samples: int) -> float:
        """Return the bound; both the iterates left out and those kept grow with K, so it falls."""
        assert self.m is not None
        out = math.floor(self.skip * samples)
        start = 0.5 * self.R2 * math.exp(-self.step * self.m * out) * distance * distance
        rows = 0.5 * self.noise * self.features / (1.0 - self.g) / (samples - out)
        return (math.sqrt(start) + math.sqrt(rows)) ** 2


@dataclass(frozen=True, kw_only=True, slots=True)
class AveragedSquares(_ConstantStepSquares):
    """Bound on averaged least-squares SGD that is never larger than the published ones (theory 1.4).

    b = c^t d0^2 min(M/2, 1/(2 mu (2-g) n), (1-c^n)/(mu n^2 (1-c))) + noise/(2-g) min(d/n, g/2), g = mu R2 <= 1.

    n = K - t iterates are averaged after t = floor(skip K) that are left out, and c = 1 - mu m (2-g) (1 when m is not known).
    Never larger than the published :class:`BachMoulines` and :class:`TailAverage`; at large K, noise d/((2-g)K) is within
    1/(1 - g/2) <= 2 of what least squares itself costs. It factors as C.2.

    Proof. w_k - w* is the sum of a start part, u_{k+1} = (I - mu xx')u_k, and a noise part from 0,
    v_{k+1} = (I - mu xx')v_k + mu r x. For both, E[z_l | z_k] = (I - mu H)^(l-k) z_k, and summing over l > k shows that an
    average zbar of n of them has n^2 E zbar'H zbar <= (2/mu) sum_k E||z_k||^2.
    Start: E||u_{k+1}||^2 <= E||u_k||^2 - mu(2-g) E u_k'H u_k, so E||u_k||^2 <= c^k d0^2 (M/2 and, with the sum, the third term),
    and the mean of E u'Hu over n steps is at most E||u_t||^2/(mu(2-g) n) (the second).
    Noise: E v_k v_k' grows with k to the C that solves HC + CH = mu E xx'Cxx' + mu E r^2 xx', and C <= (mu noise/(2-g)) I.
    So 2 tr C = mu tr H^-1(E xx'Cxx' + E r^2 xx') <= mu noise d (1 + g/(2-g)), which makes noise d/((2-g) n) of the sum above,
    and tr(HC)/2 <= noise g/(2(2-g)), for tr H <= R2.
    The two parts are uncorrelated when the residual has mean zero given x; otherwise (``well_specified=False``) the roots
    of their risks add.

    Parameters
    ----------
    noise : float
        Least number with E r^2 xx' <= noise H, r the residual.
    features : int
        Number of features d.
    R2 : float
        Least number with E||x||^2 xx' <= R2 H.
    step : float
        Length mu of every step.
    m : float, optional
        Strong convexity of the risk.
    M : float, optional
        Smoothness of the risk.
    skip : float, default 0.0
        Fraction of the iterates left out of the average, from the first on.
    well_specified : bool, default True
        Whether the residual has mean zero given x.

    Examples
    --------
    >>> bound = AveragedSquares(noise=0.5, features=2, R2=4.0, step=1 / 16, m=1.0, M=1.0)
    >>> bound(1.0, 100), bound.smallest(1.0, 0.1, cap=1_000)
    (0.02034, 42)
    """

    skip: float = 0.0
    well_specified: bool = True

    def _check(self, owner: str) -> None:
        validation.nonnegative(owner, skip=self.skip)
        if self.skip > 0.0:
            validation.fraction(owner, skip=self.skip)

    @property
    def name(self) -> str:
        """Short description for reports."""
        return "tail average of least-squares SGD" if self.skip > 0.0 else "averaged least-squares SGD"

    def _but_for(self) -> str:
        right = "; the residual y - x'w* has mean zero given x" if self.well_specified else ""
        return (f", but for the first {self.skip:.4g} K of them" if self.skip > 0.0 else "") + right

    def weights(self, samples: int) -> FloatArray:
        """Return the weights of w_1 .. w_K, not normalised: none for the first floor(skip K)."""
        return (np.arange(samples) >= math.floor(self.skip * samples)).astype(np.float64)

    def raw(self, distance: float, samples: int) -> float:
        """Return the bound; both the iterates left out and those kept grow with K, so it falls."""
        start, rows = self._parts(samples)
        if self.well_specified:
            return start * distance * distance + rows
        return (math.sqrt(start) * distance + math.sqrt(rows)) ** 2

    def factors(self, samples: int) -> Factors | None:
        """Return alpha, beta; None when the model may be wrong."""
        if not self.well_specified:
            return None
        if samples == 0:
            return Factors(alpha=self.start(1.0), beta=0.0)
        start, rows = self._parts(samples)
        return Factors(alpha=start, beta=rows)

    def _parts(self, samples: int) -> tuple[float, float]:
        out = math.floor(self.skip * samples)
        n, mu, gain = samples - out, self.step, 2.0 - self.g
        forget = mu * gain * (0.0 if self.m is None else self.m)  # 1 - c
        log_c = math.log1p(-forget) if forget < 1.0 else -math.inf
        start = min(self.start(1.0), 0.5 / (mu * gain * n))
        if forget > 0.0:
            start = min(start, -math.expm1(n * log_c) / (mu * n * n * forget))
        kept = math.exp(out * log_c) if out > 0 else 1.0
        return kept * start, self.noise / gain * min(self.features / n, 0.5 * self.g)

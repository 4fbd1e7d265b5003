"""Projected stochastic gradient descent, one pass over the fresh rows: the learner of the paper."""

from dataclasses import dataclass

from driftpace import validation
from driftpace.bounds import RiskBound
from driftpace.constraints import ConstraintSet
from driftpace.learners.sgd_bounds import SgdConfig, bound_for, schedule_for, with_spectrum
from driftpace.learners.sgd_pass import one_pass
from driftpace.losses.protocol import Loss
from driftpace.records import Constants, Fit
from driftpace.schedules import Schedule
from driftpace.typing import FloatArray


@dataclass(frozen=True, kw_only=True, slots=True)
class Sgd(SgdConfig):
    """Projected stochastic gradient descent, one pass over the fresh rows: the learner of the paper (theory 1.1 to 1.4).

    w_{k+1} = Pi(w_k - mu_k g_k), k = 1, 2, .., g_k the mean gradient at w_k of the next ``batch`` rows.

    The learner is paired with the bound that holds for it: :meth:`bound` rejects a combination for which there is none.
    The last batch takes the rows that are left (greedy steps leave them out, as their bound does).

    Parameters
    ----------
    steps : {'inverse-time', 'harmonic', 'constant', 'greedy'} or Schedule, default 'inverse-time'
        Step lengths: 2/(m(k+s)); 1/(mk), or 1/(m(k+shift)); constant; those that minimise the final bound from the start
        distance (theory 1.1f); or a schedule with its numbers.
    output : {'last', 'weighted', 'uniform', 'tail'}, default 'last'
        The last iterate; the average of w_1 .. w_n with weights k+s-1; their uniform average; the average of their second
        half.
    batch : int, default 1
        Rows in one step.
    form : {'second-moment', 'row-smooth', 'variance', 'least-squares', 'gaussian', 'bounded'}, default 'second-moment'
        What is known of a gradient's noise, by the constants it reads: A, B; L, sigma_star; sigma, V; noise, trace, R2;
        noise and ``eigenvalues`` of the features' covariance (or trace, when they are all equal); G.
    shift : float, optional
        s, in place of the one that the bound prescribes.
    step : float, optional
        The constant step, in place of the one that the constants suggest.
    eigenvalues : tuple[float, ...], optional
        Eigenvalues of the features' covariance, for ``form='gaussian'``.

    Examples
    --------
    >>> constants = Constants.given(m=1.0, M=1.0, A=0.16, B=4.0)
    >>> Sgd().schedule(constants)
    InverseTime(scale=2.0, shift=8.0)
    >>> Sgd().bound(constants, features=2).smallest(1.4472136, 0.1, cap=1_000)
    11
    >>> Sgd(steps="greedy").bound(constants, features=2).smallest(1.4472136, 0.1, cap=1_000)
    9
    >>> Sgd(output="tail").bound(constants, features=2)
    Traceback (most recent call last):
        ...
    driftpace.errors.ParameterError: Sgd(output='tail') requires a combination for which a bound is known, ...
    """

    @property
    def about_squares(self) -> bool:
        """Whether its bound is about squared loss without a penalty."""
        return self.form in ("least-squares", "gaussian")

    def schedule(self, constants: Constants) -> Schedule:
        """Return the steps, with the numbers that these constants give them."""
        return schedule_for(self, with_spectrum(self, constants))

    def bound(self, constants: Constants, features: int) -> RiskBound:
        """Return the bound of this learner under these constants; ParameterError where none is known."""
        validation.count("Sgd.bound", least=1, features=features)
        return bound_for(self, with_spectrum(self, constants), features)

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
        """Return the next model after one pass; ``distance`` matters to greedy steps only."""
        return one_pass(self, loss, domain, start, X, y, constants, distance)

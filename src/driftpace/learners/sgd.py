"""Projected stochastic gradient descent, one pass over the fresh rows: the learner of the paper."""

from dataclasses import dataclass

from driftpace import validation
from driftpace.bounds import RiskBound
from driftpace.constraints.protocol import Set
from driftpace.learners.sgd_bounds import Recipe, paired_bound, resolved_schedule, with_spectrum
from driftpace.learners.sgd_pass import one_pass
from driftpace.losses.protocol import Loss
from driftpace.records import Constants, Fit
from driftpace.schedules import Schedule
from driftpace.typing import FloatArray


@dataclass(frozen=True, kw_only=True, slots=True)
class Sgd(Recipe):
    """w_{k+1} = Pi(w_k - mu_k g_k), k = 1, 2, .., g_k the mean gradient at w_k of the next ``batch`` rows (theory 1.1 to 1.4).

    ============  ====================================================================================================
    ``steps``     "inverse-time" 2/(m(k+s)); "harmonic" 1/(mk), or 1/(m(k+shift)); "constant"; "greedy", the steps that
                  minimise the final bound from the start distance (theory 1.1f); or a schedule with its numbers
    ``output``    "last" iterate; "weighted" average of w_1 .. w_n with weights k+s-1; their "uniform" average; the "tail",
                  the average of their second half
    ``form``      what is known of a gradient's noise, by the constants it reads: "second-moment" A, B;
                  "row-smooth" L, sigma_star; "variance" sigma, V; "least-squares" noise, trace, R2; "gaussian" noise and
                  ``eigenvalues`` of the features' covariance (or trace, when they are all alike); "bounded" G
    ``shift``     s, when the one that the bound wants is not to be used
    ``step``      the constant step, when the one that the constants suggest is not to be used
    ============  ====================================================================================================

    The learner is paired with the bound that is true for it: :meth:`bound` refuses a combination for which there is none.
    The last batch takes the rows that are left (greedy steps leave them out, as their bound does).

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
    driftpace.errors.ParameterError: Sgd(output='tail') must come with a combination for which a bound is known, ...
    """

    @property
    def about_squares(self) -> bool:
        """Whether its bound is about squared loss without a penalty."""
        return self.form in ("least-squares", "gaussian")

    def schedule(self, constants: Constants) -> Schedule:
        """Return the steps, with the numbers that these constants give them."""
        return resolved_schedule(self, with_spectrum(self, constants))

    def bound(self, constants: Constants, features: int) -> RiskBound:
        """Return what this learner promises when these constants hold; ParameterError where nothing is known to be true."""
        validation.count("Sgd.bound", least=1, features=features)
        return paired_bound(self, with_spectrum(self, constants), features)

    def fit(
        self,
        loss: Loss,
        domain: Set,
        start: FloatArray,
        X: FloatArray,
        y: FloatArray,
        *,
        constants: Constants,
        distance: float,
    ) -> Fit:
        """Return the next model after one pass; ``distance`` matters to greedy steps only."""
        return one_pass(self, loss, domain, start, X, y, constants, distance)

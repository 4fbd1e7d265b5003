"""The certificate of a weighted average of SGD iterates, directly and from checkpoints (theory 1.2)."""

from functools import lru_cache
from threading import Lock
from typing import NamedTuple

import numpy as np

from driftpace import validation
from driftpace.bounds.noise import SecondMoment
from driftpace.errors import ParameterError
from driftpace.typing import FloatArray


def average_certificate(
    steps: FloatArray, weights: FloatArray, *, m: float, moment: SecondMoment
) -> tuple[FloatArray, FloatArray]:
    """Bound the risk of any weighted average of SGD iterates, for every number of steps (theory 1.2).

    risk(average of w_1 .. w_K) <= alpha_K d0^2 + beta_K for K = 1 .. len(steps). Any steps (of at most 2/C) and any non-negative
    weights are allowed: with v_k = mu_k(1 - C mu_k/2), a_k, s_k of the recursion R, and
    e_k = th_k(1/(2 v_k) - m/2 + B mu_k^2/(2 v_k)) - th_{k-1}/(2 v_{k-1}), the bound is
    [sum max(e_k,0)(a_{k-1} d0^2 + s_{k-1}) + (A/2) sum th_k mu_k^2/v_k] / sum th_k. It may rise with K.

    Parameters
    ----------
    steps : ndarray
        Step lengths, each at most 2/C.
    weights : ndarray
        Weight of the iterate before each step, not normalised.
    m : float
        Strong convexity of the risk.
    moment : SecondMoment
        Second moments of a row's gradient.

    Returns
    -------
    alpha, beta : tuple of ndarray
        Coefficients for K = 1 .. len(steps).

    Examples
    --------
    >>> alpha, beta = average_certificate(np.full(4, 0.1), np.ones(4), m=1.0, moment=SecondMoment(A=0.16, B=4.0))
    >>> alpha.round(4), beta.round(4)
    (array([4.7   , 2.35  , 1.5667, 1.175 ]), array([0.008, 0.008, 0.008, 0.008]))
    """
    validation.positive("average_certificate", m=m)
    steps, weights = np.asarray(steps, dtype=float), np.asarray(weights, dtype=float)
    if steps.ndim != 1 or weights.shape != steps.shape or not (steps > 0.0).all():
        raise ParameterError(
            f"must be positive, as many as weights; got {steps.shape} and {weights.shape}.",
            owner="average_certificate",
            name="steps",
        )
    if not (weights >= 0.0).all() or not (weights[:1] > 0.0).all():
        raise ParameterError(
            f"must be zero or more, the first positive; got {weights}.",
            owner="average_certificate",
            name="weights",
        )
    if (moment.C * steps >= 2.0).any():
        raise ParameterError(
            f"must be below 2/C={2.0 / moment.C}; got {steps.max()}.",
            owner="average_certificate",
            name="steps",
        )
    shrink = np.maximum(0.0, 1.0 - 2.0 * m * steps + moment.per_distance(m=m) * steps**2)
    a, s = np.ones(steps.size), np.zeros(steps.size)
    for k in range(1, steps.size):
        a[k], s[k] = shrink[k - 1] * a[k - 1], shrink[k - 1] * s[k - 1] + moment.A * steps[k - 1] ** 2
    v = steps * (1.0 - 0.5 * moment.C * steps)
    ahead = weights / (2.0 * v)
    e = ahead * (1.0 + moment.B * steps**2) - 0.5 * m * weights - np.concatenate([[0.0], ahead[:-1]])
    e = np.maximum(e, 0.0)
    total = np.cumsum(weights)
    noise = 0.5 * moment.A * weights * steps**2 / v
    return np.cumsum(e * a) / total, np.cumsum(e * s + noise) / total


class CertificateNumbers(NamedTuple):
    """The numbers that the running sums depend on: steps 2/(m(k+shift)), weights k+shift-1, the moments A, B, C."""

    m: float
    A: float
    B: float
    C: float
    shift: float


class CertificateTable:
    """The two sums P, Q of the certificate (theory 1.2) after any number of steps.

    Checkpoints stand where those of the last-iterate recursion stand (256 steps apart at first, further apart later, so that
    memory stays bounded); a question replays the steps since the last one. The table grows by doubling when asked past
    its end.

    Examples
    --------
    >>> sums = CertificateTable(CertificateNumbers(m=1.0, A=1.0, B=0.0, C=0.0, shift=1.0))
    >>> sums.at(2)
    (0.0, 1.16667)
    """

    __slots__ = ("_columns", "_filled", "_lock", "_numbers")

    def __init__(self, numbers: CertificateNumbers) -> None:
        self._numbers = numbers
        self._columns = np.array([[1.0, 0.0, 0.0, 0.0]])
        self._filled = 0
        self._lock = Lock()

    @property
    def nbytes(self) -> int:
        """Memory of the checkpoints."""
        return self._columns.nbytes

    def at(self, steps: int) -> tuple[float, float]:
        """Return P, Q after ``steps`` steps."""
        from driftpace.bounds.kernels import recursion

        index = recursion.index_before(steps)
        a, s, P, Q = self._covering(index)[index]
        _, _, P, Q = recursion.replay_average(a, s, P, Q, recursion.position(index), steps, *self._numbers)
        return float(P), float(Q)

    def _covering(self, index: int) -> FloatArray:
        from driftpace.bounds.kernels import recursion

        with self._lock:
            if self._filled < index:
                until = max(index, 2 * self._filled)
                columns = np.concatenate([self._columns, np.zeros((until - self._filled, 4))])
                recursion.extend_average(columns, self._filled, until, *self._numbers)
                self._columns, self._filled = columns, until
            return self._columns


@lru_cache(maxsize=8)
def certificate_table(numbers: CertificateNumbers) -> CertificateTable:
    """Return the sums of these numbers, the same object every time while it is among the eight last used.

    Examples
    --------
    >>> numbers = CertificateNumbers(m=1.0, A=1.0, B=0.0, C=0.0, shift=1.0)
    >>> certificate_table(numbers) is certificate_table(numbers)
    True
    """
    return CertificateTable(numbers)

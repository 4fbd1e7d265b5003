"""Running sums of the certificate of a weighted average, with checkpoints (theory 1.2).

Steps mu_k = 2/(m t) and weights t - 1, t = k + shift. Beside (a, s) of the recursion R, which bound the distance before step
k by a d0^2 + s, two sums are kept: P of max(e_k, 0) a and Q of max(e_k, 0) s + (A/2) theta_k mu_k^2 / v_k, where
v_k = mu_k (1 - C mu_k / 2) and e_k = theta_k (1/(2 v_k) - m/2 + B mu_k^2 / (2 v_k)) - theta_{k-1} / (2 v_{k-1}).
"""

from driftpace.compiled import compiled
from driftpace.typing import FloatArray

from .recursion import position

TINY = 1e-300


@compiled()
def replay(
    a: float, s: float, P: float, Q: float, begin: int, end: int, m: float, A: float, B: float, C: float, shift: float
) -> tuple[float, float, float, float]:
    """Return (a, s, P, Q) after ``end`` steps from those after ``begin``."""
    b, c = B / (m * m), C / m
    for k in range(begin + 1, end + 1):
        t = k + shift
        mu = 2.0 / (m * t)
        if k == 1:
            e = (t - 1.0) * (0.25 * m * t * t / (t - c) - 0.5 * m + B / (m * (t - c)))
        else:  # the two terms of size t^2 that cancel are cancelled by hand, or large shifts would lose every digit
            e = (t - 1.0) * m * (0.25 * c * (t - 2.0 * c) / ((t - c) * (t - 1.0 - c)) + b / (t - c))
        e = max(0.0, e)
        P += e * a
        Q += e * s + A * (t - 1.0) / (m * (t - c))
        shrink = max(0.0, 1.0 - 2.0 * m * mu + (B + m * C) * mu * mu)
        a = max(shrink * a, TINY)
        s = shrink * s + A * mu * mu
    return a, s, P, Q


@compiled()
def extend(columns: FloatArray, filled: int, until: int, m: float, A: float, B: float, C: float, shift: float) -> None:
    """Fill checkpoints ``filled`` + 1 .. ``until``, a row each of (a, s, P, Q); checkpoint ``filled`` is there."""
    a, s, P, Q = columns[filled, 0], columns[filled, 1], columns[filled, 2], columns[filled, 3]
    k = position(filled)
    for index in range(filled + 1, until + 1):
        end = position(index)
        a, s, P, Q = replay(a, s, P, Q, k, end, m, A, B, C, shift)
        k = end
        columns[index, 0], columns[index, 1], columns[index, 2], columns[index, 3] = a, s, P, Q

"""A pass over wide rows, four at a time, so that coefficients and average are read and written once for four rows.

One sweep forms the scores of four rows at the iterate before them and the products of the rows with each other. From those
the four steps follow in scalars alone: every iterate among them is c w + b0 x0 + .. + b3 x3. A second sweep writes the last
of them and adds all four to the average. A penalty that leaves some coefficients alone does not fit this form.
"""

import math

from driftpace.compiled import compiled
from driftpace.learners.kernels.slope import slope
from driftpace.typing import FloatArray


@compiled(fastmath=True, inline=True)
def _move(
    loss: int, shape: float, score: float, y: float, mu: float, l2: float, norm: float, square: float, radius: float
) -> tuple[float, float, float]:
    """Return alpha, beta and ||.||^2 of the next iterate alpha w + beta x, projected on the ball."""
    beta = -mu * slope(loss, shape, score, y)
    alpha = 1.0 - mu * l2
    norm = alpha * alpha * norm + 2.0 * alpha * beta * score + beta * beta * square
    if norm > radius * radius:
        inward = radius / math.sqrt(norm)
        return alpha * inward, beta * inward, radius * radius
    return alpha, beta, norm


@compiled(fastmath=True)
def gram_pass(
    X: FloatArray,
    y: FloatArray,
    coef: FloatArray,
    work: FloatArray,
    loss: int,
    shape: float,
    l2: float,
    free: int,  # noqa: ARG001  (0 where l2 is not)
    radius: float,
    scale: float,
    grow: float,
    shift: float,
    steps: FloatArray,
    first: int,
    share: float,
    tilt: float,
    level: float,
) -> None:
    """Run one period; see the package for the arguments; ``free`` must be 0 where ``l2`` is not."""
    rows, features = X.shape
    mu, weight = features, features + 4  # where the steps and weights of a block lie in the work space
    norm = 0.0
    for j in range(features):
        norm += coef[j] * coef[j]
    for i in range(0, rows, 4):
        i1 = (
            i + 1 if i + 1 < rows else i
        )  # the last block may be short: rows past the last are a row again, with steps of 0
        i2 = i + 2 if i + 2 < rows else i
        i3 = i + 3 if i + 3 < rows else i
        for k in range(4):
            work[mu + k] = work[weight + k] = 0.0
            if i + k < rows:
                work[mu + k] = steps[i + k] if steps.size else scale / (grow * (i + k + 1.0) + shift)
                work[weight + k] = tilt * (i + k) + level if i + k >= first else 0.0
        s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
        q0, q1, q2, q3 = 0.0, 0.0, 0.0, 0.0
        g01, g02, g03, g12, g13, g23 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for j in range(features):
            w, x0, x1, x2, x3 = coef[j], X[i, j], X[i1, j], X[i2, j], X[i3, j]
            s0 += w * x0
            s1 += w * x1
            s2 += w * x2
            s3 += w * x3
            q0 += x0 * x0
            q1 += x1 * x1
            q2 += x2 * x2
            q3 += x3 * x3
            g01 += x0 * x1
            g02 += x0 * x2
            g03 += x0 * x3
            g12 += x1 * x2
            g13 += x1 * x3
            g23 += x2 * x3
        t0, t1, t2, t3 = work[weight], work[weight + 1], work[weight + 2], work[weight + 3]
        a, b0, norm = _move(loss, shape, s0, y[i], work[mu + 0], l2, norm, q0, radius)
        c = a
        sum_w, sum0 = t0 + t1 * c, t1 * b0

        a, b1, norm = _move(loss, shape, c * s1 + b0 * g01, y[i1], work[mu + 1], l2, norm, q1, radius)
        c, b0 = a * c, a * b0
        sum_w, sum0, sum1 = sum_w + t2 * c, sum0 + t2 * b0, t2 * b1

        a, b2, norm = _move(loss, shape, c * s2 + b0 * g02 + b1 * g12, y[i2], work[mu + 2], l2, norm, q2, radius)
        c, b0, b1 = a * c, a * b0, a * b1
        sum_w, sum0, sum1 = sum_w + t3 * c, sum0 + t3 * b0, sum1 + t3 * b1
        sum2 = t3 * b2

        a, b3, norm = _move(
            loss, shape, c * s3 + b0 * g03 + b1 * g13 + b2 * g23, y[i3], work[mu + 3], l2, norm, q3, radius
        )
        c, b0, b1, b2 = a * c, a * b0, a * b1, a * b2
        norm = 0.0  # afresh for every block: no error builds up
        for j in range(features):
            w, x0, x1, x2, x3 = coef[j], X[i, j], X[i1, j], X[i2, j], X[i3, j]
            work[j] += (sum_w * w + sum0 * x0) + (sum1 * x1 + sum2 * x2)
            new = (c * w + b0 * x0) + (b1 * x1 + b2 * x2) + b3 * x3
            coef[j] = new
            norm += new * new
    if share > 0.0:
        for j in range(features):
            coef[j] = share * work[j]

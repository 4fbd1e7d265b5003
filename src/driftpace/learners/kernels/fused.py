"""A pass over rows of middling width: the update, the average, the next score and the norm in one sweep over the features.

The projection on a ball only scales the iterate, so it is not carried out: its factor waits for the next sweep.
"""

import math

from driftpace.compiled import compiled
from driftpace.learners.kernels.slope import slope
from driftpace.typing import FloatArray


@compiled(fastmath=True)
def fused_pass(
    X: FloatArray,
    y: FloatArray,
    coef: FloatArray,
    work: FloatArray,
    loss: int,
    shape: float,
    l2: float,
    free: int,
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
    """Run one period; see the package for the arguments."""
    rows, features = X.shape
    penalised = features - free
    score = 0.0
    for j in range(features):
        score += coef[j] * X[0, j]
    inward = 1.0
    for k in range(rows):
        mu = steps[k] if steps.size else scale / (grow * (k + 1.0) + shift)
        weight = inward * (tilt * k + level) if k >= first else 0.0
        beta = -mu * slope(loss, shape, score, y[k])
        alpha = inward * (1.0 - mu * l2)
        after = k + 1 if k + 1 < rows else k
        score, norm = 0.0, 0.0
        for j in range(penalised):
            old = coef[j]
            new = alpha * old + beta * X[k, j]
            work[j] += weight * old
            coef[j] = new
            score += new * X[after, j]
            norm += new * new
        for j in range(penalised, features):
            old = coef[j]
            new = inward * old + beta * X[k, j]
            work[j] += weight * old
            coef[j] = new
            score += new * X[after, j]
            norm += new * new
        inward = radius / math.sqrt(norm) if norm > radius * radius else 1.0
        score *= inward
    for j in range(features):
        coef[j] = share * work[j] if share > 0.0 else inward * coef[j]

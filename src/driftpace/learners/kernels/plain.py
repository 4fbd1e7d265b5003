"""The pass for everything else: minibatches, boxes, balls with a centre. The textbook loop, in machine code."""

import math

from driftpace.compiled import compiled
from driftpace.learners.kernels.slope import slope
from driftpace.typing import FloatArray


@compiled(fastmath=True)
def plain_pass(
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
    batch: int,
    center: FloatArray,
    low: FloatArray,
    high: FloatArray,
) -> None:
    """Run one period in batches of ``batch`` rows, the last of them with what is left, over a ball cut by a box.

    The ball lies about ``center``; ``low`` and ``high`` have no entries where there is no box, and where there is one the
    ball must be infinite: one set at a time, as a projection on both is not one after the other.
    """
    rows, features = X.shape
    updates = (rows + batch - 1) // batch
    for k in range(updates):
        mu = steps[k] if steps.size else scale / (grow * (k + 1.0) + shift)
        weight = tilt * k + level if k >= first else 0.0
        begin = k * batch
        end = min(begin + batch, rows)
        for j in range(features):
            work[features + j] = 0.0
        for i in range(begin, end):
            score = 0.0
            for j in range(features):
                score += X[i, j] * coef[j]
            score = slope(loss, shape, score, y[i]) / (end - begin)
            for j in range(features):
                work[features + j] += score * X[i, j]
        for j in range(features - free):
            work[features + j] += l2 * coef[j]
        norm = 0.0
        for j in range(features):
            work[j] += weight * coef[j]
            new = coef[j] - mu * work[features + j]
            coef[j] = new
            norm += (new - center[j]) ** 2
        if norm > radius * radius:
            inward = radius / math.sqrt(norm)
            for j in range(features):
                coef[j] = center[j] + inward * (coef[j] - center[j])
        if low.size:
            for j in range(features):
                if coef[j] < low[j]:
                    coef[j] = low[j]
                elif coef[j] > high[j]:
                    coef[j] = high[j]
    if share > 0.0:
        for j in range(features):
            coef[j] = share * work[j]

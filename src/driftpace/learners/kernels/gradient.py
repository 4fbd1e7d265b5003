"""The mean gradient at a model with a check that it is finite, and the greedy steps of :class:`driftpace.schedules.GreedySteps`."""

from driftpace.compiled import compiled
from driftpace.learners.kernels.intrinsics import slope
from driftpace.typing import FloatArray


@compiled(fastmath=True)
def mean_gradient(
    X: FloatArray,
    y: FloatArray,
    coef: FloatArray,
    gradient: FloatArray,
    work: FloatArray,
    loss: int,
    shape: float,
    l2: float,
    free: int,
) -> bool:
    """Write the gradient of the mean loss at ``coef``; return whether ``coef`` and it are finite.

    X is read once, four rows at a time; ``work`` has room for their slopes. The arguments are those of the passes.
    """
    rows, features = X.shape
    for j in range(features):
        gradient[j] = 0.0
    for i in range(0, rows, 4):
        for k in range(4):  # one row after another: in lockstep they would fight for the same cache lines
            work[k] = 0.0
            if i + k < rows:
                score = 0.0
                for j in range(features):
                    score += X[i + k, j] * coef[j]
                work[k] = slope(loss, shape, score, y[i + k]) / rows
        i1 = i + 1 if i + 1 < rows else i  # rows past the last have a slope of zero
        i2 = i + 2 if i + 2 < rows else i
        i3 = i + 3 if i + 3 < rows else i
        s0, s1, s2, s3 = work[0], work[1], work[2], work[3]
        for j in range(features):
            gradient[j] += (s0 * X[i, j] + s1 * X[i1, j]) + (s2 * X[i2, j] + s3 * X[i3, j])
    zero = 0.0
    for j in range(features):
        if j < features - free:
            gradient[j] += l2 * coef[j]
        zero += 0.0 * coef[j] + 0.0 * gradient[j]  # NaN as soon as one of them is NaN or infinite
    return zero == 0.0


@compiled()
def fill_greedy_steps(steps: FloatArray, m: float, A: float, B: float, limit: float, distance: float) -> None:
    """Write mu_k = min(m D_k / (A + B D_k), limit), D_1 = distance^2."""
    squared = distance**2
    for k in range(steps.size):
        noise = A + B * squared
        step = min(m * squared / noise, limit) if noise > 0.0 else 0.0
        steps[k] = step
        squared = max(0.0, 1.0 - 2.0 * m * step + B * step**2) * squared + A * step**2

"""One pass with a loss or a set of the user's own, through their methods alone: slow, and right."""

import numpy as np

from driftpace.constraints.protocol import Set
from driftpace.learners.plan import Plan
from driftpace.losses.protocol import Loss
from driftpace.typing import FloatArray


def own_pass(
    loss: Loss,
    domain: Set,
    coef: FloatArray,
    X: FloatArray,
    y: FloatArray,
    plan: Plan,
    steps: FloatArray,
    first: int,
    share: float,
) -> tuple[FloatArray, bool]:
    """Move ``coef`` as the compiled passes do; return the mean gradient there, and whether all is finite."""
    total, w = np.zeros_like(coef), coef.copy()
    with np.errstate(all="ignore"):
        for k, begin in enumerate(range(0, len(y), plan.batch)):
            rows = slice(begin, begin + plan.batch)
            mu = steps[k] if steps.size else plan.scale / (plan.grow * (k + 1) + plan.shift)
            if k >= first:
                total += (plan.tilt * k + plan.level) * w
            w = domain.project(w - mu * loss.gradient(w, X[rows], y[rows]))
        coef[:] = share * total if share > 0.0 else w
        gradient = np.array(loss.gradient(coef, X, y), dtype=np.float64)
        return gradient, bool(np.isfinite(coef).all() and np.isfinite(gradient).all())

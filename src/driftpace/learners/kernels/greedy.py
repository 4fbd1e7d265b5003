"""The greedy steps of theory 1.1f, as :meth:`driftpace.schedules.GreedySteps.steps` gives them."""

from driftpace.compiled import compiled
from driftpace.typing import FloatArray


@compiled()
def fill_greedy_steps(steps: FloatArray, m: float, A: float, B: float, limit: float, distance: float) -> None:
    """Write mu_k = min(m D_k / (A + B D_k), limit), D_1 = distance^2."""
    squared = distance**2
    for k in range(steps.size):
        noise = A + B * squared
        step = min(m * squared / noise, limit) if noise > 0.0 else 0.0
        steps[k] = step
        squared = max(0.0, 1.0 - 2.0 * m * step + B * step**2) * squared + A * step**2

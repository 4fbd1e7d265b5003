"""The distance between two periods' gradient distributions at one common model: a monitor."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from driftpace import validation
from driftpace.drift.one_step.protocol import Step
from driftpace.drift.one_step.reading import all_rows, spread_out, strong_convexity
from driftpace.losses.protocol import Loss
from driftpace.records import Seen
from driftpace.typing import FloatArray


@dataclass(frozen=True, kw_only=True, slots=True)
class LastGradients:
    """The last period with rows enough: its number, the model it is judged at, its rows' gradients there (some of them)."""

    period: int | None
    point: FloatArray
    gradients: FloatArray


@dataclass(frozen=True, kw_only=True, slots=True)
class GradientMmd:
    """MMD^2 / m^2 between the gradients of periods i-1 and i at w_{i-2}, a model that neither trained (theory 3.4).

    The U-statistic, mean over pairs within each period minus twice the mean over pairs across, has no upward bias. A monitor,
    not a default; what it bounds depends on the kernel:

    * ``"linear"``: MMD is ||grad f_i(w) - grad f_{i-1}(w)||, so MMD/m is at least rho_i when the two risks are quadratic with
      one and the same Hessian; in general it can fall short by (2M/m)||w - w*_{i-1}||.
    * ``"gaussian"``: exp(-||a - b||^2 / (2 h^2)), with h the median distance between gradients unless ``bandwidth`` is given;
      the value is h^2 MMD^2 / m^2. It is zero only when the distributions of gradients are the same, so it sees changes
      that leave the minimiser where it is; h MMD/m is at most W_1/m and bounds nothing from above ("monitor").

    At most ``most`` rows of a period are compared (and kept in the state), evenly spaced.

    >>> a, b = np.array([[0.0], [2.0]]), np.array([[3.0], [5.0]])
    >>> linear_mmd(a, b)
    7.0
    """

    kernel: str = "linear"
    bandwidth: float | None = None
    most: int = 256

    squared: ClassVar[bool] = True
    correctable: ClassVar[bool] = False
    needs: ClassVar[tuple[str, ...]] = ("m",)
    held_out: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        validation.choice("GradientMmd", ("linear", "gaussian"), kernel=self.kernel)
        validation.count("GradientMmd", least=2, most=self.most)
        if self.bandwidth is not None:
            validation.positive("GradientMmd", bandwidth=self.bandwidth)

    @property
    def measures(self) -> str:
        """The movement of the minimiser for the linear kernel; nothing that bounds it for the Gaussian one."""
        return "rho" if self.kernel == "linear" else "monitor"

    @property
    def account(self) -> str:
        """A few words for people."""
        return f"change in the distribution of gradients, {self.kernel} kernel"

    def least_rows(self, features: int) -> int:
        """Return 2."""
        del features
        return 2

    def init(self, features: int) -> LastGradients:
        """Return the state before the first period."""
        return LastGradients(period=None, point=np.zeros(features), gradients=np.zeros((0, features)))

    def measure(self, state: LastGradients, seen: Seen, loss: Loss) -> tuple[LastGradients, Step | None]:
        """Return the state after one more period, and MMD^2 / m^2 where both periods had two rows."""
        X, y = all_rows(seen)
        if len(y) < 2:
            return state, None
        step = None
        if state.period is not None and seen.period == state.period + 1:
            m = strong_convexity("GradientMmd", seen.constants)
            now = spread_out(loss.row_gradients(state.point, X, y), self.most)
            unit = max(float(np.abs(now).max()), float(np.abs(state.gradients).max())) or 1.0
            value = self._mmd(state.gradients / unit, now / unit, unit)
            step = Step(value=value * (unit / m) * (unit / m))
        kept = spread_out(loss.row_gradients(seen.start, X, y), self.most)
        return LastGradients(period=seen.period, point=seen.start.copy(), gradients=kept), step

    def _mmd(self, before: FloatArray, now: FloatArray, unit: float) -> float:
        if self.kernel == "linear":
            return linear_mmd(before, now)
        return gaussian_mmd(before, now, None if self.bandwidth is None else self.bandwidth / unit)


def linear_mmd(before: FloatArray, now: FloatArray) -> float:
    """Return ||mean before - mean now||^2 minus the noise of both means: unbiased, O(rows features)."""
    gap = before.mean(axis=0) - now.mean(axis=0)
    noise = sum(float(rows.var(axis=0, ddof=1).sum()) / len(rows) for rows in (before, now))
    return float(gap @ gap) - noise


def gaussian_mmd(before: FloatArray, now: FloatArray, bandwidth: float | None) -> float:
    """Return h^2 times the unbiased MMD^2 with the kernel exp(-||a - b||^2/(2 h^2)); O(rows^2 features)."""
    rows = np.concatenate([before, now])
    squares = np.einsum("ki,ki->k", rows, rows)
    distances = np.maximum(squares[:, None] + squares - 2.0 * (rows @ rows.T), 0.0)
    pairs = distances[np.triu_indices(len(rows), 1)]
    h2 = float(np.median(pairs)) if bandwidth is None else bandwidth * bandwidth
    if not h2 > 0.0:
        return 0.0
    kernel = np.exp(-0.5 * distances / h2)
    n = len(before)
    total = -2.0 * float(kernel[:n, n:].mean())
    for block in (kernel[:n, :n], kernel[n:, n:]):
        total += (float(block.sum()) - len(block)) / (len(block) * (len(block) - 1))
    return h2 * total

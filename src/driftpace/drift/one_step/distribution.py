"""Distances between the distributions of two periods: MMD of gradients, and Wasserstein distance of rows."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from driftpace import validation
from driftpace.drift.one_step.base import Step, all_rows, clip_to_diameter, strong_convexity, subsample
from driftpace.errors import DriftpaceError
from driftpace.losses.protocol import Loss
from driftpace.records import PeriodData
from driftpace.typing import FloatArray


@dataclass(frozen=True, kw_only=True, slots=True)
class LastGradients:
    """The last period with rows enough: its number, the model it is judged at, its rows' gradients there (some of them)."""

    period: int | None
    point: FloatArray
    gradients: FloatArray


@dataclass(frozen=True, kw_only=True, slots=True)
class GradientMmd:
    """Maximum mean discrepancy between two periods' gradients at a common model: a monitor (theory 3.4).

    MMD^2 / m^2 between the gradients of periods i-1 and i at w_{i-2}, a model that neither trained. The U-statistic, mean over
    pairs within each period minus twice the mean over pairs across, has no upward bias. What it bounds depends on the kernel:

    * ``"linear"``: MMD is ||grad f_i(w) - grad f_{i-1}(w)||, so MMD/m is at least rho_i when the two risks are quadratic with
      the same Hessian; in general it can fall short by (2M/m)||w - w*_{i-1}||.
    * ``"gaussian"``: exp(-||a - b||^2 / (2 h^2)); the value is h^2 MMD^2 / m^2. It is zero only when the distributions of
      gradients are the same, so it detects changes that leave the minimiser where it is; h MMD/m is at most W_1/m and bounds
      nothing from above ("monitor").

    Parameters
    ----------
    kernel : {'linear', 'gaussian'}, default 'linear'
        The kernel.
    bandwidth : float, optional
        h of the Gaussian kernel; the median distance between gradients by default.
    most : int, default 256
        Largest number of rows of a period that are compared and kept in the state, evenly spaced.

    Examples
    --------
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
        """Short description for reports."""
        return f"change in the distribution of gradients, {self.kernel} kernel"

    def least_rows(self, features: int) -> int:
        """Return 2."""
        del features
        return 2

    def init(self, features: int) -> LastGradients:
        """Return the state before the first period."""
        return LastGradients(period=None, point=np.zeros(features), gradients=np.zeros((0, features)))

    def measure(self, state: LastGradients, seen: PeriodData, loss: Loss) -> tuple[LastGradients, Step | None]:
        """Return the state after one more period, and MMD^2 / m^2 where both periods had two rows."""
        X, y = all_rows(seen)
        if len(y) < 2:
            return state, None
        step = None
        if state.period is not None and seen.period == state.period + 1:
            m = strong_convexity("GradientMmd", seen.constants)
            now = subsample(loss.row_gradients(state.point, X, y), self.most)
            unit = max(float(np.abs(now).max()), float(np.abs(state.gradients).max())) or 1.0
            value = self._mmd(state.gradients / unit, now / unit, unit)
            step = Step(value=value * (unit / m) * (unit / m))
        kept = subsample(loss.row_gradients(seen.start, X, y), self.most)
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


@dataclass(frozen=True, kw_only=True, slots=True)
class LastRows:
    """The last period that had rows: its number, and some of its rows with their targets."""

    period: int | None
    rows: FloatArray


@dataclass(frozen=True, kw_only=True, slots=True)
class WassersteinChange:
    """Wasserstein distance between two periods' rows, scaled to bound the drift (theory 3.4).

    (r/m) W_1(p_{i-1}, p_i) is at least rho_i when grad l(w, .) is r-Lipschitz in the row z = (x, y). W_1 is the least total
    distance by which rows of one period must be transported to become those of the other, found by linear programming. It
    needs no model, so the learner does not influence it; but it counts changes that leave the minimiser where it is, and two
    samples of the same population are about K^(-1/dimensions) apart, a floor that decreases very slowly.

    Parameters
    ----------
    row_lipschitz : float
        r; it cannot be estimated from the rows.
    most : int, default 64
        Largest number of rows of each period that are compared, evenly spaced.

    Examples
    --------
    >>> transport(np.array([[0.0], [1.0]]), np.array([[5.0], [6.0], [7.0]]))
    5.5
    """

    row_lipschitz: float
    most: int = 64

    squared: ClassVar[bool] = False
    measures: ClassVar[str] = "rho"
    correctable: ClassVar[bool] = False
    needs: ClassVar[tuple[str, ...]] = ("m",)
    held_out: ClassVar[float] = 0.0
    account: ClassVar[str] = "transport distance between the periods' rows"

    def __post_init__(self) -> None:
        validation.positive("WassersteinChange", row_lipschitz=self.row_lipschitz)
        validation.count("WassersteinChange", least=1, most=self.most)

    def least_rows(self, features: int) -> int:
        """Return 1."""
        del features
        return 1

    def init(self, features: int) -> LastRows:
        """Return the state before the first period."""
        return LastRows(period=None, rows=np.zeros((0, features + 1)))

    def measure(self, state: LastRows, seen: PeriodData, loss: Loss) -> tuple[LastRows, Step | None]:
        """Return the state after one more period, and (r/m) W_1 where the period before had rows too."""
        del loss
        X, y = all_rows(seen)
        if len(y) == 0:
            return state, None
        now = subsample(np.column_stack([X, y]), self.most)
        step = None
        if state.period is not None and seen.period == state.period + 1:
            m = strong_convexity("WassersteinChange", seen.constants)
            step = Step(value=clip_to_diameter(self.row_lipschitz / m * transport(state.rows, now), seen.constants))
        return LastRows(period=seen.period, rows=now), step


def transport(before: FloatArray, now: FloatArray) -> float:
    """Return W_1 between two sets of equally weighted points: min sum_ij P_ij ||a_i - b_j|| over couplings P."""
    from scipy.optimize import linprog

    n, k = len(before), len(now)
    costs = np.linalg.norm(before[:, None, :] - now[None, :, :], axis=2).ravel()
    unit = float(costs.max())
    if unit == 0.0:
        return 0.0
    leaves = np.kron(np.eye(n), np.ones((1, k)))
    arrives = np.kron(np.ones((1, n)), np.eye(k))
    masses = np.concatenate([np.full(n, 1.0 / n), np.full(k, 1.0 / k)])
    solved = linprog(costs / unit, A_eq=np.concatenate([leaves, arrives])[:-1], b_eq=masses[:-1], method="highs")
    if solved.status != 0 or solved.fun is None:  # it is feasible and bounded for any rows
        raise DriftpaceError(f"the transport problem of {n} by {k} rows was not solved: {solved.message}")
    return unit * float(solved.fun)

"""The transport distance between two periods' rows."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from driftpace import validation
from driftpace.drift.one_step.protocol import Step
from driftpace.drift.one_step.reading import all_rows, limited, spread_out, strong_convexity
from driftpace.errors import DriftpaceError
from driftpace.losses.protocol import Loss
from driftpace.records import Seen
from driftpace.typing import FloatArray


@dataclass(frozen=True, kw_only=True, slots=True)
class LastRows:
    """The last period that had rows: its number, and some of its rows with their targets."""

    period: int | None
    rows: FloatArray


@dataclass(frozen=True, kw_only=True, slots=True)
class WassersteinChange:
    """(r/m) W_1(p_{i-1}, p_i), which is at least rho_i when grad l(w, .) is r-Lipschitz in the row z = (x, y) (theory 3.4).

    W_1 is the least total distance that rows of one period must travel to become those of the other, found by linear
    programming on at most ``most`` rows of each, evenly spaced. It needs no model at all, so nothing of the learner leaks into
    it; but it charges for changes that leave the minimiser where it is, and two samples of the same population are about
    K^(-1/dimensions) apart, a floor that falls very slowly. ``row_lipschitz`` is r; only the user can know it.

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

    def measure(self, state: LastRows, seen: Seen, loss: Loss) -> tuple[LastRows, Step | None]:
        """Return the state after one more period, and (r/m) W_1 where the period before had rows too."""
        del loss
        X, y = all_rows(seen)
        if len(y) == 0:
            return state, None
        now = spread_out(np.column_stack([X, y]), self.most)
        step = None
        if state.period is not None and seen.period == state.period + 1:
            m = strong_convexity("WassersteinChange", seen.constants)
            step = Step(value=limited(self.row_lipschitz / m * transport(state.rows, now), seen.constants))
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
    if solved.status != 0 or solved.fun is None:  # it is feasible and bounded, whatever the rows
        raise DriftpaceError(f"the transport problem of {n} by {k} rows was not solved: {solved.message}")
    return unit * float(solved.fun)

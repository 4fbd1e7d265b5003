"""A tracker that buys the same number of rows each period and predicts their mean: simple enough to be checked by hand."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from driftpace.losses import Loss
from driftpace.records import Assumption, Verdict

SIZE = 12


@dataclass(frozen=True, kw_only=True)
class Said:
    """What a report says, as far as a backtest reads it."""

    samples: int
    samples_theory: int
    rho: float | None
    rho_upper: float | None
    risk_bound: float
    certificate: float | None
    status: str
    assumptions: tuple[Assumption, ...]
    selected: None = None
    audit: None = None
    metric: None = None


class PlainTracker:
    """Buys SIZE rows a period, twice as many in the first, and predicts the mean of the targets it bought last."""

    selected = None

    def __init__(self, loss: Loss, features: int, seed: int) -> None:
        del loss, seed
        self.period = 0
        self.coef, self.intercept = np.zeros(features), 0.0

    def step(self, draw: Any, *, pool: int | None = None) -> Said:
        self.period += 1
        first = self.period == 1
        wanted = 2 * SIZE if first else SIZE
        _, y = draw(wanted)
        if len(y):
            self.intercept = float(np.mean(y))
        verdict = Verdict.WARN if len(y) < wanted else Verdict.PASS
        return Said(
            samples=len(y),
            samples_theory=2 * wanted,
            rho=None if first else 0.2,
            rho_upper=None if first else 0.4,
            risk_bound=0.05,
            certificate=None if first else 0.08,
            status="stable" if first else "warning",
            assumptions=(Assumption(name="pool", verdict=verdict, sentence=f"{len(y)} of {wanted} were delivered."),),
        )


def plain_tracker(loss: Loss, features: int, seed: int) -> Any:
    """Return a tracker as ``backtest(tracker=...)`` wants it; other processes can find it by its name."""
    return PlainTracker(loss, features, seed)

"""What cross-validation is tried on: a regression with many weak coefficients, at first so weak that any penalty helps."""

from collections.abc import Sequence
from typing import Literal

from driftpace.constraints import Ball
from driftpace.losses import SquaredLoss
from driftpace.records import Constants
from driftpace.selection import Choosing, Selection
from driftpace.synthetic import DriftingRegression
from driftpace.tracker import Tracker
from paper.asked import key

Method = Literal["paper", "practical"]
LOSS = SquaredLoss()
FEATURES, RHO, NOISE, EPSILON, PERIODS = 10, 0.2, 1.0, 0.2, 25
FIRST = (60, 60)
TWO = (0.1, 1.0)
TEN = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
FOLDS = 10
MEMORY = 0.75


def world_of(seed: int, run: int) -> DriftingRegression:
    """Return the world of a run: the coefficients walk away from zero, so the best penalty falls with time.

    >>> bool(world_of(0, 0).period(1).coef.any())
    False
    """
    return DriftingRegression(features=FEATURES, rho=RHO, noise=NOISE, rng=key(seed, run))


def constants_of(world: DriftingRegression, l2: float) -> Constants:
    """Return m, M, A and B of a penalised loss that hold in every period of the world: m differs from penalty to penalty (I24).

    >>> constants_of(world_of(0, 0), 1.0).safe("m")
    2.0
    """
    known = [world.period(n).constants(SquaredLoss(l2=l2)) for n in range(1, PERIODS + 1)]
    most = {name: max(one.safe(name) for one in known) for name in ("M", "A", "B")}
    return Constants.given(m=min(one.safe("m") for one in known), **most)


def tracker_of(
    method: Method,
    world: DriftingRegression,
    grid: Sequence[float],
    run: int,
    *,
    folds: int = FOLDS,
    choosing: Choosing = "least",
    memory: float | None = None,
) -> Tracker:
    """Return the tracker that chooses among the penalties of ``grid``; as in the paper it remembers nothing of earlier choices."""
    if method == "practical":
        kept = MEMORY if memory is None else memory
        select = Selection.of_l2(LOSS, grid, folds=folds, choosing=choosing, memory=kept)
        return Tracker(LOSS, epsilon=EPSILON, select=select, fit_intercept=False, features=FEATURES, rng=run)
    constants = [constants_of(world, l2) for l2 in grid]
    kept = 0.0 if memory is None else memory
    return Tracker.as_in_paper(
        LOSS,
        epsilon=EPSILON,
        domain=Ball(radius=20.0),
        first_samples=FIRST,
        features=FEATURES,
        select=Selection.of_l2(LOSS, grid, folds=folds, choosing=choosing, memory=kept, constants=constants),
        rng=run,
    )

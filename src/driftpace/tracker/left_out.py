"""The losses of each candidate on rows that its fit did not see, fold by fold, from the state before the period is closed."""

import numpy as np

from driftpace.adaptive import AdaptiveConfig
from driftpace.errors import DataError
from driftpace.losses import LinearLoss
from driftpace.selection import Design, Held, left_out, losses_left_out
from driftpace.tracker.branches import BranchedState, Branches
from driftpace.tracker.closing import fits_without
from driftpace.tracker.practical import finite, look
from driftpace.tracker.state import Settings, State
from driftpace.typing import FloatArray, IntArray


def losses_of(settings: Branches, state: BranchedState, fold: IntArray) -> FloatArray:
    """Return the loss without a penalty of every row, (candidates, rows), by models that have not seen the row's fold."""
    designs: dict[object, Design] = {}
    found = []
    for index, (own, now) in enumerate(zip(settings.settings, state.states, strict=True)):
        if isinstance(own.method, AdaptiveConfig):
            key = state.places[index] if state.places else None
            found.append(_practical(settings, own, own.method, now, fold, designs, key))
        else:
            found.append(_of_parts(settings, own, now, fold))
    return np.array(found)


def _practical(
    settings: Branches,
    own: Settings,
    pacing: AdaptiveConfig,
    state: State,
    fold: IntArray,
    designs: dict[object, Design],
    key: object,
) -> FloatArray:
    """Leave folds out of the practical fit in closed form, or nearly: held to the past as strongly as the whole period was.

    Candidates that see the same columns share the sums over rows.
    """
    assert state.pace is not None
    assert isinstance(own.loss, LinearLoss)
    assert isinstance(settings.loss, LinearLoss)
    seen = look(own, pacing, state)
    rows, judged = seen.rows, seen.judged
    if key not in designs:
        designs[key] = Design(X=rows.X, y=rows.y, fold=fold)
    design = designs[key]
    if not finite(judged) or judged.fit is None:
        return np.full(len(fold), np.nan)
    white = judged.coordinates
    strength = (white.factor * judged.fit.strength) @ white.factor.T
    held = Held(loss=own.loss, model=judged.model, strength=strength, penalty=rows.penalty)
    return losses_left_out(design, left_out(design, held), settings.loss)


def _of_parts(settings: Branches, own: Settings, state: State, fold: IntArray) -> FloatArray:
    """Fit the learner once for every fold, from the candidate's own last model and on the rows of the other folds.

    A fit that overflows loses the comparison; whether the period can be closed is for the fit to all rows to say.
    """
    X = np.concatenate([part.X for part in state.parts])
    y = np.concatenate([part.y for part in state.parts])
    try:
        models = fits_without(own, state, fold)
    except DataError:
        return np.full(len(fold), np.nan)
    with np.errstate(over="ignore", invalid="ignore"):
        if isinstance(settings.loss, LinearLoss):
            return losses_left_out(Design(X=X, y=y, fold=fold), models, settings.loss)
        losses = np.empty(len(y))
        for index, model in enumerate(models):
            out = fold == index
            penalised = model[:-1] if own.fit_intercept else model
            penalty = 0.5 * settings.loss.l2 * float(penalised @ penalised)
            objective = settings.loss.with_unpenalised(1) if own.fit_intercept else settings.loss
            losses[out] = objective.row_values(model, X[out], y[out]) - penalty
        return losses

"""Classes that appear after the first rows: a state for more outputs than it was made for.

Helmert contrasts of fewer classes are the first of those of more, so what is known stays what it is. A new class begins with the
share of half a row among those seen, and without slopes; what is not known of it has the variance of a jump.
"""

import math
from dataclasses import replace

import numpy as np

from driftpace.adaptive.bank import Bank
from driftpace.adaptive.coordinates import coordinates
from driftpace.adaptive.state import AdaptiveState, jump_variances, noise_floor_of, turned_blocks
from driftpace.losses.vector import summed_over_outputs
from driftpace.typing import FloatArray

_FIRST_ROWS = 0.5
"""Rows of a class by which it counts before any is seen."""

_LARGEST_SHARE = 0.05
"""The largest share with which a new class begins, where few rows were seen."""

_NOTHING = 1e-300


def with_outputs(state: AdaptiveState, outputs: int) -> AdaptiveState:
    """Return the state with as many outputs, one after the other; as it is where it has them."""
    while state.outputs < outputs:
        state = _with_one_more(state)
    return state


def _with_one_more(state: AdaptiveState) -> AdaptiveState:
    """Return the state with one more output, for a class that was not seen yet."""
    old, columns, memory = state.outputs, state.columns, state.memory
    share = first_share(memory.rows)
    model = _padded(state.model[None], old, columns)[0]
    if state.intercept and memory.rows:
        model[old] = first_level(share, old + 1)
    hessian = _with_curvature(memory.hessian, memory.hessian_rows, share, old, columns, state.intercept)
    noise = memory.noise.estimate().mean
    scores = _with_curvature(memory.scores, memory.score_rows, share, old, columns, state.intercept)
    memory = replace(memory, hessian=hessian, scores=scores, outputs=old + 1)
    grown = replace(state, model=model, memory=memory, search=None)
    if state.season is not None:
        grown = replace(grown, season=replace(state.season, models=_padded(state.season.models, old, columns)))
    if not state.banks or state.coordinates is None:
        return grown
    white = coordinates(hessian / max(memory.hessian_rows, 1.0))
    embed = np.zeros((columns * (old + 1), columns * old))
    embed[_kept_places(old, columns), np.arange(columns * old)] = 1.0
    banks = turned_blocks(state.banks, white.factor.T @ embed @ state.coordinates.inverse.T)
    offset = np.zeros(model.size)
    offset[old] = model[old] if state.intercept else 0.0
    shift = white.white(offset)
    grown = replace(grown, coordinates=white)
    jumps = jump_variances(grown, white, max(noise, noise_floor_of(state)))
    banks = tuple(
        with_doubt(replace(bank, place=bank.place + shift[part]), jump, old)
        for bank, part, jump in zip(banks, grown.parts, jumps, strict=True)
    )
    return replace(grown, banks=banks)


def first_share(rows: float) -> float:
    """Return the share with which a class that was not among so many rows begins."""
    return min(_FIRST_ROWS / (rows + 1.0), _LARGEST_SHARE)


def first_level(share: float, classes: int) -> float:
    """Return the coefficient of the new contrast at which the new class has this share, the others being alike.

    With ``classes`` old ones, the score of the new class lies sqrt((k + 1)/k) times the coefficient below the mean of the others.
    """
    return -math.log(share * classes / (1.0 - share)) / math.sqrt((classes + 1.0) / classes)


def _kept_places(outputs: int, columns: int) -> list[int]:
    """Return the places of the old coefficients among those of one more output."""
    return [column * (outputs + 1) + output for column in range(columns) for output in range(outputs)]


def _padded(models: FloatArray, outputs: int, columns: int) -> FloatArray:
    """Return models (models, coefficients) with a coefficient of 0 for the new output of each column."""
    padded = np.zeros((len(models), columns, outputs + 1))
    padded[:, :, :outputs] = models.reshape(len(models), columns, outputs)
    return padded.reshape(len(models), -1)


def _with_curvature(
    sums: FloatArray, rows: float, share: float, outputs: int, columns: int, intercept: bool
) -> FloatArray:
    """Return sums of second derivatives with those of the new output: of rows in which the new class has this share."""
    grown = np.zeros((columns, outputs + 1, columns, outputs + 1))
    old = sums.reshape(columns, outputs, columns, outputs)
    grown[:, :outputs, :, :outputs] = old
    gram = summed_over_outputs(sums, outputs)
    if intercept and gram[0, 0] > 0.0:
        gram = gram * (rows / gram[0, 0])
    classes = outputs + 1.0
    grown[:, outputs, :, outputs] = share * (1.0 - share) * (classes + 1.0) / classes * gram
    return grown.reshape(columns * (outputs + 1), -1)


def with_doubt(bank: Bank, jump: float, outputs: int) -> Bank:
    """Return a bank in which the coordinates of a new output, one in so many, have the variance of a jump, or that of the others.

    Variances never fall: with the covariances of place and velocity as they are, a smaller one would be that of nothing.
    """
    return replace(bank, spread=bank.spread + np.maximum(jump - bank.spread, 0.0) / (outputs + 1.0))

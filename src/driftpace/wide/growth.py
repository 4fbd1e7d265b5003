"""Classes that appear after the first rows: a state in bands for more scores than it was made for.

Helmert contrasts of fewer classes are the first of those of more, so what is known stays what it is. A new class begins with the
share of half a row among those seen, and without slopes; what is not known of it has the variance of a jump.
"""

from dataclasses import replace

import numpy as np

from driftpace.adaptive.growth import first_level, first_share, with_doubt
from driftpace.losses.softmax import helmert
from driftpace.typing import FloatArray
from driftpace.wide.state import WideState, jumps_of

LEAST_CURVATURE = 0.1
"""The least curvature of a score, relative to their mean, that coefficients are scaled by."""


def with_classes(state: WideState, outputs: int, y: FloatArray) -> WideState:
    """Return the state with as many scores, one after the other; before a first period is closed, scaled by its classes ``y``."""
    while state.outputs < outputs:
        state = _with_one_more(state)
    return state if state.banks or outputs == 1 else replace(state, scale=_scale(y, outputs))


def _scale(y: FloatArray, outputs: int) -> FloatArray:
    """Return the matrix R with which R M R is about the mean curvature times one, for M of rows with these shares of classes."""
    shares = np.bincount(y.astype(np.int64), minlength=outputs + 1) + 0.5
    shares /= shares.sum()
    contrasts = helmert(outputs + 1)
    mean = shares @ contrasts
    curvature = (contrasts.T * shares) @ contrasts - np.outer(mean, mean)
    values, basis = np.linalg.eigh(curvature / (np.trace(curvature) / outputs))
    return np.asarray((basis / np.sqrt(np.maximum(values, LEAST_CURVATURE))) @ basis.T)


def _with_one_more(state: WideState) -> WideState:
    """Return the state with one more score, for a class that was not seen yet."""
    old = state.outputs
    center = _padded(state.center[None], old)[0]
    if not state.banks:
        return replace(state, center=center, outputs=old + 1)
    share, wider = first_share(state.rows), LEAST_CURVATURE**-0.5
    level = first_level(share, old + 1) / wider if state.intercept else 0.0
    scale = np.zeros((old + 1, old + 1))
    scale[:old, :old] = np.eye(old) if state.scale is None else state.scale
    scale[old, old] = wider
    curvature = np.zeros((old + 1, old + 1))
    curvature[:old, :old] = state.bend if state.curvature is None else state.curvature
    curvature[old, old] = wider * wider * share * (1.0 - share) * (old + 2.0) / (old + 1.0)
    if state.intercept:
        center[old] = level
    grown = replace(
        state,
        center=center,
        outputs=old + 1,
        curvature=curvature,
        scale=scale,
        bend=float(np.trace(curvature)) / (old + 1),
    )
    jumps = jumps_of(grown, max(state.noise.estimate().mean, 1.0))
    banks = []
    for place, (bank, jump) in enumerate(zip(state.banks, jumps, strict=True)):
        places, velocity = _padded(bank.place, old), _padded(bank.velocity, old)
        if state.intercept and place == 0:
            places[:, old] = level
        banks.append(with_doubt(replace(bank, place=places, velocity=velocity), jump, old))
    return replace(grown, banks=tuple(banks))


def _padded(models: FloatArray, outputs: int) -> FloatArray:
    """Return models (models, coordinates) with a coordinate of 0 for the new score of each component."""
    padded = np.zeros((len(models), models.shape[1] // outputs, outputs + 1))
    padded[:, :, :outputs] = models.reshape(len(models), -1, outputs)
    return padded.reshape(len(models), -1)

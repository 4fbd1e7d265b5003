"""The audit of a closed period: what its fresh rows measured of the prediction and of the model that was fitted."""

from dataclasses import dataclass, replace

import numpy as np

from driftpace.adaptive.audit import (
    ErrorRecord,
    Measured,
    gradients_at,
    mean_product,
    with_errors,
    with_measured_risk,
)
from driftpace.adaptive.bank import Prediction
from driftpace.adaptive.coordinates import with_diagonal
from driftpace.adaptive.fit import Posterior, noise_of, solved
from driftpace.adaptive.held_out import measured_on
from driftpace.adaptive.rows import DesignRows
from driftpace.adaptive.state import SMALLEST_NOISE, AdaptiveState, PeriodJudgement
from driftpace.typing import BoolArray, FloatArray


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Decision:
    """What the size of a period was decided on: the judgement of the rows that the last decision saw.

    The first order of the period had ``first`` rows; ``fresh`` are those rows that no decision saw.
    """

    judged: PeriodJudgement
    first: int
    fresh: BoolArray


def audit_period(
    state: AdaptiveState,
    after: AdaptiveState,
    rows: DesignRows,
    judged: PeriodJudgement,
    decision: Decision,
    held_out: DesignRows | None = None,
) -> tuple[AdaptiveState, Measured | None]:
    """Return the state ``after`` a period with its audit, and the excess risk that was measured; None where no rows measure it.

    Rows that are ``held_out`` measure the model of the period directly. Without them the rows that were kept from decisions do:

    The fit u of all rows follows from the model u_0 of the decision by e = (I - P G_a) e_0 + P noise, with P the inverse
    Hessian of the fit and G_a that of the fresh rows: the measured excess risk of u_0 is carried over by the mean square of
    I - P G_a, and the noise of the fresh rows is added. Where the curvature c of the period is not the usual one, an error
    costs c times as much and gradients are c times as long: they are divided by the root of c.
    """
    if judged.fit is None:
        return after, None
    after = _with_errors(state, after, rows, judged, decision) if state.banks else after
    measured = _carried_over(state, rows, judged, decision) if held_out is None else measured_on(held_out, judged)
    if measured is None:
        return after, None
    promised = 0.5 * float(state.sizes @ judged.variances)
    count = 0 if held_out is None else len(held_out)
    return replace(after, audit=with_measured_risk(after.audit, measured, promised, judged.epsilon, count)), measured


def _with_errors(
    state: AdaptiveState, after: AdaptiveState, rows: DesignRows, judged: PeriodJudgement, decision: Decision
) -> AdaptiveState:
    """Return the state with the errors of the predictions, measured on the first order."""
    audit, season, fit = state.audit, after.season, judged.fit
    assert fit is not None
    white, noise = judged.coordinates, _known_noise(state, judged)
    predicted = white.plain(np.concatenate([view.center for view in judged.views]))
    first, epsilons = slice(0, decision.first), _exactness(state, judged)

    def measured_errors(records: tuple[ErrorRecord, ...], model: FloatArray) -> tuple[ErrorRecord, ...]:
        ordered = rows.select(first)
        whitened = None if fit.whitened is None else fit.whitened[first]
        gradients = gradients_at(ordered, whitened, white, model, fit.curvature)
        return with_errors(records, gradients, ordered, state.parts, noise, epsilons)

    records = measured_errors(audit.records or (ErrorRecord(),) * len(state.parts), predicted)
    audit = replace(audit, records=_with_sizes(records, judged.views, fit.posteriors))
    remembered = None if state.season is None else state.season.remembered(state.banks[0].periods)
    if season is not None and remembered is not None:
        season = replace(season, records=measured_errors(season.records, remembered))
    return replace(after, audit=audit, season=season)


def _exactness(state: AdaptiveState, judged: PeriodJudgement) -> list[float]:
    """Return how exact the error of each block has to be measured: within the target, that of a band within its share of it."""
    costs = state.sizes * [view.total for view in judged.views]
    shares = costs / max(float(costs.sum()), 1e-300)
    shares[: len(costs) - len(state.bands)] = 1.0
    return [max(judged.epsilon * float(share), 1e-300) for share in shares]


def _known_noise(state: AdaptiveState, judged: PeriodJudgement) -> float:
    """Return the noise as it was known before the rows of the period."""
    return noise_of(state.memory.noise.estimate(), SMALLEST_NOISE * judged.epsilon, 0.0)[0]


def _carried_over(
    state: AdaptiveState, rows: DesignRows, judged: PeriodJudgement, decision: Decision
) -> Measured | None:
    """Return the risk of the model that was decided on, measured on the rows that were kept, carried over to the fit."""
    fit, white = judged.fit, judged.coordinates
    if fit is None or not state.banks:
        return None
    start, fresh = decision.judged.model, rows.select(decision.fresh)
    whitened = fit.whitened if fresh is rows or fit.whitened is None else fit.whitened[decision.fresh]
    gradients = gradients_at(fresh, whitened, white, start, fit.curvature)
    measured = mean_product(gradients, _known_noise(state, judged), fresh.groups, fresh.weights)
    if measured is None:
        return None
    count, identity = len(fresh), np.eye(state.size)
    hessian = white.white_matrix(with_diagonal(rows.hessian_sum(fit.model), rows.mass * rows.penalty))
    inverse = solved(with_diagonal(hessian, fit.strength), identity)
    seen = white.white_matrix(with_diagonal(fresh.hessian_sum(start), fresh.mass * rows.penalty))
    carried = identity - inverse @ seen
    share = float(np.square(carried).sum()) / state.size
    known = state.memory.noise.with_rows(fit.sums).estimate()
    added = 0.5 * count * fit.curvature * float(np.sum((inverse @ fit.scatter) * inverse))
    return Measured(
        excess=added + share * measured.excess,
        variance=share**2 * measured.variance + (added * known.error / max(known.mean, 1e-300)) ** 2,
        expected_variance=share**2 * measured.expected_variance,
    )


def _with_sizes(
    records: tuple[ErrorRecord, ...], views: tuple[Prediction, ...], posteriors: tuple[Posterior, ...]
) -> tuple[ErrorRecord, ...]:
    """Return the records with how probable each size of error is after the rows of the period."""
    after = []
    for record, view, posterior in zip(records, views, posteriors, strict=True):
        recorded = slice(view.seasonal, view.recorded)
        after.append(record.with_size(posterior.shares[recorded]) if view.recorded > view.seasonal else record)
    return tuple(after)

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
from driftpace.adaptive.coordinates import with_diagonal
from driftpace.adaptive.fit import noise_of, solved
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
    state: AdaptiveState, after: AdaptiveState, rows: DesignRows, judged: PeriodJudgement, decision: Decision
) -> tuple[AdaptiveState, Measured | None]:
    """Return the state ``after`` a period with its audit, and the excess risk that was measured; None where no rows were fresh.

    The fit u of all rows follows from the model u_0 of the decision by e = (I - P G_a) e_0 + P noise, with P the inverse
    Hessian of the fit and G_a that of the fresh rows: the measured excess risk of u_0 is carried over by the mean square of
    I - P G_a, and the noise of the fresh rows is added.
    """
    fit, audit, season = judged.fit, state.audit, after.season
    if fit is None or not state.banks:
        return after, None
    white = judged.coordinates
    noise, _ = noise_of(state.memory.noise, SMALLEST_NOISE * judged.epsilon, 0.0)
    predicted = white.plain(np.concatenate([view.center for view in judged.views]))
    first = slice(0, decision.first)

    def measured_errors(records: tuple[ErrorRecord, ...], model: FloatArray) -> tuple[ErrorRecord, ...]:
        gradients = gradients_at(rows.select(first), fit.whitened[first], white, model)
        groups = None if rows.groups is None else rows.groups[first]
        return with_errors(records, gradients, groups, state.parts, noise, judged.epsilon)

    audit = replace(audit, records=measured_errors(audit.records or (ErrorRecord(),) * len(state.parts), predicted))
    remembered = None if state.season is None else state.season.remembered(state.banks[0].periods)
    if season is not None and remembered is not None:
        season = replace(season, records=measured_errors(season.records, remembered))
    after = replace(after, audit=audit, season=season)
    start, fresh = decision.judged.model, rows.select(decision.fresh)
    measured = mean_product(gradients_at(fresh, fit.whitened[decision.fresh], white, start), noise, fresh.groups)
    if measured is None:
        return after, None
    count, identity = len(fresh), np.eye(state.size)
    hessian = white.white_matrix(with_diagonal(rows.hessian_sum(fit.model), len(rows) * rows.penalty))
    inverse = solved(with_diagonal(hessian, fit.strength), identity)
    seen = white.white_matrix(with_diagonal(fresh.hessian_sum(start), count * rows.penalty))
    carried = identity - inverse @ seen
    share = float(np.square(carried).sum()) / state.size
    sums = state.memory.noise.with_rows(fit.sums)
    added = 0.5 * count * float(np.sum((inverse @ fit.scatter) * inverse))
    measured = Measured(
        excess=added + share * measured.excess,
        variance=share**2 * measured.variance + (added * sums.error / max(sums.mean, 1e-300)) ** 2,
        expected_variance=share**2 * measured.expected_variance,
    )
    promised = 0.5 * float(state.sizes @ judged.variances)
    return replace(after, audit=with_measured_risk(audit, measured, promised, judged.epsilon)), measured

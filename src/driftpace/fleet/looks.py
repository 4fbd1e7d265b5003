"""Looks at the periods of many segments at once: those of the squared loss, by compiled loops."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from driftpace.adaptive import AdaptiveConfig, AdaptiveState, DesignRows, PeriodJudgement, is_enough
from driftpace.adaptive.audit import BELIEVED, SIZES, TRUST, ErrorRecord
from driftpace.adaptive.bank import Bank, Prediction
from driftpace.adaptive.coordinates import RIDGE, Coordinates
from driftpace.adaptive.dependence import FEWEST, WEIGHTS
from driftpace.adaptive.fit import LEVERAGE, METRIC_ROWS, VAGUEST, AdaptiveFit, Posterior
from driftpace.adaptive.memory import CURVATURE_ROWS, SCORE_ROWS
from driftpace.adaptive.noise import NoiseSums
from driftpace.adaptive.state import FIRST_ROUNDS, JUMP_SIZE, PILOT, SETTLED, VAGUE, noise_floor, with_all_as_noise
from driftpace.losses import SquaredLoss
from driftpace.tracker.adaptive_method import AdaptiveMethod, AdaptiveMethodState
from driftpace.tracker.adaptive_order import PeriodLook, PeriodRows
from driftpace.typing import FloatArray

if TYPE_CHECKING:
    from driftpace.fleet.kernels import Constants, Known, Looks, Past, Rows, Starts

MOST_COLUMNS = 32
"""Rows with more columns are looked at one segment after the other: products of large matrices are faster there."""

_UNKNOWN = ErrorRecord()


def with_decision(
    methods: Sequence[AdaptiveMethod], states: Sequence[AdaptiveMethodState]
) -> list[AdaptiveMethodState]:
    """Return states with the looks that asking for their orders takes, where these can be taken together."""
    due = [not method.delivering(state) for method, state in zip(methods, states, strict=True)]
    decided = [
        _rows_of(method, state, decided=state.gathered) if sized else []
        for method, state, sized in zip(methods, states, due, strict=True)
    ]
    states = _with_looks(methods, states, decided)
    ended = [  # a period that ends is looked at with all its rows too
        _rows_of(method, state) if sized and state.looks and state.gathered and _ends(method, state) else []
        for method, state, sized in zip(methods, states, due, strict=True)
    ]
    return _with_looks(methods, states, ended)


def with_closing(methods: Sequence[AdaptiveMethod], states: Sequence[AdaptiveMethodState]) -> list[AdaptiveMethodState]:
    """Return states with the looks that closing their periods takes, where these can be taken together."""
    wanted = []
    for method, state in zip(methods, states, strict=True):
        rows = _rows_of(method, state)
        if rows and state.order is not None and rows[0].adaptive.banks:
            decided = method.rows_to_judge(state, decided=state.order.decided, whole=rows[0])
            rows += [decided] if decided.rows is not rows[0].rows else []
        wanted.append(rows)
    return _with_looks(methods, states, wanted)


def with_look(methods: Sequence[AdaptiveMethod], states: Sequence[AdaptiveMethodState]) -> list[AdaptiveMethodState]:
    """Return states with looks at all rows of their open periods, where these can be taken together."""
    wanted = [_rows_of(method, state) for method, state in zip(methods, states, strict=True)]
    return _with_looks(methods, states, wanted)


def _rows_of(
    method: AdaptiveMethod, state: AdaptiveMethodState, *, decided: int | None = None
) -> list[PeriodLook | PeriodRows]:
    """Return the rows of a period that is to be looked at; none of a first period that has no rows yet."""
    if state.adaptive is None or not (state.adaptive.banks or state.gathered):
        return []
    with np.errstate(over="ignore", invalid="ignore"):
        return [method.rows_to_judge(state, decided=decided)]


def _ends(method: AdaptiveMethod, state: AdaptiveMethodState) -> bool:
    """Whether no more rows will be requested."""
    config, look = method.config, state.looks[-1]
    return (
        config.orders is None
        and config.delay is None
        and is_enough(config, look.adaptive, look.judged, gathered=look.fitted, seen=len(look.rows), lost=look.lost)
    )


def _with_looks(
    methods: Sequence[AdaptiveMethod],
    states: Sequence[AdaptiveMethodState],
    wanted: Sequence[Sequence[PeriodLook | PeriodRows]],
) -> list[AdaptiveMethodState]:
    """Return states with looks at the rows that are wanted."""
    groups = defaultdict(list)
    for place, (method, each) in enumerate(zip(methods, wanted, strict=True)):
        for rows in each:
            if isinstance(rows, PeriodRows) and _together(method.config, rows.adaptive, rows.rows):
                groups[_layout(rows.adaptive)].append((place, method.config, rows))
    found = list(states)
    for group in groups.values():
        known = judge_together([(config, rows.adaptive, rows.rows) for _, config, rows in group])
        for (place, _, rows), judged in zip(group, known, strict=True):
            if judged is not None:
                found[place] = replace(found[place], looks=(*found[place].looks, rows.judged(judged)))
    return found


def _layout(state: AdaptiveState) -> tuple[int, int, int]:
    """Return what segments that are looked at together have in common: coordinates, blocks, and what is expected of a start."""
    starts = 0 if state.banks else 1 if state.expected is None else state.expected.shares.shape[1]
    return state.size, len(state.parts), starts


def _together(config: AdaptiveConfig, state: AdaptiveState, rows: DesignRows) -> bool:
    """Whether the compiled loops do what a look at these rows takes."""
    noise = state.memory.noise
    return (
        type(rows.loss) is SquaredLoss
        and (bool(state.banks) or (len(rows) > 0 and not config.near_start and config.epsilon is not None))
        and state.columns <= MOST_COLUMNS
        and rows.groups is None
        and rows.weights is None
        and config.season is None
        and config.metric is None
        and not state.bands
        and (config.delay is None or len(rows) > 0)
        and len(noise.rates) == 1
        and noise.sums[0, 4] == 0.0
        and bool(np.isfinite(rows.X).all())
    )


def judge_together(
    cases: Sequence[tuple[AdaptiveConfig, AdaptiveState, DesignRows]],
) -> list[PeriodJudgement | None]:
    """Return what is known of periods of segments with the same blocks of coordinates; None where a matrix has no factor.

    They are all first periods with as many components of what is expected, or all later ones.
    """
    from driftpace.fleet.kernels import Rows, look_at_all, look_at_all_first

    states, configs = [state for _, state, _ in cases], [config for config, _, _ in cases]
    starts = np.cumsum([0, *(len(rows) for _, _, rows in cases)])
    rows = Rows(
        X=np.concatenate([rows.X for _, _, rows in cases]),
        y=np.concatenate([rows.y for _, _, rows in cases]),
        starts=starts,
    )
    past, constants = _past(configs, states, np.stack([rows.penalty for _, _, rows in cases])), _constants(configs[0])
    if states[0].banks:
        known = _known(past, states)
        looks = _empty(rows, known.model.shape[1], known.shares.shape[1:], known.shares.shape[2] + 1 + len(SIZES))
        look_at_all(known, rows, constants, looks)
    else:
        first = _starts(past, states)
        looks = _empty(rows, first.model.shape[1], (first.shares.shape[1], 0), first.shares.shape[2])
        look_at_all_first(first, rows, constants, looks)
    return [
        _judgement(config, state, rows_of, place, slice(starts[place], starts[place + 1]), looks)
        if looks.done[place]
        else None
        for place, (config, state, rows_of) in enumerate(cases)
    ]


def _constants(config: AdaptiveConfig) -> "Constants":
    from driftpace.fleet.kernels import Constants

    return Constants(
        margin=config.noise_margin,
        trust=TRUST,
        believed=BELIEVED,
        jump_size=JUMP_SIZE,
        curvature_rows=float(CURVATURE_ROWS),
        score_rows=float(SCORE_ROWS),
        metric_rows=float(METRIC_ROWS),
        leverage=LEVERAGE,
        vaguest=VAGUEST,
        ridge=RIDGE,
        neighbours=WEIGHTS,
        fewest=FEWEST,
        vague=VAGUE,
        rounds=FIRST_ROUNDS,
        settled=SETTLED,
        pilot=PILOT,
    )


def _past(configs: Sequence[AdaptiveConfig], states: Sequence[AdaptiveState], penalty: FloatArray) -> "Past":
    """Return what segments remember of earlier rows, and what is expected of the noise of first ones, in arrays."""
    from driftpace.fleet.kernels import Past

    memories, parts = [state.memory for state in states], states[0].parts
    noise = [
        state.memory.noise.sums[0] if state.banks or state.expected is None else state.expected.noise.values()
        for state in states
    ]
    return Past(
        penalty=penalty,
        hessian=np.array([memory.hessian for memory in memories]),
        hessian_rows=np.array([float(memory.hessian_rows) for memory in memories]),
        scores=np.array([memory.scores for memory in memories]),
        score_rows=np.array([float(memory.score_rows) for memory in memories]),
        noise=np.array(noise),
        floor=np.array([noise_floor(config) for config in configs]),
        blocks=np.array([part.start for part in parts] + [parts[-1].stop]),
    )


def _starts(past: "Past", states: Sequence[AdaptiveState]) -> "Starts":
    """Return what is expected of first models in arrays; infinite variances where nothing is."""
    from driftpace.fleet.kernels import Starts

    nothing = np.ones((len(states[0].parts), 1))
    expected = [state.expected for state in states]
    return Starts(
        past=past,
        model=np.array([state.model for state in states]),
        variances=np.array([np.inf * nothing if one is None else one.variances for one in expected]),
        shares=np.array([nothing if one is None else one.shares for one in expected]),
    )


def _known(past: "Past", states: Sequence[AdaptiveState]) -> "Known":
    """Return what segments with a past know in arrays."""
    from driftpace.fleet.kernels import Known

    banks = [state.banks for state in states]

    def of_banks(name: str) -> np.ndarray:
        return np.array([[getattr(bank, name) for bank in each] for each in banks])

    def of_models(name: str) -> np.ndarray:
        return np.array([[getattr(bank.models, name) for bank in each] for each in banks])

    records = [state.audit.records or (_UNKNOWN,) * len(state.banks) for state in states]
    return Known(
        past=past,
        model=np.array([state.model for state in states]),
        inverse=np.array([state.coordinates.inverse for state in states if state.coordinates is not None]),
        place=np.array([np.concatenate([bank.place for bank in each], axis=1) for each in banks]),
        velocity=np.array([np.concatenate([bank.velocity for bank in each], axis=1) for each in banks]),
        spread=of_banks("spread"),
        cross=of_banks("cross"),
        speed=of_banks("speed"),
        shares=of_banks("shares"),
        step=of_models("step"),
        persistence=of_models("persistence"),
        wobble=of_models("wobble"),
        prior=of_models("prior"),
        periods=np.array([float(each[0].periods) for each in banks]),
        chance=np.array([[bank.chance_of_jump for bank in each] for each in banks]),
        record=np.array([[(record.weight, record.total) for record in each] for each in records]),
        errors=np.array([[record.spread()[1] for record in each] for each in records]),
        error_sizes=SIZES,
    )


def _empty(rows: "Rows", size: int, bank_shape: tuple[int, ...], components: int) -> "Looks":
    """Return arrays for looks at rows in ``size`` coordinates, with banks of (blocks, models) and views of so many components."""
    from driftpace.fleet.kernels import Looks

    count, (blocks, models) = len(rows.starts) - 1, bank_shape
    square, bank, mean = (count, size, size), (count, blocks, models), (count, components, size)
    mixture, of_rows = (count, blocks, components), (len(rows.y), size)
    return Looks(
        factor=np.zeros(square),
        inverse=np.zeros(square),
        place=np.empty((count, models, size)),
        velocity=np.empty((count, models, size)),
        spread=np.empty(bank),
        cross=np.empty(bank),
        speed=np.empty(bank),
        shares=np.empty(bank),
        view_means=np.empty(mean),
        view_variances=np.empty(mixture),
        view_shares=np.empty(mixture),
        views=np.empty((count, blocks), dtype=np.int64),
        means=np.empty(mean),
        variances=np.empty(mixture),
        weights=np.empty(mixture),
        information=np.empty((count, size)),
        model=np.empty((count, size)),
        center=np.empty((count, size)),
        covariance=np.empty(square),
        gram=np.empty(square),
        scores=np.empty(square),
        scatter=np.empty(square),
        strength=np.empty((count, size)),
        products=np.empty((count, 2, blocks)),
        sums=np.empty((count, 5)),
        known=np.empty((count, blocks)),
        numbers=np.zeros((count, 5)),
        slopes=np.empty(len(rows.y)),
        whitened=np.empty(of_rows),
        gradients=np.empty(of_rows),
        done=np.zeros(count, dtype=np.bool_),
    )


def _judgement(
    config: AdaptiveConfig, state: AdaptiveState, rows: DesignRows, place: int, own: slice, looks: "Looks"
) -> PeriodJudgement:
    """Return the judgement of one segment; what is kept after its period is copied, so that the other segments are not."""
    from driftpace.fleet.kernels import FREEDOM, LARGEST, NOISE, NOISE_UPPER, SURPRISE

    white = Coordinates(factor=looks.factor[place].copy(), inverse=looks.inverse[place].copy())
    model, numbers = looks.model[place].copy(), looks.numbers[place].tolist()
    banks = tuple(
        Bank(
            models=bank.models,
            place=looks.place[place, :, part].copy(),
            velocity=looks.velocity[place, :, part].copy(),
            spread=looks.spread[place, block].copy(),
            cross=looks.cross[place, block].copy(),
            speed=looks.speed[place, block].copy(),
            shares=looks.shares[place, block].copy(),
            jumps=bank.jumps,
            periods=bank.periods,
            expected_jumps=bank.expected_jumps,
        )
        for block, (bank, part) in enumerate(zip(state.banks, state.parts, strict=False))  # none in a first period
    )
    counts = looks.views[place].tolist()
    views = tuple(
        Prediction(
            shares=looks.view_shares[place, block, :count],
            mean=np.ascontiguousarray(looks.view_means[place, :count, part]),
            variance=looks.view_variances[place, block, :count],
            recorded=count - len(banks[block].shares) - 1 if banks else 0,
        )
        for block, (count, part) in enumerate(zip(counts, state.parts, strict=True))
    )
    fit = None
    if len(rows):
        posteriors = tuple(
            Posterior(
                shares=looks.weights[place, block, :count],
                mean=np.ascontiguousarray(looks.means[place, :count, part]),
                variance=looks.variances[place, block, :count],
                information=looks.information[place, part],
            )
            for block, (count, part) in enumerate(zip(counts, state.parts, strict=True))
        )
        count, total, squares, losses, together = looks.sums[place].tolist()
        fit = AdaptiveFit(
            coordinates=white,
            model=model,
            center=looks.center[place],
            variances=looks.known[place],
            covariance=looks.covariance[place],
            noise=numbers[NOISE],
            noise_upper=numbers[NOISE_UPPER],
            sums=NoiseSums(rows=count, total=total, squares=squares, losses=losses, together=together),
            scores=looks.scores[place],
            scatter=looks.scatter[place],
            slopes=looks.slopes[own],
            whitened=looks.whitened[own],
            gradients=looks.gradients[own],
            products=looks.products[place],
            largest=numbers[LARGEST],
            curvature=1.0,
            strength=looks.strength[place],
            posteriors=posteriors,
            surprise=numbers[SURPRISE],
            freedom=int(numbers[FREEDOM]),
        )
        if not state.banks and len(rows) < state.pilot:
            fit = with_all_as_noise(fit, state, rows, noise_floor(config))
    epsilon = config.epsilon
    assert epsilon is not None
    return PeriodJudgement(
        epsilon=epsilon,
        quadratic=True,
        variances=looks.known[place] if fit is None else fit.variances,
        noise=numbers[NOISE] if fit is None else fit.noise,
        noise_upper=numbers[NOISE_UPPER] if fit is None else fit.noise_upper,
        model=model,
        coordinates=white,
        fit=fit,
        banks=banks,
        views=views,
    )

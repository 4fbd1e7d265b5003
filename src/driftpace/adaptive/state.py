"""Config and state of the adaptive method, and pure functions that judge a period and advance the state."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np

from driftpace.adaptive.audit import (
    AuditState,
    with_record,
)
from driftpace.adaptive.bands import first_bands, with_common_speed
from driftpace.adaptive.bank import (
    FORGETTING,
    Bank,
    Mixture,
    Prediction,
    first_bank,
    inherit,
    predict,
    prediction_of,
    skip,
    step_costs,
    turned,
    update,
)
from driftpace.adaptive.coordinates import Coordinates, blocks
from driftpace.adaptive.delay import (
    ClosedOrder,
    moments_of,
    with_closed,
)
from driftpace.adaptive.dependence import no_products, with_products
from driftpace.adaptive.expected import ExpectedModel
from driftpace.adaptive.fit import FIRST_METRIC_ROWS, AdaptiveFit, first_metric, fit_period, metric, noise_of
from driftpace.adaptive.memory import Memory, no_memory
from driftpace.adaptive.metric_target import MetricLook, MetricMemory, MetricTarget, look_at_metric
from driftpace.adaptive.noise import FIXED_RATE, NOISE_RATES, NoiseEstimate, NoiseMemory, NoiseSums
from driftpace.adaptive.rows import DesignRows, group_sums
from driftpace.adaptive.season import SeasonState, after_period, first_season, with_season
from driftpace.adaptive.season_search import SeasonSearch, with_period
from driftpace.adaptive.sizing import Criterion
from driftpace.losses import LinearLoss, VectorLoss
from driftpace.losses.vector import outer_rows
from driftpace.typing import FloatArray

FIRST_ROWS = 10
"""Rows asked before the number of columns is known: enough to see the columns and the noise within a half."""

FIRST_EXPANDED = 40
"""The same where columns are expanded: knots are at quantiles of these rows."""

PILOT = 3
"""Rows for each column in the first batch of all: with two, leverages average a half, and one first period in a hundred of a
table with rare values looked known when it was not; with three none did."""

BAND_PILOT = 0.5
"""The same for each expanded column."""

AIM = 0.82
"""The share of the target that a mean is aimed at, since a risk that is estimated is met on average only."""

AIM_CURVED = 0.68
"""The same where the loss is a quadratic only near its minimiser, so that a far drift is underestimated."""

EARLY = 3
"""In the periods before so many were seen, decisions see every row: none is kept for the audit."""

NOISE_MARGIN = 0.5
"""Standard errors by which the noise is taken larger than estimated, when a mean is promised."""

LOSS_MARGIN = 0.75
"""Standard errors by which the best loss is taken smaller than estimated, where the target is a share of it."""

LEAST_LOSS = 0.2
"""The share of the estimated best loss that is left at least."""

JUMP_SIZE = 0.7
"""The cost of a jump, in units of what the model explains."""

LEAST_SHARE = 0.001
"""The least share of a drift, or of a jump, that all expanded columns together are expected to have."""

APPEARS = 0.02
"""What bands that explained nothing may explain after a jump, as a share of what the model explains."""

FIRST_ROUNDS = 4
"""Rounds in which the noise of a first period is found."""

SETTLED = 1e-3
"""The relative change of the noise at which it is found."""

VAGUE = 4.0
"""The prior variance of a first model of which nothing is known, in units of what its first rows vary by."""

_NEARER = 4.0 ** -np.arange(9)
"""How near a start that is expected to be right may be, as shares of the variance of one of which nothing is known."""

SMALLEST_NOISE = 1e-6


@dataclass(frozen=True, kw_only=True, slots=True)
class AdaptiveConfig:
    """What the user asked for: a target, absolute or as a share of the best loss, in the mean or with a confidence.

    ``certificate_level`` is the confidence of certificates. ``orders`` is the most orders of a period, None for as many batches
    as are useful. ``season`` is the number of periods after which the drift may repeat itself. ``audit`` is the share of each
    order that is held out for the audit, None for none. ``delay`` is how many periods late labels may be, None where they are in
    time. ``metric`` is a target in a metric, in place of the other two. With ``near_start`` the first model is expected near the
    one that the tracker starts from, how near is left to the rows. ``expanded`` says that rows have spline terms or products
    among their last columns; ``bands`` are numbers of last columns that are expected to drift in their own way, each of them.
    """

    epsilon: float | None = None
    tolerance: float | None = None
    confidence: float | None = None
    certificate_level: float = 0.95
    orders: int | None = None
    season: int | None = None
    audit: float | None = None
    delay: int | None = None
    metric: MetricTarget | None = None
    near_start: bool = False
    expanded: bool = False
    bands: tuple[int, ...] = ()

    @property
    def noise_rates(self) -> tuple[float, ...]:
        """How fast the noise may change: followed closely where the target is a share of the best loss."""
        return FIXED_RATE if self.tolerance is None else NOISE_RATES

    @property
    def noise_margin(self) -> float:
        """Standard errors by which the noise is taken larger than estimated."""
        return NOISE_MARGIN if self.confidence is None else 1.64

    def criterion(self, judged: "PeriodJudgement", audit: AuditState) -> Criterion:
        """Return the target as it is aimed at; where a mean is promised, corrected by what was measured.

        A single order does not end at a look that was calm by chance, so curved losses aim as high as others there.
        """
        share = AIM if judged.quadratic or self.orders == 1 else AIM_CURVED
        share = share / AIM if self.confidence is not None else share * audit.aim
        return Criterion(epsilon=judged.epsilon * share, confidence=self.confidence)

    def judged_by(self, epsilon: float) -> Criterion:
        """Return the target itself."""
        return Criterion(epsilon=epsilon, confidence=self.confidence)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class AdaptiveState:
    """What is remembered between periods: O(d^2) numbers, whatever happened.

    ``model`` are the coefficients of the last period, the intercept first; ``banks`` what is known of each block in
    ``coordinates`` (None before the first rows were closed). ``place`` is what columns are counted from, with an intercept.
    ``audit`` is what was measured of past predictions and models, ``season`` what is remembered of earlier cycles, ``products``
    what :mod:`driftpace.adaptive.dependence` adds up, ``search`` what shows a season where none was given, ``closed`` the last
    orders where labels may be late. ``scale`` is that of residuals, learned from ``scale_rows`` rows where the loss needs it.
    ``metric`` is what is remembered of the metric in which the target is given. ``inherited`` are the banks of an earlier model
    whose drift is expected again, of which the first bank takes the probabilities of drift models and jumps. ``bands`` are
    numbers of columns: each band of the last ones is a block. They are ``expanded`` columns, which explain next to nothing until
    rows show it, or others, of which no more is expected than of slopes. ``expected`` says how near its start the first model is
    expected, where models like it are known.
    """

    model: FloatArray
    intercept: bool
    memory: Memory
    place: FloatArray | None = None
    coordinates: Coordinates | None = None
    banks: tuple[Bank, ...] = ()
    audit: AuditState = field(default_factory=AuditState)
    season: SeasonState | None = None
    products: FloatArray | None = None
    search: SeasonSearch | None = None
    closed: tuple[ClosedOrder, ...] = ()
    scale: float | None = None
    scale_rows: float = 0.0
    metric: MetricMemory | None = None
    inherited: tuple[Bank, ...] = ()
    bands: tuple[int, ...] = ()
    expanded: bool = True
    expected: ExpectedModel | None = None

    @property
    def size(self) -> int:
        """The number of coefficients."""
        return self.model.size

    @property
    def outputs(self) -> int:
        """The number of scores of a row."""
        return self.memory.outputs

    @property
    def columns(self) -> int:
        """The number of columns, the intercept's included: that of coefficients, unless rows have several scores."""
        return self.memory.columns

    @property
    def parts(self) -> tuple[slice, ...]:
        """The blocks of coordinates."""
        return blocks(self.size, self.intercept, self.outputs, self.bands)

    @property
    def sizes(self) -> FloatArray:
        """The number of coordinates in each block."""
        return _sizes(tuple((part.start, part.stop) for part in self.parts))

    @property
    def pilot(self) -> int:
        """The rows of the very first batch. Expanded columns need fewer: until rows show it, they explain next to nothing."""
        expanded = self.expanded_columns
        return PILOT * (self.columns - expanded) + math.ceil(BAND_PILOT * expanded)

    @property
    def expanded_columns(self) -> int:
        """The number of expanded columns."""
        return sum(self.bands) if self.expanded else 0

    @property
    def output_sizes(self) -> FloatArray:
        """The number of coordinates of one output in each block."""
        return self.sizes / self.outputs


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class PeriodJudgement:
    """What is known in a period with the rows delivered so far; ``fit`` is None without rows."""

    epsilon: float
    quadratic: bool
    variances: FloatArray
    noise: float
    noise_upper: float
    model: FloatArray
    coordinates: Coordinates
    fit: AdaptiveFit | None
    banks: tuple[Bank, ...]
    views: tuple[Prediction, ...]
    metric: MetricLook | None = None

    @property
    def mixtures(self) -> Sequence[Mixture]:
        """The components of each block, after the rows if there are any."""
        return self.views if self.fit is None else self.fit.posteriors

    def components(self) -> tuple[FloatArray, FloatArray]:
        """Return the shares and the variances of the components of each block, (blocks, components).

        A variance includes how far the mean of the component is from that of all; together they have the variance of the block.
        """
        mixtures = self.mixtures
        known = self.variances / np.maximum([mixture.total for mixture in mixtures], 1e-300)
        most = max(len(mixture.shares) for mixture in mixtures)
        shares, variances = np.zeros((len(mixtures), most)), np.zeros((len(mixtures), most))
        for block, mixture in enumerate(
            mixtures
        ):  # a first period has one component for some blocks, and many for others
            shares[block, : len(mixture.shares)] = mixture.shares
            variances[block, : len(mixture.shares)] = mixture.around * known[block]
        return shares, variances


@cache
def _sizes(parts: tuple[tuple[int, int], ...]) -> FloatArray:
    """Return the number of coordinates in each block, as an array that cannot be written."""
    sizes = np.array([float(stop - start) for start, stop in parts])
    sizes.flags.writeable = False
    return sizes


def first_state(
    start: FloatArray,
    intercept: bool,
    noise_rates: tuple[float, ...] = FIXED_RATE,
    outputs: int = 1,
    bands: tuple[int, ...] = (),
    *,
    expanded: bool = True,
) -> AdaptiveState:
    """Return the state before the first row; ``start`` has the intercept first, and the coefficients of a column together."""
    memory = no_memory(start.size, noise_rates, outputs)
    return AdaptiveState(model=start, intercept=intercept, memory=memory, bands=bands, expanded=expanded)


def centered_at(state: AdaptiveState, place: FloatArray) -> AdaptiveState:
    """Return the same state with columns counted from a place of their own; the intercept is then the score there."""
    matrix = state.model.reshape(-1, state.outputs).copy()
    matrix[0] += [place @ column for column in matrix[1:].T]
    return replace(state, place=place, model=matrix.ravel())


def judge(config: AdaptiveConfig, state: AdaptiveState, rows: DesignRows) -> PeriodJudgement:
    """Return what is known of the period at hand. Without a past there must be rows."""
    judged = _judge_later(config, state, rows) if state.banks else _judge_first(config, state, rows)
    if config.metric is None:
        return judged
    look = look_at_metric(
        config.metric,
        state.metric,
        rows,
        judged.fit,
        white=judged.coordinates,
        model=judged.model,
        variances=judged.variances,
        parts=state.parts,
        noise=judged.noise,
    )
    return replace(judged, epsilon=look.epsilon, metric=look)


def noise_floor_of(state: AdaptiveState) -> float:
    """Return a noise below any that was seen, for a state whose target is not at hand."""
    return SMALLEST_NOISE * max(state.memory.noise.estimate().mean, 1e-9)


def noise_floor(config: AdaptiveConfig) -> float:
    """Return the least noise that is believed in, so that nothing is divided by zero."""
    return SMALLEST_NOISE * (config.epsilon if config.epsilon is not None else 1e-9)


def _judge_first(config: AdaptiveConfig, state: AdaptiveState, rows: DesignRows) -> PeriodJudgement:
    """Look at the rows of a first period: there is no prediction, except that coefficients are not beyond all measure.

    Where curvature depends on the model, few rows can be separated and then show neither curvature nor noise: the start counts
    as two rows for each coefficient, in both.
    """
    plain = np.zeros_like(state.model) if config.near_start else state.model  # a start that is sure has no curvature
    white = first_metric(rows, plain, state.model)
    slopes = rows.slopes(state.model)
    floor = noise_floor(config)
    early = max(_mean_square(rows, white, slopes) / state.size, floor)
    count = 0.0 if rows.quadratic else float(FIRST_METRIC_ROWS * state.columns)
    losses = rows.value(state.model) / rows.mass
    memory = replace(
        state.memory,
        noise=NoiseMemory.of(
            NoiseSums(rows=count, total=count * early, squares=count * early * early, losses=count * losses),
            config.noise_rates,
        ),
    )
    if state.expected is not None:
        memory = replace(memory, noise=memory.noise.with_rows(state.expected.noise))
    noise = early
    fit: AdaptiveFit | None = None
    for _ in range(FIRST_ROUNDS):
        start = white.white(state.model)
        vague = state.parts[: len(state.parts) - len(state.bands)] if state.expanded else state.parts
        views = (
            _first_views(config, start, vague, VAGUE * early)
            if state.expected is None
            else state.expected.views(start, vague, VAGUE * early)
        )
        if len(vague) < len(state.parts):
            views += first_bands(start, state.parts[len(vague) :], early, fit)
        fit = fit_period(rows, memory, white, views, state.parts, noise, floor=floor, margin=config.noise_margin)
        if rows.quadratic and rows.effective < state.pilot:
            fit = with_all_as_noise(fit, state, rows, floor)
            noise = fit.noise
            break
        settled = rows.quadratic and abs(fit.noise - noise) <= SETTLED * noise
        noise = fit.noise
        if settled:
            break
        if not rows.quadratic:  # a quadratic loss has one curvature
            white = first_metric(rows, plain, fit.model)
    assert fit is not None
    if isinstance(rows.loss, LinearLoss) and fit.noise_upper > rows.loss.most_noise:
        fit = _with_noise_at_most(fit, rows.loss.most_noise)
        noise = fit.noise
    return PeriodJudgement(
        epsilon=_epsilon(config, NoiseMemory.of(fit.sums).estimate()),
        quadratic=rows.quadratic,
        variances=fit.variances,
        noise=noise,
        noise_upper=fit.noise_upper,
        model=fit.model,
        coordinates=fit.coordinates,
        fit=fit,
        banks=(),
        views=views,
    )


def _first_views(
    config: AdaptiveConfig, start: FloatArray, parts: tuple[slice, ...], vague: float
) -> tuple[Prediction, ...]:
    """Return what is known of each block before the first rows: next to nothing, or that it is near the start, how near unknown."""
    variances = np.asarray(vague * (_NEARER if config.near_start else np.ones(1)))
    count = len(variances)
    return tuple(
        Prediction(shares=np.full(count, 1.0 / count), mean=np.tile(start[part], (count, 1)), variance=variances)
        for part in parts
    )


def _mean_square(rows: DesignRows, white: Coordinates, slopes: FloatArray) -> float:
    """Return the mean squared length of the gradients of rows with these slopes, in whitened coordinates."""
    if slopes.ndim == 2:
        return float(np.square(white.white_rows(outer_rows(rows.X, slopes))).sum()) / len(rows)
    return float(np.square(white.white_rows(rows.X)).sum(axis=1) @ slopes**2) / len(rows)


def _level_free(state: AdaptiveState, rows: DesignRows, white: Coordinates, floor: float) -> float:
    """Return the noise of rows if no column explained anything: what is left when their level is taken off."""
    slopes, count = rows.slopes(state.model), len(rows)
    free = 1.0
    if state.intercept and count > 1:
        level = (
            slopes.mean(axis=0)
            if rows.weights is None
            else rows.weighted(slopes * 0.0 + slopes.sum(axis=0) / rows.mass)
        )
        slopes, free = slopes - level, count / (count - 1.0)
    if slopes.ndim == 2:
        each_group = group_sums(white.white_rows(outer_rows(rows.X, slopes)), rows.groups)
        return max(free * float(np.square(each_group).sum()) / count / state.size, floor)
    whitened = white.white_rows(rows.X)
    if rows.groups is None:
        each = np.square(whitened).sum(axis=1) * slopes**2
        return max(free * float(each.mean()) / state.size, floor)
    total = float(np.square(group_sums(whitened * slopes[:, None], rows.groups)).sum())
    return max(free * total / count / state.size, floor)


def _with_noise_at_most(fit: AdaptiveFit, most: float) -> AdaptiveFit:
    """Return a look at first rows that show hardly any curvature, with their noise limited to what is plausible."""
    share = most / fit.noise_upper
    return replace(
        fit,
        noise=min(fit.noise, most),
        noise_upper=most,
        variances=share * fit.variances,
        covariance=share * fit.covariance,
        sums=replace(fit.sums, total=share * fit.sums.total, squares=share * share * fit.sums.squares),
    )


def with_all_as_noise(fit: AdaptiveFit, state: AdaptiveState, rows: DesignRows, floor: float) -> AdaptiveFit:
    """Return a look at so few rows that a model passes through them: their noise is all that they show, not what is left."""
    most = _level_free(state, rows, fit.coordinates, floor)
    if most <= fit.noise:
        return fit
    upper = max(fit.noise_upper, most)
    wider, count = upper / fit.noise_upper, fit.sums.rows
    return replace(
        fit,
        noise=most,
        noise_upper=upper,
        variances=wider * fit.variances,
        covariance=wider * fit.covariance,
        sums=replace(
            fit.sums,
            total=max(fit.sums.total, count * most),
            squares=max(fit.sums.squares, count * most * most),
        ),
    )


def _judge_later(config: AdaptiveConfig, state: AdaptiveState, rows: DesignRows) -> PeriodJudgement:
    """Look at the rows of a later period. Of several scores the metric is taken again at the model that they show.

    A class that appears has no curvature where it was not expected, and its coordinates would be beyond all measure.
    """
    judged = _judge_at(config, state, rows, state.model)
    if (
        judged.fit is None
        or rows.quadratic
        or not isinstance(rows.loss, VectorLoss)
        or not np.isfinite(judged.model).all()
    ):
        return judged
    return _judge_at(config, state, rows, judged.model)


def _judge_at(config: AdaptiveConfig, state: AdaptiveState, rows: DesignRows, at: FloatArray) -> PeriodJudgement:
    """Look at the rows of a later period in the coordinates of all rows, the curvature of the period being that at a model."""
    memory, floor = state.memory, noise_floor(config)
    white = metric(rows, memory, at)
    unseen = _labels_unseen(config, rows)
    forgetting = 0.0 if unseen else FORGETTING
    banks = tuple(predict(bank, forgetting=forgetting) for bank in state.banks)
    banks = in_coordinates(banks if unseen else with_common_speed(banks, len(state.bands)), state, white)
    noise, upper = noise_of(memory.noise.estimate(), floor, config.noise_margin)
    views = tuple(
        prediction_of(bank, jump, jumps=not unseen)
        for bank, jump in zip(banks, jump_variances(state, white, noise), strict=True)
    )
    if state.audit.records and not unseen:
        views = tuple(
            with_record(view, record, bank.size)
            for view, record, bank in zip(views, state.audit.records, banks, strict=True)
        )
    remembered = None if state.season is None else state.season.remembered(banks[0].periods)
    if remembered is not None and state.season is not None:
        center = white.white(remembered)
        views = tuple(
            with_season(view, center[part], record, odds)
            for view, part, record, odds in zip(
                views, state.parts, state.season.records, state.season.odds, strict=True
            )
        )
    if len(rows) == 0:
        return PeriodJudgement(
            epsilon=_epsilon(config, memory.noise.estimate()),
            quadratic=rows.quadratic,
            variances=np.array([view.total for view in views]),
            noise=noise,
            noise_upper=upper,
            model=white.plain(np.concatenate([view.center for view in views])),
            coordinates=white,
            fit=None,
            banks=banks,
            views=views,
        )
    fit = fit_period(rows, memory, white, views, state.parts, noise, floor=floor, margin=config.noise_margin)
    return PeriodJudgement(
        epsilon=_epsilon(config, memory.noise.with_rows(fit.sums).estimate()),
        quadratic=rows.quadratic,
        variances=fit.variances,
        noise=fit.noise,
        noise_upper=fit.noise_upper,
        model=fit.model,
        coordinates=white,
        fit=fit,
        banks=banks,
        views=views,
    )


def _labels_unseen(config: AdaptiveConfig, rows: DesignRows) -> bool:
    """Whether a period is judged before its labels arrive, which are late.

    The drift is then as it was: a jump, or another way to drift, would show with the labels, and its chance is weighed then. The
    record of errors is that of predictions which had seen the labels of the period before.
    """
    return config.delay is not None and len(rows) == 0


def with_closed_order(
    config: AdaptiveConfig, state: AdaptiveState, requested: int, arrived: tuple[tuple[int, int], ...]
) -> AdaptiveState:
    """Return the state after a period, with its order remembered where labels may be late."""
    if config.delay is None:
        return state
    order = ClosedOrder(requested=requested, arrived=arrived, moments=moments_of(state.banks) if state.banks else None)
    return replace(state, closed=with_closed(state.closed, order, config.delay))


def _epsilon(config: AdaptiveConfig, noise: NoiseEstimate) -> float:
    if config.epsilon is not None:
        return config.epsilon
    if config.tolerance is None:  # of a target in a metric it is found afterwards
        return math.nan
    best = max(noise.best_loss - LOSS_MARGIN * noise.best_loss_error, LEAST_LOSS * noise.best_loss)
    return config.tolerance * max(best, 1e-12)


def jump_variances(state: AdaptiveState, white: Coordinates, noise: float) -> tuple[float, ...]:
    """Return how far a jump would throw each coordinate of a block.

    As far as what the model explains; the level also by the noise.
    """
    center = white.white(state.model)
    parts, bands = state.parts, len(state.bands)
    each = [float(np.square(center[part]).sum()) for part in parts]
    first = len(parts) - bands - 1  # the block of the slopes
    explained = sum(each[first:]) + noise / state.size
    sizes = [part.stop - part.start for part in parts]
    found = [
        JUMP_SIZE * (each[first] + explained - sum(each[first:])) / sizes[first]
        if bands
        else JUMP_SIZE * explained / sizes[first]
    ]
    found += [
        JUMP_SIZE * (each[band] + APPEARS * explained / bands) / sizes[band] for band in range(first + 1, len(parts))
    ]
    return tuple(found) if first == 0 else (JUMP_SIZE * (noise + explained / state.outputs), *found)


def in_coordinates(banks: tuple[Bank, ...], state: AdaptiveState, white: Coordinates) -> tuple[Bank, ...]:
    """Return banks in new coordinates; the level of an average row moves with what is average, as surely as slopes are known."""
    assert state.coordinates is not None
    turn = white.factor.T @ state.coordinates.inverse.T
    return turned_blocks(banks, turn)


def turned_blocks(banks: tuple[Bank, ...], turn: FloatArray) -> tuple[Bank, ...]:
    """Return banks in coordinates turn @ u; what a later block adds to an earlier one is known as well as it is."""
    after = np.cumsum([0, *(turn.shape[0] * bank.size // turn.shape[1] for bank in banks)])
    before = np.cumsum([0, *(bank.size for bank in banks)])
    found = []
    for block, bank in enumerate(banks):
        rows = slice(after[block], after[block + 1])
        place: FloatArray | float = 0.0
        velocity: FloatArray | float = 0.0
        spread = 0.0
        for later in range(block + 1, len(banks)):  # of two blocks, the level moves with what is average
            other, along = banks[later], turn[rows, before[later] : before[later + 1]]
            place = place + _products(along, other.shares @ other.place)
            velocity = velocity + _products(along, other.shares @ other.velocity)
            spread += sum(float(row @ row) for row in along) / len(along) * float(other.shares @ other.spread)
        own = turn[rows, before[block] : before[block + 1]]
        found.append(turned(bank, own, place=place, velocity=velocity, spread=spread))
    return tuple(found)


def _products(matrix: FloatArray, vector: FloatArray) -> FloatArray:
    """Return a matrix times a vector, row by row: the bits of a row then do not depend on how many there are."""
    return np.array([row @ vector for row in matrix])


def drift(banks: tuple[Bank, ...]) -> tuple[float, float]:
    """Return how far the best model moves in a period, in the norm of the Hessian: as expected, and at its upper end."""
    from driftpace.adaptive.kernels import share_quantile

    mean = upper = 0.0
    for bank in banks:
        each, shares = step_costs(bank)
        mean += float(shares @ each)
        upper += share_quantile(each, shares, 0.95)
    return math.sqrt(mean), math.sqrt(max(upper, mean))


def early(state: AdaptiveState) -> bool:
    """Whether so little is known of the drift that decisions must see every row."""
    return not state.banks or state.banks[0].periods < EARLY


def advance(config: AdaptiveConfig, state: AdaptiveState, rows: DesignRows, judged: PeriodJudgement) -> AdaptiveState:
    """Return the state after the period."""
    fit, season = judged.fit, state.season
    if season is None and config.season is not None:
        season = first_season(config.season, state.size, len(state.parts))
    search = None if config.season is not None else with_period(state.search, rows, judged.model)
    if fit is None:
        return replace(
            state,
            search=search,
            model=judged.model,
            coordinates=judged.coordinates,
            banks=tuple(skip(bank) for bank in judged.banks),
            season=season,
        )
    if state.banks:
        banks = tuple(
            update(bank, view, posterior.shares, posterior.mean, posterior.variance)
            for bank, view, posterior in zip(judged.banks, judged.views, fit.posteriors, strict=True)
        )
    else:
        banks = tuple(
            first_bank(fit.center[part], float(variance), unit)
            for part, variance, unit in zip(state.parts, fit.variances, step_units(state, judged), strict=True)
        )
        if len(state.inherited) == len(banks):
            banks = tuple(inherit(bank, before) for bank, before in zip(banks, state.inherited, strict=True))
    if season is not None:
        periods = state.banks[0].periods if state.banks else 0
        season = after_period(season, periods, fit.model, judged.views, fit.posteriors)
    memory = state.memory.with_rows(len(rows), rows.hessian_sum(fit.model), fit.scores, fit.sums, rows.effective)
    return replace(
        state,
        model=fit.model,
        coordinates=judged.coordinates,
        banks=banks,
        memory=memory,
        season=season,
        products=products_with(state, judged),
        search=search,
        inherited=(),
        expected=None,
    )


def step_units(state: AdaptiveState, judged: PeriodJudgement) -> list[float]:
    """Return the variance of a step that costs the target in each block; of a band, its share by what it explains."""
    sizes, center = state.sizes, judged.coordinates.white(judged.model)
    shares = np.ones(len(sizes))
    if state.bands:
        first = len(sizes) - len(state.bands) - 1
        energy = np.array([float(np.square(center[part]).sum()) for part in state.parts])
        least = LEAST_SHARE / len(state.bands)
        shares[first:] = np.maximum(energy[first:] / max(float(energy[first]), 1e-300), least)
        shares[first] = 1.0
    return [2.0 * judged.epsilon * float(share) / float(size) for share, size in zip(shares, sizes, strict=True)]


def products_with(state: AdaptiveState, judged: PeriodJudgement) -> FloatArray:
    """Return the sums of products of neighbouring gradients, those of this period included."""
    sums = no_products(len(state.parts)) if state.products is None else state.products
    if judged.fit is None:
        return sums
    return with_products(sums, judged.fit.products)

"""State of the wide method, and pure functions that judge a period and advance the state.

The promise is about the penalised loss

    R(w) + 1/2 sum_b lambda_b |u_b|^2,    lambda_b = s^2 / (N t_b),

u_b being the whitened coordinates of band b, t_b their mean square, s^2 the noise and N = ``REFERENCE_ROWS``: the ridge penalty,
band by band, that N rows call for. Its minimiser is u*_b kappa_b with kappa_b = c/(c + lambda_b), c the mean curvature, and the
model kappa u exceeds the least penalised loss by c/2 sum_b kappa_b |u_b - u*_b|^2. Without the penalty the excess would count
directions that no affordable number of rows shows.

Of several classes a component has a coordinate for each score. In the directions of scores in which the mean second derivatives
have no cross terms, c_a along each, all of this holds direction by direction: kappa_ba = c_a/(c_a + lambda_b).
"""

import math
from dataclasses import dataclass, field, replace

import numpy as np

from driftpace.adaptive.audit import AuditState
from driftpace.adaptive.bank import (
    Bank,
    Mixture,
    Prediction,
    first_bank,
    predict,
    prediction_of,
    skip,
    step_costs,
    update,
)
from driftpace.adaptive.fit import EQUAL_ROWS
from driftpace.adaptive.noise import NoiseEstimate, NoiseMemory, NoiseSums
from driftpace.adaptive.state import (
    AIM,
    AIM_CURVED,
    EARLY,
    JUMP_SIZE,
    LEAST_LOSS,
    LOSS_MARGIN,
    SMALLEST_NOISE,
    AdaptiveConfig,
)
from driftpace.losses import LinearLoss, SoftmaxLoss, VectorLoss
from driftpace.losses.softmax import helmert
from driftpace.typing import FloatArray
from driftpace.wide.fit import WideFit, fit_bands
from driftpace.wide.prior import band_views, power_laws
from driftpace.wide.rows import WideRows, bends_along
from driftpace.wide.spectrum import Spectrum, bands

REFERENCE_ROWS = 1000.0
"""The rows that the penalty of the promise is made for."""

PILOT_ROWS = 90
"""The rows of the first batch of all, where a pool has shown the components."""

FIRST_AIM = 0.8
"""The share of the usual aim in a first period: it ends at the first look that says enough, which is a lucky one more often."""

SEVERAL_AIM = 0.8
"""The share of the usual aim of several classes: on texts with rare classes the stated risk of single periods is too low."""

FIRST_PRIOR = 0.1
"""By how much variances of a first period are widened where the loss is not a quadratic, in a band that its rows do not show."""

PILOT_WITHOUT_POOL = 300
"""The same where no pool has shown the components."""

LEAST_SHARE = 0.05
"""The least share of a drift that a band is expected to have."""

_VAGUE = 4.0
_UNSEEN = 0.5
"""Rows that each class has besides its own, where few were seen."""

_ROUNDS = 4
_STEPS, _LONGEST = 30, 1.0


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class WideState:
    """What is known after some periods.

    ``penalty`` is the lambda of each band and ``bend`` the mean curvature of the last period, of several ``outputs`` (scores) over
    them; ``curvature`` is then the matrix of mean second derivatives, and ``scale`` that of :class:`WideRows`. ``banks`` are empty
    before the first rows were closed.
    """

    spectrum: Spectrum
    intercept: bool
    noise: NoiseMemory
    center: FloatArray
    penalty: FloatArray | None = None
    banks: tuple[Bank, ...] = ()
    audit: AuditState = field(default_factory=AuditState)
    rows: int = 0
    bend: float = 1.0
    outputs: int = 1
    curvature: FloatArray | None = None
    scale: FloatArray | None = None

    @property
    def size(self) -> int:
        """The number of coordinates of a score."""
        return self.center.size // self.outputs

    @property
    def parts(self) -> tuple[slice, ...]:
        """The bands of the coordinates of a score."""
        return bands(self.spectrum.components, self.intercept)

    @property
    def blocks(self) -> tuple[slice, ...]:
        """The bands of the coordinates of all scores."""
        return tuple(slice(part.start * self.outputs, part.stop * self.outputs) for part in self.parts)

    @property
    def sizes(self) -> FloatArray:
        """The number of coordinates of a score in each band."""
        return np.array([float(part.stop - part.start) for part in self.parts])


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class WideJudgement:
    """What is known in a period with the rows delivered so far; ``fit`` is None without rows.

    ``variances``, ``kappa`` and ``counts`` have a row for each band and a column for each direction of scores, the columns of
    ``turn``: ``bend`` is the c of each, ``kappa`` is c/(c + lambda_b) and ``counts`` are c kappa_b d_b, what a variance of one in
    every coordinate costs. ``model`` are the whitened coordinates of the model, kappa u.
    """

    epsilon: float
    quadratic: bool
    variances: FloatArray
    noise: float
    noise_upper: float
    model: FloatArray
    penalty: FloatArray
    turn: FloatArray
    bend: FloatArray
    kappa: FloatArray
    counts: FloatArray
    fit: WideFit | None
    banks: tuple[Bank, ...]
    views: tuple[Prediction, ...]

    @property
    def risk(self) -> float:
        """The expected excess of the penalised loss."""
        return 0.5 * float((self.counts * self.variances).sum())

    @property
    def mixtures(self) -> tuple[Mixture, ...]:
        """The components of each band, after the rows if there are any."""
        return self.views if self.fit is None else self.fit.posteriors

    @property
    def effective(self) -> float:
        """The effective number of coefficients: sum_b kappa_b d_b."""
        return float((self.counts / self.bend).sum())


def first_wide_state(spectrum: Spectrum, *, intercept: bool, rates: tuple[float, ...]) -> WideState:
    """Return the state before the first row."""
    size = spectrum.components + (1 if intercept else 0)
    return WideState(
        spectrum=spectrum, intercept=intercept, noise=NoiseMemory.of(NoiseSums(), rates), center=np.zeros(size)
    )


def judge_wide(config: AdaptiveConfig, state: WideState, rows: WideRows) -> WideJudgement:
    """Return what is known of the period at hand. Without a past there must be rows."""
    return _judge_later(config, state, rows) if state.banks else _judge_first(config, state, rows)


def _judge_first(config: AdaptiveConfig, state: WideState, rows: WideRows) -> WideJudgement:
    """Look at the rows of a first period: how much each band explains is anything from nothing to everything."""
    floor, first = _floor(config, rows.loss), 1 if state.intercept else 0
    views, level, guess = _first_views(state, rows, _start(state, rows))
    noise = max(guess, floor) if rows.quadratic else 1.0
    for _ in range(_ROUNDS):
        fit = fit_bands(rows, views, state.parts, noise, upper=noise, rounds=2)
        memory = NoiseMemory.of(fit.sums, config.noise_rates)
        after = max(memory.estimate().mean, floor)
        settled = abs(after - noise) <= 0.01 * noise
        noise = after
        if settled:
            break
    estimate = memory.estimate()
    fit = fit_bands(rows, views, state.parts, noise, upper=noise + config.noise_margin * estimate.error)
    if not rows.quadratic:
        fit = replace(fit, variances=_widened(fit))
    energy = np.array(
        [
            float(posterior.shares @ (posterior.variance + np.square(posterior.mean).mean(axis=1)))
            for posterior in fit.posteriors
        ]
    )
    penalty = noise / (REFERENCE_ROWS * np.maximum(energy, 1e-12 * level))
    penalty[first:] += rows.loss.l2 / _scales(state)
    if state.intercept:
        penalty[0] = 0.0
    return _judgement(config, state, rows, _Known(penalty=penalty, views=tuple(views), estimate=estimate), fit=fit)


def _widened(fit: WideFit) -> FloatArray:
    """Return the variances of a first period of a loss that is not a quadratic: the likelihood understates how large bands are.

    Rows show the leading bands well; the more of its prior a band has kept, the wider.
    """
    held = np.array([posterior.held for posterior in fit.posteriors])[:, None]
    return np.asarray(fit.variances * (1.0 + FIRST_PRIOR * np.minimum(fit.variances / held, 1.0)))


def _start(state: WideState, rows: WideRows) -> FloatArray:
    """Return where the loss of first rows is looked at: at the level of all rows, of several classes at their shares."""
    at = state.center.copy()
    if not state.intercept or rows.quadratic:
        return at
    if not isinstance(rows.loss, SoftmaxLoss):
        most = math.log(2.0 * len(rows) + 1.0)
        for _ in range(_STEPS):
            scores = rows.scores(at)
            step = float(rows.slopes(scores).sum()) / max(float(rows.bends(scores).sum()), 1e-9)
            at[0] = min(max(at[0] - min(max(step, -_LONGEST), _LONGEST), -most), most)
        return at
    counts = np.bincount(rows.y.astype(np.int64), minlength=rows.outputs + 1)
    levels = np.log(counts + _UNSEEN) @ helmert(rows.outputs + 1)
    at[: rows.outputs] = levels if rows.scale is None else np.linalg.solve(rows.scale, levels)
    return at


def _first_views(state: WideState, rows: WideRows, at: FloatArray) -> tuple[list[Prediction], float, float]:
    """Return the predictions of bands, the mean square of responses, and the noise, from the quadratic of the loss at a model."""
    scores, first = rows.scores(at), 1 if state.intercept else 0
    if rows.outputs == 1:
        bends = np.maximum(rows.bends(scores)[:, 0, 0], 1e-6)
        responses = scores - rows.slopes(scores) / bends[:, None]
        root = np.sqrt(bends / bends.mean())
        center = responses.T @ bends / float(bends.sum())
    else:  # of rows that are nearly certain of a class single responses would be beyond measure: all have the mean curvature
        every = rows.bends(scores)
        turn = rows.turn(every)
        along = np.maximum(bends_along(every, turn).mean(axis=0), 1e-6)
        responses = (rows.Z @ at.reshape(-1, rows.outputs)) @ turn - (rows.slopes(scores) @ turn) / along
        root, center = np.ones(len(rows)), responses.mean(axis=0)
    level = max(float(np.square(responses * root[:, None]).mean()), 1e-300)
    beyond = (responses - (center if state.intercept else 0.0)) * root[:, None]
    total = None if rows.quadratic else np.maximum(np.square(beyond).mean(axis=0), 1e-6 * level)
    laws = power_laws(
        rows.Z[:, first:] * root[:, None],
        beyond,
        _scales(state),
        state.sizes[first:],
        total=total,
        level=state.intercept,
    )
    views = band_views(laws, state.outputs * state.sizes[first:])
    if state.intercept:
        vague = Prediction(shares=np.ones(1), mean=np.zeros((1, state.outputs)), variance=np.array([_VAGUE * level]))
        views = [vague, *views]
    return views, level, laws.mean_noise


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Known:
    """The penalty of each band, its prediction, and the noise."""

    penalty: FloatArray
    views: tuple[Prediction, ...]
    estimate: NoiseEstimate


def _scales(state: WideState) -> FloatArray:
    """Return the variance of rows in each band, before whitening: its geometric mean."""
    first = 1 if state.intercept else 0
    logs = np.log(state.spectrum.variance)
    return np.exp([float(logs[part.start - first : part.stop - first].mean()) for part in state.parts[first:]])


def _judgement(
    config: AdaptiveConfig,
    state: WideState,
    rows: WideRows,
    known: "_Known",
    *,
    fit: WideFit | None = None,
    banks: tuple[Bank, ...] = (),
) -> WideJudgement:
    penalty, views, estimate = known.penalty, known.views, known.estimate
    noise = max(estimate.mean, _floor(config, rows.loss))
    sizes = state.sizes
    if fit is None:
        bend, turn = _directions(state)
        center = np.concatenate([view.center for view in views])
        variances = np.tile(np.array([view.total for view in views])[:, None], (1, state.outputs))
    else:
        bend, turn, center, variances = _pooled_bend(state, fit, len(rows)), fit.turn, fit.center, fit.variances
    if rows.quadratic:
        bend = np.ones(1)
    kappa = bend / (bend + penalty[:, None])
    along = (center.reshape(-1, state.outputs) @ turn) * np.repeat(kappa, sizes.astype(int), axis=0)
    return WideJudgement(
        epsilon=_epsilon(config, estimate),
        quadratic=rows.quadratic,
        variances=variances,
        noise=noise,
        noise_upper=noise + config.noise_margin * estimate.error,
        model=(along @ turn.T).ravel(),
        penalty=penalty,
        turn=turn,
        bend=bend,
        kappa=kappa,
        counts=bend * kappa * sizes[:, None],
        fit=fit,
        banks=banks,
        views=views,
    )


def _pooled_bend(state: WideState, fit: WideFit, rows: int) -> FloatArray:
    """Return the mean second derivatives of a period along its directions, some rows of the usual ones added.

    Where classes can be separated nearly all rows are certain and a few near the boundary have the curvature. A handful of rows
    may have next to none: risks would look small, and the penalty, which is compared with the curvature, would shrink the model.
    """
    if not state.banks:
        return fit.bend
    usual, before = _directions(state)
    along = np.square(before.T @ fit.turn).T @ usual
    return np.asarray((rows * fit.bend + EQUAL_ROWS * along) / (rows + EQUAL_ROWS))


def _directions(state: WideState) -> tuple[FloatArray, FloatArray]:
    """Return the mean second derivatives of the last period along their directions of scores, and these."""
    if state.curvature is None:
        return np.array([state.bend]), np.eye(1)
    bend, turn = np.linalg.eigh(state.curvature)
    return np.maximum(bend, 1e-12), turn


def _judge_later(config: AdaptiveConfig, state: WideState, rows: WideRows) -> WideJudgement:
    assert state.penalty is not None
    banks = tuple(predict(bank) for bank in state.banks)
    estimate = state.noise.estimate()
    noise = max(estimate.mean, _floor(config, rows.loss))
    views = tuple(prediction_of(bank, jump) for bank, jump in zip(banks, jumps_of(state, noise), strict=True))
    known = _Known(penalty=state.penalty, views=views, estimate=estimate)
    if len(rows) == 0:
        return _judgement(config, state, rows, known, banks=banks)
    fit = fit_bands(rows, views, state.parts, noise, upper=noise + config.noise_margin * estimate.error)
    known = replace(known, estimate=state.noise.with_rows(fit.sums).estimate())
    return _judgement(config, state, rows, known, fit=fit, banks=banks)


def jumps_of(state: WideState, noise: float) -> list[float]:
    """Return how far a jump would throw each coordinate of a band: as far as what the band explains; the level by all."""
    explained = [float(np.square(state.center[part]).sum()) for part in state.blocks]
    total = sum(explained[1:] if state.intercept else explained)
    found = []
    for place, part in enumerate(state.blocks):
        size = part.stop - part.start
        if state.intercept and place == 0:
            found.append(JUMP_SIZE * (noise / state.bend + total / state.outputs))
        else:
            found.append(JUMP_SIZE * (explained[place] + LEAST_SHARE * total) / size)
    return found


def _floor(config: AdaptiveConfig, loss: LinearLoss | VectorLoss) -> float:
    """Return the least noise that is believed in: of probabilities the one that they have by themselves.

    Few rows of two classes can be separated, and then show hardly any.
    """
    if isinstance(loss, VectorLoss) or loss.probabilities(np.zeros(1)) is not None:
        return 1.0
    return SMALLEST_NOISE * (config.epsilon if config.epsilon is not None else 1e-9)


def _epsilon(config: AdaptiveConfig, estimate: NoiseEstimate) -> float:
    if config.epsilon is not None:
        return config.epsilon
    assert config.tolerance is not None
    best = max(estimate.best_loss - LOSS_MARGIN * estimate.best_loss_error, LEAST_LOSS * estimate.best_loss)
    return config.tolerance * max(best, 1e-12)


def advance_wide(state: WideState, rows: WideRows, judged: WideJudgement) -> WideState:
    """Return the state after the period."""
    fit = judged.fit
    if fit is None:
        center = np.concatenate([view.center for view in judged.views])
        return replace(state, center=center, banks=tuple(skip(bank) for bank in judged.banks))
    if state.banks:
        banks = tuple(
            update(bank, view, posterior.shares, posterior.mean, posterior.variance)
            for bank, view, posterior in zip(judged.banks, judged.views, fit.posteriors, strict=True)
        )
        memory = state.noise.with_rows(fit.sums).next_period()
    else:
        banks = tuple(
            first_bank(fit.center[part], float(variance), unit)
            for part, variance, unit in zip(state.blocks, _mean_variances(judged), _units(state, judged), strict=True)
        )
        memory = NoiseMemory.of(fit.sums, state.noise.rates).next_period()
    return replace(
        state,
        center=fit.center,
        penalty=judged.penalty,
        banks=banks,
        noise=memory,
        rows=state.rows + len(rows),
        bend=float(judged.bend.mean()),
        curvature=(judged.turn * judged.bend) @ judged.turn.T if state.outputs > 1 else None,
    )


def _mean_variances(judged: WideJudgement) -> FloatArray:
    """Return the variance of each band, by what it costs in the directions of scores."""
    return np.asarray((judged.counts * judged.variances).sum(axis=1) / np.maximum(judged.counts.sum(axis=1), 1e-300))


def _units(state: WideState, judged: WideJudgement) -> list[float]:
    """Return the variance of a step of cost one in each band: the level has a drift of its own, bands share one by their energy."""
    assert judged.fit is not None
    energy = np.array(
        [
            count * (float(np.square(judged.fit.center[part]).mean()) + variance)
            for count, part, variance in zip(
                judged.counts.sum(axis=1), state.blocks, _mean_variances(judged), strict=True
            )
        ]
    )
    if state.intercept:
        energy[0] = 0.0
    shares = np.maximum(energy / max(float(energy.sum()), 1e-300), LEAST_SHARE)
    if state.intercept:
        shares[0] = 1.0
    return [
        2.0 * judged.epsilon * float(share) / (float(size) * float(judged.bend.sum()))
        for share, size in zip(shares, state.sizes, strict=True)
    ]


def early_wide(state: WideState) -> bool:
    """Whether so little is known of the drift that decisions must see every row."""
    return not state.banks or state.banks[0].periods < EARLY


def aim_of(config: AdaptiveConfig, state: WideState, judged: WideJudgement) -> float:
    """Return the risk that orders aim at."""
    share = AIM if judged.quadratic or config.orders == 1 else AIM_CURVED
    share *= 1.0 if state.banks else FIRST_AIM
    share *= 1.0 if state.outputs == 1 else SEVERAL_AIM
    return judged.epsilon * (share / AIM if config.confidence is not None else share * state.audit.aim)


def drift_of(banks: tuple[Bank, ...], counts: FloatArray) -> tuple[float, float]:
    """Return how far the best model moves in a period, in the norm of the promise: as expected, and at its upper end."""
    from driftpace.adaptive.kernels import share_quantile

    mean = upper = 0.0
    for bank, count in zip(banks, counts.sum(axis=1), strict=True):
        each, shares = step_costs(bank)
        mean += float(shares @ each) * float(count) / bank.size
        upper += share_quantile(each, shares, 0.95) * float(count) / bank.size
    return math.sqrt(mean), math.sqrt(max(upper, mean))

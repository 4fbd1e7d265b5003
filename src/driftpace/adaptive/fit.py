"""The fit of a period: the model that its rows and the past give together, and how well it is known.

Given the predictions of the banks, the rows of the period say through the gradient and the Hessian of their loss which drift
models were right and where the best model is now. For a quadratic loss everything below is exact; for other losses the loss
of the period is replaced by its quadratic at the fitted model.

The risk is not read off the rows that were fitted as if they were new: leverages h_i are taken out one by one, since
x_i'(G without row i)^-1 x_i = h_i/(1 - h_i), so few rows, rare features and heavy designs are seen (a leave-one-out of the
design). The noise is the covariance of gradients as it is, not a single residual variance (the sandwich of theory 1.6), so it
may depend on the features. Weights enter a Hessian once and the covariance twice, so what uneven ones cost is part of the noise.
Where rows belong together, the gradients of a group are added before they are squared: the noise of a
row is then what it adds to the error of the model, the design effect included.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from driftpace.adaptive.bank import Mixture, Prediction
from driftpace.adaptive.coordinates import Coordinates, coordinates, with_diagonal
from driftpace.adaptive.dependence import products_of
from driftpace.adaptive.memory import Memory, no_memory
from driftpace.adaptive.noise import NoiseEstimate, NoiseSums
from driftpace.adaptive.rows import DesignRows, group_sums
from driftpace.losses import LinearLoss, VectorLoss
from driftpace.losses.vector import outer_rows, summed_over_outputs
from driftpace.typing import BoolArray, FloatArray, IntArray

_ROUNDS = 3
_TWO_BLOCKS = 2
_NEWTON = 30
_HALVINGS = 20
_GOOD_SHARE = 0.5
_SETTLED = 1e-2
_LONGEST = 5.0
LEVERAGE = 0.98
_GROUP_LEVERAGE = 0.95
_GROUP_POWER = 0.75

FIRST_METRIC_ROWS = 2
"""Rows for each coefficient by which the start counts in the metric of a first period."""

METRIC_ROWS = 8
"""Rows for each coefficient by which older periods count in the metric that the risk of a period is measured in."""

EQUAL_ROWS = 20.0
"""Rows of the usual curvature that are added to those of a period before their mean curvature is compared with the usual one."""

_LEAST_RATIO = 1e-3
_NOTHING = 1e-300
VAGUEST = 1e12
_ONE = np.ones((1, 1))


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Posterior(Mixture):
    """What a block's components became; ``information`` are the eigenvalues of the Hessian G of the rows."""

    information: FloatArray


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class AdaptiveFit:
    """The model of the period and how well it is known.

    ``model`` are coefficients, ``center`` the same in whitened ``coordinates``. ``variances`` are those of each block, the
    uncertainty of the noise included; ``covariance`` is of all coordinates. ``sums`` and ``scores`` are what the rows add to
    the memory, ``scatter`` the covariance of gradients in whitened coordinates, ``largest`` the share of the noise that one
    row, or group, carries, ``curvature`` the mean curvature of the rows relative to that of earlier periods. ``whitened`` are
    the rows, None where they have several scores, and ``gradients`` those of the rows, or groups, at the model; ``products`` are
    sums of products of neighbouring ones. ``strength`` is how strongly each coordinate is held to its prediction.
    ``surprise`` is the squared length of the difference between the rows and the prediction, in standard units, with
    ``freedom`` degrees of freedom.
    """

    coordinates: Coordinates
    model: FloatArray
    center: FloatArray
    variances: FloatArray
    covariance: FloatArray
    noise: float
    noise_upper: float
    sums: NoiseSums
    scores: FloatArray
    scatter: FloatArray
    slopes: FloatArray
    whitened: FloatArray | None
    gradients: FloatArray
    products: FloatArray
    largest: float
    curvature: float
    strength: FloatArray
    posteriors: tuple[Posterior, ...]
    surprise: float
    freedom: int


def noise_of(estimate: NoiseEstimate, floor: float, margin: float) -> tuple[float, float]:
    """Return the noise and its upper end, ``margin`` standard errors above; never under a floor that keeps division sane."""
    mean = max(estimate.mean, floor)
    return mean, mean + margin * estimate.error


def metric(rows: DesignRows, memory: Memory, at: FloatArray) -> Coordinates:
    """Return the whitened coordinates of everything seen, this period's rows included."""
    old, count = memory.kept_hessian
    total = (rows.hessian_sum(at) + old) / max(rows.mass + count, 1.0)
    return coordinates(with_diagonal(total, rows.penalty))


def first_metric(rows: DesignRows, start: FloatArray, at: FloatArray) -> Coordinates:
    """Return the coordinates of a first period, whose start counts as two rows for each coefficient.

    Few rows of a classification can be separated, and a model that separates them sees no curvature at all.
    """
    if rows.quadratic:
        return metric(rows, no_memory(at.size), at)
    early = FIRST_METRIC_ROWS * (at.size // rows.outputs)
    total = rows.hessian_sum(at) + rows.hessian_sum(start) * (early / rows.mass)
    return coordinates(with_diagonal(total / (rows.mass + early), rows.penalty))


def fit_period(
    rows: DesignRows,
    memory: Memory,
    white: Coordinates,
    predictions: tuple[Prediction, ...],
    parts: tuple[slice, ...],
    noise: float,
    *,
    floor: float,
    margin: float,
) -> AdaptiveFit:
    """Return the model that the rows and the predictions give together; ``noise`` is what is known of it beforehand.

    ``predictions`` are in the coordinates ``white``; ``parts`` are the blocks.
    """
    noises = _noises(memory, white, parts, noise)
    mixtures: Sequence[Mixture] = predictions
    center = np.concatenate([view.center for view in predictions])
    surprise, freedom = 0.0, 0
    for attempt in range(_ROUNDS):
        if not rows.quadratic:  # a quadratic loss says the same everywhere
            center = _fitted(rows, white, center, mixtures, parts, noises)
        hessian, score = _quadratic(rows, white, center)
        posteriors = []
        for index, view in enumerate(predictions):
            block = _of_block(hessian, score, parts, mixtures, index, noises)
            posterior, one, count = _weighed(*block, view, mixtures[index], noises[index])
            posteriors.append(posterior)
            if attempt == 0:
                surprise, freedom = surprise + one, freedom + count
        if rows.quadratic and len(parts) <= _TWO_BLOCKS:
            break
        before, mixtures = (
            mixtures,
            [
                Mixture(shares=posterior.shares, mean=view.mean, variance=view.variance)
                for posterior, view in zip(posteriors, predictions, strict=True)
            ],
        )
        if all(np.abs(new.shares - old.shares).max() < _SETTLED for new, old in zip(mixtures, before, strict=True)):
            break
    center = np.concatenate([posterior.center for posterior in posteriors])
    held = [_equivalent(posterior, each) for posterior, each in zip(posteriors, noises, strict=True)]
    fitted = _Fitted(
        rows=rows,
        coordinates=white,
        center=center,
        hessian=hessian,
        strength=_strength(parts, held, noises),
        noise_ratio=np.concatenate(
            [np.full(part.stop - part.start, each / noise) for part, each in zip(parts, noises, strict=True)]
        ),
    )
    accuracy = _accuracy(fitted, memory, floor=floor, margin=margin)
    covariance = accuracy.covariance
    return AdaptiveFit(
        coordinates=white,
        model=accuracy.model,
        center=center,
        variances=np.array([np.trace(covariance[part, part]) / (part.stop - part.start) for part in parts]),
        covariance=covariance,
        noise=accuracy.noise,
        noise_upper=accuracy.noise_upper,
        sums=accuracy.sums,
        scores=accuracy.scores,
        scatter=accuracy.scatter,
        slopes=accuracy.slopes,
        whitened=accuracy.whitened,
        gradients=accuracy.gradients,
        products=products_of(accuracy.gradients, parts),
        largest=accuracy.largest,
        curvature=accuracy.curvature,
        strength=fitted.strength,
        posteriors=tuple(posteriors),
        surprise=surprise,
        freedom=freedom,
    )


def _noises(memory: Memory, white: Coordinates, parts: tuple[slice, ...], noise: float) -> list[float]:
    """Return the noise of a row in a coordinate of each block: the same in all, unless rows belonged together.

    What the rows of a group have in common is above all their level, so the level is known less well than the slopes.
    """
    old, rows = memory.kept_scores
    known = memory.noise.estimate()
    if known.rows == known.units or rows == 0.0 or len(parts) == 1:
        return [noise for _ in parts]
    scatter = np.diag(white.white_matrix(old))
    mean = max(float(scatter.mean()), _NOTHING)
    return [max(noise * float(scatter[part].mean()) / mean, _LEAST_RATIO * noise) for part in parts]


def _equivalent(posterior: Posterior, noise: float) -> float:
    """Return the variance that, predicted by a single model, would have left what the mixture of models leaves.

    The mixture leaves v, within its models and between them. One model with prior variance t leaves the mean of
    s^2 t/(s^2 + t g) over the directions with information g: an increasing function of t, solved by bisection in log t.
    """
    from driftpace.adaptive.kernels import variance_that_leaves

    left = posterior.total
    return float(variance_that_leaves(posterior.information, noise, left, max(left, _NOTHING) * VAGUEST))


def _strength(parts: tuple[slice, ...], variances: list[float], noises: list[float]) -> FloatArray:
    """Return how strongly each coordinate is held to its prediction: noise over variance."""
    return np.concatenate(
        [
            np.full(part.stop - part.start, noise / variance)
            for part, variance, noise in zip(parts, variances, noises, strict=True)
        ]
    )


def _quadratic(rows: DesignRows, white: Coordinates, center: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the Hessian G of the rows' loss in whitened coordinates, and r = G u - gradient(u), at u = center."""
    w = white.plain(center)
    hessian = white.white_matrix(with_diagonal(rows.hessian_sum(w), rows.mass * rows.penalty))
    return hessian, np.asarray(hessian @ center - white.inverse @ rows.gradient(w))


def solved(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """Return the solution of a symmetric positive system, also where rounding has cost it its smallest eigenvalues."""
    from scipy.linalg.lapack import dpotrf, dpotrs  # slow to import, and not always needed

    factor, failed = dpotrf(matrix)
    if not failed:
        return np.asarray(dpotrs(factor, right)[0])
    values, basis = np.linalg.eigh(0.5 * (matrix + matrix.T))
    values = np.maximum(values, 1e-14 * max(float(values[-1]), _NOTHING))
    return np.asarray((basis / values) @ (basis.T @ right))


def _fitted(
    rows: DesignRows,
    white: Coordinates,
    u: FloatArray,
    mixtures: Sequence[Mixture],
    parts: tuple[slice, ...],
    noises: list[float],
) -> FloatArray:
    """Return the minimiser of the rows' loss + 1/2 sum strength (u - predicted)^2, by Newton's method."""
    anchor = np.concatenate([mixture.center for mixture in mixtures])
    strength = _strength(parts, [mixture.total for mixture in mixtures], noises)

    def objective(at: FloatArray) -> float:
        return rows.value(white.plain(at)) + 0.5 * float(strength @ np.square(at - anchor))

    now = None
    for _ in range(_NEWTON):
        hessian, score = _quadratic(rows, white, u)
        step = solved(with_diagonal(hessian, strength), score - hessian @ u + strength * (anchor - u))
        if rows.quadratic:
            return np.asarray(u + step)
        now = objective(u) if now is None else now
        share, after = _lower(objective, u, step, now, _longest_share(rows, white, step))
        if share == 0.0 and isinstance(rows.loss, LinearLoss) and rows.loss.curve.majorant is None:
            share, after = _lower(objective, u, step, now, _bounded_share(rows, white, u, step))
        if share < _GOOD_SHARE and (above := rows.majorant_sum(white.plain(u))) is not None:
            above = white.white_matrix(with_diagonal(above, rows.mass * rows.penalty))
            safe = solved(with_diagonal(above, strength), score - hessian @ u + strength * (anchor - u))
            lower = objective(u + safe)
            if share == 0.0 or lower < after:
                share, step, after = float(lower <= now), safe, lower
        if share == 0.0:
            return u
        u, gain, now = u + share * step, now - after, after
        if gain <= 1e-12 * (1.0 + abs(now)):
            break
    return u


def _lower(
    objective: Callable[[FloatArray], float], u: FloatArray, step: FloatArray, now: float, share: float
) -> tuple[float, float]:
    """Return the share of a step, halved until the objective is not above ``now``, and its value there; 0 where none is."""
    after = now
    for _ in range(_HALVINGS):
        after = objective(u + share * step)
        if after <= now:
            return share, after
        share *= 0.5
    return 0.0, after


def _bounded_share(rows: DesignRows, white: Coordinates, u: FloatArray, step: FloatArray) -> float:
    """Return the share of a step that changes no score by more than the largest score there is.

    After periods of one class, or of counts of zero, there is next to no curvature, and a Newton step is endless.
    """
    if not len(rows):
        return 1.0
    largest, reach = (float(np.abs(rows.X @ white.plain(at)).max()) for at in (u, step))
    return max(largest, _LONGEST) / reach if 0.0 < reach < np.inf else 1.0


def _longest_share(rows: DesignRows, white: Coordinates, step: FloatArray) -> float:
    """Return the share of a Newton step to try first: all of it, unless it changes one of several scores beyond measure.

    A class that appears where it was not expected has next to no curvature there, and its step would be endless.
    """
    if not isinstance(rows.loss, VectorLoss) or not len(rows):
        return 1.0
    reach = float(np.abs(rows.scores(white.plain(step))).max())
    return min(1.0, _LONGEST / reach) if reach > 0.0 else 1.0


def _of_block(
    hessian: FloatArray,
    score: FloatArray,
    parts: tuple[slice, ...],
    mixtures: Sequence[Mixture],
    index: int,
    noises: list[float],
) -> tuple[FloatArray, FloatArray]:
    """Return what the rows say of one block alone, the other block integrated out under its prediction."""
    part = parts[index]
    if len(parts) == 1:
        return hessian, score
    others = [place for place in range(len(parts)) if place != index]
    if len(others) == 1:
        other: slice | IntArray = parts[others[0]]
        mean = mixtures[others[0]].center
        held: FloatArray | float = noises[others[0]] / mixtures[others[0]].total
        inside = hessian[other, other]
    else:
        other = np.concatenate([np.arange(parts[place].start, parts[place].stop) for place in others])
        mean = np.concatenate([mixtures[place].center for place in others])
        totals = [mixtures[place].total for place in others]
        held = _strength(tuple(parts[place] for place in others), totals, [noises[place] for place in others])
        inside = hessian[np.ix_(other, other)]
    inner = with_diagonal(inside, held)
    through = solved(inner, hessian[other, part])
    rest = score[other] - inside @ mean
    return (
        hessian[part, part] - hessian[part, other] @ through,
        score[part] - hessian[part, other] @ mean - through.T @ rest,
    )


def _weighed(
    information: FloatArray,
    pull: FloatArray,
    view: Prediction,
    mixture: Mixture,
    noise: float,
) -> tuple[Posterior, float, int]:
    """Return what became of each component of the view, the surprise against the mixture, and its degrees of freedom.

    With delta = u* - mean ~ N(0, t), the gradient at the mean is N(G delta, s^2 G): in the eigenbasis of G one Gaussian for
    each direction.
    """
    from driftpace.adaptive.kernels import weigh

    values, basis = np.linalg.eigh(0.5 * (information + information.T)) if len(pull) > 1 else (information[0], _ONE)
    values = np.maximum(values, 0.0)
    means = np.concatenate([view.mean, mixture.center[None]]) @ basis
    variances = np.concatenate([view.variance, [mixture.total]])
    shares, left = view.shares.copy(), np.empty(len(view.shares))
    surprise, freedom = weigh(values, pull @ basis, means, variances, shares, noise, left)
    return Posterior(shares=shares, mean=means[:-1] @ basis.T, variance=left, information=values), surprise, freedom


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Fitted:
    """The fit of a period: its rows, their Hessian at the ``center``, and how strongly coordinates are held to predictions.

    ``noise_ratio`` is the noise in each coordinate against its mean.
    """

    rows: DesignRows
    coordinates: Coordinates
    center: FloatArray
    hessian: FloatArray
    strength: FloatArray
    noise_ratio: FloatArray


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Accuracy:
    """How well a model is known; the fields are those of :class:`AdaptiveFit`."""

    model: FloatArray
    covariance: FloatArray
    noise: float
    noise_upper: float
    sums: NoiseSums
    scores: FloatArray
    scatter: FloatArray
    slopes: FloatArray
    whitened: FloatArray | None
    gradients: FloatArray
    largest: float
    curvature: float


def _without_leverage(
    slopes: FloatArray, root: FloatArray, inverse: FloatArray, groups: IntArray
) -> tuple[FloatArray, BoolArray]:
    """Return the slopes of each group times (I - R P R')^-0.75, R the group's rows of ``root`` and P the ``inverse``.

    The inverse gives the residuals of a fit without the group (the jackknife over groups), whose noise is 5 to 11 % too large by
    Monte Carlo; its root, unbiased for independent rows and used for a row that is alone, is 5 to 8 % too small: the power lies
    between. Also return which groups alone determine a direction of the model, so that even these residuals are limited in it.
    Groups of equal size are computed at once. Where a number overflowed nothing is known, and no slope is a number.
    """
    if np.isfinite(inverse).all():
        values, basis = np.linalg.eigh(0.5 * (inverse + inverse.T))
        root = root @ (basis * np.sqrt(np.maximum(values, 0.0)))
    if not (np.isfinite(inverse).all() and np.isfinite(root).all()):
        return np.full_like(slopes, np.nan), np.ones(int(groups.max()) + 1, dtype=np.bool_)
    corrected = slopes.copy()
    order = np.argsort(groups, kind="stable")
    sizes = np.bincount(groups)
    first = np.cumsum(sizes) - sizes
    dominant = np.zeros(len(sizes), dtype=np.bool_)
    for size in np.unique(sizes):
        at = order[first[sizes == size][:, None] + np.arange(size)]
        axes, lengths, _ = np.linalg.svd(root[at], full_matrices=False)
        left = 1.0 - np.minimum(lengths**2, LEVERAGE if size == 1 else _GROUP_LEVERAGE)
        stretch = left ** (-0.5 if size == 1 else -_GROUP_POWER) - 1.0
        along = np.einsum("gmk,gm->gk", axes, slopes[at])
        corrected[at] += np.einsum("gmk,gk->gm", axes, stretch * along)
        dominant[sizes == size] = lengths[:, 0] ** 2 > _GROUP_LEVERAGE
    return corrected, dominant


def _relative_curvature(rows: DesignRows, memory: Memory, white: Coordinates, each: FloatArray) -> float:
    """Return the mean curvature of the rows of a period, ``each`` in whitened coordinates, relative to that of earlier rows.

    Where curvature depends on the model, as with two classes whose shares change, it says how much the same error costs in this
    period. Gradients scatter in proportion to it: what is pooled over periods is the noise per unit of curvature.
    """
    old, old_rows = memory.kept_hessian
    if rows.quadratic or old_rows == 0.0:
        return 1.0
    return _ratio(float(each.sum()), float(np.trace(white.white_matrix(old))) / old_rows, rows.mass)


def _relative_curvature_of_scores(rows: DesignRows, memory: Memory, bends: FloatArray) -> float:
    """Return the same for rows of several scores, from the sums of their curvatures over scores.

    A class that appears or vanishes changes the curvature of its own coordinates beyond measure, and that of the sum little.
    """
    old, old_rows = memory.kept_hessian
    if rows.quadratic or old_rows == 0.0:
        return 1.0
    before = summed_over_outputs(old, rows.outputs)
    scaled = rows.X * np.sqrt(np.maximum(np.einsum("iaa->i", bends), 0.0))[:, None]
    fresh = scaled.T @ scaled
    both = (before + fresh) / (old_rows + rows.mass)
    white = coordinates(with_diagonal(both, rows.outputs * rows.penalty[:: rows.outputs]))
    usual = float(np.trace(white.white_matrix(before))) / old_rows
    return _ratio(float(np.trace(white.white_matrix(fresh))), usual, rows.mass)


def _ratio(total: float, usual: float, mass: float) -> float:
    """Return the mean of a total over rows relative to what is usual, some usual rows added."""
    return (total / max(usual, _NOTHING) + EQUAL_ROWS) / (mass + EQUAL_ROWS)


def _metric_of_period(
    rows: DesignRows, memory: Memory, terms: "_RowTerms", curvature: float
) -> tuple[FloatArray, float]:
    """Return what is added to the Hessian of the rows for the metric of their period, and as how many rows it counts.

    Of several scores, earlier rows have the mean curvature of this period in its scores: classes that vanished cost nothing now.
    """
    old, old_rows = memory.hessian_up_to(METRIC_ROWS * memory.columns)
    if not isinstance(rows.loss, VectorLoss) or old_rows == 0.0:
        return curvature * old, old_rows
    columns, outputs = memory.columns, rows.outputs
    mean = _mean_over_columns(terms.hessian, outputs)
    summed = summed_over_outputs(old, outputs)
    return curvature * np.einsum("ij,ab->iajb", summed, mean).reshape(columns * outputs, -1), old_rows


def _mean_over_columns(hessian: FloatArray, outputs: int) -> FloatArray:
    """Return the second derivatives in the scores, (outputs, outputs), on average over directions of columns; its trace is one."""
    columns = len(hessian) // outputs
    each = hessian.reshape(columns, outputs, columns, outputs)
    total = np.einsum("iaja->ij", each)
    white = coordinates(total + np.eye(columns) * (_NOTHING + 1e-9 * float(np.trace(total)) / columns))
    return np.asarray(np.einsum("iajb,ij->ab", each, white.inverse.T @ white.inverse) / columns)


def _scores_of_period(memory: Memory, hessian: FloatArray) -> FloatArray:
    """Return the outer products of earlier gradients as they would be with the curvature of this period in its scores.

    Gradients scatter as the loss curves. Of a class that vanished there is next to no curvature left: gradients of the rows that
    it had would be noise divided by nothing.
    """
    old, _ = memory.kept_scores
    columns, outputs = memory.columns, memory.outputs
    before = _mean_over_columns(memory.hessian, outputs)
    values, basis = np.linalg.eigh(before)
    values = np.maximum(values, _LEAST_RATIO * _LEAST_RATIO * float(values[-1]))
    root, back = (basis * np.sqrt(values)) @ basis.T, (basis / np.sqrt(values)) @ basis.T
    inner, axes = np.linalg.eigh(root @ _mean_over_columns(hessian, outputs) @ root)
    turn = back @ (axes * np.sqrt(np.maximum(inner, 0.0))) @ axes.T @ back
    each = old.reshape(columns, outputs, columns, outputs)
    turned = np.einsum("ab,ibjc,dc->iajd", turn, each, turn, optimize=True)
    return np.asarray(turned.reshape(columns * outputs, -1))


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _RowTerms:
    """What each row says of the accuracy of a fit, leverages taken out.

    ``each`` is the noise of a row, or group, in a coordinate, ``scores`` the sum of outer products of their gradients in the
    units of the model, ``losses`` the losses without the row, ``curvature`` the mean curvature relative to that of earlier rows,
    and ``hessian`` the sum of Hessians. ``whitened``, where rows have one score, and ``gradients`` are in whitened coordinates, at
    the model.
    """

    each: FloatArray
    scores: FloatArray
    losses: FloatArray
    curvature: float
    hessian: FloatArray
    slopes: FloatArray
    whitened: FloatArray | None
    gradients: FloatArray


def _scalar_terms(
    rows: DesignRows, memory: Memory, white: Coordinates, model: FloatArray, inverse: FloatArray
) -> _RowTerms:
    """Return the terms of rows that have one score; ``inverse`` is that of the Hessian of the fit."""
    count, size = len(rows), model.size
    scores = rows.X @ model
    loss = rows.loss
    assert isinstance(loss, LinearLoss)
    curve = loss.curve
    slopes, bends = rows.weighted(curve.slope(scores, rows.y)), rows.bends(model)
    whitened = white.white_rows(rows.X)
    scratch = whitened @ inverse  # large temporary arrays cost more than what is computed in them
    reach = np.einsum("ij,ij->i", scratch, whitened)
    lengths = np.einsum("ij,ij->i", whitened, whitened)
    leverage = np.minimum(reach * bends, LEVERAGE)
    if rows.groups is None:
        corrected = slopes / np.sqrt(1.0 - leverage)
        each = lengths * slopes**2 / (1.0 - leverage) / size
        added = rows.outer_sum(corrected, scratch)
    else:
        root = np.ones(count) if rows.weights is None else np.sqrt(rows.weights)
        residuals = np.divide(slopes, root, out=np.zeros(count), where=root > 0.0)
        corrected, dominant = _without_leverage(residuals, whitened * np.sqrt(bends)[:, None], inverse, rows.groups)
        corrected *= root
        each = np.square(group_sums(whitened * corrected[:, None], rows.groups)).sum(axis=1) / size
        alone = group_sums((lengths * slopes**2 / (1.0 - leverage) / size)[:, None], rows.groups)[:, 0]
        each = np.where(dominant, np.maximum(each, alone), each)
        sums_of_groups = group_sums(rows.X * corrected[:, None], rows.groups)
        added = sums_of_groups.T @ sums_of_groups
    return _RowTerms(
        each=each,
        scores=added,
        losses=rows.weighted(loss.exact.curve.phi(scores, rows.y)) + 0.5 * slopes**2 * reach / (1.0 - leverage),
        curvature=_relative_curvature(rows, memory, white, lengths * bends),
        hessian=rows.outer_sum(np.sqrt(bends / (1.0 - leverage)), scratch),
        slopes=slopes,
        whitened=whitened,
        gradients=group_sums(np.multiply(whitened, slopes[:, None], out=scratch), rows.groups),
    )


def _vector_terms(
    rows: DesignRows, memory: Memory, white: Coordinates, model: FloatArray, inverse: FloatArray
) -> _RowTerms:
    """Return the terms of rows that have several scores.

    The leverage of a row is the mean over its scores, tr(G_i P)/m; that of a group the sum of those of its rows.
    """
    size, outputs = model.size, rows.outputs
    slopes, bends = rows.slopes(model), rows.bends(model)
    plain = white.inverse.T @ inverse @ white.inverse
    leverage = np.clip(rows.traces(bends, plain) / outputs, 0.0, LEVERAGE)
    gradients = white.white_rows(outer_rows(rows.X, slopes))
    reach = np.einsum("ij,ij->i", gradients @ inverse, gradients)
    if rows.groups is None:
        stretch = 1.0 / np.sqrt(1.0 - leverage)
        sums_of_groups = gradients
    else:
        sums_of_groups = group_sums(gradients, rows.groups)
        together = np.minimum(group_sums(leverage[:, None], rows.groups)[:, 0], _GROUP_LEVERAGE)
        stretch = (1.0 - together) ** -_GROUP_POWER
    corrected = sums_of_groups * stretch[:, None]
    back = corrected @ white.factor.T
    return _RowTerms(
        each=np.einsum("ij,ij->i", corrected, corrected) / size,
        scores=back.T @ back,
        losses=rows.losses(model) + 0.5 * reach / (1.0 - leverage),
        curvature=_relative_curvature_of_scores(rows, memory, bends),
        hessian=rows.hessian_of(bends / (1.0 - leverage)[:, None, None]),
        slopes=slopes,
        whitened=None,
        gradients=sums_of_groups,
    )


def _positive(matrix: FloatArray) -> FloatArray:
    """Return a sum of squares without what rounding has made negative, in a direction that has nothing."""
    values, basis = np.linalg.eigh(0.5 * (matrix + matrix.T))
    return np.asarray((basis * np.maximum(values, 0.0)) @ basis.T)


def _accuracy(fitted: _Fitted, memory: Memory, *, floor: float, margin: float) -> _Accuracy:
    """Return how well the model is known: sandwich noise, leave-one-out design, the noise at its upper end."""
    rows, white, strength = fitted.rows, fitted.coordinates, fitted.strength
    count, size, model = len(rows), fitted.center.size, white.plain(fitted.center)
    inverse = solved(with_diagonal(fitted.hessian, strength), np.eye(size))
    if isinstance(rows.loss, VectorLoss):
        terms = _vector_terms(rows, memory, white, model, inverse)
    else:
        terms = _scalar_terms(rows, memory, white, model, inverse)
    curvature = terms.curvature
    each, added = terms.each / curvature, terms.scores / curvature
    sums = NoiseSums(
        rows=float(count),
        total=float(each.sum()),
        squares=float(each @ each),
        losses=float(terms.losses.sum()) + 0.5 * rows.mass * float(model @ (rows.penalty * model)),
        together=float(count - rows.units),
    )
    level, upper = noise_of(memory.noise.with_rows(sums).estimate(), floor, margin)
    old_scores, score_rows = memory.kept_scores
    scatter = white.white_matrix(old_scores + added) / (count + score_rows)
    total = float(np.trace(scatter))
    if isinstance(rows.loss, VectorLoss) and score_rows > 0.0:
        scatter = white.white_matrix(_scores_of_period(memory, terms.hessian) + added) / (count + score_rows)
    scatter = curvature * (scatter * (upper * size / total) if total > 0.0 else upper * np.eye(size))
    held = upper * fitted.noise_ratio * strength
    covariance = inverse @ with_diagonal(count * scatter, held) @ inverse
    if float(covariance.diagonal().min()) < 0.0:
        covariance = inverse @ with_diagonal(count * _positive(scatter), held) @ inverse
    old, old_rows = _metric_of_period(rows, memory, terms, curvature)
    seen = with_diagonal((terms.hessian + old) / (rows.mass + old_rows), rows.penalty)
    cost = float(np.sum(white.white_matrix(seen) * covariance))
    covariance *= cost / float(np.trace(covariance))
    return _Accuracy(
        model=model,
        covariance=covariance,
        noise=level,
        noise_upper=upper,
        sums=sums,
        scores=added,
        scatter=scatter,
        slopes=terms.slopes,
        whitened=terms.whitened,
        gradients=terms.gradients,
        largest=float(each.max() / max(sums.total, _NOTHING)),
        curvature=curvature,
    )

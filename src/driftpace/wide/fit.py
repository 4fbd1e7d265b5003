"""The fit of a period in bands: K rows and any number of coordinates, by K x K matrices (theory, wide features).

Coordinates are whitened, so a band b has d_b coordinates of equal prior variance t_b, as each model of its bank predicts them:

    S = s^2 diag(1/h) + sum_b t_b Z_b Z_b' = L L',    Y = L^-1 Z,    mu, W = eigh(Y_b'Y_b)

with h the second derivatives of the loss at the fit (1 for the squared loss). With the other bands integrated out the rows say
of band b in direction W_k the information mu_k/(1 - t_b mu_k), so that one eigendecomposition serves all models of the band.
For the squared loss this is exact; other losses are replaced by their quadratic at the fit (Laplace).

Of C classes rows have C - 1 scores, and a band as many coordinates for each component. The best model is that of all scores
together; what the rows say of it is taken for one direction of scores at a time, with h along it and the others at the best
model. The directions are those in which the mean second derivatives have no cross terms, so that what is left out averages out.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from driftpace.adaptive.bank import Mixture, Prediction
from driftpace.adaptive.noise import NoiseSums
from driftpace.typing import FloatArray
from driftpace.wide.mode import mode
from driftpace.wide.quadratic import Quadratic, observed
from driftpace.wide.rows import WideRows, bends_along

_ROUNDS = 4
_SETTLED = 1e-2
_BISECTIONS = 70
_MOST_KNOWN = 1.0 - 1e-12
_ROUNDING = 1e-13
_LEAST_SHARE = 0.2
_SHRUNK_ROWS = 40.0
"""Rows of even noise that are added before the noise of rows that matter is compared with that of all."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class BandPosterior(Mixture):
    """What the components of a band became; ``information`` is what the rows say in each direction that they see."""

    information: FloatArray
    held: float


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class WideFit:
    """The best model as far as rows and predictions know it.

    ``center`` are whitened coordinates of all scores, ``turn`` the directions of scores in its columns; ``variances`` are those of
    each band in each direction, (bands, directions), ``bend`` the mean second derivative of the loss along each.
    ``prior`` is the variance with which each band was predicted.
    """

    center: FloatArray
    turn: FloatArray
    variances: FloatArray
    bend: FloatArray
    noise: float
    sums: NoiseSums
    posteriors: tuple[BandPosterior, ...]
    prior: FloatArray
    surprise: float
    freedom: int
    largest: float


def fit_bands(
    rows: WideRows,
    views: Sequence[Prediction],
    parts: tuple[slice, ...],
    noise: float,
    *,
    upper: float,
    rounds: int = _ROUNDS,
) -> WideFit:
    """Return what rows and predictions give together, at a noise known beforehand and its upper end.

    ``parts`` are the bands of components, of which predictions have all scores.
    """
    mixtures: Sequence[Mixture] = views
    center = np.concatenate([view.center for view in views])
    surprise, freedom = 0.0, 0
    posteriors: tuple[BandPosterior, ...] = ()
    for attempt in range(rounds):
        anchor = np.concatenate([mixture.center for mixture in mixtures])
        held = np.array([mixture.total for mixture in mixtures])
        prior = _each(held, parts)
        center = mode(rows, center, anchor, prior, noise)
        turn = rows.turn(rows.bends(rows.scores(center)))
        quadratics = _observed(rows, center, anchor, prior, noise, turn)
        posteriors = tuple(
            _weighed(quadratics, turn, view, part, float(total))
            for view, part, total in zip(views, parts, held, strict=True)
        )
        if attempt == 0:
            surprise, freedom = sum(one.surprise for one in quadratics), len(rows) * rows.outputs
        before = mixtures
        mixtures = [
            Mixture(shares=posterior.shares, mean=view.mean, variance=view.variance)
            for posterior, view in zip(posteriors, views, strict=True)
        ]
        if all(np.abs(new.shares - old.shares).max() < _SETTLED for new, old in zip(mixtures, before, strict=True)):
            break
    center = np.concatenate([posterior.center for posterior in posteriors])
    held = np.array([posterior.held for posterior in posteriors])
    final = _observed(rows, center, center, _each(held, parts), upper, turn)
    variances = np.column_stack(
        [_variances(*pair, _each(held, parts), parts, upper) for pair in zip(quadratics, final, strict=True)]
    )
    sums, largest = _noise_sums(rows, center, quadratics, noise)
    return WideFit(
        center=center,
        turn=turn,
        variances=variances,
        bend=np.array([one.bends.mean() for one in final]),
        noise=noise,
        sums=sums,
        posteriors=posteriors,
        prior=np.array([posterior.shares @ view.variance for posterior, view in zip(posteriors, views, strict=True)]),
        surprise=surprise,
        freedom=freedom,
        largest=largest,
    )


def _observed(
    rows: WideRows, at: FloatArray, anchor: FloatArray, prior: FloatArray, noise: float, turn: FloatArray
) -> list[Quadratic]:
    """Return the rows as observations of each direction of scores, by the quadratic of their loss at a model."""
    scores, outputs = rows.scores(at), rows.outputs
    bends = bends_along(rows.bends(scores), turn)
    gaps = (rows.Z @ (at - anchor).reshape(-1, outputs)) @ turn - (rows.slopes(scores) @ turn) / bends
    anchors = anchor.reshape(-1, outputs) @ turn
    return [
        observed(rows.Z, bends[:, place], gaps[:, place], anchors[:, place], prior, noise) for place in range(outputs)
    ]


def _beyond_design(final: Quadratic, sizes: FloatArray, variances: FloatArray) -> float:
    """Return by how much a row that was left out is known less well than whitened coordinates say; at least 1.

    Components of the fitted rows themselves, or of a pool unlike them, make rows look more independent than they are. The score
    of a row left out has the variance 1/A_ii less its noise, and by the coordinates sum_b d_b v_b.
    """
    own = final.left_out()[1]
    seen = float(np.maximum(1.0 / own - final.noises, 0.0) @ final.bends) / max(float(final.bends.sum()), 1e-300)
    return max(seen / max(float(sizes @ variances), 1e-300), 1.0)


def _sizes(parts: tuple[slice, ...]) -> FloatArray:
    return np.array([float(part.stop - part.start) for part in parts])


def _each(values: FloatArray, parts: tuple[slice, ...]) -> FloatArray:
    return np.repeat(values, [part.stop - part.start for part in parts])


def _weighed(
    quadratics: list[Quadratic], turn: FloatArray, view: Prediction, part: slice, held: float
) -> BandPosterior:
    """Return what became of each component of a band, the other bands integrated out.

    In a direction with information g a component N(m, t) leaves the gap r - g m the variance g + t g^2.
    """
    size, outputs = part.stop - part.start, len(turn)
    means = view.mean.reshape(-1, size, outputs) @ turn
    t = view.variance[:, None]
    logs, left = np.log(view.shares + 1e-300), np.zeros(len(view.shares))
    pieces = []
    for place, quadratic in enumerate(quadratics):
        information, basis, pull = _directions(quadratic, part, held)
        gaps = pull - (means[:, :, place] @ basis) * information
        grown = 1.0 + t * information
        logs += -0.5 * (np.log(grown) + np.square(gaps) / (information * grown)).sum(axis=1)
        means[:, :, place] += (t * gaps / grown) @ basis.T
        left += (t * information / grown).sum(axis=1)
        pieces.append(information)
    shares = np.exp(logs - logs.max())
    shares /= shares.sum()
    mean = (means @ turn.T).reshape(len(shares), -1)
    variance = np.maximum(view.variance * (1.0 - left / (size * outputs)), 0.0)
    information = np.concatenate(pieces)
    total = Mixture(shares=shares, mean=mean, variance=variance).total
    return BandPosterior(
        shares=shares,
        mean=mean,
        variance=variance,
        information=information,
        held=_equivalent(information, size * outputs, total),
    )


def _directions(quadratic: Quadratic, part: slice, held: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return what the rows say of a band along each direction that they see: the information, the directions and the pull."""
    Y, size = quadratic.whitened[:, part], part.stop - part.start
    if size <= len(Y):
        values, basis = np.linalg.eigh(Y.T @ Y)
    else:
        values, left = np.linalg.eigh(Y @ Y.T)
        kept = values > _ROUNDING * max(float(values[-1]), 1e-300)
        values, left = values[kept], left[:, kept]
        basis = (Y.T @ left) / np.sqrt(values)
    values = np.maximum(values, _ROUNDING * max(float(values[-1]), 1e-300))
    unknown = 1.0 - np.minimum(held * values, _MOST_KNOWN)
    information = values / unknown
    pull = basis.T @ (Y.T @ quadratic.gap) / unknown + information * (quadratic.anchor[part] @ basis)
    return information, basis, pull


def _equivalent(information: FloatArray, size: int, left: float) -> float:
    """Return the prior variance that alone would have left what the mixture leaves, by bisection in its logarithm."""
    low, high = max(left, 1e-300), max(left, 1e-300) * 1e12
    for _ in range(_BISECTIONS):
        t = low**0.5 * high**0.5
        after = t * (1.0 - float((t * information / (1.0 + t * information)).sum()) / size)
        low, high = (t, high) if after <= left else (low, t)
    return high


def _variances(
    quadratic: Quadratic, final: Quadratic, prior: FloatArray, parts: tuple[slice, ...], upper: float
) -> FloatArray:
    """Return the variances of bands in one direction of scores.

    A row i left out is predicted with the error alpha_i / A_ii of variance 1 / A_ii, for A = S^-1 and alpha = A gap: its square in
    standard units says how noisy the row is. Rows that move the model most count most (the sandwich).
    """
    Y = final.whitened
    variance = np.maximum(prior - prior * prior * np.einsum("ij,ij->j", Y, Y), 0.0)
    variances = np.array([variance[part].mean() for part in parts])
    alpha, own = quadratic.left_out()
    standard = np.square(alpha) / own
    moved = np.square(final.through(prior))
    weight = moved.sum(axis=1) / final.bends
    added = _SHRUNK_ROWS * float(weight.mean())
    excess = (float(weight @ standard) + added) / max(float(weight.sum()) + added, 1e-300)
    by_noise = np.array([float((moved[:, part].mean(axis=1) / final.bends).sum()) for part in parts])
    variances = np.maximum(variances + upper * by_noise * (excess - 1.0), _LEAST_SHARE * variances)
    return np.asarray(variances * _beyond_design(final, _sizes(parts), variances))


def _noise_sums(
    rows: WideRows, center: FloatArray, quadratics: list[Quadratic], noise: float
) -> tuple[NoiseSums, float]:
    """Return the sums of noise, means over the directions of scores, and the share of the largest row."""
    shares, noises = [], []
    for quadratic in quadratics:
        alpha, own = quadratic.left_out()
        shares.append(np.clip(own * noise / quadratic.bends, 1e-9, 1.0))
        noises.append(noise * np.square(alpha) / own)
    weights = np.column_stack(shares)
    share = weights.mean(axis=1)
    each = (weights * np.column_stack(noises)).mean(axis=1) / share
    losses = 0.5 * each if rows.quadratic else rows.losses(rows.scores(center))
    sums = NoiseSums(
        rows=float(share.sum()),
        total=float(share @ each),
        squares=float(share @ np.square(each)),
        losses=float(share @ losses),
    )
    return sums, float(each.max() / max(float(each.sum()), 1e-300))

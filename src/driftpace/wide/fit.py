"""The fit of a period in bands: K rows and any number of coordinates, by K x K matrices (theory, wide features).

Coordinates are whitened, so a band b has d_b coordinates of equal prior variance t_b, as each model of its bank predicts them:

    S = s^2 diag(1/h) + sum_b t_b Z_b Z_b' = L L',    Y = L^-1 Z,    mu, W = eigh(Y_b'Y_b)

with h the second derivatives of the loss at the fit (1 for the squared loss). With the other bands integrated out the rows say
of band b in direction W_k the information mu_k/(1 - t_b mu_k), so that one eigendecomposition serves all models of the band.
For the squared loss this is exact; other losses are replaced by their quadratic at the fit (Laplace).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from driftpace.adaptive.bank import Mixture, Prediction
from driftpace.adaptive.noise import NoiseSums
from driftpace.losses import LinearLoss, SquaredLoss
from driftpace.typing import BoolArray, FloatArray

_ROUNDS = 4
_SETTLED = 1e-2
_NEWTON = 50
_HALVINGS = 25
_BISECTIONS = 70
_MOST_KNOWN = 1.0 - 1e-12
_ROUNDING = 1e-13
_LEAST_BEND = 1e-6
_LEAST_SHARE = 0.2
_SHRUNK_ROWS = 40.0
"""Rows of even noise that are added before the noise of rows that matter is compared with that of all."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class WideRows:
    """Rows in whitened coordinates, a column of ones first where there is an intercept, and their encoded targets."""

    loss: LinearLoss
    Z: FloatArray
    y: FloatArray

    def __len__(self) -> int:
        return len(self.y)

    @property
    def quadratic(self) -> bool:
        """Whether the loss is a quadratic of the model."""
        return isinstance(self.loss, SquaredLoss)

    def select(self, chosen: BoolArray) -> "WideRows":
        """Return some of the rows."""
        return self if chosen.all() else WideRows(loss=self.loss, Z=self.Z[chosen], y=self.y[chosen])


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class BandPosterior(Mixture):
    """What the components of a band became; ``information`` is what the rows say in each direction that they see."""

    information: FloatArray
    held: float


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class WideFit:
    """The best model as far as rows and predictions know it.

    ``center`` are whitened coordinates, ``variances`` those of each band, ``bend`` the mean second derivative of the loss.
    ``slopes`` and ``bends`` are those of the rows at the center, ``prior`` the variance with which each band was predicted.
    """

    center: FloatArray
    variances: FloatArray
    bend: float
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
    """Return what rows and predictions give together, at a noise known beforehand and its upper end."""
    mixtures: Sequence[Mixture] = views
    center = np.concatenate([view.center for view in views])
    surprise, freedom = 0.0, 0
    posteriors: tuple[BandPosterior, ...] = ()
    for attempt in range(rounds):
        anchor = np.concatenate([mixture.center for mixture in mixtures])
        held = np.array([mixture.total for mixture in mixtures])
        center, quadratic = _fitted(rows, center, anchor, held, parts, noise)
        posteriors = tuple(
            _weighed(quadratic, view, part, float(total)) for view, part, total in zip(views, parts, held, strict=True)
        )
        if attempt == 0:
            surprise, freedom = quadratic.surprise, len(rows)
        before = mixtures
        mixtures = [
            Mixture(shares=posterior.shares, mean=view.mean, variance=view.variance)
            for posterior, view in zip(posteriors, views, strict=True)
        ]
        if all(np.abs(new.shares - old.shares).max() < _SETTLED for new, old in zip(mixtures, before, strict=True)):
            break
    variances, sums, largest, bend = _accuracy(rows, quadratic, posteriors, parts, noise, upper)
    return WideFit(
        center=np.concatenate([posterior.center for posterior in posteriors]),
        variances=variances,
        bend=bend,
        noise=noise,
        sums=sums,
        posteriors=posteriors,
        prior=np.array([posterior.shares @ view.variance for posterior, view in zip(posteriors, views, strict=True)]),
        surprise=surprise,
        freedom=freedom,
        largest=largest,
    )


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Quadratic:
    """The rows as Gaussian observations: ``whitened`` Y = L^-1 Z and ``gap`` L^-1 (response - Z anchor), for S = L L'.

    Of more rows than coordinates, N^-1/2 Z = Q R with N the noise of rows, and R stands for the rows: ``rotation`` is Q, L is
    the factor of I + R T R', and ``rest`` what the gap has beyond Q.
    """

    whitened: FloatArray
    gap: FloatArray
    anchor: FloatArray
    noises: FloatArray
    bends: FloatArray
    factor: FloatArray
    rotation: FloatArray | None = None
    rest: FloatArray | None = None

    @property
    def surprise(self) -> float:
        """The squared length of the gap in standard units."""
        return float(self.gap @ self.gap) + (0.0 if self.rest is None else float(self.rest @ self.rest))

    def left_out(self) -> tuple[FloatArray, FloatArray]:
        """Return alpha = S^-1 gap and the diagonal of S^-1."""
        from scipy.linalg import solve_triangular  # slow to import, and not always needed

        if self.rotation is None or self.rest is None:
            root: FloatArray = solve_triangular(self.factor, np.eye(len(self.gap)), lower=True, check_finite=False)
            return root.T @ self.gap, np.einsum("ij,ij->j", root, root)
        root = solve_triangular(self.factor, self.rotation.T, lower=True, check_finite=False)
        alpha = self.rest + root.T @ self.gap
        own = 1.0 - np.einsum("ij,ij->i", self.rotation, self.rotation) + np.einsum("ij,ij->j", root, root)
        return alpha / np.sqrt(self.noises), np.maximum(own, 1e-9) / self.noises

    def through(self, prior: FloatArray) -> FloatArray:
        """Return S^-1 Z T: how a unit of noise in each row moves each coordinate."""
        from scipy.linalg import solve_triangular  # slow to import, and not always needed

        back = solve_triangular(self.factor, self.whitened * prior, lower=True, trans=1, check_finite=False)
        if self.rotation is None:
            return np.asarray(back)
        return np.asarray((self.rotation @ back) / np.sqrt(self.noises)[:, None])


def _observed(
    rows: WideRows, at: FloatArray, anchor: FloatArray, held: FloatArray, parts: tuple[slice, ...], noise: float
) -> _Quadratic:
    """Return the rows as Gaussian observations, by the quadratic of their loss at a model."""
    from scipy.linalg import lapack, solve_triangular  # slow to import, and not always needed

    Z: FloatArray = rows.Z
    scores = Z @ at
    if rows.quadratic:
        bends, gap = np.ones(len(rows)), rows.y - Z @ anchor
    else:
        curve = rows.loss.curve
        bends = np.maximum(curve.bend(scores, rows.y), _LEAST_BEND)
        gap = Z @ (at - anchor) - curve.slope(scores, rows.y) / bends
    noises = noise / bends
    rotation: FloatArray | None = None
    rest: FloatArray | None = None
    if len(rows) > Z.shape[1]:
        root = np.sqrt(noises)
        rotation, triangle = np.linalg.qr(Z / root[:, None])
        Z = np.asarray(triangle)
        whole = gap / root
        gap = rotation.T @ whole
        rest = whole - rotation @ gap
    scaled = Z * np.sqrt(_each(held, parts))
    S = scaled @ scaled.T
    S.ravel()[:: len(S) + 1] += noises if rotation is None else 1.0
    factor, failed = lapack.dpotrf(S, lower=1)
    if failed:
        raise FloatingPointError("the rows overflow")
    solved = solve_triangular(factor, np.column_stack([Z, gap]), lower=True, check_finite=False)
    return _Quadratic(
        whitened=solved[:, :-1],
        gap=solved[:, -1],
        anchor=anchor,
        noises=noises,
        bends=bends,
        factor=factor,
        rotation=rotation,
        rest=rest,
    )


def _beyond_design(final: _Quadratic, sizes: FloatArray, variances: FloatArray) -> float:
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


def _fitted(
    rows: WideRows, center: FloatArray, anchor: FloatArray, held: FloatArray, parts: tuple[slice, ...], noise: float
) -> tuple[FloatArray, _Quadratic]:
    """Return the mode under one Gaussian for each band, by damped Newton steps, and the quadratic there."""
    strength = noise / _each(held, parts)

    def objective(at: FloatArray) -> float:
        losses = float(rows.loss.curve.phi(rows.Z @ at, rows.y).sum())
        return losses + 0.5 * float(strength @ np.square(at - anchor))

    prior = _each(held, parts)
    if rows.quadratic:
        quadratic = _observed(rows, anchor, anchor, held, parts, noise)
        return anchor + prior * (quadratic.whitened.T @ quadratic.gap), quadratic
    now, at = objective(center), center
    for _ in range(_NEWTON):
        quadratic = _observed(rows, at, anchor, held, parts, noise)
        goal = anchor + prior * (quadratic.whitened.T @ quadratic.gap)
        share, after, moved = 1.0, now, at
        for _ in range(_HALVINGS):
            moved = at + share * (goal - at)
            after = objective(moved)
            if after <= now:
                break
            share *= 0.5
        else:
            break
        gain, at, now = now - after, moved, after
        if gain <= 1e-7 * (1.0 + abs(now)):
            break
    return at, _observed(rows, at, anchor, held, parts, noise)


def _weighed(quadratic: _Quadratic, view: Prediction, part: slice, held: float) -> BandPosterior:
    """Return what became of each component of a band, the other bands integrated out.

    In a direction with information g a component N(m, t) leaves the gap r - g m the variance g + t g^2.
    """
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
    gaps = pull - (view.mean @ basis) * information
    t = view.variance[:, None]
    grown = 1.0 + t * information
    evidence = -0.5 * (np.log(grown) + np.square(gaps) / (information * grown)).sum(axis=1)
    logs = np.log(view.shares + 1e-300) + evidence
    shares = np.exp(logs - logs.max())
    shares /= shares.sum()
    mean = view.mean + (t * gaps / grown) @ basis.T
    variance = view.variance * (1.0 - (t * information / grown).sum(axis=1) / size)
    posterior = Mixture(shares=shares, mean=mean, variance=np.maximum(variance, 0.0))
    return BandPosterior(
        shares=shares,
        mean=mean,
        variance=posterior.variance,
        information=information,
        held=_equivalent(information, size, posterior.total),
    )


def _equivalent(information: FloatArray, size: int, left: float) -> float:
    """Return the prior variance that alone would have left what the mixture leaves, by bisection in its logarithm."""
    low, high = max(left, 1e-300), max(left, 1e-300) * 1e12
    for _ in range(_BISECTIONS):
        t = low**0.5 * high**0.5
        after = t * (1.0 - float((t * information / (1.0 + t * information)).sum()) / size)
        low, high = (t, high) if after <= left else (low, t)
    return high


def _accuracy(
    rows: WideRows,
    quadratic: _Quadratic,
    posteriors: tuple[BandPosterior, ...],
    parts: tuple[slice, ...],
    noise: float,
    upper: float,
) -> tuple[FloatArray, NoiseSums, float, float]:
    """Return the variances of bands, the sums of noise, the share of the largest row, and the mean bend.

    A row i left out is predicted with the error alpha_i / A_ii of variance 1 / A_ii, for A = S^-1 and alpha = A gap: its square in
    standard units says how noisy the row is. Rows that move the model most count most (the sandwich).
    """
    center = np.concatenate([posterior.center for posterior in posteriors])
    held = np.array([posterior.held for posterior in posteriors])
    final = _observed(rows, center, center, held, parts, upper)
    Y, prior = final.whitened, _each(held, parts)
    variance = np.maximum(prior - prior * prior * np.einsum("ij,ij->j", Y, Y), 0.0)
    variances = np.array([variance[part].mean() for part in parts])
    alpha, own = quadratic.left_out()
    standard = np.square(alpha) / own
    through = final.through(prior)
    moved = np.square(through)
    weight = moved.sum(axis=1) / final.bends
    added = _SHRUNK_ROWS * float(weight.mean())
    excess = (float(weight @ standard) + added) / max(float(weight.sum()) + added, 1e-300)
    by_noise = np.array([float((moved[:, part].mean(axis=1) / final.bends).sum()) for part in parts])
    variances = np.maximum(variances + upper * by_noise * (excess - 1.0), _LEAST_SHARE * variances)
    variances = variances * _beyond_design(final, _sizes(parts), variances)
    share = np.clip(own * noise / quadratic.bends, 1e-9, 1.0)
    each = noise * standard
    if rows.quadratic:
        losses = 0.5 * float(share @ each)
    else:
        losses = float(share @ rows.loss.curve.phi(rows.Z @ center, rows.y))
    sums = NoiseSums(
        rows=float(share.sum()), total=float(share @ each), squares=float(share @ np.square(each)), losses=losses
    )
    return variances, sums, float(each.max() / max(float(each.sum()), 1e-300)), float(final.bends.mean())

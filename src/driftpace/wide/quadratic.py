"""Rows as Gaussian observations of one direction of scores: the quadratic of their loss at a model, in the space of the rows."""

from dataclasses import dataclass

import numpy as np

from driftpace.typing import FloatArray


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Quadratic:
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


def observed(
    Z: FloatArray, bends: FloatArray, gap: FloatArray, anchor: FloatArray, prior: FloatArray, noise: float
) -> Quadratic:
    """Return rows with these second derivatives and gaps as observations; ``prior`` is the variance of each coordinate."""
    from scipy.linalg import lapack, solve_triangular  # slow to import, and not always needed

    noises = noise / bends
    rotation: FloatArray | None = None
    rest: FloatArray | None = None
    if len(Z) > Z.shape[1]:
        root = np.sqrt(noises)
        rotation, triangle = np.linalg.qr(Z / root[:, None])
        Z = np.asarray(triangle)
        whole = gap / root
        gap = rotation.T @ whole
        rest = whole - rotation @ gap
    scaled = Z * np.sqrt(prior)
    S = scaled @ scaled.T
    S.ravel()[:: len(S) + 1] += noises if rotation is None else 1.0
    factor, failed = lapack.dpotrf(S, lower=1)
    if failed:
        raise FloatingPointError("the rows overflow")
    solved = solve_triangular(factor, np.column_stack([Z, gap]), lower=True, check_finite=False)
    return Quadratic(
        whitened=solved[:, :-1],
        gap=solved[:, -1],
        anchor=anchor,
        noises=noises,
        bends=bends,
        factor=factor,
        rotation=rotation,
        rest=rest,
    )

"""Covariances of features, and Gaussian rows with a given condition number and random principal axes."""

from dataclasses import dataclass, field

import numpy as np

from driftpace import validation
from driftpace.errors import ParameterError
from driftpace.typing import FloatArray


def as_covariance(owner: str, covariance: FloatArray | float, features: int) -> FloatArray:
    """Return a positive definite matrix, read-only, or raise ParameterError.

    Examples
    --------
    >>> as_covariance("TwoClasses", 0.5, features=2)
    array([[0.5, 0. ],
           [0. , 0.5]])
    >>> as_covariance("TwoClasses", [[1.0, 2.0], [2.0, 1.0]], features=2)
    Traceback (most recent call last):
        ...
    driftpace.errors.ParameterError: TwoClasses(covariance=...) must be a positive number or a symmetric positive definite
    2 x 2 matrix; got [[1.0, 2.0], [2.0, 1.0]].
    """
    if isinstance(covariance, float | int):
        validation.positive(owner, covariance=covariance)
        matrix = float(covariance) * np.eye(features)
    else:
        matrix = np.array(covariance, dtype=np.float64)
        if not _positive_definite(matrix, features):
            raise ParameterError(
                f"must be a positive number or a symmetric positive definite "
                f"{features} x {features} matrix; got {matrix.tolist()!r}.",
                owner=owner,
                name="covariance",
            )
    matrix.setflags(write=False)
    return matrix


def _positive_definite(matrix: FloatArray, features: int) -> bool:
    if matrix.shape != (features, features) or not np.isfinite(matrix).all() or not np.allclose(matrix, matrix.T):
        return False
    return bool(np.linalg.eigvalsh(matrix)[0] > 0.0)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class EllipticRows:
    """x ~ N(0, S), S with eigenvalues spaced geometrically from 1 to ``condition`` along random axes.

    x = root'n with n standard normal and S = root'root, so x'w = n'z with z = root w: :meth:`whiten` takes coefficients w
    to z, :meth:`colour` takes z back. The axes are a function of the whole number ``rng`` alone.

    Examples
    --------
    >>> rows = EllipticRows(owner="ShapedRegression", features=3, condition=100.0, rng=0)
    >>> np.linalg.eigvalsh(rows.covariance)
    array([  1.,  10., 100.])
    """

    owner: str
    features: int
    condition: float
    rng: int
    root: FloatArray = field(init=False, repr=False)
    covariance: FloatArray = field(init=False, repr=False)
    _back: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        validation.count(self.owner, least=1, features=self.features)
        validation.positive(self.owner, condition=self.condition)
        validation.count(self.owner, rng=self.rng)
        if self.condition < 1.0 or (self.features == 1 and self.condition != 1.0):
            allowed = "1 where there is one feature" if self.features == 1 else "at least 1"
            raise ParameterError(f"{self.owner}(condition=...) must be {allowed}; got {self.condition!r}.")
        normal = np.random.default_rng([self.rng, 0]).standard_normal((self.features, self.features))
        q, r = np.linalg.qr(normal)
        axes = q * np.sign(np.diag(r))  # with these signs every rotation is equally likely
        lengths = np.sqrt(np.geomspace(1.0, self.condition, self.features))
        for name, matrix in {
            "root": lengths[:, None] * axes.T,
            "covariance": (axes * lengths**2) @ axes.T,
            "_back": axes / lengths,
        }.items():
            matrix.setflags(write=False)
            object.__setattr__(self, name, matrix)

    def whiten(self, coef: FloatArray) -> FloatArray:
        """Return root w for one model or a stack."""
        return coef @ self.root.T

    def colour(self, z: FloatArray) -> FloatArray:
        """Return the coefficients whose whitened form is z, for one model or a stack."""
        return z @ self._back.T

    def penalty(self, weights: FloatArray) -> FloatArray:
        """Return the matrix of w'diag(weights)w in whitened coordinates."""
        return (self._back.T * weights) @ self._back


def split_intercept(
    owner: str, features: int, coef: FloatArray, intercept: float | FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return coefficients and intercept of one model or a stack; a model one longer than the features ends in its intercept.

    Examples
    --------
    >>> split_intercept("ShapedRegression", 2, np.array([[1.0, 2.0, 0.5]]), 0.0)
    (array([[1., 2.]]), array([0.5]))
    """
    coef = np.asarray(coef, dtype=np.float64)
    if coef.ndim == 0 or coef.shape[-1] not in (features, features + 1):
        raise ParameterError(
            f"must end in {features} coefficients, or {features + 1} with an intercept last; got shape {coef.shape}.",
            owner=owner,
            name="coef",
        )
    own = coef[..., features] if coef.shape[-1] > features else np.zeros(coef.shape[:-1])
    return coef[..., :features], np.asarray(own + np.asarray(intercept, dtype=np.float64))

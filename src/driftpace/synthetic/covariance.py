"""The covariance of rows: a number for a multiple of the identity, or a matrix."""

import numpy as np

from driftpace import validation
from driftpace.errors import ParameterError
from driftpace.typing import FloatArray


def as_covariance(owner: str, covariance: FloatArray | float, features: int) -> FloatArray:
    """Return a positive definite matrix, read-only, or refuse it.

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

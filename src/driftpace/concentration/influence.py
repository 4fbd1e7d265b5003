"""How much each row moves a minimiser: the ingredients of a sandwich variance.

A minimiser of a mean of K losses with Hessian H moves by about -(1/K) H^-1 g_k because of row k. The rows fitted the
minimiser themselves, so their gradients g_k are too small; dividing by a power of one minus the leverage undoes that
(HC2: power 1/2, unbiased when the noise level is constant; HC3: power 1, at least the truth).
"""

import numpy as np

from driftpace.typing import FloatArray

_SINGULAR = 1e-6  # a column whose part outside the others is below this share of its length is one of them


def scaled_inverse(hessian: FloatArray) -> FloatArray | None:
    """Return the inverse of a symmetric positive definite matrix, or None where it has none that can be trusted.

    Columns are brought to the same scale first, so that features in different units do not make it look singular.

    >>> import numpy as np
    >>> scaled_inverse(np.array([[4e300, 0.0], [0.0, 1.0]]))
    array([[2.5e-301, 0.0e+000],
           [0.0e+000, 1.0e+000]])
    >>> scaled_inverse(np.array([[1.0, 1.0], [1.0, 1.0]])) is None
    True
    """
    diagonal = np.diag(hessian)
    if diagonal.size == 0 or not (np.isfinite(hessian).all() and (diagonal > 0.0).all()):
        return None
    scale = np.sqrt(diagonal)
    correlation = hessian / scale[:, None] / scale
    try:
        root = np.linalg.cholesky(correlation)
    except np.linalg.LinAlgError:
        return None
    if np.diag(root).min() < _SINGULAR:
        return None
    half = np.linalg.solve(root, np.diag(1.0 / scale))
    inverse: FloatArray = half.T @ half
    return inverse


def leverages(X: FloatArray, bends: FloatArray, inverse: FloatArray) -> FloatArray:
    """Return h_k = bend_k x_k' H^-1 x_k / K, the share of row k in its own fit; they sum to at most the features.

    >>> import numpy as np
    >>> leverages(np.array([[1.0], [1.0]]), np.ones(2), np.array([[1.0]]))
    array([0.5, 0.5])
    """
    found: FloatArray = bends * np.einsum("ki,ki->k", X @ inverse, X) / len(X)
    return np.clip(found, 0.0, 1.0)


def influences(gradients: FloatArray, shares: FloatArray, *, power: float) -> FloatArray:
    """Return (g_k - mean g) / (1 - h_k)^power; a row that fits itself entirely is left as it is.

    >>> import numpy as np
    >>> influences(np.array([[1.0], [-1.0]]), np.array([0.5, 0.5]), power=1.0)
    array([[ 2.],
           [-2.]])
    """
    left = np.where(shares < 1.0 - 1e-9, 1.0 - shares, 1.0)
    centred: FloatArray = gradients - gradients.mean(axis=0)
    return centred / (left**power)[:, None]

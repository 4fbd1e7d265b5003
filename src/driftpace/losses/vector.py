"""Losses of several linear scores: the algebra that they share.

A row x has the scores s = W'x, one for each of m outputs, with W of shape (features, outputs). Coefficients are passed as one
vector, W in rows, so that those of a column stand together and an intercept's come last. With the slope g(s, y), an m-vector,
and the bend M(s, y), a positive semidefinite (m, m) matrix, of each row,

    value     mean phi(s, y) + (l2/2) w'Pw
    gradient  mean x (x) g(s, y) + l2 Pw
    Hessian   mean xx' (x) M(s, y) + l2 P

where (x) is the Kronecker product.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from driftpace import validation
from driftpace.typing import FloatArray


@dataclass(frozen=True, kw_only=True, slots=True)
class VectorLoss(ABC):
    """Base class of losses phi(W'x, y) + (l2/2)||W||^2 of several linear scores.

    Parameters
    ----------
    l2 : float, default 0.0
        The weight of the penalty.
    unpenalised : int, default 0
        How many trailing coefficients the penalty leaves out: those of an intercept, one for each output.

    Examples
    --------
    >>> from driftpace.losses import SoftmaxLoss
    >>> loss = SoftmaxLoss(classes=3)
    >>> isinstance(loss, VectorLoss), loss.outputs
    (True, 2)
    """

    quadratic: ClassVar[bool] = False
    """Whether the loss of a row is a quadratic of its scores."""

    l2: float = 0.0
    unpenalised: int = 0

    def __post_init__(self) -> None:
        owner = type(self).__name__
        validation.nonnegative(owner, l2=self.l2)
        validation.count(owner, unpenalised=self.unpenalised)

    @property
    @abstractmethod
    def outputs(self) -> int:
        """The number of scores of a row."""

    @abstractmethod
    def with_outputs(self, outputs: int) -> Self:
        """Return the same loss for another number of scores."""

    @abstractmethod
    def phi(self, scores: FloatArray, y: FloatArray) -> FloatArray:
        """Return the loss of each row, given its scores (rows, outputs)."""

    @abstractmethod
    def slope(self, scores: FloatArray, y: FloatArray) -> FloatArray:
        """Return the derivative of each row's loss in its scores, (rows, outputs)."""

    @abstractmethod
    def bend(self, scores: FloatArray, y: FloatArray) -> FloatArray:
        """Return the second derivatives of each row's loss in its scores, (rows, outputs, outputs)."""

    @property
    @abstractmethod
    def curvature(self) -> float:
        """An upper bound of the eigenvalues of the bend."""

    @abstractmethod
    def encode(self, y: FloatArray) -> FloatArray:
        """Return targets as the loss computes with them, or raise DataError."""

    @abstractmethod
    def link(self, scores: FloatArray) -> FloatArray:
        """Return the predictions that scores (rows, outputs) stand for."""

    def probabilities(self, scores: FloatArray) -> FloatArray | None:
        """Return the probabilities of the classes, (rows, classes), or None where the loss does not estimate them."""
        del scores
        return None

    def matrix(self, coef: FloatArray) -> FloatArray:
        """Return coefficients as the matrix W, (features, outputs)."""
        return coef.reshape(-1, self.outputs)

    def scores(self, coef: FloatArray, X: FloatArray) -> FloatArray:
        """Return the scores of rows, (rows, outputs)."""
        return np.asarray(X @ self.matrix(coef))

    def output_scores(self, scores: FloatArray) -> FloatArray:
        """Return scores as a person reads them: those of the classes where the loss is one for classes."""
        return scores

    def output_matrix(self, coef: FloatArray) -> FloatArray:
        """Return coefficients as a person reads them, (classes or outputs, features)."""
        return self.output_scores(self.matrix(coef)).T

    def coefficients(self, matrix: FloatArray) -> FloatArray:
        """Return the coefficients that :meth:`output_matrix` shows as ``matrix``."""
        return np.asarray(matrix.T).ravel()

    def predict(self, coef: FloatArray, X: FloatArray) -> FloatArray:
        """Return the prediction for each row."""
        return self.link(self.scores(coef, X))

    def with_unpenalised(self, trailing: int) -> Self:
        """Return the same loss with ``trailing`` last coefficients left out of its penalty."""
        return replace(self, unpenalised=trailing)

    def penalty_weights(self, size: int) -> FloatArray:
        """Return the diagonal of the penalty's Hessian: l2, and zeros for the trailing unpenalised coefficients."""
        weights = np.full(size, float(self.l2))
        weights[max(size - self.unpenalised, 0) :] = 0.0
        return weights

    def row_values(self, coef: FloatArray, X: FloatArray, y: FloatArray) -> FloatArray:
        """Return the loss of each row."""
        return self.phi(self.scores(coef, X), y) + self._penalty(coef)

    def value(self, coef: FloatArray, X: FloatArray, y: FloatArray) -> float:
        """Return the mean loss."""
        return float(self.phi(self.scores(coef, X), y).sum()) / max(len(y), 1) + self._penalty(coef)

    def gradient(self, coef: FloatArray, X: FloatArray, y: FloatArray) -> FloatArray:
        """Return the gradient of the mean loss."""
        slopes = self.slope(self.scores(coef, X), y)
        return np.asarray((X.T @ slopes).ravel() / max(len(y), 1) + self.penalty_weights(coef.size) * coef)

    def row_gradients(self, coef: FloatArray, X: FloatArray, y: FloatArray) -> FloatArray:
        """Return the gradient of each row's loss, (rows, coefficients)."""
        return outer_rows(X, self.slope(self.scores(coef, X), y)) + self.penalty_weights(coef.size) * coef

    def hessian(self, coef: FloatArray, X: FloatArray, y: FloatArray) -> FloatArray:
        """Return the Hessian of the mean loss, exactly symmetric."""
        hessian = kronecker_sum(X, self.bend(self.scores(coef, X), y) / max(len(y), 1))
        hessian[np.diag_indices_from(hessian)] += self.penalty_weights(coef.size)
        return hessian

    def hessian_product(self, coef: FloatArray, X: FloatArray, y: FloatArray, direction: FloatArray) -> FloatArray:
        """Return the Hessian times a direction, without forming the Hessian."""
        along = np.einsum("iab,ib->ia", self.bend(self.scores(coef, X), y), self.scores(direction, X))
        return np.asarray((X.T @ along).ravel() / max(len(y), 1) + self.penalty_weights(coef.size) * direction)

    def row_smoothness(self, X: FloatArray) -> FloatArray:
        """Return for each row the Lipschitz constant of its gradient, for any coefficients: c||x||^2 + l2."""
        squares: FloatArray = np.einsum("ij,ij->i", X, X)
        return self.curvature * squares + self.l2

    def _penalty(self, coef: FloatArray) -> float:
        if self.l2 == 0.0:
            return 0.0
        penalised = coef[: max(coef.size - self.unpenalised, 0)]
        return 0.5 * self.l2 * float(penalised @ penalised)


def outer_rows(X: FloatArray, slopes: FloatArray) -> FloatArray:
    """Return the Kronecker product of each row with its slopes, (rows, features x outputs).

    >>> outer_rows(np.array([[1.0, 2.0]]), np.array([[3.0, 5.0]])).tolist()
    [[3.0, 5.0, 6.0, 10.0]]
    """
    return np.asarray((X[:, :, None] * slopes[:, None, :]).reshape(len(X), X.shape[1] * slopes.shape[1]))


def kronecker_sum(X: FloatArray, bends: FloatArray) -> FloatArray:
    """Return sum_i x_i x_i' (x) M_i, exactly symmetric, for rows x_i and matrices M_i (rows, outputs, outputs).

    >>> kronecker_sum(np.array([[1.0, 2.0]]), np.array([[[1.0, 3.0], [3.0, 4.0]]]))
    array([[ 1.,  3.,  2.,  6.],
           [ 3.,  4.,  6.,  8.],
           [ 2.,  6.,  4., 12.],
           [ 6.,  8., 12., 16.]])
    """
    features, outputs = X.shape[1], bends.shape[1]
    if features <= 2 * outputs:  # few columns: one product of all pairs of columns and of scores
        products = _pairs(X).T @ bends.reshape(len(X), outputs**2)
        size = features * outputs
        whole = products.reshape(features, features, outputs, outputs).transpose(0, 2, 1, 3).reshape(size, size)
        return np.asarray(0.5 * (whole + whole.T))
    total = np.empty((features, outputs, features, outputs))
    for one in range(outputs):
        for other in range(one + 1):
            block = X.T @ (bends[:, one, other, None] * X)
            block = 0.5 * (block + block.T)
            total[:, one, :, other] = block
            total[:, other, :, one] = block
    return total.reshape(features * outputs, features * outputs)


def kronecker_forms(X: FloatArray, matrix: FloatArray, outputs: int) -> FloatArray:
    """Return the (outputs, outputs) matrix (x_i (x) I)' A (x_i (x) I) of each row, for a matrix A of coefficients.

    >>> kronecker_forms(np.array([[1.0, 2.0]]), np.eye(4), 2).tolist()
    [[[5.0, 0.0], [0.0, 5.0]]]
    """
    features = X.shape[1]
    if features <= 2 * outputs:
        blocks = matrix.reshape(features, outputs, features, outputs).transpose(0, 2, 1, 3).reshape(features**2, -1)
        return np.asarray((_pairs(X) @ blocks).reshape(len(X), outputs, outputs))
    along = (X @ matrix.reshape(features, -1)).reshape(len(X), outputs, features, outputs)
    return np.asarray(np.einsum("iafb,if->iab", along, X, optimize=True))


def _pairs(X: FloatArray) -> FloatArray:
    """Return the products of all pairs of columns, (rows, columns x columns)."""
    return np.asarray((X[:, :, None] * X[:, None, :]).reshape(len(X), X.shape[1] ** 2))


def summed_over_outputs(matrix: FloatArray, outputs: int) -> FloatArray:
    """Return the sum over outputs of the blocks of a matrix of coefficients, (features, features).

    >>> summed_over_outputs(np.diag([1.0, 2.0, 3.0, 4.0]), 2).tolist()
    [[3.0, 0.0], [0.0, 7.0]]
    """
    features = len(matrix) // outputs
    return np.asarray(np.einsum("iaja->ij", matrix.reshape(features, outputs, features, outputs)))

"""The interface of a loss."""

from typing import Protocol, runtime_checkable

from driftpace.typing import FloatArray


@runtime_checkable
class Loss(Protocol):
    """A loss l(w, z) of rows z = (x, y), the penalty (l2/2)||w||^2 included in every method.

    ``X`` has shape (rows, features), ``y`` has shape (rows,) as :meth:`encode` returns it, and ``coef`` has shape
    (features,). Means are over rows. Methods mutate nothing and validate nothing: the tracker validates rows once.
    """

    @property
    def l2(self) -> float:
        """The weight of the penalty (l2/2)||w||^2."""
        ...

    @property
    def unpenalised(self) -> int:
        """How many trailing coefficients the penalty leaves out (1 for an intercept)."""
        ...

    def with_unpenalised(self, trailing: int) -> "Loss":
        """Return the same loss with ``trailing`` last coefficients left out of its penalty."""
        ...

    def encode(self, y: FloatArray) -> FloatArray:
        """Return targets as the loss computes with them, or raise DataError."""
        ...

    def predict(self, coef: FloatArray, X: FloatArray) -> FloatArray:
        """Return the prediction for each row: a number for regression, -1 or 1 for classification."""
        ...

    def row_values(self, coef: FloatArray, X: FloatArray, y: FloatArray) -> FloatArray:
        """Return the loss of each row."""
        ...

    def value(self, coef: FloatArray, X: FloatArray, y: FloatArray) -> float:
        """Return the mean loss."""
        ...

    def gradient(self, coef: FloatArray, X: FloatArray, y: FloatArray) -> FloatArray:
        """Return the gradient of the mean loss."""
        ...

    def row_gradients(self, coef: FloatArray, X: FloatArray, y: FloatArray) -> FloatArray:
        """Return the gradient of each row's loss, (rows, features)."""
        ...

    def hessian(self, coef: FloatArray, X: FloatArray, y: FloatArray) -> FloatArray:
        """Return the Hessian of the mean loss (a generalised one where the loss has kinks in its slope)."""
        ...

    def hessian_product(self, coef: FloatArray, X: FloatArray, y: FloatArray, direction: FloatArray) -> FloatArray:
        """Return the Hessian times a direction, without forming the Hessian."""
        ...

    def row_smoothness(self, X: FloatArray) -> FloatArray:
        """Return for each row the Lipschitz constant of its gradient, for any coefficients: c||x||^2 + l2."""
        ...

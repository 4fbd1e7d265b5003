"""The prequential U-statistic: how far the last model is from the new minimiser."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from driftpace.drift.one_step.protocol import Step
from driftpace.drift.one_step.reading import all_rows, strong_convexity
from driftpace.losses.protocol import Loss
from driftpace.records import Seen
from driftpace.typing import FloatArray


@dataclass(frozen=True, kw_only=True, slots=True)
class Trained:
    """Whether any model has been trained: before that, the start says nothing of drift."""

    trained: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Prequential:
    """U_i / m^2, an unbiased estimate of ||grad f_i(w_{i-1})||^2 / m^2 >= ||w_{i-1} - w_i*||^2 (theory 3.3 P).

    With g_k the gradient of row k of period i at the model before, which the row did not train,

        U_i = ||gbar||^2 - tr(S) / K = (1/(K(K-1))) sum_{j != k} <g_j, g_k>.

    It estimates the start distance that a bound wants, with no triangle inequality and no rho; equality holds when the
    curvature is the same in every direction (whitened features). It measures the distance under the accuracies of the past:
    combine it over a few recent periods, and start again after the target has changed. Two rows are needed. The
    first period with rows only trains a model. After a period without rows the distance has had longer to grow, and the
    value says so.

    >>> import numpy as np
    >>> squared_gradient(np.array([[3.0, 1.0], [1.0, 1.0]]))
    (4.0, 4.0)
    """

    squared: ClassVar[bool] = True
    measures: ClassVar[str] = "distance"
    correctable: ClassVar[bool] = False
    needs: ClassVar[tuple[str, ...]] = ("m",)
    held_out: ClassVar[float] = 0.0
    account: ClassVar[str] = "gradients of fresh rows at the last model, their noise subtracted"

    def least_rows(self, features: int) -> int:
        """Return 2."""
        del features
        return 2

    def init(self, features: int) -> Trained:
        """Return the state before the first period."""
        del features
        return Trained(trained=False)

    def measure(self, state: Trained, seen: Seen, loss: Loss) -> tuple[Trained, Step | None]:
        """Return the state after one more period, and U_i / m^2 where there was a model and two rows."""
        X, y = all_rows(seen)
        after = Trained(trained=state.trained or len(seen.y) > 0)
        if not state.trained or len(y) < 2:
            return after, None
        m = strong_convexity("Prequential", seen.constants)
        gradients = loss.row_gradients(seen.start, X, y)
        unit = float(np.abs(gradients).max()) or 1.0  # squares of gradients may overflow; those of distances do not
        value, error = squared_gradient(gradients / unit)
        scale = (unit / m) * (unit / m)
        return after, Step(value=value * scale, error=error * scale)


def squared_gradient(gradients: FloatArray) -> tuple[float, float]:
    """Return the unbiased estimate of ||grad f||^2 from the gradients of rows, and its standard error.

    The variance is 4 g'Sg/K + 2 tr(S^2)/(K(K-1)). Both terms are estimated without their upward bias:
    tr(S^2) - (tr S)^2/(K-1), rescaled, for tr(Sigma^2) (it is zero or more because S has rank at most K-1), and
    gbar'S gbar - tr(Sigma^2)/K for g'Sigma g. Costs O(rows features min(rows, features)).
    """
    rows, features = gradients.shape
    mean = gradients.mean(axis=0)
    centred = gradients - mean
    trace = float(np.einsum("ki,ki->", centred, centred)) / (rows - 1)
    value = float(mean @ mean) - trace / rows
    gram = centred.T @ centred if features <= rows else centred @ centred.T  # both have the same trace of their square
    squares = float(np.einsum("ij,ij->", gram, gram)) / (rows - 1) ** 2
    if rows > 2:
        squares = max(0.0, squares - trace * trace / (rows - 1)) * (rows - 1) ** 2 / ((rows - 2) * (rows + 1))
    along = centred @ mean
    drift = max(0.0, float(along @ along) / (rows - 1) - squares / rows)
    variance = 4.0 * drift / rows + 2.0 * squares / (rows * (rows - 1))
    return value, float(np.sqrt(variance))

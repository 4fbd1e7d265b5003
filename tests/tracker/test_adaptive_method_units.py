"""Units of the columns and of the target do not change the default tracker's mind."""

from functools import cache
from typing import Any

import numpy as np
import pytest

from driftpace import LogisticLoss, SmoothedHinge, SquaredLoss, Tracker
from driftpace.losses import Loss
from driftpace.typing import FloatArray
from tests.tracker.test_adaptive_method import TRUTH


def followed(
    change: Any, epsilon: float = 0.05, loss: Loss | None = None, **settings: Any
) -> tuple[list[Any], FloatArray]:
    """Samples, bounds over epsilon and scores on fixed rows, when X and y are passed through ``change``."""
    tracker = Tracker(SquaredLoss() if loss is None else loss, epsilon=epsilon, rng=0, **settings)
    rng, reported = np.random.default_rng(4), []
    probe = rng.standard_normal((6, 3))
    for index in range(5):

        def draw(count: int, index: int = index) -> tuple[FloatArray, FloatArray]:
            X = rng.standard_normal((count, 3))
            y = X @ TRUTH + 0.3 * index + rng.standard_normal(count)
            return change(X, y if loss is None else np.where(y > 0.0, 1.0, -1.0))  # type: ignore[no-any-return]

        report = tracker.step(draw)
        assert report.certificate is not None
        reported.append((report.samples, report.risk_bound / epsilon, report.certificate / epsilon))
    observed, _ = change(probe, np.zeros(6))
    return reported, observed @ tracker.coef + tracker.intercept


@cache
def unchanged(loss: Loss | None) -> Any:
    """What a loss gives in the original units, once for all the changes."""
    return followed(lambda X, y: (X, y), loss=loss)


SHIFT = np.array([5.0, -20.0, 0.1])
ROTATION = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]


@pytest.mark.parametrize("loss", [None, LogisticLoss(), SmoothedHinge()], ids=["squared", "logistic", "hinge"])
@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda X, y: (X * [1e6, 1.0, 1e-6], y), id="scaled"),
        pytest.param(lambda X, y: (X + SHIFT, y), id="shifted"),
        pytest.param(lambda X, y: (X @ ROTATION, y), id="rotated"),
        pytest.param(lambda X, y: (1e3 * X @ ROTATION + 50.0, y), id="all"),
    ],
)
def test_units_of_the_columns_do_not_matter(change: Any, loss: Loss | None) -> None:
    """Without a penalty the same rows in other units get the same answers, up to rounding and a ridge of 1e-9."""
    plain, scores = unchanged(loss)  # type: ignore[arg-type]
    other, same = followed(change, loss=loss)
    assert [each[0] for each in other] == [each[0] for each in plain]
    np.testing.assert_allclose(np.array(other), np.array(plain), rtol=2e-4)
    np.testing.assert_allclose(same, scores, rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("unit", [1e-6, 37.0, 1e8])
def test_units_of_the_target_do_not_matter(unit: float) -> None:
    """A target in other units with epsilon in their square: the same rows, bounds in the same proportion."""
    plain, scores = followed(lambda X, y: (X, y))
    other, scaled = followed(lambda X, y: (X, unit * y), epsilon=0.05 * unit**2)
    np.testing.assert_allclose(np.array(other), np.array(plain), rtol=1e-6)
    np.testing.assert_allclose(scaled / unit, scores, rtol=1e-6)

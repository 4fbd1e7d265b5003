"""Sums over rows are those of the loss, the intercept's column first."""

import numpy as np
import pytest

from driftpace.losses import HuberLoss, LinearLoss, LogisticLoss, SmoothedHinge, SquaredLoss
from tests.reference.looks import make_rows


@pytest.mark.parametrize("loss", [SquaredLoss(l2=0.2), HuberLoss(), LogisticLoss(l2=0.3), SmoothedHinge()], ids=repr)
def test_sums_are_the_means_of_the_loss_times_the_rows(loss: LinearLoss, rng: np.random.Generator) -> None:
    X = rng.standard_normal((12, 3))
    y = np.where(rng.random(12) < 0.5, -1.0, 1.0)
    rows = make_rows(X, y, intercept=True, loss=loss)
    w = rng.standard_normal(4)
    last, turned = np.roll(w, -1), np.column_stack([X, np.ones(12)])
    whole = loss.with_unpenalised(1)
    assert len(rows) == 12
    assert rows.quadratic == isinstance(loss, SquaredLoss)
    assert rows.value(w) == pytest.approx(12 * whole.value(last, turned, y))
    np.testing.assert_allclose(np.roll(rows.gradient(w), -1), 12 * whole.gradient(last, turned, y))
    hessian = rows.hessian_sum(w) + 12 * np.diag(rows.penalty)
    np.testing.assert_allclose(np.roll(hessian, -1, axis=(0, 1)), 12 * whole.hessian(last, turned, y), atol=1e-12)
    slopes = rows.slopes(w)
    each = rows.X * slopes[:, None]
    np.testing.assert_allclose(rows.outer_sum(slopes), each.T @ each)
    assert (rows.bends(w) >= 0.0).all()

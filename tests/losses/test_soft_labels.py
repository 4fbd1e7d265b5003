"""Means of classes: the loss of a row with several labels is the mean of the losses of its labels."""

import numpy as np
import pytest

from driftpace import LogisticLoss, SmoothedHinge
from driftpace.losses import LinearLoss


@pytest.mark.parametrize("loss", [LogisticLoss(l2=0.1), SmoothedHinge(l2=0.1)], ids=["logistic", "hinge"])
def test_the_loss_of_a_mean_is_the_mean_of_the_losses(loss: LinearLoss) -> None:
    rng = np.random.default_rng(0)
    X, w = rng.standard_normal((50, 3)), rng.standard_normal(3)
    labels = np.where(rng.random((50, 3)) < 0.4, 1.0, -1.0)
    mean = labels.mean(axis=1)
    for name in ("row_values", "row_gradients"):
        function = getattr(loss, name)
        each = np.mean([function(w, X, labels[:, place]) for place in range(3)], axis=0)
        assert function(w, X, mean) == pytest.approx(each, abs=1e-12)
    each = np.mean([loss.hessian(w, X, labels[:, place]) for place in range(3)], axis=0)
    assert loss.hessian(w, X, mean) == pytest.approx(each, abs=1e-12)

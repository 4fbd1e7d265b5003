"""Losses of linear models, with their gradients and Hessians, and the registry of their names."""

from typing import TYPE_CHECKING

from driftpace.lazy import lazy
from driftpace.losses.registry import (
    LossSpec,
    classifies,
    find_loss_spec,
    get_loss,
    loss_names,
    loss_spec,
    parse_loss,
    register_loss,
    unregister_loss,
)

if TYPE_CHECKING:
    from driftpace.losses.gamma import GammaLoss
    from driftpace.losses.hinge import SmoothedHinge
    from driftpace.losses.huber import HuberLoss
    from driftpace.losses.linear import Curve, LinearLoss
    from driftpace.losses.log_link import LogLinkLoss
    from driftpace.losses.logistic import LogisticLoss
    from driftpace.losses.multi_squared import MultiSquaredLoss
    from driftpace.losses.poisson import PoissonLoss
    from driftpace.losses.protocol import Loss
    from driftpace.losses.quantile import QuantileLoss
    from driftpace.losses.softmax import SoftmaxLoss
    from driftpace.losses.squared import SquaredLoss
    from driftpace.losses.tweedie import TweedieLoss
    from driftpace.losses.vector import VectorLoss

__all__ = [
    "Curve",
    "GammaLoss",
    "HuberLoss",
    "LinearLoss",
    "LogLinkLoss",
    "LogisticLoss",
    "Loss",
    "LossSpec",
    "MultiSquaredLoss",
    "PoissonLoss",
    "QuantileLoss",
    "SmoothedHinge",
    "SoftmaxLoss",
    "SquaredLoss",
    "TweedieLoss",
    "VectorLoss",
    "classifies",
    "find_loss_spec",
    "get_loss",
    "loss_names",
    "loss_spec",
    "parse_loss",
    "register_loss",
    "unregister_loss",
]

_MODULES = {
    "LogLinkLoss": "log_link",
    "TweedieLoss": "tweedie",
    "QuantileLoss": "quantile",
    "PoissonLoss": "poisson",
    "GammaLoss": "gamma",
    "Curve": "linear",
    "HuberLoss": "huber",
    "LinearLoss": "linear",
    "LogisticLoss": "logistic",
    "Loss": "protocol",
    "MultiSquaredLoss": "multi_squared",
    "SmoothedHinge": "hinge",
    "SoftmaxLoss": "softmax",
    "SquaredLoss": "squared",
    "VectorLoss": "vector",
}

if not TYPE_CHECKING:
    __getattr__ = lazy(__name__, _MODULES)

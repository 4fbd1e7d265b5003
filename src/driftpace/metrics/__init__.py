"""Metrics that people know, such as accuracy, AUC or R^2: their values on rows, and what a target in one of them needs."""

from driftpace.metrics.constant import ConstantModel, constant_model
from driftpace.metrics.estimation import Measurement, added_error, measure, quadratic_cost, score_directions
from driftpace.metrics.functions import (
    accuracy,
    auc,
    deviance_explained,
    log_loss,
    macro_f1,
    mae,
    pinball,
    r2,
    rmse,
    share_below,
)
from driftpace.metrics.registry import (
    Metric,
    evaluate,
    get_metric,
    metric_names,
    metrics_for,
    target_metrics,
)

__all__ = [
    "ConstantModel",
    "Measurement",
    "Metric",
    "accuracy",
    "added_error",
    "auc",
    "constant_model",
    "deviance_explained",
    "evaluate",
    "get_metric",
    "log_loss",
    "macro_f1",
    "mae",
    "measure",
    "metric_names",
    "metrics_for",
    "pinball",
    "quadratic_cost",
    "r2",
    "rmse",
    "score_directions",
    "share_below",
    "target_metrics",
]

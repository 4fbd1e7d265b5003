"""The metrics by name: in which direction they improve, which losses they fit, and their values for a loss."""

import math
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np

from driftpace.errors import ParameterError
from driftpace.losses import LinearLoss, LogLinkLoss, QuantileLoss, SoftmaxLoss, classifies
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
from driftpace.typing import FloatArray


@dataclass(frozen=True, kw_only=True, slots=True)
class Metric:
    """A metric of models.

    Parameters
    ----------
    name : str
        The name in arguments, files and on the command line.
    title : str
        The metric in words.
    higher : bool
        Whether larger values are better: a target is then ``at_least``, else ``at_most``.
    most : float, default inf
        What a target must be below; targets are above 0.
    target : bool, default True
        Whether a target can be given in it.
    relative : bool, default False
        Whether it is relative to a constant model.

    Examples
    --------
    >>> get_metric("accuracy").higher, get_metric("rmse").to_error(2.0), get_metric("rmse").from_error(4.0)
    (True, 4.0, 2.0)
    """

    name: str
    title: str
    higher: bool
    most: float = math.inf
    target: bool = True
    relative: bool = False

    @property
    def keyword(self) -> str:
        """The parameter that gives a target: ``at_least`` or ``at_most``."""
        return "at_least" if self.higher else "at_most"

    def to_error(self, value: float) -> float:
        """Return a value of the metric as an error, which is zero or more and smaller where the model is better."""
        return value * value if self.name == "rmse" else 1.0 - value if self.higher else value

    def from_error(self, error: float) -> float:
        """Return the value of the metric that an error stands for."""
        return math.sqrt(max(error, 0.0)) if self.name == "rmse" else 1.0 - error if self.higher else error

    def standard_error(self, error: float, deviation: float) -> float:
        """Return the standard error of the metric where that of the error is ``deviation``."""
        return 0.5 * deviation / math.sqrt(max(error, 1e-300)) if self.name == "rmse" else deviation


_METRICS = {
    metric.name: metric
    for metric in (
        Metric(name="accuracy", title="accuracy", higher=True, most=1.0),
        Metric(name="macro_f1", title="macro F1", higher=True, most=1.0, target=False),
        Metric(name="log_loss", title="log loss", higher=False),
        Metric(name="auc", title="AUC", higher=True, most=1.0),
        Metric(name="deviance_explained", title="deviance explained", higher=True, most=1.0, relative=True),
        Metric(name="r2", title="R^2", higher=True, most=1.0, relative=True),
        Metric(name="mae", title="MAE", higher=False),
        Metric(name="rmse", title="RMSE", higher=False),
        Metric(name="pinball", title="pinball loss", higher=False),
        Metric(name="share_below", title="share below", higher=False, most=1.0, target=False),
    )
}


def get_metric(name: str, *, owner: str = "get_metric") -> Metric:
    """Return the metric of that name.

    Raises
    ------
    ParameterError
        If there is none.

    Examples
    --------
    >>> get_metric("auc").title
    'AUC'
    >>> get_metric("accurate")
    Traceback (most recent call last):
        ...
    driftpace.errors.ParameterError: get_metric(metric=...) must be the name of a metric; did you mean 'accuracy'?
    """
    if not isinstance(name, str) or name not in _METRICS:
        near = get_close_matches(str(name), _METRICS, n=1)
        problem = f"must be one of {', '.join(map(repr, _METRICS))}; got {name!r}."
        if near:
            problem = f"must be the name of a metric; did you mean {near[0]!r}?"
        raise ParameterError(problem, owner=owner, name="metric")
    return _METRICS[name]


def metric_names(*, targets: bool = False) -> tuple[str, ...]:
    """Return the names of all metrics, or of those in which ``targets`` can be given.

    >>> metric_names(targets=True)
    ('accuracy', 'log_loss', 'auc', 'deviance_explained', 'r2', 'mae', 'rmse', 'pinball')
    """
    return tuple(metric.name for metric in _METRICS.values() if metric.target or not targets)


def target_metrics(loss: Any) -> tuple[str, ...]:
    """Return the metrics in which a target can be given for models of a loss: those of its reports, but for macro F1.

    >>> from driftpace.losses import LogisticLoss, PoissonLoss, SquaredLoss
    >>> target_metrics(LogisticLoss()), target_metrics(SquaredLoss())
    (('accuracy', 'log_loss', 'auc', 'deviance_explained'), ('r2', 'mae', 'rmse'))
    >>> target_metrics(PoissonLoss()), target_metrics(QuantileLoss(tau=0.9))
    (('deviance_explained', 'mae', 'rmse'), ('pinball',))
    """
    if not isinstance(loss, LinearLoss | SoftmaxLoss):
        return ()
    known = isinstance(loss, SoftmaxLoss | LogLinkLoss) or classifies(loss)
    if not known and not np.array_equal(loss.link(np.array([-1.5, 2.0])), [-1.5, 2.0]):
        return ()
    return tuple(name for name in metrics_for(loss) if _METRICS[name].target)


def metrics_for(loss: Any, *, classes: bool | None = None) -> tuple[str, ...]:
    """Return the metrics that reports show for a loss, besides the loss itself.

    >>> from driftpace.losses import PoissonLoss, QuantileLoss, SmoothedHinge
    >>> metrics_for(SmoothedHinge()), metrics_for(PoissonLoss()), metrics_for(QuantileLoss(tau=0.9))
    (('accuracy', 'macro_f1', 'auc'), ('deviance_explained', 'mae', 'rmse'), ('pinball', 'share_below'))
    """
    if isinstance(loss, SoftmaxLoss):
        return ("accuracy", "macro_f1", "log_loss", "auc", "deviance_explained")
    if isinstance(loss, LogLinkLoss):
        return ("deviance_explained", "mae", "rmse")
    if isinstance(loss, QuantileLoss):
        return ("pinball", "share_below")
    if not (classifies(loss) if classes is None else classes):
        return ("r2", "mae", "rmse")
    probabilities = getattr(loss, "probabilities", None)
    if probabilities is not None and probabilities(np.zeros(1)) is not None:
        return ("accuracy", "macro_f1", "log_loss", "auc", "deviance_explained")
    return ("accuracy", "macro_f1", "auc")


def evaluate(loss: Any, y: FloatArray, scores: FloatArray, weights: FloatArray | None = None) -> dict[str, float]:
    """Return the metrics of a model of a loss on rows.

    Parameters
    ----------
    loss : Loss
        The loss: its link turns scores into predictions, and into probabilities where it estimates them.
    y : array of shape (rows,)
        Encoded targets: numbers, -1 and 1, or the numbers of several classes.
    scores : array of shape (rows,) or (rows, outputs)
        The scores x'w.
    weights : array of shape (rows,), optional
        What each row counts for.

    Examples
    --------
    >>> from driftpace.losses import LogisticLoss
    >>> found = evaluate(LogisticLoss(), np.array([-1.0, 1.0, 1.0]), np.array([-2.0, 1.0, -1.0]))
    >>> {name: round(value, 3) for name, value in found.items()}  # doctest: +NORMALIZE_WHITESPACE
    {'accuracy': 0.667, 'macro_f1': 0.667, 'log_loss': 0.584, 'auc': 1.0, 'deviance_explained': 0.082}
    """
    if isinstance(loss, LogLinkLoss):
        return _of_means(loss, y, scores, weights)
    if isinstance(loss, QuantileLoss):
        share = share_below(y, scores, weights)
        return {"pinball": pinball(y, scores, loss.tau, weights), "share_below": share}
    if scores.ndim == 1 and not classifies(loss):
        predicted = loss.link(scores)
        return {metric.__name__: metric(y, predicted, weights) for metric in (r2, mae, rmse)}
    if scores.ndim == 1:  # the mean of several labels counts as the class of most
        y = np.where(y > 0.0, 1.0, -1.0)
    probabilities = loss.probabilities(scores)
    predicted = loss.link(scores)
    found = {"accuracy": accuracy(y, predicted, weights), "macro_f1": macro_f1(y, predicted, weights)}
    if probabilities is not None:
        found["log_loss"] = log_loss(y, probabilities, weights)
    found["auc"] = auc(y, scores if probabilities is None or scores.ndim == 1 else probabilities, weights)
    if probabilities is not None:
        found["deviance_explained"] = deviance_explained(found["log_loss"], _entropy(y, weights))
    return found


def _of_means(loss: LogLinkLoss, y: FloatArray, scores: FloatArray, weights: FloatArray | None) -> dict[str, float]:
    """Return the metrics of a model of counts or amounts; the deviance is compared with that of the mean of the rows."""
    predicted, level = loss.link(scores), loss.constant_score(y, weights)
    own, constant = (
        float(np.average(loss.curve.phi(each, y), weights=weights)) if len(y) else math.nan
        for each in (scores, np.full(len(y), level))
    )
    explained = deviance_explained(own, constant) if y.any() else math.nan
    return {
        "deviance_explained": explained,
        "mae": mae(y, predicted, weights),
        "rmse": rmse(y, predicted, weights),
    }


def _entropy(y: FloatArray, weights: FloatArray | None) -> float:
    """Return the log loss of the shares of the classes."""
    _, of_row = np.unique(y, return_inverse=True)
    shares = np.bincount(of_row, weights) / (len(y) if weights is None else float(weights.sum()))
    shares = shares[shares > 0.0]
    return float(-shares @ np.log(shares))

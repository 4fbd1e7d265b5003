"""How much of the noise of labels is the annotators', from rows that several of them labelled.

A label is y = x'w + e + a: e, of variance sigma^2, is the row's own, and a, of variance tau^2, that of the label. For other losses
the slope of the loss in the score takes the place of the residual, so that both are shares of what makes the model uncertain.
Labels of one row share e: their variance about their mean is tau^2, and the mean square of residuals is sigma^2 + tau^2.
With r labels a row, a row has noise sigma^2 + tau^2/r and costs c_x + r c_a; the same precision needs rows in proportion to the
noise, so that the least money is spent at r near sqrt(tau^2 c_x/(sigma^2 c_a)).
"""

import math
from collections.abc import Sequence

import numpy as np

from driftpace.adaptive.coordinates import with_diagonal
from driftpace.adaptive.fit import AdaptiveFit, solved
from driftpace.adaptive.rows import DesignRows
from driftpace.losses import LinearLoss, classifies
from driftpace.records import AnnotatorBias, AnnotatorReport, AnnotatorSums, LabelSums
from driftpace.typing import FloatArray, IntArray

LEAST_ROWS = 5
"""Rows with more than one label from which the share of the annotators is estimated, and labels from which a bias is."""

MOST_LABELS = 100
"""The most labels a row that are ever advised."""

_LEVERAGE = 0.98
_LEVEL = 0.95


def leverages(rows: DesignRows, fit: AdaptiveFit) -> FloatArray:
    """Return how far each row pulls the model towards its own label, between 0 and 1."""
    assert fit.whitened is not None, "rows with annotators have one score"
    bends = rows.bends(fit.model)
    hessian = (fit.whitened.T * bends) @ fit.whitened
    inverse = solved(with_diagonal(hessian, fit.strength), np.eye(len(hessian)))
    reach = np.einsum("ij,jk,ik->i", fit.whitened, inverse, fit.whitened)
    return np.asarray(np.minimum(reach * bends, _LEVERAGE))


def label_sums(
    rows: DesignRows, model: FloatArray, leverage: FloatArray, y: FloatArray, of_row: IntArray, names: Sequence[str]
) -> LabelSums:
    """Return the sums over rows with annotators; label l, ``y[l]``, is that of row ``of_row[l]`` by ``names[l]``."""
    places, of_row = np.unique(of_row, return_inverse=True)
    count = np.bincount(of_row)
    scores = (rows.X[places] @ model)[of_row]
    assert isinstance(rows.loss, LinearLoss)
    slopes = rows.loss.curve.slope(scores, y)
    mean = np.bincount(of_row, slopes) / count
    within = np.where(count > 1, np.bincount(of_row, np.square(slopes - mean[of_row])), 0.0)
    total = np.square(mean) / (1.0 - leverage[places]) + within / count
    free = count - 1.0
    classes = classifies(rows.loss)
    values = 0.5 * (1.0 + y) if classes else y
    means = np.bincount(of_row, values) / count
    several = count > 1
    return LabelSums(
        classes=classes,
        rows=len(count),
        labels=len(y),
        repeated=int(several.sum()),
        freedom=float(free.sum()),
        freedom_squares=float(free @ free),
        within=float(within.sum()),
        within_squares=float(within @ within),
        within_freedom=float(within @ free),
        total=float(total.sum()),
        total_squares=float(total @ total),
        within_total=float(within @ total),
        freedom_total=float(free @ total),
        disagreement=float((2.0 * means * (1.0 - means) * count / np.maximum(free, 1.0))[several].sum())
        if classes
        else 0.0,
        positives=float((means * count)[several].sum()) if classes else 0.0,
        votes=int(count[several].sum()),
        annotators=_each_annotator(values, count[of_row], means[of_row], names),
    )


def _each_annotator(
    values: FloatArray, count: IntArray, means: FloatArray, names: Sequence[str]
) -> tuple[AnnotatorSums, ...]:
    """Return the sums of each annotator; the mean of the others on a row is that of all without the annotator's own label."""
    known, of_label = np.unique(np.array(names, dtype=np.str_), return_inverse=True)
    others = count > 1
    apart = np.where(others, (values - means) * count / np.maximum(count - 1.0, 1.0), 0.0)
    labels, compared = np.bincount(of_label), np.bincount(of_label, others)
    difference, squares = np.bincount(of_label, apart), np.bincount(of_label, np.square(apart))
    return tuple(
        AnnotatorSums(
            name=str(name),
            labels=int(labels[place]),
            compared=int(compared[place]),
            difference=float(difference[place]),
            squares=float(squares[place]),
        )
        for place, name in enumerate(known)
    )


def summarise_labels(sums: LabelSums, *, row_cost: float = 1.0, label_cost: float = 1.0) -> AnnotatorReport:
    """Return how much of the noise is the annotators', and how many labels a row to buy.

    Parameters
    ----------
    sums : LabelSums
        Those of all periods.
    row_cost, label_cost : float
        The price of one more row, without its label, and of one more label.

    Returns
    -------
    AnnotatorReport
    """
    report = AnnotatorReport(
        rows=sums.rows, labels=sums.labels, repeated=sums.repeated, annotators=_biases(sums.annotators)
    )
    if sums.repeated < LEAST_ROWS or sums.total <= 0.0:
        return report
    share, interval = _share(sums)
    best, plausible = (
        best_labels(share, row_cost, label_cost),
        (best_labels(interval[0], row_cost, label_cost), best_labels(interval[1], row_cost, label_cost)),
    )
    once = price(share, 1, row_cost, label_cost)
    disagreement = sums.disagreement / sums.repeated if sums.classes else None
    return AnnotatorReport(
        rows=sums.rows,
        labels=sums.labels,
        repeated=sums.repeated,
        share=share,
        interval=interval,
        spread=None if sums.classes else math.sqrt(sums.within / sums.freedom),
        disagreement=disagreement,
        kappa=None if disagreement is None else _kappa(disagreement, sums.positives / sums.votes),
        annotators=report.annotators,
        labels_per_row=best,
        plausible=plausible,
        saving=1.0 - price(share, best, row_cost, label_cost) / once if once > 0.0 else 0.0,
    )


def price(share: float, labels: int, row_cost: float, label_cost: float) -> float:
    """Return the money for one unit of precision with so many labels a row, up to a factor."""
    return (1.0 - share + share / labels) * (row_cost + labels * label_cost)


def best_labels(share: float, row_cost: float, label_cost: float) -> int:
    """Return the number of labels a row that needs the least money.

    >>> best_labels(0.62, 1.0, 1.0), best_labels(0.9, 1.0, 1.0), best_labels(0.5, 20.0, 1.0), best_labels(0.5, 0.0, 1.0)
    (1, 3, 4, 1)
    """
    if share >= 1.0:
        near = float(MOST_LABELS)
    else:
        near = math.sqrt(share * row_cost / ((1.0 - share) * label_cost))
    near = int(min(max(near, 1.0), MOST_LABELS))
    return min((near, min(near + 1, MOST_LABELS)), key=lambda labels: price(share, labels, row_cost, label_cost))


def _share(sums: LabelSums) -> tuple[float, tuple[float, float]]:
    """Return tau^2/(sigma^2 + tau^2) with its interval, from the influence of each row on its logarithm (the delta method)."""
    from scipy.special import stdtrit  # slow to import, and not always needed

    rows, mean = sums.rows, sums.total / sums.rows
    noise = sums.within / sums.freedom
    if noise <= 0.0:
        rate = 1.0 - (1.0 - _LEVEL) ** (1.0 / sums.repeated)  # of rows on which labels differ, at most
        return 0.0, (0.0, min(0.5 * rate / mean if sums.classes else rate, 1.0))
    ratio = noise / mean
    own = sums.within_squares - 2.0 * noise * sums.within_freedom + noise**2 * sums.freedom_squares
    both = sums.within_total - noise * sums.freedom_total
    all_rows = sums.total_squares - rows * mean**2
    own *= sums.repeated / (sums.repeated - 1.0) / (noise * sums.freedom) ** 2
    if (
        not sums.classes
    ):  # few rows hide the tails of squares, which of numbers are at least those of a normal distribution
        own = max(own, 2.0 / sums.freedom)
    variance = own - 2.0 * both / (noise * sums.freedom * mean * rows) + all_rows / (mean * rows) ** 2
    width = float(stdtrit(sums.repeated - 1.0, 0.5 + 0.5 * _LEVEL)) * math.sqrt(max(variance, 0.0))
    low, high = ratio * math.exp(-width), ratio * math.exp(min(width, 50.0))
    return min(ratio, 1.0), (min(low, 1.0), min(high, 1.0))


def _kappa(disagreement: float, positives: float) -> float | None:
    """Return the agreement beyond that of labels given at random with the same shares; None where all are of one class."""
    chance = 2.0 * positives * (1.0 - positives)
    return 1.0 - disagreement / chance if chance > 0.0 else None


def _biases(annotators: Sequence[AnnotatorSums]) -> tuple[AnnotatorBias, ...]:
    """Return the mean difference of each annotator from the others, with intervals that hold for all of them together."""
    from scipy.special import stdtrit  # slow to import, and not always needed

    tested = sum(one.compared >= LEAST_ROWS for one in annotators)
    found = []
    for one in annotators:
        bias = interval = None
        if one.compared >= LEAST_ROWS:
            bias = one.difference / one.compared
            variance = max(one.squares - one.compared * bias**2, 0.0) / (one.compared - 1.0)
            level = 1.0 - 0.5 * (1.0 - _LEVEL) / tested
            width = float(stdtrit(one.compared - 1.0, level)) * math.sqrt(variance / one.compared)
            interval = (bias - width, bias + width)
        found.append(
            AnnotatorBias(name=one.name, labels=one.labels, compared=one.compared, bias=bias, interval=interval)
        )
    return tuple(found)

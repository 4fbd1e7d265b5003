"""The cross-entropy of several classes: multinomial logistic regression."""

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from driftpace import validation
from driftpace.losses.targets import encode_codes
from driftpace.losses.vector import VectorLoss
from driftpace.typing import FloatArray

MOST_CLASSES = 1000
_BLOCK = 30_000


def helmert(classes: int) -> FloatArray:
    """Return the orthonormal Helmert contrasts Q of classes, (classes, classes - 1): Q'1 = 0 and Q'Q = I.

    Contrast k compares the mean of the first k classes with class k + 1, so that those of fewer classes stay what they are when a
    class is added.

    >>> helmert(3).round(3).tolist()
    [[0.707, 0.408], [-0.707, 0.408], [0.0, -0.816]]
    """
    contrasts = np.zeros((classes, classes - 1))
    for place in range(1, classes):
        contrasts[:place, place - 1] = 1.0
        contrasts[place, place - 1] = -place
    return np.asarray(contrasts / np.sqrt(np.square(contrasts).sum(axis=0)))


@dataclass(frozen=True, kw_only=True, slots=True)
class SoftmaxLoss(VectorLoss):
    """Classify into any number of classes by the cross-entropy of softmax probabilities, + (l2/2)||W||^2.

    A row has C - 1 scores s, and its classes the scores Qs, with the Helmert contrasts Q: scores that add up to the same for every
    class change nothing, and are left out. Targets are the numbers 0 to C - 1 of the classes; a tracker numbers labels by itself.

    Parameters
    ----------
    l2 : float, default 0.0
        The weight of the penalty (l2/2)||W||^2 on the coefficients of the class scores.
    unpenalised : int, default 0
        How many trailing coefficients the penalty leaves out.
    classes : int, optional
        The number of classes; without it a tracker takes the classes as they appear.

    Examples
    --------
    >>> loss = SoftmaxLoss(classes=3)
    >>> loss.probabilities(np.zeros((1, 2))).round(3).tolist()
    [[0.333, 0.333, 0.333]]
    >>> round(float(loss.phi(np.zeros((1, 2)), np.array([2.0]))[0]), 4)  # log(3)
    1.0986
    """

    soft_labels: ClassVar[bool] = False

    classes: int | None = None

    def __post_init__(self) -> None:
        VectorLoss.__post_init__(self)
        if self.classes is not None:
            validation.count("SoftmaxLoss", least=2, at_most=MOST_CLASSES, classes=self.classes)

    @property
    def outputs(self) -> int:
        """The number of scores: one fewer than there are classes."""
        return (2 if self.classes is None else self.classes) - 1

    def with_outputs(self, outputs: int) -> Self:
        """Return the same loss for one class more than that."""
        return replace(self, classes=outputs + 1)

    @property
    def curvature(self) -> float:
        """At most 1/2, the largest eigenvalue of diag(p) - pp'."""
        return 0.5

    def output_scores(self, scores: FloatArray) -> FloatArray:
        """Return the scores of the classes, (rows, classes), which add up to zero."""
        return np.asarray(scores @ helmert(scores.shape[1] + 1).T)

    def coefficients(self, matrix: FloatArray) -> FloatArray:
        """Return the coefficients whose classes have the scores of ``matrix``, (classes, features), up to a common part.

        >>> loss, coef = SoftmaxLoss(classes=3), np.array([1.0, 2.0, 3.0, 4.0])
        >>> loss.coefficients(loss.output_matrix(coef)).round(12).tolist()
        [1.0, 2.0, 3.0, 4.0]
        """
        return np.asarray(matrix.T @ helmert(len(matrix))).ravel()

    def phi(self, scores: FloatArray, y: FloatArray) -> FloatArray:
        """Return log sum_c e^(s_c) - s_y of each row."""
        each = self.output_scores(scores)
        each -= each.max(axis=1, keepdims=True)
        return np.asarray(np.log(np.exp(each).sum(axis=1)) - each[np.arange(len(each)), y.astype(np.int64)])

    def slope(self, scores: FloatArray, y: FloatArray) -> FloatArray:
        """Return Q'(p - e_y) of each row."""
        probabilities = self.probabilities(scores)
        probabilities[np.arange(len(probabilities)), y.astype(np.int64)] -= 1.0
        return np.asarray(probabilities @ helmert(scores.shape[1] + 1))

    def bend(self, scores: FloatArray, y: FloatArray) -> FloatArray:
        """Return Q'(diag(p) - pp')Q of each row.

        Contrast b is one number where an earlier contrast a is not zero, so Q'diag(p)Q has that number times (Q'p)_a beside its
        diagonal, and no product of three arrays is needed.
        """
        del y
        contrasts = helmert(scores.shape[1] + 1)
        probabilities = self.probabilities(scores)
        mean = probabilities @ contrasts
        places = np.arange(scores.shape[1])
        later, left = places[:, None] < places, contrasts[0] - mean
        bends = np.empty((*scores.shape, scores.shape[1]))
        each = max(_BLOCK // max(bends[:1].size, 1), 1)
        for first in range(0, len(scores), each):  # some rows at a time stay in the cache
            chosen = slice(first, first + each)
            above = mean[chosen, :, None] * left[chosen, None, :]
            np.copyto(bends[chosen], np.where(later, above, above.transpose(0, 2, 1)))
        bends[:, places, places] = probabilities @ np.square(contrasts) - np.square(mean)
        return bends

    def encode(self, y: FloatArray) -> FloatArray:
        """Return the numbers of classes as floats, or raise DataError."""
        return encode_codes("SoftmaxLoss", y, MOST_CLASSES if self.classes is None else self.classes)

    def link(self, scores: FloatArray) -> FloatArray:
        """Return the number of the most probable class of each row, the first of several."""
        return np.asarray(self.output_scores(scores).argmax(axis=1), dtype=np.float64)

    def probabilities(self, scores: FloatArray) -> FloatArray:
        """Return the probabilities of the classes, (rows, classes)."""
        each = self.output_scores(scores)
        each -= each.max(axis=1, keepdims=True)
        powers = np.exp(each)
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))

"""Compiled loops of the learners; import them inside functions, because importing them imports the compiler.

Each pass is projected SGD, w <- Pi(w - mu_k g_k), over the rows in their order, with the requested average. The
passes differ in the rows and sets they are made for, and share one list of arguments:

=================  ===================================================================================================
X, y               the rows
coef               in: the start; out: the result
work               zeros to work with, as many as :func:`work_space` returns
loss, shape        which curve, by its ``code``, and the number that sets its form
l2, free           the penalty (l2/2)||w||^2, which leaves the trailing ``free`` coefficients alone
radius             coefficients stay within this distance of the origin (infinite: anywhere)
scale, grow, shift the step mu_k = scale / (grow k + shift) of update k = 1, 2, ...; ``grow`` 0 makes it constant
steps              the steps themselves, used in place of the formula when there are any
first              the update from which iterates are averaged, counted from 0
share              one over the sum of their weights; 0: no average is asked for, return the last iterate
tilt, level        the weight tilt k + level of the iterate before update k = 0, 1, ... in the average
=================  ===================================================================================================

The average is over the iterates at which gradients were taken, the start among them and the last iterate not: the
bounds are about those (theory 1.2, 1.3).
"""

AHEAD_FEATURES = 16
GRAM_FEATURES = 1000


def work_space(features: int) -> int:
    """Return how many zeros any of the passes needs to work with."""
    return max(2 * features, features + 8, 2 * AHEAD_FEATURES)

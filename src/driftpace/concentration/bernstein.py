"""Radii of Bernstein's kind: a variance term that falls as 1/sqrt(n) and a range term that falls as 1/n."""

import math

from driftpace import require


def empirical_bernstein_radius(*, variance: float, width: float, count: int, delta: float) -> float:
    """Return r such that a mean of ``count`` independent values errs by more than r with probability at most ``delta``.

    r = sqrt(2 V log(3/delta) / n) + 3 width log(3/delta) / n (theory 3.1), where V is the variance as measured (1/n) and
    the values lie in an interval of length ``width``. Nothing else is assumed, so the radius is wide for small counts.

    >>> empirical_bernstein_radius(variance=0.04, width=1.0, count=1000, delta=0.05)
    0.0303
    """
    owner = "empirical_bernstein_radius"
    require.nonnegative(owner, variance=variance, width=width)
    require.count(owner, least=1, count=count)
    require.fraction(owner, delta=delta)
    logarithm = math.log(3.0 / delta)
    return math.sqrt(2.0 * variance * logarithm / count) + 3.0 * width * logarithm / count


def matrix_bernstein_radius(*, variance: float, limit: float, count: int, features: int, delta: float) -> float:
    """Return r such that a mean of ``count`` random matrices errs by more than r in norm with probability at most delta.

    r = sqrt(2 v log(2d/delta) / n) + 2 L log(2d/delta) / (3n) (theory 2, row m): v is the norm of E(H_z - H)^2 and L a
    limit on the norm of H_z - H. Every eigenvalue of the mean is then within r of that of H.

    >>> matrix_bernstein_radius(variance=4.0, limit=10.0, count=1000, features=2, delta=0.05)
    0.2164
    """
    owner = "matrix_bernstein_radius"
    require.nonnegative(owner, variance=variance, limit=limit)
    require.count(owner, least=1, count=count, features=features)
    require.fraction(owner, delta=delta)
    logarithm = math.log(2.0 * features / delta)
    return math.sqrt(2.0 * variance * logarithm / count) + 2.0 * limit * logarithm / (3.0 * count)

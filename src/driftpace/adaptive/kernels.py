"""Compiled loops of the look at a period and of the sizing.

They fill arrays that the caller made, and have no array expressions: both take long to compile.
"""

import math

from driftpace.compiled import compiled
from driftpace.typing import FloatArray

_BISECTIONS = 60


@compiled()
def mixture_moments(
    shares: FloatArray, means: FloatArray, variances: FloatArray, center: FloatArray, each: FloatArray
) -> float:
    """Fill in the mean c = sum_j w_j m_j of a mixture and e_j = v_j + |m_j - c|^2/d, and return its variance sum_j w_j e_j."""
    models, size = means.shape
    for place in range(size):
        center[place] = 0.0
    for model in range(models):
        for place in range(size):
            center[place] += shares[model] * means[model, place]
    total = 0.0
    for model in range(models):
        squared = 0.0
        for place in range(size):
            squared += (means[model, place] - center[place]) ** 2
        each[model] = variances[model] + squared / size
        total += shares[model] * each[model]
    return total


@compiled()
def share_quantile(values: FloatArray, shares: FloatArray, level: float) -> float:
    """Return the least value that at least ``level`` of the shares do not exceed."""
    least = math.inf
    for value in values:
        below = 0.0
        if value < least:
            for model in range(len(values)):
                if values[model] <= value:
                    below += shares[model]
            if below >= level * (1.0 - 1e-12):
                least = value
    return least


@compiled()
def weigh(
    information: FloatArray,
    pull: FloatArray,
    means: FloatArray,
    variances: FloatArray,
    shares: FloatArray,
    noise: float,
    least: float,
    left: FloatArray,
) -> None:
    """Turn the components of a prediction into what the rows leave of them, in place; ``left`` are their variances.

    In the eigenbasis of the rows' Hessian, with eigenvalues g, the ``pull`` is r = g u* + N(0, s^2 g). A component
    u* ~ N(m, t) then has the likelihood N(r - g m; 0, s^2 g + t g^2) in each direction that is seen (g above ``least``), the mean
    m + t (r - g m)/(s^2 + t g) and the variance s^2 t/(s^2 + t g).
    """
    models, size = means.shape
    most = -math.inf
    for model in range(models):
        variance, grown, terms, total = variances[model], 1.0, 0.0, 0.0
        for place in range(size):
            value = information[place]
            gap = pull[place] - means[model, place] * value
            spread = noise + variance * value
            grown *= spread / noise
            if grown > 1e100:
                terms += math.log(grown)
                grown = 1.0
            if value > least:
                terms += gap * gap / (value * spread)
            means[model, place] += variance * gap / spread
            total += noise * variance / spread
        left[model] = total / size
        shares[model] = math.log(shares[model] + 1e-300) - 0.5 * (terms + math.log(grown))
        most = max(most, shares[model])
    total = 0.0
    for model in range(models):
        shares[model] = math.exp(shares[model] - most)
        total += shares[model]
    for model in range(models):
        shares[model] /= total


@compiled()
def neighbour_products(
    gradients: FloatArray, mean: FloatArray, weights: FloatArray, first: int, last: int, sums: FloatArray
) -> None:
    """Fill in sums over rows i of p_i, p_i^2 and |g_i|^2 for p_i = g_i'(c_1 g_(i-1) + c_2 g_(i-2) + ...), of some columns.

    Gradients g are counted from their mean; c are the ``weights``.
    """
    for k in range(3):
        sums[k] = 0.0
    for row in range(len(gradients)):
        product = square = 0.0
        for place in range(first, last):
            before = 0.0
            for distance in range(min(row, len(weights))):
                before += weights[distance] * (gradients[row - 1 - distance, place] - mean[place])
            gap = gradients[row, place] - mean[place]
            product += gap * before
            square += gap * gap
        sums[0] += product
        sums[1] += product * product
        sums[2] += square


@compiled()
def mean_risk(sizes: FloatArray, shares: FloatArray, variances: FloatArray, noise: float, rows: float) -> float:
    """Return the mean over the components of each block of the risk that ``rows`` leave, x/2 for x = sum_b d_b sum_j w_bj m_bj.

    1/m_bj = 1/t_bj + rows / (noise + (1 + 1/d) x). x is where a concave increasing function crosses the diagonal: one root,
    found by bisection.
    """
    blocks, models = shares.shape
    low, high, size = 0.0, 0.0, 0.0
    for block in range(blocks):
        size += sizes[block]
        for model in range(models):
            high += sizes[block] * shares[block, model] * variances[block, model]
    if rows <= 0.0:
        return 0.5 * high
    more = 1.0 + 1.0 / size
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        rate = rows / (noise + more * middle)
        total = 0.0
        for block in range(blocks):
            for model in range(models):
                variance = variances[block, model]
                total += sizes[block] * shares[block, model] * variance / (1.0 + variance * rate)
        if total > middle:
            low = middle
        else:
            high = middle
    return 0.5 * high


@compiled()
def fewest_rows(
    sizes: FloatArray, shares: FloatArray, variances: FloatArray, noise: float, target: float, most: int
) -> int:
    """Return the fewest rows whose risk, averaged over the components, is at most ``target``, or ``most``."""
    if most <= 0 or mean_risk(sizes, shares, variances, noise, 0.0) <= target:
        return 0
    low, high = 0, 1
    while mean_risk(sizes, shares, variances, noise, float(high)) > target:
        if high >= most:
            return most
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        if mean_risk(sizes, shares, variances, noise, float(middle)) <= target:
            high = middle
        else:
            low = middle
    return high


@compiled()
def left_by_one(information: FloatArray, noise: float, variance: float) -> float:
    """Return the mean over directions of noise t / (noise + t g): what a prior variance t leaves."""
    total = 0.0
    for value in information:
        total += noise * variance / (noise + variance * value)
    return total / len(information)


@compiled()
def variance_that_leaves(information: FloatArray, noise: float, left: float, most: float) -> float:
    """Return the prior variance that leaves ``left``, at most ``most``, by bisection in its logarithm."""
    if left_by_one(information, noise, most) <= left:
        return most
    low, high = left, most
    for _ in range(_BISECTIONS):
        middle = low**0.5 * high**0.5
        if left_by_one(information, noise, middle) <= left:
            low = middle
        else:
            high = middle
    return high

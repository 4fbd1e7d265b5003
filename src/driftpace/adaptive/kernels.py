"""Compiled loops of the look at a period and of the sizing.

They fill arrays that the caller made, and have no array expressions: both take long to compile.
"""

import math

from driftpace.compiled import compiled
from driftpace.typing import FloatArray

_BISECTIONS = 60
_NEWTON = 100
_CLOSE = 1e-13


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
    left: FloatArray,
) -> tuple[float, int]:
    """Turn the components of a prediction into what the rows leave of them, in place; ``left`` are their variances.

    The last row of ``means`` and of ``variances`` is a Gaussian without a share. Return the surprise against it, the squared length
    of the gap in standard units, and the number of directions that are seen.

    In the eigenbasis of the rows' Hessian, with eigenvalues g, the ``pull`` is r = g u* + N(0, s^2 g). A component
    u* ~ N(m, t) then has the likelihood N(r - g m; 0, s^2 g + t g^2) in each direction that is seen (g above a billionth of the
    largest), the mean m + t (r - g m)/(s^2 + t g) and the variance s^2 t/(s^2 + t g).
    """
    models, size = len(shares), len(information)
    least = 1e-9 * max(information[size - 1], 1e-300)
    surprise, freedom = 0.0, 0
    for place in range(size):
        value = information[place]
        if value > least:
            gap = pull[place] - means[models, place] * value
            surprise += gap * gap / (value * (noise + variances[models] * value))
            freedom += 1
    most = -math.inf
    for model in range(models):
        variance, grown, terms, total = variances[model], 1.0, 0.0, 0.0
        for place in range(size):
            value = information[place]
            gap = pull[place] - means[model, place] * value
            kept = 1.0 / (noise + variance * value)
            grown *= noise * kept
            if grown < 1e-100:
                terms -= math.log(grown)
                grown = 1.0
            if value > least:
                terms += gap * gap * kept / value
            means[model, place] += variance * gap * kept
            total += noise * variance * kept
        left[model] = total / size
        shares[model] = math.log(shares[model] + 1e-300) - 0.5 * (terms - math.log(grown))
        most = max(most, shares[model])
    total = 0.0
    for model in range(models):
        shares[model] = math.exp(shares[model] - most)
        total += shares[model]
    for model in range(models):
        shares[model] /= total
    return surprise, freedom


@compiled()
def update_models(
    likelihood: FloatArray,
    mean: FloatArray,
    variance: FloatArray,
    wobble: FloatArray,
    jump: float,
    place: FloatArray,
    velocity: FloatArray,
    moments: tuple[FloatArray, FloatArray, FloatArray, FloatArray],
) -> None:
    """Update the drift models of a bank in place, given the posterior ``mean`` and ``variance`` of w* by each, a jump last.

    ``moments`` are the variance p of theta, its covariance c with v, the variance of v, and the shares. With t = p + wobble, theta
    and v follow w* by the regressions p/t and c/t. A jump replaces theta with the chance ``jump``.
    """
    spread, cross, speed, shares = moments
    models, size = place.shape
    total = 0.0
    for model in range(models):
        before, both = spread[model], cross[model]
        whole = before + wobble[model]
        to_place, to_speed = (before / whole, both / whole) if whole > 0.0 else (0.0, 0.0)
        moved, jumped = 0.0, 0.0
        for k in range(size):
            change = mean[model, k] - place[model, k]
            after = place[model, k] + to_place * change
            mixed = (1.0 - jump) * after + jump * mean[models, k]
            moved += (after - mixed) ** 2
            jumped += (mean[models, k] - mixed) ** 2
            place[model, k] = mixed
            velocity[model, k] += to_speed * change
        left = variance[model]
        spread[model] = (1.0 - jump) * (before - to_place * before + to_place**2 * left + moved / size) + jump * (
            variance[models] + wobble[model] + jumped / size
        )
        cross[model] = (1.0 - jump) * (both - to_place * both + to_place * to_speed * left)
        speed[model] += to_speed**2 * left - to_speed * both
        shares[model] = (shares[model] + 1e-300) * (likelihood[model] + 1e-300)
        total += shares[model]
    for model in range(models):
        shares[model] /= total


@compiled(fastmath=True)
def neighbour_products(
    gradients: FloatArray, mean: FloatArray, weights: FloatArray, first: int, along: FloatArray, sums: FloatArray
) -> None:
    """Fill in the sums over rows i of p_i, p_i^2 and |g_i|^2 for p_i = sum_k c_k g_i'g_(i-k), of the columns from the first on.

    Gradients g are counted from their ``mean``, in as many columns as it has; c are the ``weights`` of neighbours at distance
    k = 1, 2, ...; ``along`` has a place for each row.
    """
    last, level = first + len(mean), 0.0
    for value in mean:
        level += value * value
    for k in range(3):
        sums[k] = 0.0
    for row in range(len(gradients)):
        product, own = 0.0, gradients[row, first:last]
        along[row] = -0.5 * level
        for place in range(len(own)):
            along[row] += own[place] * mean[place]
        for distance in range(min(row, len(weights)) + 1):
            inner, other = 0.0, gradients[row - distance, first:last]
            for place in range(len(own)):
                inner += own[place] * other[place]
            inner -= along[row] + along[row - distance]
            if distance == 0:
                sums[2] += inner
            else:
                product += weights[distance - 1] * inner
        sums[0] += product
        sums[1] += product * product


@compiled()
def mean_risk(sizes: FloatArray, shares: FloatArray, variances: FloatArray, noise: float, rows: float) -> float:
    """Return the mean over the components of each block of the risk that ``rows`` leave, x/2 for x = sum_b d_b sum_j w_bj m_bj.

    1/m_bj = 1/t_bj + u for u = rows / (noise + (1 + 1/d) x), so x is h(u) = sum_b d_b sum_j w_bj t_bj/(1 + u t_bj).
    The rows u (noise + (1 + 1/d) h(u)) are an increasing concave function of u, so Newton's method reaches u from below.
    """
    blocks, models = shares.shape
    size = 0.0
    for block in range(blocks):
        size += sizes[block]
    more, u, total = 1.0 + 1.0 / size, 0.0, 0.0
    for _ in range(_NEWTON):
        total, slope = 0.0, 0.0
        for block in range(blocks):
            for model in range(models):
                share = 1.0 / (1.0 + u * variances[block, model])
                each = sizes[block] * shares[block, model] * variances[block, model] * share
                total += each
                slope += each * share
        step = (rows - u * (noise + more * total)) / (noise + more * slope)
        if rows <= 0.0 or not step > 1e-15 * u:
            break
        u += step
    return 0.5 * total


@compiled()
def fewest_rows(
    sizes: FloatArray, shares: FloatArray, variances: FloatArray, noise: float, target: float, most: int
) -> int:
    """Return the fewest rows whose risk, averaged over the components, is at most ``target``, or ``most``.

    u with h(u) = 2 target, of :func:`mean_risk`, gives them: 1/h is concave, so Newton's method reaches u from below.
    """
    blocks, models = shares.shape
    size, u, left = 0.0, 0.0, 2.0 * target
    for block in range(blocks):
        size += sizes[block]
    if most <= 0:
        return 0
    for _ in range(_NEWTON):
        total, slope = 0.0, 0.0
        for block in range(blocks):
            for model in range(models):
                share = 1.0 / (1.0 + u * variances[block, model])
                each = sizes[block] * shares[block, model] * variances[block, model] * share
                total += each
                slope += each * variances[block, model] * share
        if total <= left * (1.0 + _CLOSE):
            break
        step = total * (total / left - 1.0) / slope
        if not step > 1e-15 * u:
            break
        u += step
    rows = u * (noise + (1.0 + 1.0 / size) * left)
    return most if rows >= most else math.ceil(rows * (1.0 - _CLOSE))


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

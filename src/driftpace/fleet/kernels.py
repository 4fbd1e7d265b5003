"""Compiled looks at the periods of many segments.

They compute what :func:`driftpace.adaptive.state.judge` computes for the squared loss, up to rounding, one segment after the
other: the bits of a segment do not depend on which others are there.
"""

import math
from typing import NamedTuple

import numpy as np

from driftpace.adaptive.kernels import mixture_moments, neighbour_products, variance_that_leaves, weigh
from driftpace.compiled import compiled
from driftpace.typing import BoolArray, FloatArray, IntArray

_NOTHING = 1e-300


class Past(NamedTuple):
    """What is remembered of earlier rows of segments; the first axis of each array is that of the segments.

    ``noise`` has the five sums of the noise memory, ``blocks`` where the blocks of coordinates begin and end.
    """

    penalty: FloatArray
    hessian: FloatArray
    hessian_rows: FloatArray
    scores: FloatArray
    score_rows: FloatArray
    noise: FloatArray
    floor: FloatArray
    blocks: IntArray


class Starts(NamedTuple):
    """What is expected of segments before their first rows: a model, and (segments, blocks, components) variances about it.

    Where nothing is expected a variance is infinite; ``shares`` are how probable components are.
    """

    past: Past
    model: FloatArray
    variances: FloatArray
    shares: FloatArray


class Known(NamedTuple):
    """What segments know before the rows of a later period; the first axis of each array is that of the segments.

    Banks are (segments, blocks, models), their means (segments, models, coordinates), the blocks side by side. ``record``
    (segments, blocks, 2) has the weight and total of the record of prediction errors, and ``errors`` (segments, blocks, sizes) how
    likely each of ``error_sizes`` is.
    """

    past: Past
    model: FloatArray
    inverse: FloatArray
    place: FloatArray
    velocity: FloatArray
    spread: FloatArray
    cross: FloatArray
    speed: FloatArray
    shares: FloatArray
    step: FloatArray
    persistence: FloatArray
    wobble: FloatArray
    prior: FloatArray
    periods: FloatArray
    chance: FloatArray
    record: FloatArray
    errors: FloatArray
    error_sizes: FloatArray


class Constants(NamedTuple):
    """Numbers of the method, which are arguments so that compiled code does not outlive them."""

    margin: float
    trust: float
    believed: float
    jump_size: float
    curvature_rows: float
    score_rows: float
    metric_rows: float
    leverage: float
    vaguest: float
    ridge: float
    neighbours: FloatArray
    fewest: int
    vague: float
    rounds: int
    settled: float
    pilot: int


class Rows(NamedTuple):
    """The rows of all segments below each other; those of segment s are ``starts[s]:starts[s + 1]``."""

    X: FloatArray
    y: FloatArray
    starts: IntArray


class Looks(NamedTuple):
    """What the rows show, filled in; ``done`` says for which segments that was possible. Means are laid out as those of banks."""

    factor: FloatArray
    inverse: FloatArray
    place: FloatArray
    velocity: FloatArray
    spread: FloatArray
    cross: FloatArray
    speed: FloatArray
    shares: FloatArray
    view_means: FloatArray
    view_variances: FloatArray
    view_shares: FloatArray
    views: IntArray
    means: FloatArray
    variances: FloatArray
    weights: FloatArray
    information: FloatArray
    model: FloatArray
    center: FloatArray
    covariance: FloatArray
    gram: FloatArray
    scores: FloatArray
    scatter: FloatArray
    strength: FloatArray
    products: FloatArray
    sums: FloatArray
    known: FloatArray
    numbers: FloatArray
    slopes: FloatArray
    whitened: FloatArray
    gradients: FloatArray
    done: BoolArray


NOISE, NOISE_UPPER, LARGEST, SURPRISE, FREEDOM = range(5)
"""The places of numbers in ``Looks.numbers``."""


@compiled()
def factor_of(matrix: FloatArray, factor: FloatArray) -> bool:
    """Fill in the lower Cholesky factor of a matrix; False where there is none."""
    size = len(matrix)
    for i in range(size):
        for j in range(i + 1):
            total = matrix[i, j]
            for k in range(j):
                total -= factor[i, k] * factor[j, k]
            if i > j:
                factor[i, j] = total / factor[j, j]
            elif total > 0.0:
                factor[i, i] = math.sqrt(total)
            else:
                return False
        for j in range(i + 1, size):
            factor[i, j] = 0.0
    return True


@compiled()
def invert_factor(factor: FloatArray, inverse: FloatArray) -> None:
    """Fill in the inverse of a lower triangular matrix."""
    size = len(factor)
    for j in range(size):
        for i in range(size):
            inverse[i, j] = 0.0
        inverse[j, j] = 1.0 / factor[j, j]
        for i in range(j + 1, size):
            total = 0.0
            for k in range(j, i):
                total += factor[i, k] * inverse[k, j]
            inverse[i, j] = -total / factor[i, i]


@compiled()
def solve(factor: FloatArray, right: FloatArray) -> None:
    """Replace the columns of ``right`` by the solutions of the system with this Cholesky factor."""
    size, columns = right.shape
    for j in range(columns):
        for i in range(size):
            total = right[i, j]
            for k in range(i):
                total -= factor[i, k] * right[k, j]
            right[i, j] = total / factor[i, i]
        for back in range(size):
            i = size - 1 - back
            total = right[i, j]
            for k in range(i + 1, size):
                total -= factor[k, i] * right[k, j]
            right[i, j] = total / factor[i, i]


@compiled()
def whiten(inverse: FloatArray, matrix: FloatArray, work: FloatArray, result: FloatArray) -> None:
    """Fill in L^-1 A L^-T for a symmetric matrix and a lower triangular inverse."""
    size = len(matrix)
    for i in range(size):
        for j in range(size):
            total = 0.0
            for k in range(i + 1):
                total += inverse[i, k] * matrix[k, j]
            work[i, j] = total
    for i in range(size):
        for j in range(size):
            total = 0.0
            for k in range(j + 1):
                total += work[i, k] * inverse[j, k]
            result[i, j] = total


@compiled()
def between(left: FloatArray, matrix: FloatArray, work: FloatArray, result: FloatArray) -> None:
    """Fill in P A P for symmetric matrices."""
    size = len(matrix)
    for i in range(size):
        for j in range(size):
            total = 0.0
            for k in range(size):
                total += left[i, k] * matrix[k, j]
            work[i, j] = total
    for i in range(size):
        for j in range(size):
            total = 0.0
            for k in range(size):
                total += work[i, k] * left[k, j]
            result[i, j] = total


@compiled()
def coordinates_of(
    hessian: FloatArray, ridge: float, work: FloatArray, scale: FloatArray, factor: FloatArray, inverse: FloatArray
) -> bool:
    """Fill in the factor of a Hessian and its inverse; directions without curvature get a share of their own scale."""
    size = len(hessian)
    for i in range(size):
        scale[i] = math.sqrt(hessian[i, i])
        if not scale[i] > 0.0:
            scale[i] = 1.0
    for i in range(size):
        for j in range(size):
            work[i, j] = hessian[i, j] / (scale[i] * scale[j])
    before = 0.0
    for _ in range(8):
        for i in range(size):
            work[i, i] = hessian[i, i] / (scale[i] * scale[i]) + ridge
        if factor_of(work, factor):
            before = factor[size - 1, size - 1]
            break
        ridge *= 10.0
    if not 0.0 < before < math.inf:
        return False
    invert_factor(factor, inverse)
    for i in range(size):
        for j in range(i + 1):
            factor[i, j] *= scale[i]
            inverse[i, j] /= scale[j]
    return True


@compiled()
def noise_with(sums: FloatArray, floor: float, margin: float) -> tuple[float, float]:
    """Return the noise of sums over rows (rows, total, squares, losses) and its upper end."""
    rows, total = sums[0], sums[1]
    if rows <= 0.0:
        return floor, floor
    mean = total / rows
    relative = max(sums[2] * rows / max(total * total, _NOTHING) - 1.0, 0.0) / rows
    return max(mean, floor), max(mean, floor) + margin * math.sqrt(relative * mean * mean)


@compiled()
def predict_banks(known: Known, s: int, turn: FloatArray, looks: Looks) -> None:
    """Fill in the banks one period later, in coordinates turn @ u: the level moves with what is average."""
    blocks, models = known.shares.shape[1:]
    size = known.model.shape[1]
    share = 1.0 / (known.periods[s] + 1.0)
    for block in range(blocks):
        for j in range(models):
            keeps, speed, cross = known.persistence[s, block, j], known.speed[s, block, j], known.cross[s, block, j]
            looks.spread[s, block, j] = known.spread[s, block, j] + 2.0 * cross + speed
            looks.cross[s, block, j] = keeps * (cross + speed)
            looks.speed[s, block, j] = keeps**2 * speed + (1.0 - keeps**2) * known.step[s, block, j]
            prior = math.exp(known.prior[s, block, j])
            looks.shares[s, block, j] = (1.0 - share) * known.shares[s, block, j] + share * prior
    for block in range(blocks):
        first, last = known.past.blocks[block], known.past.blocks[block + 1]
        for i in range(first, last):
            more_place, more_velocity = 0.0, 0.0
            for k in range(last, size):  # of two blocks, the second adds to the first
                for j in range(models):
                    weight = looks.shares[s, blocks - 1, j] * turn[i, k]
                    keeps = known.persistence[s, blocks - 1, j]
                    more_place += weight * (known.place[s, j, k] + known.velocity[s, j, k])
                    more_velocity += weight * keeps * known.velocity[s, j, k]
            for j in range(models):
                place, velocity = 0.0, 0.0
                for k in range(first, last):
                    place += turn[i, k] * (known.place[s, j, k] + known.velocity[s, j, k])
                    velocity += turn[i, k] * known.persistence[s, block, j] * known.velocity[s, j, k]
                looks.place[s, j, i] = place + more_place
                looks.velocity[s, j, i] = velocity + more_velocity
    if blocks == 2:
        along, mean = 0.0, 0.0
        for k in range(known.past.blocks[1], size):
            along += turn[0, k] * turn[0, k]
        for j in range(models):
            mean += looks.shares[s, 1, j] * looks.spread[s, 1, j]
        for j in range(models):
            looks.spread[s, 0, j] += along * mean


@compiled()
def predict_views(
    known: Known, constants: Constants, s: int, jumps: FloatArray, work: FloatArray, looks: Looks
) -> None:
    """Fill in what the banks say of this period: a component for each model, one for a jump, and the recorded errors first."""
    blocks, models = known.shares.shape[1:]
    chance = known.chance[s]
    for block in range(blocks):
        first, last = known.past.blocks[block], known.past.blocks[block + 1]
        before = known.errors.shape[2] if known.record[s, block, 0] > 0.0 else 0
        jump = before + models
        looks.views[s, block] = jump + 1
        means, variances = looks.view_means[s, : jump + 1, first:last], looks.view_variances[s, block, : jump + 1]
        shares = looks.view_shares[s, block, : jump + 1]
        for j in range(models):
            shares[before + j] = (1.0 - chance[block]) * looks.shares[s, block, j]
            variances[before + j] = looks.spread[s, block, j] + known.wobble[s, block, j]
            for k in range(last - first):
                means[before + j, k] = looks.place[s, j, first + k]
        shares[jump] = chance[block]
        each = work[: models + 1]
        common = mixture_moments(
            looks.shares[s, block], means[before:jump], variances[before:jump], means[jump], each[:models]
        )
        variances[jump] = common + jumps[block]
        if not before:
            continue
        center = work[models + 1 : models + 1 + last - first]
        mixture_moments(shares[before:], means[before:], variances[before:], center, each)
        modelled, whole = 0.0, 0.0
        for j in range(models):
            modelled += shares[before + j] * each[j]
            whole += shares[before + j]
        weight, total = known.record[s, block, 0], known.record[s, block, 1]
        trusted = constants.trust * weight / (weight + constants.believed)
        variance = 2.0 / (last - first) * max(total, 0.0) + constants.believed * modelled / whole
        variance /= weight + constants.believed
        middle = 0.0
        for i in range(before):
            middle += known.errors[s, block, i] * known.error_sizes[i]
        for j in range(before, jump + 1):
            shares[j] *= 1.0 - trusted
        for i in range(before):
            shares[i] = trusted * known.errors[s, block, i]
            variances[i] = variance * known.error_sizes[i] / middle
            for k in range(last - first):
                means[i, k] = center[k]


@compiled()
def left_of_others(
    hessian: FloatArray, score: FloatArray, blocks: IntArray, block: int, center: FloatArray, held: FloatArray
) -> tuple[FloatArray, FloatArray, bool]:
    """Return what the rows say of one block alone, the other integrated out with the strength at which it is ``held``."""
    first, last = blocks[block], blocks[block + 1]
    size, n = len(hessian), last - first
    information, pull = np.empty((n, n)), np.empty(n)
    for i in range(n):
        pull[i] = score[first + i]
        for j in range(n):
            information[i, j] = hessian[first + i, first + j]
    if len(blocks) == 2:
        return information, pull, True
    low, high = (blocks[1], size) if block == 0 else (0, blocks[1])
    m = high - low
    inner, factor, through = np.empty((m, m)), np.empty((m, m)), np.empty((m, n))
    for i in range(m):
        for j in range(m):
            inner[i, j] = hessian[low + i, low + j]
        for j in range(n):
            through[i, j] = hessian[low + i, first + j]
        inner[i, i] += held[1 - block]
    if not factor_of(inner, factor):
        return information, pull, False
    solve(factor, through)
    for i in range(m):
        rest = score[low + i]
        for k in range(m):
            rest -= hessian[low + i, low + k] * center[low + k]
        for j in range(n):
            pull[j] -= hessian[first + j, low + i] * center[low + i] + through[i, j] * rest
    for i in range(n):
        for j in range(n):
            for k in range(m):
                information[i, j] -= hessian[first + i, low + k] * through[k, j]
    return information, pull, True


@compiled()
def weigh_block(
    information: FloatArray,
    pull: FloatArray,
    noise: float,
    s: int,
    blocks: IntArray,
    block: int,
    center: FloatArray,
    total: float,
    looks: Looks,
) -> tuple[float, int]:
    """Fill in what became of the components of a block; return the surprise and its degrees of freedom."""
    first, last = blocks[block], blocks[block + 1]
    n, count = last - first, looks.views[s, block]
    values, basis = looks.information[s, first:last], np.ones((1, 1))
    if n > 1:
        for i in range(n):
            for j in range(i):
                both = 0.5 * (information[i, j] + information[j, i])
                information[i, j], information[j, i] = both, both
        found, basis = np.linalg.eigh(information)
        for i in range(n):
            values[i] = max(found[i], 0.0)
    else:
        values[0] = max(information[0, 0], 0.0)
    turned, rotated, variances = np.zeros(n), np.zeros((count + 1, n)), np.empty(count + 1)
    for i in range(n):
        for k in range(n):
            turned[i] += pull[k] * basis[k, i]
            rotated[count, i] += center[first + k] * basis[k, i]
    for j in range(count):
        variances[j] = looks.view_variances[s, block, j]
        looks.weights[s, block, j] = looks.view_shares[s, block, j]
        for k in range(n):
            for i in range(n):
                rotated[j, i] += looks.view_means[s, j, first + k] * basis[k, i]
    variances[count] = total
    surprise, freedom = weigh(
        values, turned, rotated, variances, looks.weights[s, block, :count], noise, looks.variances[s, block, :count]
    )
    for j in range(count):
        for i in range(n):
            mean = 0.0
            for k in range(n):
                mean += rotated[j, k] * basis[i, k]
            looks.means[s, j, first + i] = mean
    return surprise, freedom


@compiled()
def gather_rows(
    rows: Rows,
    s: int,
    inverse: FloatArray,
    model: FloatArray,
    precision: FloatArray,
    constants: Constants,
    plain: FloatArray,
    gram: FloatArray,
    looks: Looks,
) -> None:
    """Fill in what each row says of the accuracy of a model, its leverage taken out: sums and outer products."""
    size, first, last = len(model), rows.starts[s], rows.starts[s + 1]
    z, pz = np.empty(size), np.empty(size)
    total, squares, losses, most = 0.0, 0.0, 0.0, 0.0
    for i in range(size):
        for j in range(size):
            plain[i, j], gram[i, j] = 0.0, 0.0
    for row in range(first, last):
        score = 0.0
        for k in range(size):
            score += rows.X[row, k] * model[k]
        slope = score - rows.y[row]
        length, reach = 0.0, 0.0
        for i in range(size):
            value = 0.0
            for k in range(i + 1):
                value += inverse[i, k] * rows.X[row, k]
            z[i] = value
            length += value * value
        for i in range(size):
            value = 0.0
            for k in range(size):
                value += precision[i, k] * z[k]
            pz[i] = value
            reach += value * z[i]
        rest = 1.0 - min(reach, constants.leverage)
        each = length * slope * slope / rest / size
        total += each
        squares += each * each
        most = max(most, each)
        losses += 0.5 * slope * slope + 0.5 * slope * slope * reach / rest
        looks.slopes[row] = slope
        for i in range(size):
            looks.whitened[row, i] = z[i]
            looks.gradients[row, i] = z[i] * slope
            for j in range(i + 1):
                both = rows.X[row, i] * rows.X[row, j] / rest
                gram[i, j] += both
                plain[i, j] += both * slope * slope
    for i in range(size):
        for j in range(i):
            gram[j, i], plain[j, i] = gram[i, j], plain[i, j]
    sums = looks.sums[s]
    sums[0], sums[1], sums[2], sums[3], sums[4] = float(last - first), total, squares, losses, 0.0
    looks.numbers[s, 2] = most / max(total, _NOTHING)


@compiled()
def look_at_first(starts: Starts, rows: Rows, constants: Constants, s: int, looks: Looks) -> bool:
    """Fill in the look at the first period of a segment; False where a matrix has no factor, so that a slower method is needed."""
    past, blocks = starts.past, starts.past.blocks
    size, number, components = starts.model.shape[1], len(blocks) - 1, starts.shares.shape[2]
    first, last = rows.starts[s], rows.starts[s + 1]
    factor, inverse, center = looks.factor[s], looks.inverse[s], looks.center[s]
    work, matrix, vector = np.empty((size, size)), np.empty((size, size)), np.empty(size)
    fill_gram(rows, s, looks.gram[s])
    for i in range(size):
        for j in range(size):
            matrix[i, j] = looks.gram[s, i, j] / max(last - first, 1)
        matrix[i, i] += past.penalty[s, i]
    if not coordinates_of(matrix, constants.ridge, work, vector, factor, inverse):
        return False
    total = 0.0
    for row in range(first, last):
        slope, length = -rows.y[row], 0.0
        for i in range(size):
            slope += rows.X[row, i] * starts.model[s, i]
            value = 0.0
            for k in range(i + 1):
                value += inverse[i, k] * rows.X[row, k]
            length += value * value
        total += length * slope * slope
    early = max(total / (last - first) / size, past.floor[s])
    for i in range(size):
        vector[i] = 0.0
        for k in range(i, size):
            vector[i] += factor[k, i] * starts.model[s, k]
    for block in range(number):
        looks.views[s, block] = components
        for j in range(components):
            variance = starts.variances[s, block, j]
            looks.view_shares[s, block, j] = starts.shares[s, block, j]
            looks.view_variances[s, block, j] = variance if math.isfinite(variance) else constants.vague * early
            for k in range(blocks[block], blocks[block + 1]):
                looks.view_means[s, j, k] = vector[k]
    noise, totals, around = early, np.empty(number), np.empty(components)
    for _ in range(constants.rounds):
        for block in range(number):
            totals[block] = view_moments(s, blocks, block, looks, center, around)
        if not fit_rows(past, rows, constants, s, noise, totals, looks):
            return False
        before, noise = noise, looks.numbers[s, 0]
        if last - first < constants.pilot * size or abs(noise - before) <= constants.settled * before:
            break
    return True


@compiled()
def look_at(known: Known, rows: Rows, constants: Constants, s: int, looks: Looks) -> bool:
    """Fill in the look at a later period of a segment; False where a matrix has no factor, so that a slower method is needed."""
    past, blocks = known.past, known.past.blocks
    size, number = known.model.shape[1], len(blocks) - 1
    count = rows.starts[s + 1] - rows.starts[s]
    factor, inverse, center = looks.factor[s], looks.inverse[s], looks.center[s]
    work, matrix, vector = np.empty((size, size)), np.empty((size, size)), np.empty(size)
    fill_gram(rows, s, looks.gram[s])
    old_rows = past.hessian_rows[s]
    keep = min(1.0, constants.curvature_rows * size / old_rows) if old_rows > 0.0 else 0.0
    whole = max(count + keep * old_rows, 1.0)
    for i in range(size):
        for j in range(size):
            matrix[i, j] = (looks.gram[s, i, j] + keep * past.hessian[s, i, j]) / whole
        matrix[i, i] += past.penalty[s, i]
    if not coordinates_of(matrix, constants.ridge, work, vector, factor, inverse):
        return False
    noise, upper = noise_with(past.noise[s], past.floor[s], constants.margin)
    for i in range(size):
        vector[i] = 0.0
        for k in range(i, size):
            vector[i] += factor[k, i] * known.model[s, k]
        for j in range(size):
            total = 0.0
            for k in range(i, size):
                total += factor[k, i] * known.inverse[s, j, k]
            work[i, j] = total
    predict_banks(known, s, work, looks)
    jumps, explained = np.empty(number), 0.0
    for i in range(blocks[number - 1], size):
        explained += vector[i] * vector[i]
    explained += noise / size
    jumps[0] = constants.jump_size * (noise + explained)
    jumps[number - 1] = constants.jump_size * explained / (size - blocks[number - 1])
    predict_views(known, constants, s, jumps, np.empty(known.shares.shape[2] + size + 8), looks)
    totals, around = np.empty(number), np.empty(looks.view_shares.shape[2])
    for block in range(number):
        totals[block] = view_moments(s, blocks, block, looks, center, around)
    looks.numbers[s, 0], looks.numbers[s, 1] = noise, upper
    if not count:
        looks.known[s] = totals
        plain_model(inverse, center, looks.model[s])
        return True
    return fit_rows(past, rows, constants, s, noise, totals, looks)


@compiled()
def fill_gram(rows: Rows, s: int, gram: FloatArray) -> None:
    """Fill in the sum of outer products of the rows of a segment."""
    for i in range(len(gram)):
        for j in range(i + 1):
            total = 0.0
            for row in range(rows.starts[s], rows.starts[s + 1]):
                total += rows.X[row, i] * rows.X[row, j]
            gram[i, j], gram[j, i] = total, total


@compiled()
def view_moments(s: int, blocks: IntArray, block: int, looks: Looks, center: FloatArray, around: FloatArray) -> float:
    """Fill in the mean of what is known of a block before the rows; return its variance."""
    low, high, components = blocks[block], blocks[block + 1], looks.views[s, block]
    return mixture_moments(
        looks.view_shares[s, block, :components],
        looks.view_means[s, :components, low:high],
        looks.view_variances[s, block, :components],
        center[low:high],
        around[:components],
    )


@compiled()
def fit_rows(
    past: Past, rows: Rows, constants: Constants, s: int, noise: float, totals: FloatArray, looks: Looks
) -> bool:
    """Fill in the fit of the rows of a segment after its coordinates and views, whose variances are ``totals``."""
    blocks, penalty = past.blocks, past.penalty[s]
    size, number = len(penalty), len(blocks) - 1
    first, last = rows.starts[s], rows.starts[s + 1]
    count, old_rows = last - first, past.hessian_rows[s]
    inverse, center, model = looks.inverse[s], looks.center[s], looks.model[s]
    work, matrix, hessian = np.empty((size, size)), np.empty((size, size)), np.empty((size, size))
    vector, around = np.empty(size), np.empty(looks.view_shares.shape[2])
    for i in range(size):
        for j in range(size):
            matrix[i, j] = looks.gram[s, i, j]
        matrix[i, i] += count * penalty[i]
    whiten(inverse, matrix, work, hessian)
    plain_model(inverse, center, model)
    for k in range(size):
        vector[k] = count * penalty[k] * model[k]
    for row in range(first, last):
        slope = -rows.y[row]
        for k in range(size):
            slope += rows.X[row, k] * model[k]
        for k in range(size):
            vector[k] += slope * rows.X[row, k]
    score, held = np.empty(size), np.empty(number)
    for i in range(size):
        score[i] = 0.0
        for k in range(size):
            score[i] += hessian[i, k] * center[k]
        for k in range(i + 1):
            score[i] -= inverse[i, k] * vector[k]
    for block in range(number):
        held[block] = noise / totals[block]
    surprise, freedom = 0.0, 0
    for block in range(number):
        information, pull, solved = left_of_others(hessian, score, blocks, block, center, held)
        if not solved:
            return False
        for value in information.ravel():
            if not math.isfinite(value):
                return False
        one, more = weigh_block(information, pull, noise, s, blocks, block, center, totals[block], looks)
        surprise, freedom = surprise + one, freedom + more
    strength = looks.strength[s]
    for block in range(number):
        low, high, components = blocks[block], blocks[block + 1], looks.views[s, block]
        left = mixture_moments(
            looks.weights[s, block, :components],
            looks.means[s, :components, low:high],
            looks.variances[s, block, :components],
            center[low:high],
            around[:components],
        )
        variance = variance_that_leaves(
            looks.information[s, low:high], noise, left, max(left, _NOTHING) * constants.vaguest
        )
        for i in range(low, high):
            strength[i] = noise / variance
    precision = np.zeros((size, size))
    for i in range(size):
        for j in range(size):
            matrix[i, j] = hessian[i, j]
        matrix[i, i] += strength[i]
        precision[i, i] = 1.0
    if not factor_of(matrix, work):
        return False
    solve(work, precision)
    plain_model(inverse, center, model)
    added = looks.scores[s]
    gather_rows(rows, s, inverse, model, precision, constants, added, hessian, looks)
    sums, penalised = looks.sums[s], 0.0
    for i in range(size):
        penalised += penalty[i] * model[i] * model[i]
    sums[3] += 0.5 * count * penalised
    both = np.empty(5)
    for i in range(5):
        both[i] = past.noise[s, i] + sums[i]
    level, upper = noise_with(both, past.floor[s], constants.margin)
    covariance, scatter = looks.covariance[s], looks.scatter[s]
    score_rows = past.score_rows[s]
    keep = min(1.0, constants.score_rows * size / score_rows) if score_rows > 0.0 else 0.0
    for i in range(size):
        for j in range(size):
            matrix[i, j] = keep * past.scores[s, i, j] + added[i, j]
    whiten(inverse, matrix, work, scatter)
    trace, rows_seen = 0.0, count + keep * score_rows
    for i in range(size):
        trace += scatter[i, i] / rows_seen
    for i in range(size):
        for j in range(size):
            if trace > 0.0:
                scatter[i, j] = scatter[i, j] / rows_seen * (upper * size / trace)
            else:
                scatter[i, j] = upper if i == j else 0.0
            matrix[i, j] = count * scatter[i, j]
        matrix[i, i] += upper * strength[i]
    between(precision, matrix, work, covariance)
    for i in range(size):
        if covariance[i, i] < 0.0:
            return False
    keep = min(1.0, constants.metric_rows * size / old_rows) if old_rows > 0.0 else 0.0
    whole = count + keep * old_rows
    for i in range(size):
        for j in range(size):
            matrix[i, j] = (hessian[i, j] + keep * past.hessian[s, i, j]) / whole
        matrix[i, i] += penalty[i]
    whiten(inverse, matrix, work, hessian)
    cost, trace = 0.0, 0.0
    for i in range(size):
        trace += covariance[i, i]
        for j in range(size):
            cost += hessian[i, j] * covariance[i, j]
    for i in range(size):
        for j in range(size):
            covariance[i, j] *= cost / trace
    for block in range(number):
        low, high = blocks[block], blocks[block + 1]
        looks.known[s, block] = 0.0
        for i in range(low, high):
            looks.known[s, block] += covariance[i, i] / (high - low)
    neighbours(looks.gradients[first:last], blocks, constants, looks.products[s])
    looks.numbers[s, 0], looks.numbers[s, 1] = level, upper
    looks.numbers[s, 3], looks.numbers[s, 4] = surprise, float(freedom)
    return True


@compiled()
def plain_model(inverse: FloatArray, center: FloatArray, model: FloatArray) -> None:
    """Fill in the coefficients of coordinates."""
    for k in range(len(center)):
        model[k] = 0.0
        for i in range(k, len(center)):
            model[k] += inverse[i, k] * center[i]


@compiled()
def neighbours(gradients: FloatArray, blocks: IntArray, constants: Constants, products: FloatArray) -> None:
    """Fill in the sums of products of the gradients of neighbours, and of their squares, for each block."""
    count, size = gradients.shape
    products[:] = 0.0
    if count < constants.fewest:
        return
    mean, along, found, pairs = np.zeros(size), np.empty(count), np.empty(3), 0.0
    for row in range(count):
        for k in range(size):
            mean[k] += gradients[row, k] / count
    for place in range(len(constants.neighbours)):
        pairs += constants.neighbours[place] * (count - 1.0 - place)
    for block in range(len(blocks) - 1):
        low, high = blocks[block], blocks[block + 1]
        neighbour_products(gradients, mean[low:high], constants.neighbours, low, along, found)
        products[0, block] = found[0] + pairs * found[2] / (count * (count - 1.0))
        products[1, block] = found[1]


@compiled()
def look_at_all_first(starts: Starts, rows: Rows, constants: Constants, looks: Looks) -> None:
    """Fill in the looks at the first periods of all segments."""
    for s in range(len(starts.model)):
        looks.done[s] = look_at_first(starts, rows, constants, s, looks)


@compiled()
def look_at_all(known: Known, rows: Rows, constants: Constants, looks: Looks) -> None:
    """Fill in the looks at later periods of all segments."""
    for s in range(len(known.model)):
        looks.done[s] = look_at(known, rows, constants, s, looks)

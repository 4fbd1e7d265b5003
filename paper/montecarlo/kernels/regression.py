"""The paper's first experiment from the path of the truth to the last period, ``LANES`` runs side by side (theory 6.1).

Everything is about the error e = w - w*: a row (x, y = x'w* + xi) takes e to e - mu x (x'e - xi), and the mean gradient at the
result is (sum xx' e - sum x xi)/K, so that the rows need to be seen once and never to be kept. A row is drawn as a pair with
the next one: normal j of both is one pair of the run's stream, at place (ROWS + period) and index (pair of rows, j). What is
drawn depends on seed, run, period and row alone; runs that need fewer rows than their neighbours take steps of length zero.
"""

import math

import numpy as np
from numpy.typing import NDArray

from driftpace.compiled import compiled
from driftpace.typing import FloatArray

from .stream import around, radius, random_words

LANES = 32
"""Runs side by side: several registers full, and small enough to stay near."""

ROWS = np.uint64(1) << np.uint64(32)
"""Rows of period n are at place ROWS + n of a run's stream, the step that leads to period n at place n."""

_ROUNDING = 1.0 + 1e-12  # as the rules have it: sqrt and square do not cancel to the last bit


@compiled(inline=True)
def _normals(
    first: FloatArray,
    second: FloatArray,
    words: NDArray[np.uint64],
    seed: np.uint64,
    run: np.uint64,
    place: np.uint64,
    index: np.uint64,
) -> None:
    """Fill first and second with a pair of normals for each lane, in three short loops: more of each is under way at once."""
    a, b = words[0], words[1]
    for lane in range(LANES):
        a[lane], b[lane] = random_words(seed, run + np.uint64(lane), place, index)
    for lane in range(LANES):
        first[lane] = radius(a[lane], b[lane])
    for lane in range(LANES):
        first[lane], second[lane] = around(first[lane], b[lane])


@compiled(inline=True)
def _learn(
    z: FloatArray,
    row: int,
    e: FloatArray,
    moments: FloatArray,
    noise_moments: FloatArray,
    average: FloatArray,
    residual: FloatArray,
    live: FloatArray,
    mu: float,
    weight: float,
    spread: float,
    noise_spread: float,
) -> None:
    """Take one row in: the average of the iterates before their steps, the moments of the rows, one step of SGD."""
    features = e.shape[0]
    if weight > 0.0:
        for j in range(features):
            for lane in range(LANES):
                average[j, lane] += live[lane] * weight * e[j, lane]
    noise = z[features, row]
    for lane in range(LANES):
        residual[lane] = -noise_spread * noise[lane]
    place = 0
    for j in range(features):
        x = z[j, row]
        for lane in range(LANES):
            x[lane] *= spread * live[lane]
        for lane in range(LANES):
            noise_moments[j, lane] += x[lane] * residual[lane]
        for i in range(j + 1):
            other = z[i, row]
            for lane in range(LANES):
                moments[place, lane] += x[lane] * other[lane]
            place += 1
    for j in range(features):
        x = z[j, row]
        for lane in range(LANES):
            residual[lane] += x[lane] * e[j, lane]
    for j in range(features):
        x = z[j, row]
        for lane in range(LANES):
            e[j, lane] -= mu * residual[lane] * x[lane]


@compiled(inline=True)
def _learn_two(
    z: FloatArray,
    state: FloatArray,
    sized: FloatArray,
    k: float,
    scale: float,
    shift: float,
    spread: float,
    noise_spread: float,
) -> None:
    """Take two rows of two features in, as :func:`_learn` does without the average, in one loop over the lanes.

    ``z`` and ``state`` are flat, and where things are is written in numbers: so the compiler sees that nothing overlaps.
    """
    mu, next_mu = scale / (k + shift), scale / (k + 1.0 + shift)
    for lane in range(LANES):
        live = spread if k <= sized[lane] else 0.0
        next_live = spread if k + 1.0 <= sized[lane] else 0.0
        x0, x1 = live * z[lane], live * z[2 * LANES + lane]
        noise = noise_spread * z[4 * LANES + lane]
        e0, e1 = state[lane], state[LANES + lane]
        residual = mu * ((x0 * e0 - noise) + x1 * e1)
        e0, e1 = e0 - residual * x0, e1 - residual * x1
        y0, y1 = next_live * z[LANES + lane], next_live * z[3 * LANES + lane]
        next_noise = noise_spread * z[5 * LANES + lane]
        residual = next_mu * ((y0 * e0 - next_noise) + y1 * e1)
        state[lane], state[LANES + lane] = e0 - residual * y0, e1 - residual * y1
        state[2 * LANES + lane] += x0 * x0 + y0 * y0
        state[3 * LANES + lane] += x0 * x1 + y0 * y1
        state[4 * LANES + lane] += x1 * x1 + y1 * y1
        state[5 * LANES + lane] -= x0 * noise + y0 * next_noise
        state[6 * LANES + lane] -= x1 * noise + y1 * next_noise


@compiled(inline=True)
def _smallest(alphas: FloatArray, betas: FloatArray, squared: float, epsilon: float) -> int:
    """Return the least K with alpha_K d0^2 + beta_K <= epsilon, which the last K of the table meets (theory 1.10)."""
    if alphas[0] * squared + betas[0] <= epsilon:
        return 0
    misses, meets = 0, alphas.size - 1
    while meets - misses > 1:
        middle = (misses + meets) >> 1
        if alphas[middle] * squared + betas[middle] <= epsilon:
            meets = middle
        else:
            misses = middle
    return meets


@compiled()
def follow(
    risk: FloatArray,
    samples: FloatArray,
    drift: FloatArray,
    coef: FloatArray,
    truth: FloatArray,
    seed: np.uint64,
    first_run: np.uint64,
    rho: float,
    line: bool,
    spread: float,
    noise_spread: float,
    first_samples: FloatArray,
    alphas: FloatArray,
    betas: FloatArray,
    scale: float,
    shift: float,
    weighted: bool,
    epsilon: float,
    m: float,
    known: float,
    margin: float,
    falling: bool,
    diameter: float,
) -> None:
    """Fill risk, samples and drift (runs, periods), coef and truth (runs, periods, features) with runs from ``first_run`` on.

    The method is ``Tracker.as_in_paper`` by its do-not-update rule: direct estimates averaged, margin / sqrt(steps) where
    ``falling`` (``margin`` itself otherwise) on top, d0 = sqrt(2 eps/m) + that, K the smallest of the table. ``known`` is the
    drift where it is given, NaN where it is estimated.
    """
    runs, periods, features = coef.shape
    z = np.zeros((features + 1, 2, LANES))
    words = np.zeros((2, LANES), dtype=np.uint64)
    products = features * (features + 1) // 2
    state = np.zeros((2 * features + products, LANES))
    e, moments, noise_moments = state[:features], state[features : features + products], state[features + products :]
    flat, flat_state = z.reshape(-1), state.reshape(-1)
    average = np.zeros((features, LANES))
    residual = np.zeros(LANES)
    live = np.zeros(LANES)
    step = np.zeros((features + features % 2, LANES))
    best = np.zeros((features, LANES))
    last = np.zeros((features, LANES))
    pull = np.zeros(LANES)
    sized = np.zeros(LANES)
    promised = np.zeros(LANES)
    start = np.zeros(LANES)
    total = np.zeros(LANES)
    steps = np.zeros(LANES)
    gradient = np.zeros(features)
    enough = epsilon * _ROUNDING
    known_drift = not math.isnan(known)
    reach = math.sqrt(2.0 * epsilon / m)

    for begin in range(0, runs, LANES):
        run = first_run + np.uint64(begin)
        used = min(LANES, runs - begin)
        e[:] = 0.0
        best[:] = 0.0
        last[:] = 0.0
        pull[:] = -1.0  # the period before had no rows
        total[:] = 0.0
        steps[:] = 0.0
        sized[:] = 0.0  # lanes without a run take no rows
        for n in range(1, periods + 1):
            if n > 1:
                if n == 2 or not line:
                    _direction(step, words, features, seed, run, np.uint64(n))
                for j in range(features):
                    for lane in range(LANES):
                        best[j, lane] += rho * step[j, lane]
                        e[j, lane] -= rho * step[j, lane]
            most = 0.0
            for lane in range(used):
                upper, blind = known, n <= 1
                if not known_drift:
                    blind = steps[lane] == 0.0 or n <= 2
                    upper = math.inf
                    if steps[lane] > 0.0:
                        extra = margin / math.sqrt(steps[lane]) if falling else margin
                        upper = total[lane] / steps[lane] + extra
                start[lane] = diameter if blind else min(math.sqrt(2.0 * promised[lane] / m) + upper, diameter)
                squared = start[lane] * start[lane]
                if n <= first_samples.size:
                    size = int(first_samples[n - 1])
                elif blind:
                    size = _smallest(alphas, betas, squared, enough)
                elif alphas[0] * squared <= enough:  # the last model still meets the target (theory I22)
                    size = 0
                else:
                    sizing = min(reach + upper, diameter)
                    size = _smallest(alphas, betas, sizing * sizing, enough)
                    if size == 0:
                        size = _smallest(alphas, betas, squared, enough)
                sized[lane] = size
                most = max(most, sized[lane])
                promised[lane] = min(alphas[0] * squared, alphas[size] * squared + betas[size])

            moments[:] = 0.0
            noise_moments[:] = 0.0
            average[:] = 0.0
            for pair in range((int(most) + 1) // 2):
                for j in range(features + 1):
                    index = np.uint64(pair * (features + 1) + j)
                    _normals(z[j, 0], z[j, 1], words, seed, run, ROWS + np.uint64(n), index)
                if features == 2 and not weighted:
                    _learn_two(flat, flat_state, sized, 2.0 * pair + 1.0, scale, shift, spread, noise_spread)
                    continue
                for row in range(2):
                    k = 2.0 * pair + row + 1.0
                    for lane in range(LANES):
                        live[lane] = 1.0 if k <= sized[lane] else 0.0
                    _learn(
                        z,
                        row,
                        e,
                        moments,
                        noise_moments,
                        average,
                        residual,
                        live,
                        scale / (k + shift),
                        k + shift - 1.0 if weighted else 0.0,
                        spread,
                        noise_spread,
                    )

            for lane in range(used):
                size = sized[lane]
                if weighted and size > 0.0:
                    for j in range(features):
                        e[j, lane] = average[j, lane] / (0.5 * size * (size + 2.0 * shift - 1.0))
                distance, moved = 0.0, 0.0
                for j in range(features):
                    now = best[j, lane] + e[j, lane]
                    distance += e[j, lane] * e[j, lane]
                    moved += (now - last[j, lane]) * (now - last[j, lane])
                    last[j, lane] = now
                    coef[begin + lane, n - 1, j] = now
                    truth[begin + lane, n - 1, j] = best[j, lane]
                if size > 0.0:
                    now = _mean_gradient(gradient, e, moments, noise_moments, lane, size)
                    if pull[lane] >= 0.0:
                        total[lane] += math.sqrt(moved) + now / m + pull[lane] / m
                        steps[lane] += 1.0
                    pull[lane] = now
                else:
                    pull[lane] = -1.0
                risk[begin + lane, n - 1] = 0.5 * spread * spread * distance
                samples[begin + lane, n - 1] = size
                if known_drift:
                    drift[begin + lane, n - 1] = known
                else:
                    drift[begin + lane, n - 1] = total[lane] / steps[lane] if steps[lane] > 0.0 else math.nan


@compiled(inline=True)
def _mean_gradient(
    gradient: FloatArray, e: FloatArray, moments: FloatArray, noise_moments: FloatArray, lane: int, rows: float
) -> float:
    """Return the length of (sum xx' e - sum x xi) / rows."""
    features = gradient.size
    for j in range(features):
        gradient[j] = noise_moments[j, lane]
    place = 0
    for j in range(features):
        for i in range(j + 1):
            gradient[j] += moments[place, lane] * e[i, lane]
            if i < j:
                gradient[i] += moments[place, lane] * e[j, lane]
            place += 1
    squared = 0.0
    for j in range(features):
        squared += gradient[j] * gradient[j]
    return math.sqrt(squared) / rows


@compiled(inline=True)
def _direction(
    step: FloatArray, words: NDArray[np.uint64], features: int, seed: np.uint64, run: np.uint64, place: np.uint64
) -> None:
    """Fill step[:features] with a uniformly random direction for each lane."""
    for j in range(0, features, 2):
        _normals(step[j], step[j + 1], words, seed, run, place, np.uint64(j >> 1))
    for lane in range(LANES):
        squared = 0.0
        for j in range(features):
            squared += step[j, lane] * step[j, lane]
        length = math.sqrt(squared)
        for j in range(features):
            step[j, lane] /= length


@compiled()
def fill_rows(
    X: FloatArray,
    noise: FloatArray,
    seed: np.uint64,
    run: np.uint64,
    n: int,
    first: int,
    spread: float,
    noise_spread: float,
) -> None:
    """Fill X and noise with rows ``first``, ``first`` + 1, .. of period n of a run, as :func:`follow` draws them."""
    rows, features = X.shape
    width = np.uint64(features + 1)
    for i in range(rows):
        row = first + i
        for j in range(features + 1):
            index = np.uint64(row >> 1) * width + np.uint64(j)
            a, b = random_words(seed, run, ROWS + np.uint64(n), index)
            even, odd = around(radius(a, b), b)
            normal = odd if row & 1 else even
            if j < features:
                X[i, j] = spread * normal
            else:
                noise[i] = noise_spread * normal

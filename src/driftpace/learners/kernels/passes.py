"""Compiled SGD passes, each for the rows and sets on which it is fastest; the package lists their arguments.

``look_ahead`` (up to 16 features) keeps coefficients in registers. With alpha = 1 - mu l2 and beta = -mu slope, the next
iterate is alpha w + beta x and the next score is alpha x_next'w + beta x_next'x. Neither product waits for the slope of this
row, so the dependency chain from row to row is a few scalar operations, not a whole inner product.

``fused_pass`` does the update, the average, the next score and the norm in one sweep over the features. The projection on a
ball only scales the iterate, so it is deferred: its factor is applied in the next sweep.

``gram_pass`` takes wide rows four at a time, so that coefficients and average are read and written once for four rows. One
sweep forms the scores of four rows at the iterate before them and the inner products of the rows. From those the four steps
follow in scalars alone: every iterate among them is c w + b0 x0 + .. + b3 x3. A second sweep writes the last of them and
adds all four to the average. A penalty that leaves some coefficients out does not fit this form.

``plain_pass`` is the textbook loop for everything else: minibatches, boxes, balls with a centre.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import Any

from driftpace.compiled import compiled
from driftpace.learners.kernels.intrinsics import (
    fetch_ahead,
    fill,
    load,
    load_some,
    slope,
    store,
    times,
    times_plus,
    total,
)
from driftpace.typing import FloatArray


@compiled(fastmath=True)
def fused_pass(
    X: FloatArray,
    y: FloatArray,
    coef: FloatArray,
    work: FloatArray,
    loss: int,
    shape: float,
    l2: float,
    free: int,
    radius: float,
    scale: float,
    grow: float,
    shift: float,
    steps: FloatArray,
    first: int,
    share: float,
    tilt: float,
    level: float,
) -> None:
    """Run one period; see the package for the arguments."""
    rows, features = X.shape
    penalised = features - free
    score = 0.0
    for j in range(features):
        score += coef[j] * X[0, j]
    inward = 1.0
    for k in range(rows):
        mu = steps[k] if steps.size else scale / (grow * (k + 1.0) + shift)
        weight = inward * (tilt * k + level) if k >= first else 0.0
        beta = -mu * slope(loss, shape, score, y[k])
        alpha = inward * (1.0 - mu * l2)
        after = k + 1 if k + 1 < rows else k
        score, norm = 0.0, 0.0
        for j in range(penalised):
            old = coef[j]
            new = alpha * old + beta * X[k, j]
            work[j] += weight * old
            coef[j] = new
            score += new * X[after, j]
            norm += new * new
        for j in range(penalised, features):
            old = coef[j]
            new = inward * old + beta * X[k, j]
            work[j] += weight * old
            coef[j] = new
            score += new * X[after, j]
            norm += new * new
        inward = radius / math.sqrt(norm) if norm > radius * radius else 1.0
        score *= inward
    for j in range(features):
        coef[j] = share * work[j] if share > 0.0 else inward * coef[j]


@compiled(fastmath=True, inline=True)
def _move(
    loss: int, shape: float, score: float, y: float, mu: float, l2: float, norm: float, square: float, radius: float
) -> tuple[float, float, float]:
    """Return alpha, beta and ||.||^2 of the next iterate alpha w + beta x, projected on the ball."""
    beta = -mu * slope(loss, shape, score, y)
    alpha = 1.0 - mu * l2
    norm = alpha * alpha * norm + 2.0 * alpha * beta * score + beta * beta * square
    if norm > radius * radius:
        inward = radius / math.sqrt(norm)
        return alpha * inward, beta * inward, radius * radius
    return alpha, beta, norm


@compiled(fastmath=True)
def gram_pass(
    X: FloatArray,
    y: FloatArray,
    coef: FloatArray,
    work: FloatArray,
    loss: int,
    shape: float,
    l2: float,
    free: int,  # noqa: ARG001  (0 where l2 is not)
    radius: float,
    scale: float,
    grow: float,
    shift: float,
    steps: FloatArray,
    first: int,
    share: float,
    tilt: float,
    level: float,
) -> None:
    """Run one period; see the package for the arguments; ``free`` must be 0 where ``l2`` is not."""
    rows, features = X.shape
    mu, weight = features, features + 4  # where the steps and weights of a block lie in the work space
    norm = 0.0
    for j in range(features):
        norm += coef[j] * coef[j]
    for i in range(0, rows, 4):
        i1 = (
            i + 1 if i + 1 < rows else i
        )  # the last block may be short: rows past the last are a row again, with steps of 0
        i2 = i + 2 if i + 2 < rows else i
        i3 = i + 3 if i + 3 < rows else i
        for k in range(4):
            work[mu + k] = work[weight + k] = 0.0
            if i + k < rows:
                work[mu + k] = steps[i + k] if steps.size else scale / (grow * (i + k + 1.0) + shift)
                work[weight + k] = tilt * (i + k) + level if i + k >= first else 0.0
        s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
        q0, q1, q2, q3 = 0.0, 0.0, 0.0, 0.0
        g01, g02, g03, g12, g13, g23 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for j in range(features):
            w, x0, x1, x2, x3 = coef[j], X[i, j], X[i1, j], X[i2, j], X[i3, j]
            s0 += w * x0
            s1 += w * x1
            s2 += w * x2
            s3 += w * x3
            q0 += x0 * x0
            q1 += x1 * x1
            q2 += x2 * x2
            q3 += x3 * x3
            g01 += x0 * x1
            g02 += x0 * x2
            g03 += x0 * x3
            g12 += x1 * x2
            g13 += x1 * x3
            g23 += x2 * x3
        t0, t1, t2, t3 = work[weight], work[weight + 1], work[weight + 2], work[weight + 3]
        a, b0, norm = _move(loss, shape, s0, y[i], work[mu + 0], l2, norm, q0, radius)
        c = a
        sum_w, sum0 = t0 + t1 * c, t1 * b0

        a, b1, norm = _move(loss, shape, c * s1 + b0 * g01, y[i1], work[mu + 1], l2, norm, q1, radius)
        c, b0 = a * c, a * b0
        sum_w, sum0, sum1 = sum_w + t2 * c, sum0 + t2 * b0, t2 * b1

        a, b2, norm = _move(loss, shape, c * s2 + b0 * g02 + b1 * g12, y[i2], work[mu + 2], l2, norm, q2, radius)
        c, b0, b1 = a * c, a * b0, a * b1
        sum_w, sum0, sum1 = sum_w + t3 * c, sum0 + t3 * b0, sum1 + t3 * b1
        sum2 = t3 * b2

        a, b3, norm = _move(
            loss, shape, c * s3 + b0 * g03 + b1 * g13 + b2 * g23, y[i3], work[mu + 3], l2, norm, q3, radius
        )
        c, b0, b1, b2 = a * c, a * b0, a * b1, a * b2
        norm = 0.0  # afresh for every block: no error builds up
        for j in range(features):
            w, x0, x1, x2, x3 = coef[j], X[i, j], X[i1, j], X[i2, j], X[i3, j]
            work[j] += (sum_w * w + sum0 * x0) + (sum1 * x1 + sum2 * x2)
            new = (c * w + b0 * x0) + (b1 * x1 + b2 * x2) + b3 * x3
            coef[j] = new
            norm += new * new
    if share > 0.0:
        for j in range(features):
            coef[j] = share * work[j]


@compiled(fastmath=True)
def plain_pass(
    X: FloatArray,
    y: FloatArray,
    coef: FloatArray,
    work: FloatArray,
    loss: int,
    shape: float,
    l2: float,
    free: int,
    radius: float,
    scale: float,
    grow: float,
    shift: float,
    steps: FloatArray,
    first: int,
    share: float,
    tilt: float,
    level: float,
    batch: int,
    center: FloatArray,
    low: FloatArray,
    high: FloatArray,
) -> None:
    """Run one period in batches of ``batch`` rows, the last of them with what is left, over a ball cut by a box.

    The ball lies about ``center``; ``low`` and ``high`` have no entries where there is no box, and where there is one the
    ball must be infinite: one set at a time, as a projection on both is not one after the other.
    """
    rows, features = X.shape
    updates = (rows + batch - 1) // batch
    for k in range(updates):
        mu = steps[k] if steps.size else scale / (grow * (k + 1.0) + shift)
        weight = tilt * k + level if k >= first else 0.0
        begin = k * batch
        end = min(begin + batch, rows)
        for j in range(features):
            work[features + j] = 0.0
        for i in range(begin, end):
            score = 0.0
            for j in range(features):
                score += X[i, j] * coef[j]
            score = slope(loss, shape, score, y[i]) / (end - begin)
            for j in range(features):
                work[features + j] += score * X[i, j]
        for j in range(features - free):
            work[features + j] += l2 * coef[j]
        norm = 0.0
        for j in range(features):
            work[j] += weight * coef[j]
            new = coef[j] - mu * work[features + j]
            coef[j] = new
            norm += (new - center[j]) ** 2
        if norm > radius * radius:
            inward = radius / math.sqrt(norm)
            for j in range(features):
                coef[j] = center[j] + inward * (coef[j] - center[j])
        if low.size:
            for j in range(features):
                if coef[j] < low[j]:
                    coef[j] = low[j]
                elif coef[j] > high[j]:
                    coef[j] = high[j]
    if share > 0.0:
        for j in range(features):
            coef[j] = share * work[j]


_NEAR = 256  # numbers between the row in hand and the row asked for


@cache
def look_ahead(vectors: int) -> Callable[..., Any]:
    """Return the pass for rows that fill ``vectors`` vectors of four, 1 to 4; each is compiled when first used."""

    @compiled(fastmath=True)
    def look_ahead_pass(
        X: FloatArray,
        y: FloatArray,
        coef: FloatArray,
        work: FloatArray,
        loss: int,
        shape: float,
        l2: float,
        free: int,  # noqa: ARG001  (0 where l2 is not)
        radius: float,
        scale: float,
        grow: float,
        shift: float,
        steps: FloatArray,
        first: int,
        share: float,
        tilt: float,
        level: float,
    ) -> None:
        rows, features = X.shape
        flat = X.reshape(-1)
        n0, n1, n2, n3 = features, features - 4, features - 8, features - 12
        w0 = load_some(coef, 0, n0)
        x0 = load_some(flat, 0, n0)
        product = times(w0, x0)
        w1 = w2 = w3 = x1 = x2 = x3 = fill(0.0)
        if vectors > 1:
            w1, x1 = load_some(coef, 4, n1), load_some(flat, 4, n1)
            product = times_plus(w1, x1, product)
        if vectors > 2:
            w2, x2 = load_some(coef, 8, n2), load_some(flat, 8, n2)
            product = times_plus(w2, x2, product)
        if vectors > 3:
            w3, x3 = load_some(coef, 12, n3), load_some(flat, 12, n3)
            product = times_plus(w3, x3, product)
        score = total(product)
        for k in range(rows):
            mu = steps[k] if steps.size else scale / (grow * (k + 1.0) + shift)
            weight = fill(tilt * k + level if k >= first else 0.0)
            alpha = fill(1.0 - mu * l2)
            place = (k + 1 if k + 1 < rows else k) * features
            fetch_ahead(flat, place + _NEAR)
            fetch_ahead(flat, place + _NEAR + 8)

            y0 = load_some(flat, place, n0)
            store(work, 0, times_plus(weight, w0, load(work, 0)))
            w0 = times(alpha, w0)
            ahead, gram = times(w0, y0), times(x0, y0)
            y1 = y2 = y3 = y0
            if vectors > 1:
                y1 = load_some(flat, place + 4, n1)
                store(work, 4, times_plus(weight, w1, load(work, 4)))
                w1 = times(alpha, w1)
                ahead, gram = times_plus(w1, y1, ahead), times_plus(x1, y1, gram)
            if vectors > 2:
                y2 = load_some(flat, place + 8, n2)
                store(work, 8, times_plus(weight, w2, load(work, 8)))
                w2 = times(alpha, w2)
                ahead, gram = times_plus(w2, y2, ahead), times_plus(x2, y2, gram)
            if vectors > 3:
                y3 = load_some(flat, place + 12, n3)
                store(work, 12, times_plus(weight, w3, load(work, 12)))
                w3 = times(alpha, w3)
                ahead, gram = times_plus(w3, y3, ahead), times_plus(x3, y3, gram)

            beta = -mu * slope(loss, shape, score, y[k])
            score = total(ahead) + beta * total(gram)
            betas = fill(beta)
            w0 = times_plus(betas, x0, w0)
            square = times(w0, w0)
            x0 = y0
            if vectors > 1:
                w1 = times_plus(betas, x1, w1)
                square = times_plus(w1, w1, square)
                x1 = y1
            if vectors > 2:
                w2 = times_plus(betas, x2, w2)
                square = times_plus(w2, w2, square)
                x2 = y2
            if vectors > 3:
                w3 = times_plus(betas, x3, w3)
                square = times_plus(w3, w3, square)
                x3 = y3
            norm = total(square)
            if norm > radius * radius:
                inward = radius / math.sqrt(norm)
                score *= inward
                back = fill(inward)
                w0, w1, w2, w3 = times(back, w0), times(back, w1), times(back, w2), times(back, w3)

        store(work, 16, w0)
        store(work, 20, w1)
        store(work, 24, w2)
        store(work, 28, w3)
        for j in range(features):
            coef[j] = share * work[j] if share > 0.0 else work[16 + j]

    return look_ahead_pass

"""A pass over rows of up to 16 features: coefficients in registers, the next score looked ahead.

With alpha = 1 - mu l2 and beta = -mu slope, the next iterate is alpha w + beta x and the next score is
alpha x_next'w + beta x_next'x. Neither product waits for the slope of this row, so that the chain from row to row is a few
scalar operations long, not a whole product.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import Any

from driftpace.compiled import compiled
from driftpace.learners.kernels.instructions import fetch_ahead, fill, load, load_some, store, times, times_plus, total
from driftpace.learners.kernels.slope import slope
from driftpace.typing import FloatArray

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

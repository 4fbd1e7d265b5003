"""The exact recursion of Gaussian least squares, by groups of equal eigenvalues (theory 1.1g)."""

import math

from driftpace.compiled import compiled
from driftpace.typing import FloatArray

BLOCK_BITS = 8
TINY = 1e-300


@compiled()
def extend(
    states: FloatArray,
    alphas: FloatArray,
    betas: FloatArray,
    alpha_blocks: FloatArray,
    beta_blocks: FloatArray,
    filled: int,
    until: int,
    eigenvalues: FloatArray,
    counts: FloatArray,
    noise: float,
    batch: float,
    scale: float,
    grow: float,
    shift: float,
) -> None:
    """Fill alphas, betas at ``filled`` + 1 .. ``until`` steps, and the least of each in every block of 256.

    Row i < groups of ``states`` holds the sums over each group of E(delta_j^2) from a unit start in group i without noise, the
    last row those from a start at the minimiser with noise; they are changed in place. Risk is half of the sum of eigenvalue
    times state; alpha is the largest over the groups of starts.
    """
    groups = eigenvalues.size
    for k in range(filled + 1, until + 1):
        mu = scale / (grow * k + shift)
        each = mu * mu / batch
        alpha, beta = 0.0, 0.0
        for row in range(groups + 1):
            total = 0.0
            for g in range(groups):
                total += eigenvalues[g] * states[row, g]
            risk = 0.0
            for g in range(groups):
                lam = eigenvalues[g]
                kept = (1.0 - mu * lam) * (1.0 - mu * lam) + each * lam * lam
                state = kept * states[row, g] + each * counts[g] * lam * total
                if row == groups:
                    state += each * counts[g] * lam * noise
                else:
                    state = max(state, TINY)
                states[row, g] = state
                risk += 0.5 * lam * state
            if row == groups:
                beta = risk
            else:
                alpha = max(alpha, risk)
        alphas[k], betas[k] = alpha, beta
        block = k >> BLOCK_BITS
        alpha_blocks[block] = min(alpha_blocks[block], alpha)
        beta_blocks[block] = min(beta_blocks[block], beta)


@compiled()
def first(
    alphas: FloatArray,
    betas: FloatArray,
    alpha_blocks: FloatArray,
    beta_blocks: FloatArray,
    squared: float,
    epsilon: float,
    begin: int,
    end: int,
) -> int:
    """Return the least k in ``begin`` .. ``end`` with alpha_k squared + beta_k <= epsilon, or -1."""
    for block in range(begin >> BLOCK_BITS, (end >> BLOCK_BITS) + 1):
        if alpha_blocks[block] * squared + beta_blocks[block] > epsilon:  # no member of the block can be lower
            continue
        for k in range(max(begin, block << BLOCK_BITS), min(end, ((block + 1) << BLOCK_BITS) - 1) + 1):
            if alphas[k] * squared + betas[k] <= epsilon:
                return k
    return -1


@compiled()
def least(
    alphas: FloatArray,
    betas: FloatArray,
    alpha_blocks: FloatArray,
    beta_blocks: FloatArray,
    squared: float,
    end: int,
) -> tuple[float, int]:
    """Return the least of alpha_k squared + beta_k over k = 0 .. ``end`` and the first k where it is."""
    best, at = math.inf, 0
    for block in range((end >> BLOCK_BITS) + 1):
        if alpha_blocks[block] * squared + beta_blocks[block] >= best:
            continue
        for k in range(block << BLOCK_BITS, min(end, ((block + 1) << BLOCK_BITS) - 1) + 1):
            value = alphas[k] * squared + betas[k]
            if value < best:
                best, at = value, k
    return best, at

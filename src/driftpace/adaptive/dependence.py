"""Whether rows that were delivered one after the other resemble each other more than chance allows.

The gradients of independent rows are uncorrelated, whatever the noise. Rows that belong together (visits of one person, days in a
row) usually arrive together, and then the products of the gradients of neighbours are positive on average. The sum of these
products over its own size is a standard normal variable for independent rows; it is added up over periods.
"""

import numpy as np

from driftpace.typing import FloatArray

WEIGHTS = np.array([1.0, 0.75, 0.5, 0.25])
"""What neighbours at distance 1, 2, ... count for."""

FEWEST = 8
"""A period with fewer rows says nothing."""

KEPT = 0.95
"""What the sums keep from period to period: twenty periods' worth."""


def no_products(blocks: int) -> FloatArray:
    """Return the sums before any row."""
    return np.zeros((2, blocks))


def products_of(gradients: FloatArray, parts: tuple[slice, ...]) -> FloatArray:
    """Return the sums (2, blocks) over the rows, or groups, of a period: products of the gradients of neighbours, and squares.

    ``gradients`` are those at the model of the period, in whitened coordinates. They are counted from their mean, which makes
    products of different rows slightly negative; that is taken off, so that the mean over all orders of the rows is zero. Zeros
    for too few rows.
    """
    from driftpace.adaptive.kernels import neighbour_products

    count, sums = len(gradients), no_products(len(parts))
    if count < FEWEST:
        return sums
    mean = gradients.mean(axis=0)
    pairs = float(WEIGHTS @ (count - 1.0 - np.arange(len(WEIGHTS))))
    found, along = np.empty(3), np.empty(count)
    for block, part in enumerate(parts):
        neighbour_products(gradients, mean[part], WEIGHTS, part.start, along, found)
        sums[0, block] = found[0] + pairs * found[2] / (count * (count - 1.0))
        sums[1, block] = found[1]
    return sums


def with_products(sums: FloatArray, added: FloatArray) -> FloatArray:
    """Return the sums after a period; they keep less of what is older."""
    return np.asarray(sums * [[KEPT], [KEPT * KEPT]] + added) if added.any() else sums


def standard_products(sums: FloatArray) -> FloatArray:
    """Return the sums of products in standard units, one for each block; zero before any row."""
    return np.asarray(sums[0] / np.sqrt(np.maximum(sums[1], 1e-300)))

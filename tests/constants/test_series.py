"""The series of Theorem 1, summed."""

import numpy as np
import pytest

from driftpace.constants.concentration import least_series_scale, series_converges

DIAMETER, M, G = 0.7, 0.5, 0.3


def _block(margins: np.ndarray, n: np.ndarray) -> float:
    """Return the sum of the terms of the series over n."""
    first = np.exp(-(n - 1) * margins**2 / (18 * DIAMETER**2))
    second = 2 * np.exp(-(M**2) * (n - 1) * margins**2 / (72 * G**2))
    return float((first + second).sum())


def _blocks(scale: float, *, logarithm: bool = True) -> list[float]:
    """Return sums over n in [2^k, 2^(k+1)): a series with terms n^-p converges exactly when they fall geometrically."""
    sums = []
    for k in range(6, 20):
        n = np.arange(2**k, 2 ** (k + 1), dtype=float)
        sums.append(_block(scale * np.sqrt((np.log(n) if logarithm else 1.0) / (n - 1)), n))
    return sums


@pytest.mark.parametrize(("slack", "finite"), [(1.1, True), (1.02, True), (0.98, False), (0.9, False)])
def test_the_least_scale_is_where_the_series_turns_finite(slack: float, finite: bool) -> None:
    scale = slack * least_series_scale(diameter=DIAMETER, m=M, G=G)
    assert series_converges(scale, diameter=DIAMETER, m=M, G=G) is finite
    blocks = _blocks(scale)
    assert (blocks[-1] < blocks[-2] * 0.999) is finite


def test_the_margin_of_the_footnote_makes_the_series_infinite() -> None:
    """t_n = 1/sqrt(n-1): every block of the series is twice the one before (theory I5)."""
    blocks = _blocks(1.0, logarithm=False)
    assert blocks[-1] == pytest.approx(2 * blocks[-2], rel=1e-3)


def test_at_the_least_scale_itself_the_series_is_infinite() -> None:
    assert not series_converges(least_series_scale(diameter=1.0, m=1.0, G=0.0), diameter=1.0, m=1.0, G=0.0)

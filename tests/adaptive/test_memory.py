"""The memory forgets by caps, exactly as a list of weighted rows would."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftpace.adaptive.memory import CURVATURE_ROWS, SCORE_ROWS, no_memory
from driftpace.adaptive.noise import NoiseSums

SIZE = 3
COUNTS = st.lists(st.integers(0, 700), min_size=1, max_size=8)


def weights(counts: list[int], cap: float) -> list[float]:
    """The weight each batch ends up with when the older are scaled down to the cap before each new one."""
    kept: list[float] = []
    for index in range(len(counts)):
        rows = sum(weight * count for weight, count in zip(kept, counts, strict=False))
        shrink = min(1.0, cap / rows) if rows > 0.0 else 0.0
        kept = [shrink * weight for weight in kept] + [1.0]
        assert len(kept) == index + 1
    return kept


@given(COUNTS)
def test_sums_are_those_of_weighted_rows(counts: list[int]) -> None:
    memory = no_memory(SIZE)
    hessians = [(index + 1.0) * count * np.eye(SIZE) for index, count in enumerate(counts)]
    for count, hessian in zip(counts, hessians, strict=True):
        noise = NoiseSums(rows=float(count), total=2.0 * count, squares=5.0 * count, losses=0.5 * count)
        memory = memory.with_rows(count, hessian, 2.0 * hessian, noise)
    for cap, total, rows, factor in (
        (CURVATURE_ROWS * SIZE, memory.hessian, memory.hessian_rows, 1.0),
        (SCORE_ROWS * SIZE, memory.scores, memory.score_rows, 2.0),
    ):
        kept = weights(counts, cap)
        assert rows == pytest.approx(sum(w * count for w, count in zip(kept, counts, strict=True)))
        expected = factor * sum(w * hessian for w, hessian in zip(kept, hessians, strict=True))
        np.testing.assert_allclose(total, expected, atol=1e-9)
    assert memory.rows == sum(counts)


@given(COUNTS)
def test_what_is_kept_is_never_more_than_the_cap_and_keeps_its_mean(counts: list[int]) -> None:
    memory = no_memory(SIZE)
    for count in counts:
        memory = memory.with_rows(count, count * np.eye(SIZE), count * np.eye(SIZE), NoiseSums())
    for (kept, rows), cap in (
        (memory.kept_hessian, CURVATURE_ROWS * SIZE),
        (memory.kept_scores, SCORE_ROWS * SIZE),
        (memory.hessian_up_to(7), 7),
    ):
        assert rows <= cap * (1.0 + 1e-12)
        np.testing.assert_allclose(kept, rows * np.eye(SIZE), atol=1e-9)

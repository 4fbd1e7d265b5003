"""Metrics of a run."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from driftpace.metrics import auc


@given(st.lists(st.tuples(st.integers(-3, 3), st.booleans()), min_size=1, max_size=30))
def test_it_is_the_share_of_pairs_in_order(rows: list[tuple[int, bool]]) -> None:
    ups = [score for score, up in rows if up]
    downs = [score for score, up in rows if not up]
    area = auc(np.array([1.0 if up else -1.0 for _, up in rows]), np.array([float(score) for score, _ in rows]))
    if not ups or not downs:
        assert math.isnan(area)
        return
    pairs = [1.0 if up > down else 0.5 if up == down else 0.0 for up in ups for down in downs]
    assert abs(area - sum(pairs) / len(pairs)) < 1e-12

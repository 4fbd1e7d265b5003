"""Rows of the open period: many small batches are few, in the same order and with the same weights."""

import numpy as np
import pytest

from driftpace.tracker.state import RowBatch, RowLabels, groups_of, weights_of, with_batch


def batch(
    rng: np.random.Generator, rows: int, *, groups: bool = False, weights: bool = False, late: int = 0
) -> RowBatch:
    return RowBatch(
        X=rng.normal(size=(rows, 2)),
        y=rng.normal(size=rows),
        groups=rng.integers(0, 9, size=rows) if groups else None,
        weights=rng.uniform(0.5, 2.0, size=rows) if weights else None,
        late=late,
    )


@pytest.mark.parametrize("given", [{}, {"groups": True}, {"weights": True}, {"groups": True, "weights": True}])
def test_many_small_batches_become_few(given: dict[str, bool], rng: np.random.Generator) -> None:
    apart = [batch(rng, int(rng.integers(1, 6)), **given) for _ in range(1_600)]
    joined: tuple[RowBatch, ...] = ()
    most = 0
    for one in apart:
        joined = with_batch(joined, one)
        most = max(most, len(joined))
    assert most <= 14  # they halve at least from one to the next
    for name in ("X", "y"):
        ours, theirs = (np.concatenate([getattr(one, name) for one in some]) for some in (joined, apart))
        assert np.array_equal(ours, theirs)
    for read in (groups_of, weights_of):
        kept, given_apart = read(joined), read(tuple(apart))
        assert (kept is None) == (given_apart is None)
        assert kept is None or given_apart is None or np.array_equal(kept, given_apart)


def test_batches_that_differ_stay_apart(rng: np.random.Generator) -> None:
    labels = RowLabels(ids=("a",), y=np.ones(1), of_row=np.zeros(1, dtype=np.int64), annotators=("x",))
    labelled = RowBatch(X=rng.normal(size=(1, 2)), y=rng.normal(size=1), labels=labels)
    for other in (batch(rng, 1, groups=True), batch(rng, 1, weights=True), batch(rng, 1, late=1), labelled):
        plain = batch(rng, 1)
        assert with_batch((plain,), other) == (plain, other)
        assert with_batch((other,), plain) == (other, plain)

"""Splits of a period into training and test rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftpace.backtest.job import count_test_rows, split_period


def test_every_row_is_either_tested_on_or_for_sale() -> None:
    parts = split_period(50, test_fraction=0.3, seed=4, run=2, period=3)
    assert len(parts.test) == 15
    assert sorted([*parts.test, *parts.pool]) == list(range(50))


def test_the_same_key_gives_the_same_order_and_another_key_another() -> None:
    keys = [(seed, run, period) for seed in (0, 1) for run in (0, 1) for period in (0, 1)]
    orders = [split_period(40, test_fraction=0.2, seed=s, run=r, period=n).pool.tolist() for s, r, n in keys]
    again = [split_period(40, test_fraction=0.2, seed=s, run=r, period=n).pool.tolist() for s, r, n in reversed(keys)]
    assert orders == again[::-1]
    assert len({tuple(order) for order in orders}) == len(keys)


@pytest.mark.statistical
def test_every_row_is_as_likely_to_be_first(seed: int) -> None:
    firsts = [split_period(5, test_fraction=0.2, seed=seed, run=run, period=0).pool[0] for run in range(2000)]
    counts = np.bincount(firsts, minlength=5)
    assert ((counts - 400.0) ** 2 / 400.0).sum() < 23.5  # chi-squared with 4 degrees of freedom, one in ten thousand


@pytest.mark.parametrize(("rows", "fraction", "tested"), [(10, 0.25, 2), (10, 0.35, 4), (3, 0.01, 1), (3, 0.99, 2)])
def test_some_rows_are_left_on_both_sides(rows: int, fraction: float, tested: int) -> None:
    assert count_test_rows(rows, fraction) == tested


@given(st.lists(st.integers(1, 7), min_size=3, max_size=25), st.floats(0.05, 0.6), st.integers(0, 99))
def test_nobody_is_tested_on_who_is_bought_before_the_very_last(sizes: list[int], fraction: float, seed: int) -> None:
    groups = np.repeat(np.arange(len(sizes)), sizes)
    parts = split_period(len(groups), test_fraction=fraction, seed=seed, run=0, period=0, groups=groups)
    assert sorted([*parts.test, *parts.pool]) == list(range(len(groups)))
    assert len(parts.test) == count_test_rows(len(groups), fraction)
    both = np.isin(groups[parts.pool], groups[parts.test])
    assert len(set(groups[parts.pool][both])) <= 1  # the one group that the number of test rows divides
    assert not both[: len(both) - int(both.sum())].any()


@pytest.mark.statistical
def test_with_groups_every_group_is_as_likely_to_be_tested_on(seed: int) -> None:
    groups = np.repeat(np.arange(5), 4)
    tested = [
        int(groups[split_period(20, test_fraction=0.2, seed=seed, run=run, period=0, groups=groups).test[0]])
        for run in range(2000)
    ]
    counts = np.bincount(tested, minlength=5)
    assert ((counts - 400.0) ** 2 / 400.0).sum() < 23.5  # chi-squared with 4 degrees of freedom, one in ten thousand

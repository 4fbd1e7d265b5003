import numpy as np
import pytest

from driftpace.adaptive.held_out import LEAST, check_audit, count_rows, held_out_rows
from driftpace.adaptive.rows import number_groups
from driftpace.errors import ParameterError


@pytest.mark.parametrize("share", [0.01, 0.1, 0.25, 1 / 3, 0.5])
def test_rows_are_held_out_by_their_places(share: float) -> None:
    """More rows change nothing of earlier ones, the share is kept, and the first six have three."""
    held = held_out_rows(500, share)
    assert held_out_rows(37, share).tolist() == held[:37].tolist()
    assert held[:6].sum() == LEAST
    assert not held[0]
    assert held.sum() == max(int(500 * share + 1e-9), LEAST)


def test_groups_are_held_out_as_a_whole(seed: int) -> None:
    groups = number_groups(np.random.default_rng(seed).integers(0, 30, 100))
    assert groups is not None
    held = held_out_rows(100, 0.2, groups)
    assert not set(groups[held]) & set(groups[~held])
    assert len(set(groups[held])) == max((groups.max() + 1) // 5, LEAST)
    assert held_out_rows(0, 0.2, np.zeros(0, dtype=np.int64)).size == 0


@pytest.mark.parametrize("share", [0.01, 0.1, 0.3, 0.5])
@pytest.mark.parametrize("gathered", [0, 1, 7, 60])
def test_an_order_has_the_fewest_rows_that_leave_enough_to_fit(share: float, gathered: int) -> None:
    counts = count_rows(share, gathered, None, 1.0)
    assert counts.fitted + held_out_rows(gathered, share).sum() == gathered
    assert counts.to_total(counts.fitted) == gathered, "nothing is ordered for the audit alone"
    for fitted in range(counts.fitted + 1, counts.fitted + 80):
        total = counts.to_total(fitted)
        held = int(held_out_rows(total, share).sum())
        assert total - held >= fitted
        assert held >= LEAST
        assert total == 2 * LEAST or total - 1 - held_out_rows(total - 1, share).sum() < fitted
        assert counts.to_fitted(total) == total - held


def test_without_a_share_every_row_is_fitted() -> None:
    counts = count_rows(None, 7, None, 3.0)
    assert (counts.fitted, counts.to_total(20), counts.to_total(3), counts.to_fitted(20)) == (7, 20, 7, 20)


def test_an_order_of_groups_has_three_groups_to_hold_out() -> None:
    counts = count_rows(0.1, 0, None, 5.0)
    assert counts.to_total(4) == 30
    assert counts.to_fitted(30) == 15
    delivered = count_rows(0.1, 8, np.array([0, 0, 0, 0, 1, 1, 1, 1]), 5.0)
    assert (delivered.fitted, delivered.units, delivered.group_size) == (4, 2, 4.0)
    assert delivered.to_total(8) == 8 + 16


def test_few_large_groups_at_most_double_an_order() -> None:
    """Groups that grow with the order never become six: orders that try it would grow from period to period."""
    usual = 10.0
    for _ in range(20):
        ordered = count_rows(0.1, 0, None, usual).to_total(20)
        assert 20 < ordered <= 40
        usual = max(usual, ordered)  # all rows of the period are one group
    delivered = count_rows(0.1, 40, np.zeros(40, dtype=np.int64), usual)
    assert delivered.to_total(45) == 40 + 30, "six groups of five rows at least"
    assert delivered.to_fitted(50) == 45, "a pool with less than a group still has rows to fit"


@pytest.mark.parametrize("wrong", [0, 0.0, -0.1, 0.6, 1.0, float("nan"), "a tenth", True])
def test_a_share_that_cannot_be_held_out_is_refused(wrong: object) -> None:
    with pytest.raises(ParameterError, match=r"^Tracker\(audit=\.\.\.\) must be a share of each order, above 0"):
        check_audit("Tracker", wrong)

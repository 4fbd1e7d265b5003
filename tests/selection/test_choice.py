import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftpace.errors import DataError, ParameterError
from driftpace.selection import Tally, choose


def test_means_and_standard_errors_are_the_textbooks(rng: np.random.Generator) -> None:
    losses = rng.random((3, 40))
    tally = Tally.of(losses)
    assert tally.scores == pytest.approx(losses.mean(axis=1))
    assert tally.errors == pytest.approx(losses.std(axis=1, ddof=1) / np.sqrt(40))
    assert tally.gaps(1) == pytest.approx((losses - losses[1]).std(axis=1, ddof=1) / np.sqrt(40), abs=1e-12)


def test_groups_count_as_one(rng: np.random.Generator) -> None:
    """Every row twice is no more than every row once; the rows alone would say so."""
    losses = rng.random((2, 30))
    twice = Tally.of(np.repeat(losses, 2, axis=1), np.repeat(np.arange(30), 2))
    assert twice.errors == pytest.approx(Tally.of(losses).errors)
    assert (Tally.of(np.repeat(losses, 2, axis=1)).errors < 0.75 * twice.errors).all()


@pytest.mark.statistical
def test_the_standard_error_with_groups_is_that_of_repeated_means(rng: np.random.Generator) -> None:
    """2,000 means of 40 groups of 1-5 rows with a shared part: four standard errors of a variance, 13 %, and 10 % for bias."""
    means, variances = [], []
    for _ in range(2000):
        groups = np.repeat(np.arange(40), rng.integers(1, 6, 40))
        losses = rng.standard_normal(40)[groups] + 0.5 * rng.standard_normal(groups.size)
        tally = Tally.of(losses[None], groups)
        means.append(tally.scores[0])
        variances.append(tally.errors[0] ** 2)
    truth = np.var(means)
    assert abs(np.mean(variances) / truth - 1.0) < 0.1 + 4.0 * np.sqrt(2.0 / 2000)
    rows_alone = 1.25 / 120.0
    assert truth > 2.0 * rows_alone  # the control: without groups it would be far too small


@given(st.integers(0, 999), st.floats(0.0, 1.0))
def test_rows_added_later_equal_rows_added_together(seed: int, weight: float) -> None:
    rng = np.random.default_rng(seed)
    first, second = rng.random((3, 20)), rng.random((3, 15))
    both = Tally.of(first).after(Tally.of(second), weight)
    expected = (weight * first.sum(axis=1) + second.sum(axis=1)) / (weight * 20 + 15)
    assert both.scores == pytest.approx(expected)
    if weight == 1.0:
        whole = Tally.of(np.concatenate([first, second], axis=1))
        assert both.errors == pytest.approx(whole.errors)


def test_the_simplest_within_a_standard_error_is_taken_where_that_is_asked_for() -> None:
    losses = np.array([[0.0, 2.0, 1.0, 1.0], [0.2, 2.2, 1.1, 0.9], [5.0, 5.0, 5.0, 5.0]])
    labels = ("rich", "plain", "poor")
    assert choose(labels, Tally.of(losses), folds=2).chosen == "rich"
    assert choose(labels, Tally.of(losses), choosing="one-standard-error", folds=2).chosen == "plain"


def test_where_all_are_alike_the_last_choice_stays() -> None:
    losses = np.ones((3, 6))
    for choosing in ("least", "one-standard-error"):
        assert choose(("a", "b", "c"), Tally.of(losses), choosing=choosing, last=1, folds=2).chosen == "b"


def test_of_two_equals_the_simpler_is_taken() -> None:
    losses = np.array([[1.0, 2.0], [1.0, 2.0], [3.0, 3.0]])
    assert choose(("a", "b", "c"), Tally.of(losses), folds=2).chosen == "b"


def test_a_fit_that_blew_up_loses() -> None:
    losses = np.array([[np.nan, 1.0, 2.0], [4.0, 5.0, 6.0]])
    tally = Tally.of(losses)
    assert choose(("a", "b"), tally, folds=2).chosen == "b"
    assert tally.scores[0] == np.inf
    assert not tally.finite


def test_where_nothing_is_finite_the_last_choice_stays() -> None:
    assert choose(("a", "b"), Tally.of(np.full((2, 3), np.nan)), last=1, folds=2).chosen == "b"


def test_one_row_has_no_standard_error() -> None:
    tally = Tally.of(np.array([[1.0], [2.0]]))
    assert np.isinf(tally.errors).all()
    assert choose(("a", "b"), tally, folds=2).chosen == "a"


def test_bad_input_is_refused() -> None:
    with pytest.raises(DataError, match="candidates by rows, and not empty"):
        Tally.of(np.zeros((2, 0)))
    with pytest.raises(DataError, match="a score for each of 3 candidates; got 2"):
        choose(("a", "b", "c"), Tally.of(np.ones((2, 3))), folds=2)
    with pytest.raises(ParameterError, match="one of 'least', 'one-standard-error'"):
        choose(("a", "b"), Tally.of(np.ones((2, 3))), choosing="best", folds=2)  # type: ignore[arg-type]

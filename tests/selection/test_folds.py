from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftpace.errors import DataError, ParameterError
from driftpace.selection import divisible, make_folds, most_folds

counts = st.integers(2, 60)


@given(counts, st.integers(2, 10), st.integers(0, 99))
def test_parts_are_equal_to_one_row(rows: int, folds: int, seed: int) -> None:
    folds = min(folds, rows)
    sizes = np.bincount(make_folds(rows, folds, rng=seed), minlength=folds)
    assert len(sizes) == folds
    assert sizes.sum() == rows
    assert sizes.max() - sizes.min() <= 1


@given(st.integers(3, 40), st.integers(3, 40), st.integers(2, 3), st.integers(0, 99))
def test_classes_are_spread_evenly_and_parts_stay_equal(first: int, second: int, folds: int, seed: int) -> None:
    classes = np.random.default_rng(seed).permutation(np.array([1.0] * first + [-1.0] * second))
    fold = make_folds(first + second, folds, rng=seed, classes=classes)
    for label in (1.0, -1.0):
        inside = np.bincount(fold[classes == label], minlength=folds)
        assert inside.max() - inside.min() <= 1
    sizes = np.bincount(fold, minlength=folds)
    assert sizes.max() - sizes.min() <= 1


@given(st.lists(st.integers(1, 6), min_size=6, max_size=30), st.integers(2, 6), st.integers(0, 99))
def test_a_group_is_in_one_fold_and_no_fold_is_empty(sizes: list[int], folds: int, seed: int) -> None:
    groups = np.repeat(np.arange(len(sizes)), sizes)
    fold = make_folds(len(groups), folds, rng=seed, groups=groups)
    assert all(len(set(fold[groups == group])) == 1 for group in range(len(sizes)))
    filled = np.bincount(fold, minlength=folds)
    assert len(filled) == folds
    assert filled.min() >= 1
    assert filled.max() - filled.min() <= max(sizes)  # largest first into the emptiest


def test_groups_with_classes_leave_every_class_in_every_fold(rng: np.random.Generator) -> None:
    groups = np.repeat(np.arange(60), 3)
    classes = np.where(np.repeat(rng.random(60) < 0.25, 3), 1.0, -1.0)
    fold = make_folds(180, 5, rng=0, classes=classes, groups=groups)
    rare = np.bincount(fold[classes == 1.0], minlength=5)
    assert rare.min() >= 3
    assert rare.max() - rare.min() <= 3  # one group
    assert all(len(set(fold[groups == group])) == 1 for group in range(60))


def test_the_same_seed_gives_the_same_folds_and_another_gives_others() -> None:
    first, same, other = (make_folds(50, 5, rng=seed) for seed in (1, 1, 2))
    assert np.array_equal(first, same)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"rows": 3, "folds": 5}, "must be at most the 3 rows; got 5"),
        (
            {"rows": 6, "folds": 4, "groups": np.array([1, 1, 2, 2, 3, 3])},
            "must be at most the 3 groups of rows; got 4",
        ),
        (
            {"rows": 6, "folds": 3, "classes": np.array([1.0, 1.0, -1.0, -1.0, -1.0, -1.0])},
            "class 1 has 2 rows, for 3 folds",
        ),
        ({"rows": 4, "folds": 2, "classes": np.array([1.0, -1.0, -1.0, -1.0])}, "class 1 has 1 row, for 2 folds"),
        (
            {
                "rows": 8,
                "folds": 3,
                "classes": np.array([1.0, 1.0, 1.0, 1.0, -1.0, -1.0, -1.0, -1.0]),
                "groups": np.array([1, 1, 2, 2, 3, 4, 5, 6]),
            },
            "class 1 has 2 groups, for 3 folds",
        ),
        ({"rows": 4, "folds": 2, "classes": np.ones(3)}, "must have one entry for each of 4 rows"),
    ],
    ids=["rows", "groups", "class", "single", "class of groups", "length"],
)
def test_what_cannot_be_divided_is_refused_in_a_sentence(arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        make_folds(rng=0, **arguments)


def test_one_fold_is_refused() -> None:
    with pytest.raises(ParameterError, match="a whole number of at least 2; got 1"):
        make_folds(10, 1, rng=0)


def test_as_many_folds_as_there_can_be() -> None:
    classes = np.array([1.0] * 3 + [-1.0] * 9)
    assert most_folds(12, 10, classes=classes) == (3, "a class with 3 rows allows 3 folds instead of 10.")
    assert most_folds(12, 3, classes=classes) == (3, None)
    assert most_folds(1, 5) == (0, "1 row allows no folds instead of 5.")
    assert most_folds(0, 5)[0] == 0
    assert most_folds(8, 5, groups=np.array([1, 1, 1, 1, 2, 2, 2, 2]))[0] == 2
    make_folds(12, most_folds(12, 10, classes=classes)[0], rng=0, classes=classes)


def test_a_class_of_one_row_is_left_to_chance() -> None:
    assert divisible(np.array([1.0, -1.0, -1.0]), None) is None
    assert divisible(np.array([1.0, 1.0, -1.0, -1.0]), np.array([5, 5, 6, 7])) is None
    kept = divisible(np.array([1.0, 1.0, -1.0, -1.0]), None)
    assert kept is not None

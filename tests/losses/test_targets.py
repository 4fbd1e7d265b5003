"""What targets are let in, and the sentence that turns others away."""

import re

import numpy as np
import pytest

from driftpace.errors import DataError
from driftpace.losses import HuberLoss, LinearLoss, LogisticLoss, SmoothedHinge, SquaredLoss

REGRESSION: list[LinearLoss] = [SquaredLoss(), HuberLoss()]
CLASSIFICATION: list[LinearLoss] = [SmoothedHinge(), LogisticLoss()]


def name_of(loss: LinearLoss) -> str:
    return type(loss).__name__


@pytest.mark.parametrize("loss", REGRESSION, ids=name_of)
@pytest.mark.parametrize("y", [[1.5, -2.0], [1, 2], [True, False], []])
def test_numbers_pass_through(loss: LinearLoss, y: list[float]) -> None:
    encoded = loss.encode(np.array(y))
    assert encoded.dtype == np.float64
    np.testing.assert_array_equal(encoded, np.array(y, dtype=float))


@pytest.mark.parametrize("loss", REGRESSION, ids=name_of)
@pytest.mark.parametrize(
    ("y", "received"),
    [
        ([1.0, np.nan], "nan"),
        ([-np.inf, 1.0], "-inf"),
        (["a", "b"], "'a', 'b'"),
        ([None, 1.0], "nan"),
        (["1", None], "'1', None"),
    ],
)
def test_what_is_not_a_number_is_refused(loss: LinearLoss, y: list[object], received: str) -> None:
    sentence = f"y must be finite numbers for {name_of(loss)}; got values such as {received}."
    with pytest.raises(DataError, match=f"^{re.escape(sentence)}$"):
        loss.encode(np.array(y))


@pytest.mark.parametrize("loss", CLASSIFICATION, ids=name_of)
@pytest.mark.parametrize(
    ("y", "encoded"),
    [
        ([-1, 1, 1], [-1, 1, 1]),
        ([0, 1, 0], [-1, 1, -1]),
        ([False, True], [-1, 1]),
        ([1, 1], [1, 1]),
        ([0, 0], [-1, -1]),
        ([-1.0, -1.0], [-1, -1]),
        ([-0.0, 1.0], [-1, 1]),
        ([], []),
    ],
)
def test_two_classes_become_minus_one_and_one(loss: LinearLoss, y: list[float], encoded: list[int]) -> None:
    given = np.array(y)
    before = given.copy()
    answer = loss.encode(given)
    assert answer.dtype == np.float64
    np.testing.assert_array_equal(answer, encoded)
    np.testing.assert_array_equal(given, before)


@pytest.mark.parametrize("loss", CLASSIFICATION, ids=name_of)
@pytest.mark.parametrize(
    ("y", "received"),
    [
        ([1.0, 2.0, 3.0], "2.0, 3.0"),
        ([2, 3, 4, 5, 6], "2.0, 3.0, 4.0"),
        ([-1.0, 0.0, 1.0], "-1.0, 0.0, 1.0"),
        ([-1.0, 0.0], "-1.0, 0.0"),
        ([0.0, np.nan], "nan"),
        ([0.5, 1.0], "0.5"),
        (["yes", "no"], "'yes', 'no'"),
    ],
)
def test_other_classes_are_refused_by_name(loss: LinearLoss, y: list[object], received: str) -> None:
    sentence = f"y must be -1/1 or 0/1 for {name_of(loss)}; got values such as {received}."
    with pytest.raises(DataError, match=f"^{re.escape(sentence)}$"):
        loss.encode(np.array(y))


@pytest.mark.parametrize("loss", CLASSIFICATION, ids=name_of)
def test_predictions_are_classes_and_zero_counts_as_one(loss: LinearLoss) -> None:
    predicted = loss.predict(np.array([1.0]), np.array([[2.0], [0.0], [-2.0]]))
    np.testing.assert_array_equal(predicted, [1.0, 1.0, -1.0])


@pytest.mark.parametrize("loss", REGRESSION, ids=name_of)
def test_predictions_are_numbers(loss: LinearLoss) -> None:
    np.testing.assert_array_equal(loss.predict(np.array([2.0]), np.array([[2.0], [-1.0]])), [4.0, -2.0])

"""Plain forms read back to the same bits, and name no foreign code."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftpace.errors import StateFileError
from driftpace.records import Constants, DriftEstimate, Outcome
from driftpace.storage import NotEncodableError, decode, encode

FLOATS = st.floats(allow_nan=False, width=64)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | FLOATS | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4).map(tuple) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@given(VALUES)
def test_values_survive_json_exactly(value: object) -> None:
    back = decode(json.loads(json.dumps(encode(value), allow_nan=False)))
    assert back == value
    assert repr(back) == repr(value)  # tells -0.0 from 0.0 and 1 from True


ARRAYS = st.one_of(
    st.lists(st.floats(width=64), max_size=30).map(lambda values: np.array(values, dtype=np.float64)),
    st.lists(st.integers(-(2**63), 2**63 - 1), max_size=30).map(lambda values: np.array(values, dtype=np.int64)),
    st.lists(st.booleans(), max_size=30).map(lambda values: np.array(values, dtype=np.bool_)),
)


@given(ARRAYS.map(lambda array: array.reshape(-1, 1)))
def test_arrays_survive_to_the_bit(array: np.ndarray) -> None:
    back = decode(json.loads(json.dumps(encode(array), allow_nan=False)))
    assert back.dtype == array.dtype
    assert back.shape == array.shape
    assert back.tobytes() == array.tobytes()


def test_records_and_enumerations_come_back_as_themselves() -> None:
    drift = DriftEstimate(value=0.1, upper=math.inf, steps=3, measures="rho", account="mean of 3 steps")
    constants = Constants.given(m=0.1, M=1.0)
    assert decode(encode(drift)) == drift
    assert decode(encode(constants)) == constants
    assert decode(encode(Outcome.CAPPED)) is Outcome.CAPPED
    assert math.isnan(decode(encode(math.nan)))


@pytest.mark.parametrize("value", [object(), lambda: None, {1: 2}, np.array(["a"])])
def test_what_has_no_plain_form_is_refused(value: object) -> None:
    with pytest.raises(NotEncodableError):
        encode(value)


@pytest.mark.parametrize(
    "plain",
    [
        {"!": "record", "type": "os:system", "fields": {}},
        {"!": "record", "type": "driftpace.records:StepReport", "fields": {}},
        {"!": "record", "type": "outcome", "fields": {}},
        {"!": "record", "type": ["report"], "fields": {}},
        {"!": "enum", "type": "constants", "name": "m"},
        {"!": "array", "dtype": "|O8", "shape": [1], "data": ""},
        {"!": "decimal", "value": "a lot"},
        {"!": "something else"},
    ],
)
def test_a_file_cannot_name_code_to_run(plain: dict[str, object]) -> None:
    with pytest.raises(StateFileError):
        decode(plain)


@pytest.mark.parametrize(
    "encoded",
    [
        {"!": "tuple"},
        {"!": "record", "fields": {}},
        {"!": "dict", "items": [1]},
        {"!": "enum", "type": "outcome", "name": []},
    ],
)
def test_values_of_another_shape_are_refused(encoded: dict[str, object]) -> None:
    with pytest.raises(StateFileError):
        decode(encoded)

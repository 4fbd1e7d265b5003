"""A table refuses what does not fit together and turns into any frame."""

import sys
from typing import Any

import narwhals as nw
import numpy as np
import pytest

from driftpace.datasets import Table, load_psid7682
from driftpace.errors import DataError, MissingExtraError, ParameterError


def _toy(**changes: Any) -> Table:
    given: dict[str, Any] = {
        "name": "toy",
        "columns": {"year": np.array([1, 1, 2]), "wage": np.array([0.5, 0.1, 0.3])},
        "period": "year",
        "target": "wage",
    }
    return Table(**(given | changes))


def test_columns_are_read_only_and_apart_from_what_was_given() -> None:
    wage = np.array([0.5, 0.1, 0.3])
    table = _toy(columns={"year": np.arange(3), "wage": wage})
    wage[0] = 9.0
    assert table["wage"][0] == 0.5
    with pytest.raises(ValueError, match="read-only"):
        table["wage"][0] = 1.0


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"^Table 'toy' has no column 'wages'; did you mean 'wage'\?$"):
        _toy(target="wages")
    with pytest.raises(ParameterError, match=r"^Table 'toy' has no column 'zzz'; it has year, wage\.$"):
        _toy()["zzz"]
    with pytest.raises(DataError, match=r"must be columns of one length; got lengths \[2, 3\]"):
        _toy(columns={"year": np.arange(2), "wage": np.zeros(3)})
    with pytest.raises(DataError, match=r"column 'wage' has shape \(3, 1\)"):
        _toy(columns={"year": np.arange(3), "wage": np.zeros((3, 1))})
    with pytest.raises(DataError, match=r"got lengths \[\]"):
        _toy(columns={})


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_a_frame_has_the_same_columns(backend: str) -> None:
    pytest.importorskip(backend)
    table = load_psid7682()
    frame = nw.from_native(table.to_frame(backend), eager_only=True)
    assert list(frame.columns) == list(table.columns)
    assert frame.implementation.value == backend
    for name, column in table.columns.items():
        np.testing.assert_array_equal(frame[name].to_numpy(), column)


def test_backends_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        ParameterError, match=r"Table\.to_frame\(backend=\.\.\.\) must be one of 'polars', 'pandas', 'pyarrow'"
    ):
        _toy().to_frame("excel")
    module = sys.modules[Table.__module__]
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(
        MissingExtraError, match=r"needs polars or pandas or pyarrow to be installed: pip install polars"
    ):
        _toy().to_frame()

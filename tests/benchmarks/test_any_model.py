"""What the benchmark of heads on trees prints, on a table of its own."""

import numpy as np
import pytest

from benchmarks.any_model import HEADS_ALONE, ModelTable, constant_size, heads_alone
from driftpace.typing import FloatArray

PERIODS, ROWS = 5, 90


def rows_of_a_table() -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return rows whose level rises from period to period."""
    rng = np.random.default_rng(0)
    X, period = rng.uniform(-2.0, 2.0, (PERIODS * ROWS, 2)), np.repeat(np.arange(PERIODS, dtype=np.float64), ROWS)
    return X, np.sin(2.0 * X[:, 0]) + 0.5 * period + 0.3 * rng.standard_normal(len(X)), period


def test_heads_alone_are_measured_against_every_row_labelled() -> None:
    table = ModelTable(name="steps", read=rows_of_a_table, objective="regression")
    (line,) = heads_alone(table, table.history(), 20, 1, [0.1])
    cells = dict(zip(HEADS_ALONE, line.split(" | "), strict=True))
    reference, loss = float(cells["reference"]), float(cells["head + alarm"])
    assert cells["table"] == "steps"
    assert float(cells["gap/eps"]) == pytest.approx((loss - reference) / 0.1, abs=0.02)
    assert loss < reference + 0.2  # the base alone, trained on the first period, is off by a level of up to 2
    assert 0 < float(cells["labels"]) <= ROWS


def test_a_constant_size_is_read_off_a_curve_made_monotone() -> None:
    assert constant_size((10, 20, 40), (0.5, 0.6, 0.3), 0.4) == pytest.approx(20.0 * 2.0**0.5)

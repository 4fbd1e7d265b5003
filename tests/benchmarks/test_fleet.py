"""What the benchmark of fleets measures: risk in the world on rows that were not drawn, and which segments are broken."""

import numpy as np
import pytest

from benchmarks.fleet import FleetRun, broken, parts_of, together
from benchmarks.fleet_worlds import TableFleet
from driftpace import SquaredLoss
from driftpace.fleet.borrowing import PARTS

SEGMENTS, ROWS, FEATURES, DRAWN = 400, 50, 6, 30


def noise_table(rng: np.random.Generator) -> TableFleet:
    """A period of segments whose targets are noise, so that the best model of the world is zero."""
    rows = {f"s{place}": [(rng.normal(size=(ROWS, FEATURES)), rng.normal(size=ROWS))] for place in range(SEGMENTS)}
    return TableFleet(rows=rows, loss=SquaredLoss(), epsilon=0.05, seed=0)


def test_rows_that_were_not_drawn_measure_the_world_and_all_rows_do_not(rng: np.random.Generator) -> None:
    """Models that owe nothing to the rows, and fits of the rows that were drawn; four standard errors are allowed.

    All rows say more than the truth of the former, by what their best model owes to them, and less of the latter: the controls.
    """
    fleet, fixed = noise_table(rng), np.full(FEATURES + 1, 0.1)
    owed, fitted = [], []
    for name in fleet.names:
        X, y = fleet.draw(name, DRAWN)
        fit = np.asarray(np.linalg.lstsq(np.column_stack([X, np.ones(len(X))]), y, rcond=None)[0], dtype=np.float64)
        owed.append((fleet.held_out(name, fixed), fleet.excess(name, fixed)))
        fitted.append((fleet.held_out(name, fit), fleet.excess(name, fit), 0.5 * fit @ fit))
    truth = 0.5 * fixed @ fixed
    off, above = np.array(owed).T - truth
    assert abs(off.mean()) < 4.0 * off.std() / np.sqrt(SEGMENTS)
    assert above.mean() > 0.8 * (FEATURES + 1) / (2.0 * ROWS)
    held_out, every, known = np.array(fitted).T
    off = held_out - known
    assert abs(off.mean()) < 4.0 * off.std() / np.sqrt(SEGMENTS)
    assert every.mean() < 0.8 * known.mean()


def test_a_fifth_of_the_rows_is_never_drawn(rng: np.random.Generator) -> None:
    fleet = noise_table(rng)
    assert set((fleet.pool() or {}).values()) == {ROWS * 4 // 5}
    assert len(fleet.draw("s0", ROWS)[1]) == ROWS * 4 // 5
    assert len(fleet.draw("s0", 1)[1]) == 0
    fleet.test = 0.0
    assert np.isnan(fleet.held_out("s0", np.zeros(FEATURES + 1)))


def test_segments_are_broken_beyond_two_standard_errors_of_all_their_periods() -> None:
    risk = np.array([[1.5, 1.6, 1.4, 1.5], [0.2, 2.2, 0.3, 1.9], [0.5, np.nan, np.nan, 0.6]])
    assert broken(risk).tolist() == [True, False, False]
    run = FleetRun(labels=risk, risk=risk, held_out=risk, kinds=["all"] * 3)
    assert together("births", [run, run]).risk.shape == (3, 8)
    assert together("synthetic", [run, run]).risk.shape == (6, 4)
    assert len(together("synthetic", [run, run]).kinds) == 6


@pytest.mark.parametrize(
    ("setting", "parts"),
    [("alone", ()), ("control", ()), ("all", PARTS), ("drift", ("drift",)), ("slopes+drift", ("drift", "slopes"))],
)
def test_settings_name_parts(setting: str, parts: tuple[str, ...]) -> None:
    assert parts_of(setting) == parts

"""The benchmark of the audit: coverage and power from runs whose answer is known, and constants that are put back."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks import audit, tables
from benchmarks.scenario_runs import FIELDS, Runs, worst_stretch
from driftpace.adaptive import audit as adaptive_audit
from driftpace.typing import FloatArray


def runs_of(**fields: FloatArray | float) -> Runs:
    """Return four runs of 30 periods in which nothing was measured in the first three."""
    values = np.full((4, 30, len(FIELDS)), np.nan)
    for name, value in fields.items():
        values[:, :, FIELDS.index(name)] = value
    for name in ("measured", "error", "weight"):
        values[:, :3, FIELDS.index(name)] = np.nan
    return Runs(name="made up", epsilon=0.05, values=values)


def test_coverage_counts_periods_runs_and_recent_means() -> None:
    """Two of four runs have the truth of 0.04 in the interval, and means are three standard errors off in a quarter."""
    low = np.array([0.03, 0.03, 0.05, 0.05])[:, None]
    mean = np.array([0.04, 0.05, 0.03, 0.07])[:, None]
    runs = runs_of(risk=0.04, measured=0.04, weight=0.5, low=low, high=0.06, mean=mean, mean_error=0.01)
    assert audit.coverage(runs) == (0.5, 0.5, 0.75)


def test_a_risk_above_its_target_is_found_out_and_one_below_is_not(rng: np.random.Generator) -> None:
    """Measurements with an error of a tenth of the target: a risk of 2 targets is found soon, none is invented."""
    noise = 0.005 * rng.standard_normal((4, 30))
    runs = runs_of(risk=0.05, measured=0.05 + noise, error=0.005, weight=0.99)
    wrong, right = audit.found_out(runs, 2.0), audit.found_out(runs, 0.85)
    assert (wrong.warned <= 10).all()
    assert (wrong.failed <= 20).all()
    assert np.isinf(right.warned).all()
    assert np.isinf(right.failed).all()


def test_constants_are_put_back_and_unknown_ones_refused() -> None:
    before = adaptive_audit.MOST_AIM
    with audit.constants({"audit.MOST_AIM": 1.0}):
        assert adaptive_audit.MOST_AIM == 1.0
    assert before == adaptive_audit.MOST_AIM
    with pytest.raises(AttributeError), audit.constants({"audit.NOTHING": 1.0}):
        pass
    for variant in audit.VARIANTS.values():
        with audit.constants(variant):
            pass


def test_the_worst_stretch_is_that_of_run_averages() -> None:
    assert worst_stretch(np.array([[1.0, 4.0, 2.0], [1.0, 2.0, 0.0]]), 2) == 2.0
    assert worst_stretch(np.array([[1.0, 4.0, 2.0], [1.0, 2.0, 0.0]]), 1) == 3.0


def test_a_run_against_an_adversary_has_every_field() -> None:
    values = audit.run_adversary(("moves when orders are small", "as it is", 0, 6))
    assert values.shape == (6, len(FIELDS))
    runs = Runs(name="adversary", epsilon=audit.EPSILON, values=np.array([values, values]))
    assert np.isfinite(runs["measured"]).any()
    assert len(audit.bias_line(runs)) == len(audit.BIAS_HEADS)


def test_tables_without_a_file_are_left_out_in_a_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tables, "SHARED", tmp_path)
    left_out = [one for one in tables.tables() if isinstance(one, str)]
    assert [sentence.split()[0] for sentence in left_out] == ["bike_hourly", "elec2", "flights"]
    assert left_out[-1] == "flights is left out: there is no file flights.csv.gz in ../shared/data."

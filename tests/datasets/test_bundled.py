"""The tables that come with driftpace are those the script builds, whole and usable."""

import gzip
import hashlib
import time
from collections.abc import Callable
from importlib.resources import files

import numpy as np
import pytest

from driftpace.datasets import Table, load_gss_income, load_psid7682
from driftpace.typing import FloatArray

# Printed by scripts/build_datasets.py: the sums of the text inside the gzip.
SUMS = {
    "gss_income": "e425d1ab3dbabe9b41285fe24bcd708791d4db5fce0124215143af2df9c26610",
    "psid7682": "c1c32b64e0a0e3758fa3b7230e3f9f90f9216d10cfaa94906ae565542bf573f2",
}
LOADERS = (load_gss_income, load_psid7682)


@pytest.mark.parametrize("name", SUMS)
def test_the_files_are_those_the_script_builds(name: str) -> None:
    packed = (files("driftpace.datasets") / "files" / f"{name}.csv.gz").read_bytes()
    assert hashlib.sha256(gzip.decompress(packed)).hexdigest() == SUMS[name]
    assert packed[4:8] == bytes(4)  # no time in the header, so that a rebuild gives the same bytes
    assert len(packed) < 200_000


@pytest.mark.parametrize("load", LOADERS)
def test_every_value_is_finite_and_periods_count_the_years(load: Callable[[], Table]) -> None:
    table = load()
    assert all(np.isfinite(column).all() for column in table.columns.values())
    years, period = np.unique(table[table.period], return_inverse=True)
    np.testing.assert_array_equal(table["period"], period)
    assert (np.diff(table["period"]) >= 0).all()
    assert years.size == {"gss_income": 30, "psid7682": 7}[table.name]
    assert table.source
    assert table.terms


def test_facts_of_the_income_survey() -> None:
    table = load_gss_income()
    sizes = np.bincount(table["period"])
    assert (len(table), sizes.min(), sizes.max()) == (36_102, 791, 2_563)
    np.testing.assert_allclose((table["log_rinc"] > np.log(25_000)).mean(), 0.30, atol=0.01)
    raised = table["log_rinc_nominal"] - table["log_rinc"]
    assert raised[table["year"] == 1974].mean() == pytest.approx(np.log(44.4 / 109.6), abs=1e-4)
    assert raised[table["year"] == 2018].mean() == pytest.approx(np.log(245.12 / 109.6), abs=1e-4)


def test_facts_of_the_panel() -> None:
    table = load_psid7682()
    assert set(np.bincount(table["id"])[1:].tolist()) == {7}
    assert np.bincount(table["period"]).tolist() == [595] * 7


def _eigenvalues(table: Table, features: tuple[str, ...]) -> FloatArray:
    """The eigenvalues of E[xx'] in each period: standardised over all periods, with an intercept."""
    X = np.column_stack([table[name].astype(float) for name in features])
    X = np.column_stack([np.ones(len(X)), (X - X.mean(axis=0)) / X.std(axis=0)])
    results = [
        np.linalg.eigvalsh(x.T @ x / len(x)) for x in (X[table["period"] == n] for n in np.unique(table["period"]))
    ]
    return np.array(results)


def test_recommended_features_are_independent_in_every_period() -> None:
    gss, psid = load_gss_income(), load_psid7682()
    eigenvalues = _eigenvalues(gss, gss.features)
    assert (eigenvalues.min(), eigenvalues.max()) == (pytest.approx(0.32, abs=0.005), pytest.approx(2.78, abs=0.01))
    eigenvalues = _eigenvalues(psid, psid.features)
    assert (eigenvalues.min(), eigenvalues.max()) == (pytest.approx(0.245, abs=0.001), pytest.approx(2.615, abs=0.001))
    without = [_eigenvalues(psid, tuple(n for n in psid.features if n != name)).min() for name in psid.features]
    assert max(without) < 0.285  # leaving any one out gains little


@pytest.mark.parametrize("load", LOADERS)
def test_experience_is_centred_because_otherwise_columns_are_collinear(load: Callable[[], Table]) -> None:
    table = load()
    years = 10.0 * table["exper_c"] + 20.0
    raw = Table(
        name="raw",
        columns=dict(table.columns) | {"exper_c": years, "exper_c2": years**2},
        period=table.period,
        target=table.target,
    )
    least = {"gss_income": 0.029, "psid7682": 0.020}[table.name]
    assert _eigenvalues(raw, table.features).min() == pytest.approx(least, abs=0.0005)


def test_loading_is_fast() -> None:
    spent = []
    for _ in range(3):
        start = time.process_time()
        load_gss_income()
        spent.append(time.process_time() - start)
    assert min(spent) < 0.4

"""Products of neighbouring gradients: standard normal for independent rows, large where neighbours belong together."""

import numpy as np
import pytest
from scipy.stats import binom

from driftpace.adaptive.coordinates import coordinates
from driftpace.adaptive.dependence import KEPT, no_products, products_of, standard_products, with_products
from driftpace.adaptive.rows import DesignRows, group_sums
from driftpace.typing import FloatArray
from tests.reference.clusters import FEATURES, Clusters, follow_clusters
from tests.reference.looks import make_rows

PARTS = (slice(0, 1), slice(1, FEATURES + 1))


def gradients(rows: DesignRows, slopes: FloatArray) -> FloatArray:
    """The gradients of rows, or of their groups, in whitened coordinates."""
    whitened = coordinates(rows.X.T @ rows.X / len(rows)).white_rows(rows.X)
    return group_sums(whitened * slopes[:, None], rows.groups)


def products(world: Clusters, counts: tuple[int, ...], rng: np.random.Generator, *, heavy: bool = False) -> FloatArray:
    """The standardised sums after periods of so many rows, fitted by least squares."""
    sums = no_products(2)
    for count in counts:
        X, residuals, _ = world.draw(count, rng)
        rows = make_rows(X, residuals**3 if heavy else residuals, intercept=True)
        model = np.linalg.lstsq(rows.X, rows.y, rcond=None)[0]
        sums = with_products(sums, products_of(gradients(rows, rows.X @ model - rows.y), PARTS))
    return standard_products(sums)


@pytest.mark.statistical
@pytest.mark.parametrize("heavy", [False, True])
@pytest.mark.parametrize("counts", [(20,), (60,), (30, 30, 30)])
def test_independent_rows_are_seldom_doubted(counts: tuple[int, ...], heavy: bool, rng: np.random.Generator) -> None:
    """Beyond the one-sided normal quantile of 0.00025 in each of two blocks: at most 1 % of 1,000 runs (budget: 1e-6)."""
    world = Clusters(correlation=0.0)
    beyond = sum(float(products(world, counts, rng, heavy=heavy).max()) > 3.48 for _ in range(1_000))
    assert beyond <= binom.ppf(1.0 - 1e-6, 1_000, 0.01)


@pytest.mark.statistical
def test_rows_that_belong_together_are_found(rng: np.random.Generator) -> None:
    """Power at 3.48 in the world of five rows a group, correlation 0.4: three in five after 180 rows, nine in ten after 300.

    Error budget: 200 runs each, binomial; fewer than 90 where 126 are expected, or 160 where 182 are, have a chance below 1e-4.
    """
    few = np.mean([products(Clusters(), (60,) * 3, rng).max() > 3.48 for _ in range(200)])
    many = np.mean([products(Clusters(), (60,) * 5, rng).max() > 3.48 for _ in range(200)])
    assert few > 0.45
    assert many > 0.8


def test_groups_are_neighbours_where_rows_are_grouped(rng: np.random.Generator) -> None:
    """The groups of a world of groups are independent of each other."""
    values = []
    for _ in range(300):
        X, residuals, groups = Clusters(correlation=0.8).draw(100, rng)
        rows = make_rows(X, residuals, intercept=True, groups=groups)
        sums = products_of(gradients(rows, -residuals), PARTS)
        values.append(standard_products(sums)[0])
    assert abs(np.mean(values)) < 4.9 / np.sqrt(300)  # standard normal values: a false alarm in a million


def test_sums_fade_and_few_rows_say_nothing(rng: np.random.Generator) -> None:
    X, residuals, _ = Clusters().draw(20, rng)
    rows = make_rows(X, residuals, intercept=True)
    seen = gradients(rows, -residuals)
    once = products_of(seen, PARTS)
    twice = with_products(once, once)
    np.testing.assert_allclose(twice, once + once * [[KEPT], [KEPT**2]])
    assert with_products(once, products_of(seen[:7], PARTS)) is once
    assert standard_products(no_products(2)).tolist() == [0.0, 0.0]


@pytest.mark.statistical
@pytest.mark.slow
def test_reports_doubt_grouped_rows_and_no_others(seed: int) -> None:
    """Independent: at most 1 % of 40 x 25 reports warn on average; runs differ, so at most 1 % + 4 standard errors of runs."""
    still = follow_clusters(Clusters(correlation=0.0), grouped=False, runs=40, periods=25, seed=seed).doubted
    by_run = still.mean(axis=1)
    assert by_run.mean() <= 0.01 + 4.0 * by_run.std(ddof=1) / np.sqrt(len(by_run))
    clustered = follow_clusters(Clusters(), grouped=False, runs=40, periods=25, seed=seed).doubted
    assert clustered[:, 10:].mean() > 0.6

"""Every compiled pass is the textbook loop, to the last digits; NaN and overflow are seen."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftpace.learners.kernels import work_space
from driftpace.learners.kernels.gradient import fill_greedy_steps, mean_gradient
from driftpace.learners.kernels.passes import fused_pass, gram_pass, look_ahead, plain_pass
from driftpace.schedules import GreedySteps
from driftpace.typing import FloatArray
from tests.reference import naive_sgd as naive

LOSSES = {"squared": 0, "hinge": 1, "logistic": 2, "huber": 3}
NONE = np.zeros(0)
CLOSE = 1e-12


def rows(rng: np.random.Generator, loss: str, count: int, features: int) -> tuple[FloatArray, FloatArray]:
    X = rng.standard_normal((count, features)) / math.sqrt(features)
    y = X @ rng.standard_normal(features) * 2.0 + 0.3 * rng.standard_normal(count)
    return X, np.sign(y) if loss in ("hinge", "logistic") else y


def agree(found: FloatArray, wanted: FloatArray) -> None:
    assert np.abs(found - wanted).max() <= CLOSE * max(1.0, float(np.abs(wanted).max()))


def average(output: str, updates: int, shift: float) -> tuple[int, float, float, FloatArray | None]:
    """The first averaged update, tilt and level of the weights, and the weights themselves (None: the last iterate)."""
    k: FloatArray = np.arange(updates, dtype=np.float64)
    if output == "weighted":
        return 0, 1.0, shift, k + shift
    if output == "tail":
        return updates // 2, 0.0, 1.0, (k >= updates // 2).astype(float)
    return 0, 0.0, 1.0, np.ones(updates) if output == "uniform" else None


CASES = {
    "loss": st.sampled_from(sorted(LOSSES)),
    "count": st.integers(1, 40),
    "output": st.sampled_from(["last", "weighted", "uniform", "tail"]),
    "rule": st.sampled_from(["inverse-time", "constant", "given"]),
    "radius": st.sampled_from([math.inf, 3.0, 0.4]),
    "l2": st.sampled_from([0.0, 0.3]),
    "seed": st.integers(0, 2**32 - 1),
}


def run(
    kernel: Callable[..., None],
    *more: Any,
    loss: str,
    count: int,
    features: int,
    output: str,
    rule: str,
    radius: float,
    l2: float,
    seed: int,
    free: int = 0,
    batch: int = 1,
    project: Callable[[FloatArray], FloatArray] | None = None,
) -> None:
    """Hold one pass and the gradient after it against the textbook."""
    rng = np.random.default_rng(seed)
    X, y = rows(rng, loss, count, features)
    start = rng.standard_normal(features)
    start *= min(1.0, 0.9 * min(radius, 10.0) / float(np.linalg.norm(start)))
    updates, scale, shift, threshold = -(-count // batch), 1.0, 3.0, 0.7
    first, tilt, level, weights = average(output, updates, shift)
    share = 0.0 if weights is None else 1.0 / float(weights.sum())
    numbers, steps = (scale, 1.0, shift), scale / (np.arange(1, updates + 1) + shift)
    if rule == "constant":
        numbers, steps = (0.2, 0.0, 1.0), np.full(updates, 0.2)
    given_steps = steps * rng.uniform(0.5, 1.0, updates) if rule == "given" else NONE
    coef, gradient, work = start.copy(), np.full(features, np.nan), np.zeros(work_space(features))
    curve = (LOSSES[loss], threshold, l2, free)
    kernel(X, y, coef, work, *curve, radius, *numbers, given_steps, first, share, tilt, level, *more)
    wanted = naive.naive_sgd(
        loss,
        X,
        y,
        start,
        list(given_steps if rule == "given" else steps),
        naive.ball(radius) if project is None else project,
        weights=None if weights is None else list(weights),
        batch=batch,
        l2=l2,
        free=free,
        threshold=threshold,
    )
    agree(coef, wanted)
    assert mean_gradient(X, y, coef, gradient, work, *curve)
    agree(gradient, naive.mean_gradient(loss, wanted, X, y, l2=l2, free=free, threshold=threshold))


@settings(max_examples=50, deadline=None)
@given(features=st.integers(1, 16), **CASES)
def test_the_look_ahead_pass_is_the_textbook_loop(features: int, **case: Any) -> None:
    run(look_ahead(-(-features // 4)), features=features, **case)


@settings(max_examples=40, deadline=None)
@given(features=st.integers(1, 90), free=st.integers(0, 1), **CASES)
def test_the_fused_pass_is_the_textbook_loop(features: int, free: int, **case: Any) -> None:
    run(fused_pass, features=features, free=min(free, features), **case)


@settings(max_examples=40, deadline=None)
@given(features=st.integers(1, 90), **CASES)
def test_the_gram_pass_is_the_textbook_loop(features: int, **case: Any) -> None:
    run(gram_pass, features=features, **case)


@settings(max_examples=40, deadline=None)
@given(features=st.integers(1, 30), free=st.integers(0, 3), batch=st.integers(1, 9), shape=st.integers(0, 2), **CASES)
def test_the_plain_pass_is_the_textbook_loop(features: int, free: int, batch: int, shape: int, **case: Any) -> None:
    rng = np.random.default_rng(case["seed"] + 1)
    center, low, high = np.zeros(features), NONE, NONE
    project = naive.ball(case["radius"])
    if shape == 1:
        center = 0.1 * rng.standard_normal(features)
        project = naive.ball(case["radius"], center)
    if shape == 2:
        case["radius"] = math.inf
        low, high = -rng.uniform(0.0, 0.5, features), rng.uniform(0.0, 0.5, features)
        project = lambda w: np.minimum(np.maximum(w, low), high)  # noqa: E731
    limits = (batch, center, low, high)
    run(plain_pass, *limits, features=features, free=min(free, features), batch=batch, project=project, **case)


@pytest.mark.parametrize(("kernel", "features"), [(gram_pass, 1501), (fused_pass, 400), (look_ahead(4), 16)])
def test_wide_rows_and_long_streams_keep_the_digits(kernel: Any, features: int, seed: int) -> None:
    count = 20_000 // features
    for loss in LOSSES:
        case = {"output": "weighted", "rule": "inverse-time", "radius": 0.4, "l2": 0.1}
        run(kernel, loss=loss, count=count, features=features, seed=seed, **case)  # type: ignore[arg-type]


NOT_FINITE = [
    *((loss, where, bad) for loss in LOSSES for where in ("X", "start") for bad in (math.nan, math.inf, -math.inf)),
    *((loss, "y", math.nan) for loss in LOSSES),
    ("squared", "y", math.inf),  # to the others, an infinite target is an outlier or a margin like any other
    ("squared", "X", 1e200),  # finite, but not its square
]


@pytest.mark.parametrize(("loss", "where", "bad"), NOT_FINITE)
@pytest.mark.parametrize("features", [2, 40])
def test_values_that_are_not_finite_are_reported(
    bad: float, loss: str, where: str, features: int, rng: np.random.Generator
) -> None:
    X, y = rows(rng, loss, 9, features)
    coef, gradient, work = np.zeros(features), np.zeros(features), np.zeros(work_space(features))
    {"X": X[4], "y": y[4:5], "start": coef}[where][0] = bad
    curve = (LOSSES[loss], 0.7, 0.0, 0)
    plain = (1, np.zeros(features), NONE, NONE)
    for kernel, more in ((look_ahead(1) if features == 2 else fused_pass, ()), (gram_pass, ()), (plain_pass, plain)):
        w = coef.copy()
        kernel(X, y, w, work, *curve, 5.0, 0.2, 0.0, 1.0, NONE, 0, 0.0, 0.0, 1.0, *more)
        assert not mean_gradient(X, y, w, gradient, work, *curve)


@pytest.mark.parametrize("margin", [-800.0, -700.0, -30.0, -1e-8, 0.0, 1e-8, 0.3, 30.0, 690.0, 800.0])
def test_the_written_out_exponential_has_its_digits(margin: float) -> None:
    X, y, coef = np.array([[1.0]]), np.array([1.0]), np.array([margin])
    gradient, work = np.zeros(1), np.zeros(work_space(1))
    mean_gradient(X, y, coef, gradient, work, 2, 0.0, 0.0, 0)
    wanted = -1.0 / (1.0 + math.exp(margin)) if margin < 700.0 else 0.0
    assert gradient[0] == pytest.approx(wanted, rel=4e-16 * 4, abs=1e-300)


@given(
    distance=st.floats(0.0, 1e3),
    A=st.floats(0.0, 10.0),
    B=st.floats(1.0, 100.0),  # above m^2, where a step leaves nothing and what rounding leaves is all there is
    limit=st.sampled_from([math.inf, 0.1, 1e-3]),
    updates=st.integers(0, 60),
)
@settings(max_examples=60, deadline=None)
def test_compiled_greedy_steps_are_those_of_the_schedule(
    distance: float, A: float, B: float, limit: float, updates: int
) -> None:
    schedule, steps = GreedySteps(m=0.8, A=A, B=B, limit=limit), np.empty(updates)
    fill_greedy_steps(steps, 0.8, A, B, limit, distance)
    np.testing.assert_allclose(steps, schedule.steps(updates, distance=distance), rtol=1e-11, atol=1e-300)

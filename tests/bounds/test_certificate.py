import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftpace.bounds import SecondMoment, average_certificate
from driftpace.errors import ParameterError
from tests.reference.bound_checks import Squares
from tests.reference.monte_carlo import gaussian_rows, measure, sgd, squared_slope


def term_by_term(steps: list[float], weights: list[float], m: float, moment: SecondMoment) -> tuple[float, float]:
    """The certificate at the last step, as the theory writes it (1.2), with v in the place of mu where C is paid."""
    a, s, P, Q, before = 1.0, 0.0, 0.0, 0.0, 0.0
    for mu, theta in zip(steps, weights, strict=True):
        v = mu * (1.0 - 0.5 * moment.C * mu)
        e = max(0.0, theta * (1.0 / (2.0 * v) - m / 2.0 + moment.B * mu**2 / (2.0 * v)) - before)
        P, Q = P + e * a, Q + e * s + 0.5 * moment.A * theta * mu**2 / v
        c = max(0.0, 1.0 - 2.0 * m * mu + (moment.B + m * moment.C) * mu**2)
        a, s, before = c * a, c * s + moment.A * mu**2, theta / (2.0 * v)
    return P / sum(weights), Q / sum(weights)


@settings(max_examples=100, deadline=None)
@given(
    steps=st.lists(st.floats(1e-3, 0.3), min_size=1, max_size=30),
    data=st.data(),
    m=st.floats(0.05, 2.0),
    moment=st.builds(SecondMoment, A=st.floats(0.0, 5.0), B=st.floats(0.0, 5.0), C=st.floats(0.0, 5.0)),
)
def test_all_at_once_is_one_by_one(steps: list[float], data: st.DataObject, m: float, moment: SecondMoment) -> None:
    weights = data.draw(st.lists(st.floats(0.01, 5.0), min_size=len(steps), max_size=len(steps)))
    alpha, beta = average_certificate(np.array(steps), np.array(weights), m=m, moment=moment)
    for K in range(1, len(steps) + 1):
        expected = term_by_term(steps[:K], weights[:K], m, moment)
        assert (alpha[K - 1], beta[K - 1]) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.statistical
@pytest.mark.parametrize("weighting", ["uniform", "linear", "square", "odd"])
def test_true_for_any_steps_and_weights(weighting: str, rng: np.random.Generator) -> None:
    """Error budget of a fast case: at most 6 comparisons at 4.9 standard errors of 1,000 runs or more: 4e-6 (Student t)."""
    squares, K = Squares(features=5, condition=10.0), 200
    k = np.arange(1.0, K + 1.0)
    weights = {"uniform": k**0.0, "linear": k, "square": k**2, "odd": 1.0 + (k % 3.0)}[weighting]
    steps = (0.3 / squares.R2) / (1.0 + 0.01 * k) if weighting != "odd" else (0.3 + 0.2 * np.cos(k)) / squares.R2
    moment = SecondMoment.least_squares(noise=squares.noise, trace=squares.trace, R2=squares.R2)
    alpha, beta = average_certificate(steps, weights, m=squares.m, moment=moment)
    draw = gaussian_rows(squares.eigenvalues, np.zeros(5), squares.noise)
    for steepest in (True, False):
        start = squares.start(1.0, steepest=steepest)
        kept = sgd(draw, squared_slope, start, steps, runs=1_000, rng=rng, at=(1, 10, K), averages={"w": weights})
        for count, W in kept["w"].items():
            truth = measure(squares.risk(W))
            assert truth.at_most(alpha[count - 1] + beta[count - 1])
    assert not truth.at_most(
        (0.005 if weighting == "odd" else 0.05) * (alpha[-1] + beta[-1])
    )  # weights that jump cost much


def test_what_cannot_be_is_refused() -> None:
    moment = SecondMoment(A=1.0, C=4.0)
    with pytest.raises(ParameterError, match=r"steps=...\) must be positive, as many as weights"):
        average_certificate(np.array([0.1]), np.ones(2), m=1.0, moment=moment)
    with pytest.raises(ParameterError, match=r"steps=...\) must be positive"):
        average_certificate(np.array([0.1, 0.0]), np.ones(2), m=1.0, moment=moment)
    with pytest.raises(ParameterError, match=r"weights=...\) must be zero or more, the first positive"):
        average_certificate(np.full(2, 0.1), np.array([0.0, 1.0]), m=1.0, moment=moment)
    with pytest.raises(ParameterError, match=r"steps=...\) must be below 2/C=0.5; got 0.5"):
        average_certificate(np.full(2, 0.5), np.ones(2), m=1.0, moment=moment)

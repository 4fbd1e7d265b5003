import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from driftpace.bounds import Anchored, FormulaBound, Nature, RiskBound
from driftpace.planning.outlook import Outlook, Steps, risk_gaps, risk_trajectory


@dataclass(frozen=True, kw_only=True)
class Powers(FormulaBound):
    """b(d, K) = c1 d^2/K^2 + c2/K, and e(d^2) = M d^2/2."""

    m: float = 0.5
    M: float = 2.0
    c1: float = 4.0
    c2: float = 0.7

    name: ClassVar[str] = "powers"
    nature: ClassVar[Nature] = Nature.UPPER
    rate: ClassVar[float] = -1.0
    conditions: ClassVar[tuple[str, ...]] = ("an example",)

    def start(self, distance: float) -> float:
        return 0.5 * self.M * distance**2

    def raw(self, distance: float, samples: int) -> float:
        return self.c1 * distance**2 / samples**2 + self.c2 / samples

    def reach(self, risk: float) -> float:
        return math.sqrt(2.0 * risk / self.M)


PLANS = st.lists(st.one_of(st.just(0), st.integers(1, 60)), min_size=1, max_size=12)


def last_time(K: list[int], n: int) -> int | None:
    """t_s(n) = max{m : 1 <= m <= n, K_m > 0}, periods from 1; None for the paper's +infinity."""
    times = [m for m in range(1, n + 1) if K[m - 1] > 0]
    return max(times) if times else None


def b_tilde(n: int, K: list[int], b: RiskBound, rho: float, diam: float, m: float, *, printed: bool) -> float:
    """The four cases of section IV-A, recursively, e(u) being b(u, 0); corrected as theory I10 and I11, or as printed."""
    before = last_time(K, n - 1)
    if K[n - 1] == 0 and before is None:
        return b(diam, 0)
    if K[n - 1] > 0 and before is None:
        return b(diam, K[n - 1])
    assert before is not None
    risk = b_tilde(before, K, b, rho, diam, m, printed=printed)
    if K[n - 1] == 0 or not printed:
        return b(math.sqrt(2.0 / m * risk) + (n - before) * rho, K[n - 1])
    return b(math.sqrt(4.0 / m * risk + 2.0 * ((n - before) * rho) ** 2), K[n - 1])


@pytest.mark.parametrize("steps", ["worst", "printed"])
@given(
    samples=st.lists(st.one_of(st.just(0), st.integers(40, 200)), min_size=1, max_size=12),
    rho=st.floats(0.0, 10.0),
    m=st.floats(0.5, 2.0),
)
def test_the_four_cases_of_the_paper(steps: Steps, samples: list[int], rho: float, m: float) -> None:
    """With a set so wide, and orders so large, that no distance reaches its diameter after the first of them."""
    bound, diam = Powers(), 1e4
    outlook = Outlook(bound=bound, rho=rho, start=diam, diameter=diam, m=m, steps=steps)
    periods = range(1, len(samples) + 1)
    literal = [b_tilde(n, samples, bound, rho, diam, m, printed=steps == "printed") for n in periods]
    assert risk_trajectory(outlook, samples) == pytest.approx(literal, rel=1e-9)


@given(samples=PLANS, rho=st.floats(0.0, 1.0), start=st.floats(0.0, 5.0), diameter=st.floats(0.5, 9.0))
@pytest.mark.parametrize("steps", ["worst", "walk", "printed"])
def test_a_start_that_is_known_and_a_set_that_is_narrow(
    steps: Steps, samples: list[int], rho: float, start: float, diameter: float
) -> None:
    """A second implementation, by walking one distance forward period by period."""
    bound = Powers()
    outlook = Outlook(bound=bound, rho=rho, start=start, diameter=diameter, steps=steps)
    expected = []
    origin, since, fitted = start, 0, False
    for count in samples:
        worst, walk = origin + since * rho, math.hypot(origin, math.sqrt(since) * rho)
        distance = walk if steps == "walk" else worst
        if steps == "printed" and count and fitted:
            distance = math.sqrt(2.0) * math.hypot(origin, since * rho)
        distance = min(distance, diameter)
        expected.append(bound(distance, count))
        if count:
            origin, since, fitted = bound.reach(expected[-1]), 0, True
        since += 1
    assert risk_trajectory(outlook, samples) == pytest.approx(expected, rel=1e-9)


@given(samples=PLANS, rho=st.floats(0.0, 1.0))
def test_the_corrected_course_is_never_above_the_printed_one(samples: list[int], rho: float) -> None:
    bound = Powers()
    worst, printed, walk = (
        risk_trajectory(Outlook(bound=bound, rho=rho, start=3.0, m=0.5, steps=steps), samples)
        for steps in ("worst", "printed", "walk")
    )
    assert all(w <= p * (1 + 1e-12) for w, p in zip(worst, printed, strict=True))
    assert all(r <= w * (1 + 1e-12) for r, w in zip(walk, worst, strict=True))


@given(samples=PLANS, place=st.integers(0, 11), more=st.integers(1, 50))
def test_where_samples_are_bought_more_of_them_never_hurt(samples: list[int], place: int, more: int) -> None:
    place %= len(samples)
    assume(samples[place] > 0)
    outlook = Outlook(bound=Anchored(noise=1.0, features=3), rho=0.3, start=3.0)
    larger = [count + (more if index == place else 0) for index, count in enumerate(samples)]
    pairs = zip(risk_trajectory(outlook, larger), risk_trajectory(outlook, samples), strict=True)
    assert all(better <= risk * (1 + 1e-12) for better, risk in pairs)


def test_by_hand() -> None:
    outlook = Outlook(bound=Powers(m=1.0, M=1.0), rho=0.5, start=2.0)
    first = 4.0 * 2.5**2 / 100 + 0.07
    idle = 0.5 * (math.sqrt(2 * first) + 1.0) ** 2
    again = 4.0 * (math.sqrt(2 * first) + 1.5) ** 2 / 400 + 0.035
    middle = 0.5 * (math.sqrt(2 * first) + 0.5) ** 2
    assert risk_trajectory(outlook, [0, 10, 0, 0, 20]) == pytest.approx([2.0, first, middle, idle, again])
    assert risk_trajectory(outlook, []) == ()


def test_the_set_limits_every_distance() -> None:
    outlook = Outlook(bound=Powers(), rho=0.5, start=9.0, diameter=2.0)
    assert max(risk_trajectory(outlook, [0, 0, 1, 0, 0, 0, 0, 0, 0])) <= Powers()(2.0, 0)


@given(
    risks=st.lists(st.floats(0.0, 10.0), min_size=1, max_size=10),
    epsilon=st.floats(0.001, 5.0),
)
def test_a_gap_is_what_lies_above_the_target(risks: list[float], epsilon: float) -> None:
    gaps = risk_gaps(risks, epsilon)
    assert gaps.dtype == np.float64
    assert gaps.tolist() == pytest.approx([max(risk - epsilon, 0.0) for risk in risks], rel=1e-12, abs=1e-12 * epsilon)
    assert (gaps >= 0.0).all()


def test_rounding_is_no_gap() -> None:
    assert risk_gaps([0.1 * (1 + 2e-16), 0.1 * (1 + 1e-13), 0.1], 0.1).tolist() == [0.0, 0.0, 0.0]
    assert risk_gaps([0.1 * (1 + 1e-11)], 0.1)[0] > 0.0

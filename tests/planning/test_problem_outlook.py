"""The distance recursion and the risk trajectory."""

import math
import pickle
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from driftpace.bounds import Anchored, BachMoulines, ClosedForm, FormulaBound, Nature, NoiseModel, RiskBound
from driftpace.errors import ParameterError
from driftpace.planning.problem import Outlook, Steps, risk_gaps, risk_trajectory

BOUND = Anchored(noise=1.0, features=3)
DISTANCE = st.floats(0.0, 100.0)


@given(reach=DISTANCE, rho=DISTANCE, gap=st.integers(1, 50))
def test_distances_since_a_fit(reach: float, rho: float, gap: int) -> None:
    def outlook(steps: Steps) -> Outlook:
        return Outlook(bound=BOUND, rho=rho, start=1.0, steps=steps)

    worst = reach + gap * rho
    walk = math.hypot(reach, math.sqrt(gap) * rho)
    printed = math.sqrt(2.0) * math.hypot(reach, gap * rho)
    assert outlook("worst").idle_distance(reach, gap) == outlook("worst").fit_distance(reach, gap) == worst
    assert outlook("walk").idle_distance(reach, gap) == outlook("walk").fit_distance(reach, gap)
    assert outlook("walk").fit_distance(reach, gap) == pytest.approx(walk, rel=1e-12)
    assert outlook("printed").idle_distance(reach, gap) == worst
    assert outlook("printed").fit_distance(reach, gap) == pytest.approx(printed, rel=1e-12)
    assert walk <= worst * (1 + 1e-12) <= printed * (1 + 1e-11)


@pytest.mark.parametrize("steps", ["worst", "walk", "printed"])
@given(reach=DISTANCE, more=DISTANCE, rho=DISTANCE, gap=st.integers(1, 50), diameter=st.floats(0.1, 200.0))
def test_distances_rise_with_reach_and_time_up_to_the_diameter(
    steps: Steps, reach: float, more: float, rho: float, gap: int, diameter: float
) -> None:
    outlook = Outlook(bound=BOUND, rho=rho, start=1.0, diameter=diameter, steps=steps)
    for distance in (outlook.idle_distance, outlook.fit_distance):
        assert distance(reach, gap) <= distance(reach + more, gap) <= diameter
        assert distance(reach, gap) <= distance(reach, gap + 1) <= diameter


@pytest.mark.parametrize(("steps", "far"), [("worst", 5.0), ("walk", math.sqrt(10.0)), ("printed", 5.0)])
def test_while_nothing_is_bought_the_start_moves_away(steps: Steps, far: float) -> None:
    outlook = Outlook(bound=BOUND, rho=0.5, start=3.0, steps=steps)
    assert outlook.first_distance(0) == 3.0
    assert outlook.first_distance(4) == pytest.approx(far)
    assert Outlook(bound=BOUND, rho=0.5, start=3.0, diameter=2.0, steps=steps).first_distance(4) == 2.0


def test_a_risk_becomes_a_distance_as_the_bound_knows_it_or_as_in_the_paper() -> None:
    bound = ClosedForm(m=0.25, M=4.0, noise=NoiseModel(A=1.0, B=20.0))
    assert Outlook(bound=bound, rho=0.1, start=1.0).reach(0.5) == bound.reach(0.5) == pytest.approx(0.5)
    assert Outlook(bound=bound, rho=0.1, start=1.0, m=0.25).reach(0.5) == pytest.approx(2.0)


def outlook_of(**changed: Any) -> Outlook:
    parts: dict[str, Any] = {"bound": BOUND, "rho": 0.1, "start": 1.0, **changed}
    return Outlook(**parts)


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"rho": -1.0}, "Outlook(rho=...) must be between 0 and 1e150"),
        ({"rho": math.nan}, "Outlook(rho=...) must be between 0 and 1e150"),
        ({"start": math.inf}, "Outlook(start=...) must be between 0 and 1e150"),
        ({"diameter": 0.0}, "Outlook(diameter=...) must be positive, or infinite; got 0.0."),
        ({"diameter": math.nan}, "Outlook(diameter=...) must be positive, or infinite; got nan."),
        ({"diameter": True}, "Outlook(diameter=...) must be positive, or infinite; got True."),
        ({"diameter": "wide"}, "Outlook(diameter=...) must be positive, or infinite; got 'wide'."),
        ({"m": 0.0}, "Outlook(m=...) must be positive and finite; got 0.0."),
        ({"steps": "random"}, "Outlook(steps=...) must be one of 'worst', 'walk', 'printed'; got 'random'."),
        ({"bound": 3}, "Outlook(bound=...) must be a risk bound; got 3."),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_what_no_plan_can_rest_on_is_rejected(changed: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ParameterError) as refusal:
        outlook_of(**changed)
    assert str(refusal.value).startswith(sentence)


def test_a_bound_that_says_nothing_of_distances_needs_m_or_a_diameter() -> None:
    silent = BachMoulines(noise=0.5, features=2, R2=4.0, step=1 / 16)
    with pytest.raises(
        ParameterError, match=r"^Outlook\(m=\.\.\.\) must be given, or a finite diameter: averaged least-squares"
    ):
        outlook_of(bound=silent)
    assert outlook_of(bound=silent, m=0.5).reach(1.0) == 2.0
    assert outlook_of(bound=silent, diameter=3.0).idle_distance(silent.reach(1.0), 1) == 3.0


def test_a_bound_that_says_nothing_of_the_start_is_rejected() -> None:
    class Blind(Anchored):
        def start(self, distance: float) -> float:
            return math.inf

    with pytest.raises(ParameterError, match=r"^Outlook\(bound=\.\.\.\) must be finite without samples"):
        outlook_of(bound=Blind(noise=1.0, features=3))


def test_it_is_a_value() -> None:
    outlook = Outlook(bound=BOUND, rho=0.1, start=1.0, steps="walk")
    assert pickle.loads(pickle.dumps(outlook)) == outlook
    assert hash(outlook) == hash(Outlook(bound=BOUND, rho=0.1, start=1.0, steps="walk"))


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

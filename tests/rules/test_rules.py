"""The rules against their formulas, evaluated the slow way."""

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftpace.bounds import Greedy, LastIterate, NoiseModel
from driftpace.errors import ParameterError
from driftpace.records import DriftEstimate, Outcome
from driftpace.rules import DoNotUpdate, Rule, RuleContext, TrainedPeriod, UpdatePast, risk_sequence, sizes_when_known
from driftpace.schedules import InverseTime

M, SMALL = 4.0, 1.0
BOUND = LastIterate(
    m=SMALL, M=M, noise=NoiseModel.second_moment(A=0.5, B=20.0), schedule=InverseTime(scale=2.0 / SMALL, shift=40.0)
)
DIAMETER = 10.0


def learnt(value: float, margin: float = 0.0, steps: int = 5, measures: str = "rho") -> DriftEstimate:
    return DriftEstimate(value=value, upper=value + margin, steps=steps, measures=measures, account="a test")


def terms(period: int, rho: float = 0.3, **changes: object) -> RuleContext:
    base = RuleContext(
        period=period,
        epsilon=0.1,
        bound=BOUND,
        m=SMALL,
        drift=learnt(rho, 0.1),
        diameter=DIAMETER,
        first_distance=math.inf,
        cap=10**7,
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def closed(rule: Rule, state: Any, now: RuleContext, samples: int) -> tuple[Any, float]:
    """Close a period as the engine does: one distance is proven, and everything relies on it."""
    distance = rule.start(state, now)
    used = BOUND.used(distance, samples) if math.isfinite(distance) else samples
    return rule.close(state, now, TrainedPeriod(samples=samples, used=used, distance=distance))


def scan(distance: float, epsilon: float) -> int:
    """The smallest K by looking at every one."""
    samples = 0
    while BOUND(distance, samples) > epsilon:
        samples += 1
    return samples


@given(rho=st.floats(0.0, 3.0), margin=st.floats(0.0, 1.0), epsilon=st.floats(0.05, 1.0))
def test_do_not_update_is_the_formula(rho: float, margin: float, epsilon: float) -> None:
    """K_n = min{K : b(sqrt(2 eps/m) + rho + t, K) <= eps}: the distance, not its square (theory I1)."""
    rule = DoNotUpdate()
    state = replace(rule.init(), risk=5.0)  # a stale model: zero is not enough
    decision = rule.size(state, terms(7, epsilon=epsilon, drift=learnt(rho, margin)))
    distance = min(math.sqrt(2 * epsilon / SMALL) + rho + margin, DIAMETER)
    assert decision.sizing.samples == scan(distance, epsilon)
    proven = min(math.sqrt(2 * 5.0 / SMALL) + rho + margin, DIAMETER)  # what is promised does not assume eps
    assert decision.distance == pytest.approx(proven, rel=1e-12)
    assert decision.risk == BOUND(decision.distance, decision.sizing.samples)
    low, high = decision.interval
    assert low == scan(min(math.sqrt(2 * epsilon / SMALL) + rho, DIAMETER), epsilon) <= high == decision.sizing.samples


@given(sizes=st.lists(st.integers(0, 300), min_size=1, max_size=12), rho=st.floats(0.0, 2.0))
def test_update_past_revises_every_bound(sizes: list[int], rho: float) -> None:
    """eps_i = b(sqrt(2 eps_{i-1}/m) + rho, K_i) from eps_1, eps_2 = b(diam, .), all with the newest rho (theory I19)."""
    rule = UpdatePast()
    state = rule.init()
    risk = math.inf
    for period, samples in enumerate(sizes, start=1):
        state, risk = closed(
            rule, state, terms(period, rho=2.0 * rho), samples
        )  # older, larger drift: must be forgotten
    assert risk >= 0.0
    revised = rule.revised(state, terms(len(sizes) + 1, drift=learnt(rho)))
    slow = 0.0
    for period, trained in enumerate(state.periods, start=1):
        distance = DIAMETER if period <= 2 else min(math.sqrt(2 * slow / SMALL) + rho, DIAMETER)
        factors = BOUND.factors(trained.used)  # what was used is not chosen anew
        slow = factors.alpha * distance**2 + factors.beta
    assert revised is not None
    assert revised == pytest.approx(slow, rel=1e-12)
    if all(trained.used == trained.samples for trained in state.periods):
        upper = risk_sequence(BOUND, sizes, rho=rho, m=SMALL, diameter=DIAMETER, given=2)[-1]
        assert revised >= upper * (1 - 1e-12)  # the envelope might have used none


def test_update_past_sizes_from_the_larger_of_target_and_revised_risk() -> None:
    rule = UpdatePast()
    state = rule.init()
    for period, samples in enumerate((20, 20, 20), start=1):
        state, risk = closed(rule, state, terms(period), samples)
    assert risk > 0.1
    expected = scan(min(math.sqrt(2 * risk / SMALL) + 0.4, DIAMETER), 0.1)
    assert rule.size(state, terms(4)).sizing.samples == expected
    assert expected > DoNotUpdate().size(DoNotUpdate().init(), terms(4)).sizing.samples


def test_a_long_past_costs_no_more_and_loses_no_information() -> None:
    """A window of 16 periods gives an upper bound on the full revision, and nearly the same number."""
    short, full = UpdatePast(window=16), UpdatePast(window=10**4)
    state, whole = short.init(), full.init()
    for period in range(1, 120):
        state, windowed = closed(short, state, terms(period), 150)
        whole, exact = closed(full, whole, terms(period), 150)
        assert len(state.periods) <= 16
        assert exact <= windowed * (1 + 1e-12)
        if period > 1:
            assert windowed <= exact * 1.01


@pytest.mark.parametrize("rule", [DoNotUpdate(first_samples=(50, 60)), UpdatePast(first_samples=(50, 60))])
def test_the_first_periods_are_fixed_and_then_not(rule: Rule) -> None:
    state = rule.init()
    sizes = []
    for period in range(1, 5):
        now = terms(period, drift=None if period < 3 else learnt(0.3))
        decision = rule.size(state, now)
        sizes.append(decision.sizing.samples)
        state, _ = closed(rule, state, now, decision.sizing.samples)
    assert sizes[:2] == [50, 60]
    assert sizes[2] not in (50, 60)


@pytest.mark.parametrize("rule", [DoNotUpdate(), UpdatePast()])
def test_without_fixed_sizes_the_first_periods_are_sized_from_the_diameter(rule: Rule) -> None:
    decision = rule.size(rule.init(), terms(1, drift=None))
    assert decision.distance == DIAMETER
    assert decision.sizing.samples == scan(DIAMETER, 0.1)
    assert rule.size(rule.init(), terms(1, drift=learnt(0.3, steps=0))).distance == DIAMETER


@pytest.mark.parametrize("rule", [DoNotUpdate(), UpdatePast()])
def test_known_drift_needs_the_diameter_once_only(rule: Rule) -> None:
    known = learnt(0.3, steps=0)
    state, _ = closed(rule, rule.init(), terms(1, drift=known), 10**5)
    decision = rule.size(state, terms(2, drift=known))
    sizes = sizes_when_known(BOUND, rho=0.3, epsilon=0.1, m=SMALL, diameter=DIAMETER)
    assert decision.sizing.samples == sizes.steady.samples


@pytest.mark.parametrize("rule", [DoNotUpdate(track="distance"), UpdatePast(track="distance")])
def test_zero_is_chosen_when_the_last_model_still_meets_the_target(rule: Rule) -> None:
    known = learnt(0.01, steps=0)
    state, risk = closed(rule, rule.init(), terms(1, drift=known), 10**5)
    assert risk < 0.05
    skipped = 0
    for period in range(2, 60):
        decision = rule.size(state, terms(period, drift=known))
        if decision.sizing.samples > 0:
            break
        assert decision.sizing.outcome is Outcome.ENOUGH
        assert decision.sizing.risk <= 0.1 * (1 + 1e-12)
        state, after = closed(rule, state, terms(period, drift=known), 0)
        assert after == pytest.approx(decision.sizing.risk) == decision.risk
        skipped += 1
    assert 3 <= skipped < 40  # it skips while it may, and not for ever


def test_tracking_the_distance_never_asks_for_more() -> None:
    """The paper's route from risk to distance loses M/m at every step (theory S1)."""
    for rho in (0.0, 0.1, 0.5, 2.0):
        by_risk = DoNotUpdate().size(DoNotUpdate().init(), terms(5, rho=rho)).sizing.samples
        by_distance = DoNotUpdate(track="distance").size(DoNotUpdate().init(), terms(5, rho=rho)).sizing.samples
        assert by_distance <= by_risk


def test_a_measured_distance_is_taken_as_it_is_and_grows_when_periods_are_skipped() -> None:
    rule = DoNotUpdate()
    state = replace(rule.init(), risk=0.08)
    drift = learnt(0.5, 0.1, measures="distance")
    now = terms(5, drift=drift)
    assert rule.size(state, now).distance == pytest.approx(0.6)
    waited = rule.size(state, replace(now, drift=replace(drift, age=2)))
    assert waited.distance == pytest.approx(0.6 + 2 * (0.6 + math.sqrt(2 * 0.08 / SMALL)))


@pytest.mark.parametrize("rule", [DoNotUpdate(first_samples=(30,)), UpdatePast(first_samples=(30,))])
def test_unknown_constants_ask_for_the_pilot_again(rule: Rule) -> None:
    decision = rule.size(rule.init(), terms(4, bound=None))
    assert decision.sizing.samples == 30
    assert decision.sizing.outcome is Outcome.PILOT
    _, risk = closed(rule, rule.init(), terms(4, bound=None), 30)
    assert risk == math.inf


@pytest.mark.parametrize("rule", [DoNotUpdate(), UpdatePast()])
def test_an_unbounded_set_promises_nothing_at_first(rule: Rule) -> None:
    decision = rule.size(rule.init(), terms(1, drift=None, diameter=math.inf))
    assert decision.sizing.outcome is Outcome.PILOT
    state, risk = closed(rule, rule.init(), terms(1, drift=None, diameter=math.inf), 50)
    assert risk == math.inf
    assert rule.size(state, terms(3, diameter=math.inf)).sizing.samples >= 1


@pytest.mark.parametrize("owner", [DoNotUpdate, UpdatePast])
@pytest.mark.parametrize("changes", [{"track": "sideways"}, {"first_samples": (0,)}, {"first_samples": (1.5,)}])
def test_bad_settings_are_refused(owner: type, changes: dict[str, object]) -> None:
    with pytest.raises(ParameterError, match=next(iter(changes))):
        owner(**changes)


def test_the_risk_sequence_falls_to_its_fixed_point() -> None:
    sizes = sizes_when_known(BOUND, rho=0.3, epsilon=0.1, m=SMALL, diameter=DIAMETER)
    risks = risk_sequence(
        BOUND, [sizes.first.samples] + [sizes.steady.samples] * 30, rho=0.3, m=SMALL, diameter=DIAMETER
    )
    assert max(risks) <= 0.1
    assert risks[-1] == pytest.approx(risks[-2], rel=1e-6)
    fewer = risk_sequence(
        BOUND, [sizes.first.samples] + [sizes.steady.samples - 1] * 60, rho=0.3, m=SMALL, diameter=DIAMETER
    )
    assert fewer[-1] > 0.1  # K* is the smallest size that holds


@pytest.mark.parametrize("rule", [DoNotUpdate(), UpdatePast()])
def test_a_monitor_is_not_a_drift(rule: Rule) -> None:
    state, _ = closed(rule, rule.init(), terms(1), 100)
    with pytest.raises(ParameterError, match="'rho' or 'distance'"):
        rule.size(state, terms(5, drift=learnt(0.3, measures="monitor")))


def test_a_model_that_missed_the_target_is_not_left_alone() -> None:
    """With rho = 0 and m = M a model that just met the target needs nothing; one that did not needs samples."""
    alike = LastIterate(
        m=1.0, M=1.0, noise=NoiseModel.second_moment(A=0.16, B=4.0), schedule=InverseTime(scale=2.0, shift=8.0)
    )
    rule = DoNotUpdate()
    now = terms(2, bound=alike, m=1.0, drift=learnt(0.0, steps=0))
    assert rule.size(replace(rule.init(), risk=0.09), now).sizing.samples == 0
    assert rule.size(replace(rule.init(), risk=20.0), now).sizing.samples > 5


@pytest.mark.parametrize("epsilon", [0.01, 0.02, 0.1, 0.3])
@pytest.mark.parametrize("m", [0.7, 1.0, 3.0])
def test_without_drift_k_star_is_zero_to_the_last_bit(epsilon: float, m: float) -> None:
    alike = LastIterate(
        m=m, M=m, noise=NoiseModel.second_moment(A=0.16, B=4.0 * m * m), schedule=InverseTime(scale=2.0 / m, shift=8.0)
    )
    assert sizes_when_known(alike, rho=0.0, epsilon=epsilon, m=m, diameter=9.0).steady.samples == 0


@pytest.mark.parametrize("rule", [DoNotUpdate(track="distance"), UpdatePast(track="distance")])
def test_an_infinite_risk_is_an_infinite_reach(rule: Rule) -> None:
    now = terms(1, drift=learnt(0.3, steps=0), diameter=math.inf)
    state, risk = closed(rule, rule.init(), now, 50)
    assert risk == math.inf
    assert rule.start(state, replace(now, period=2)) == math.inf


def test_greedy_fits_of_the_past_are_revised_as_they_were_tuned() -> None:
    """Steps tuned to a short distance cannot be re-tuned when the drift turns out larger."""
    greedy = Greedy(m=SMALL, M=M, noise=NoiseModel.second_moment(A=0.5, B=20.0))
    rule = UpdatePast()
    small = terms(1, bound=greedy, drift=learnt(0.1, steps=0))
    state = rule.init()
    for period in range(1, 6):
        now = replace(small, period=period)
        distance = rule.start(state, now)
        state, _ = rule.close(
            state, now, TrainedPeriod(samples=200, used=greedy.used(distance, 200), distance=distance)
        )
    honest = rule.revised(state, replace(small, period=6, drift=learnt(1.5, steps=0)))
    tuned_anew = risk_sequence(greedy, [200] * 5, rho=1.5, m=SMALL, diameter=DIAMETER)[-1]
    assert honest is not None
    assert honest > tuned_anew

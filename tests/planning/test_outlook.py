import math
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftpace.bounds import Anchored, BachMoulines, ClosedForm, NoiseModel
from driftpace.errors import ParameterError
from driftpace.planning.outlook import Outlook, Steps

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
def test_what_no_plan_can_rest_on_is_refused(changed: dict[str, Any], sentence: str) -> None:
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


def test_a_bound_that_says_nothing_of_the_start_is_refused() -> None:
    class Blind(Anchored):
        def start(self, distance: float) -> float:
            return math.inf

    with pytest.raises(ParameterError, match=r"^Outlook\(bound=\.\.\.\) must be finite without samples"):
        outlook_of(bound=Blind(noise=1.0, features=3))


def test_it_is_a_value() -> None:
    outlook = Outlook(bound=BOUND, rho=0.1, start=1.0, steps="walk")
    assert pickle.loads(pickle.dumps(outlook)) == outlook
    assert hash(outlook) == hash(Outlook(bound=BOUND, rho=0.1, start=1.0, steps="walk"))

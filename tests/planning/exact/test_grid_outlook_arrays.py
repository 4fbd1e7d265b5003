"""The vectorised outlook equals the outlook, point by point."""

import math
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftpace.bounds import Anchored, LastIterate, NoiseModel, RiskBound
from driftpace.bounds.base import Factors
from driftpace.planning.exact.grid import OutlookArrays
from driftpace.planning.problem import Outlook
from driftpace.schedules import InverseTime
from driftpace.typing import FloatArray
from tests.reference.planning_problems import BOUNDS, STEPS, Harmonic, Powers

COUNTS = np.unique(np.rint(np.geomspace(1, 3_000, 40)).astype(np.int64))
every_bound = pytest.mark.parametrize("bound", BOUNDS, ids=[name.replace(" ", "-") for name in BOUNDS])


def outlooks(seed: int, bound: str, number: int = 6) -> list[Outlook]:
    rng = np.random.default_rng([seed, list(BOUNDS).index(bound)])
    found = []
    for _ in range(number):
        promises = BOUNDS[bound](rng)
        start = float(rng.uniform(0.1, 4.0))
        found.append(
            Outlook(
                bound=promises,
                rho=float(rng.choice([0.0, 0.1, 0.7])),
                start=start,
                diameter=math.inf if rng.random() < 0.5 else 1.3 * start,
                m=None if rng.random() < 0.5 else 1.6 * promises(1.0, 0),
                steps=STEPS[rng.choice(2)],
            )
        )
    return found


@every_bound
def test_risks_are_those_of_the_bound(seed: int, rng: np.random.Generator, bound: str) -> None:
    for outlook in outlooks(seed, bound):
        risks = OutlookArrays.of(outlook, 9)
        distances = np.concatenate([[0.0], risks.widest * 10.0 ** rng.uniform(-6.0, 0.3, 12), [risks.widest]])
        after, idle = risks.after(distances, COUNTS), risks.idle(distances)
        for row, distance in enumerate(distances.tolist()):
            assert idle[row] == pytest.approx(outlook.bound(distance, 0), rel=1e-10, abs=0.0)
            for column, count in enumerate(COUNTS.tolist()):
                assert after[row, column] == pytest.approx(outlook.bound(distance, count), rel=1e-10, abs=1e-300)


@every_bound
def test_reach_and_moves_are_those_of_the_outlook(seed: int, bound: str) -> None:
    for outlook in outlooks(seed, bound):
        risks = OutlookArrays.of(outlook, 9)
        some = np.geomspace(1e-9, outlook.bound(risks.widest, 0), 13)
        reach = risks.reach(some)
        assert reach == pytest.approx([outlook.reach(risk) for risk in some.tolist()], rel=1e-10)
        for gap in (0, 1, 2, 7):
            moved = [outlook.idle_distance(each, gap) for each in reach.tolist()]
            assert risks.moved(reach, gap) == pytest.approx(moved, rel=1e-12, abs=0.0)


@every_bound
def test_widest_is_the_last_distance_of_waiting(seed: int, bound: str) -> None:
    for outlook in outlooks(seed, bound):
        widest = OutlookArrays.of(outlook, 9).widest
        assert widest >= max(outlook.first_distance(n) for n in range(10))


@every_bound
def test_risks_that_are_said_to_be_concave_are(seed: int, rng: np.random.Generator, bound: str) -> None:
    """In the squared distance, and rising; so is the squared distance of the period after."""
    for outlook in outlooks(seed, bound):
        risks = OutlookArrays.of(outlook, 9)
        if not risks.concave(COUNTS):
            continue
        left, right = np.sort(rng.uniform(0.0, (2.0 * risks.widest) ** 2, (2, 60)), axis=0)
        share = rng.random(60)
        middle = left + share * (right - left)
        for low, between, high in zip(*(tables(risks, squares) for squares in (left, middle, right)), strict=True):
            chord = low + share[:, None] * (high - low)
            assert (between >= chord * (1.0 - 1e-12)).all()
            assert (high >= low * (1.0 - 1e-12)).all()


def tables(risks: OutlookArrays, squares: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The risks after each number, the squared distances of the next period then, and those of waiting."""
    distances = np.sqrt(squares)
    after = risks.after(distances, COUNTS)
    ahead = np.square(risks.moved(risks.reach(after), 1))
    return after, ahead, np.square(risks.moved(distances[:, None], np.arange(9)))


def test_which_bounds_are_known_to_be_concave() -> None:
    sgd = LastIterate(m=1.0, M=1.0, noise=NoiseModel(A=0.16, B=4.0), schedule=InverseTime(scale=2.0, shift=8.0))
    known = {
        "by SGD": sgd,
        "anchored": Anchored(noise=1.0, features=2),
        "powers": Powers(),
        "harmonic": Harmonic(),
    }
    concave = {
        name: OutlookArrays.of(Outlook(bound=bound, rho=0.1, start=1.0), 5).concave(COUNTS)
        for name, bound in known.items()
    }
    assert concave == {"by SGD": True, "anchored": True, "powers": False, "harmonic": False}


class Pretender(Powers):
    """Says that it is affine in the squared distance, with factors that are not its own."""

    name: ClassVar[str] = "a pretender"

    def factors(self, samples: int) -> Factors | None:
        return Factors(alpha=0.5 * self.c1 / samples**2, beta=self.c2 / samples)


def test_factors_that_do_not_give_the_bound_are_not_believed() -> None:
    risks = OutlookArrays.of(Outlook(bound=Pretender(), rho=0.1, start=1.0), 5)
    assert risks.factors(COUNTS) is None
    assert not risks.concave(COUNTS)
    assert risks.after(np.array([0.8]), COUNTS)[0].tolist() == [Powers()(0.8, count) for count in COUNTS.tolist()]


class Cubic(Powers):
    """A start whose risk is not a square of the distance."""

    name: ClassVar[str] = "a cube"

    def start(self, distance: float) -> float:
        return distance**3

    def reach(self, risk: float) -> float:
        return math.cbrt(risk)


def test_a_start_that_is_no_square_is_asked_point_by_point() -> None:
    risks = OutlookArrays.of(Outlook(bound=Cubic(), rho=0.1, start=1.0), 5)
    assert risks.square is None
    assert risks.root is None
    assert risks.idle(np.array([[0.5], [2.0]])).tolist() == [[0.125], [8.0]]
    assert risks.reach(np.array([0.125, 8.0])).tolist() == pytest.approx([0.5, 2.0])


@given(distance=st.floats(0.0, 50.0), count=st.integers(1, 5_000))
def test_tables_of_the_anchored_bound_are_its_values(distance: float, count: int) -> None:
    bound: RiskBound = Anchored(noise=0.7, features=4)
    risks = OutlookArrays.of(Outlook(bound=bound, rho=0.2, start=2.0), 5)
    after = float(risks.after(np.array([distance]), np.array([count]))[0, 0])
    assert after == pytest.approx(bound(distance, count), rel=1e-12, abs=1e-300)

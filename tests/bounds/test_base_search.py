import math

import pytest

from driftpace.bounds import ClosedForm, ConstantStep, Greedy, LastIterate, NoiseModel, RiskBound, smallest_samples
from driftpace.errors import ParameterError
from driftpace.records import Outcome
from driftpace.schedules import InverseTime

NOISE = NoiseModel(A=0.16, B=4.0)
BOUNDS: list[RiskBound] = [
    ClosedForm(m=1.0, M=1.0, noise=NOISE),
    Greedy(m=1.0, M=1.0, noise=NOISE),
    ConstantStep(m=1.0, M=1.0, noise=NOISE, step=0.01),
    LastIterate(m=1.0, M=1.0, noise=NOISE, schedule=InverseTime(scale=2.0, shift=8.0)),
]


class Decided(Greedy):
    """One of several, which says who decided."""

    def decided_by(self, distance: float, samples: int) -> str:
        return f"the one at {samples}"


def test_the_numbers_of_the_notes_come_out() -> None:
    distance = math.sqrt(0.2) + 1.0  # rho = 1, epsilon = 0.1, m = 1: row one of the table in the theory notes
    asked = {type(bound): smallest_samples(bound, distance, 0.1).samples for bound in BOUNDS}
    assert (asked[LastIterate], asked[ClosedForm], asked[Greedy]) == (11, 18, 9)


@pytest.mark.parametrize("bound", BOUNDS, ids=lambda bound: type(bound).__name__)
def test_met_enough_and_capped_come_with_numbers_and_a_sentence(bound: RiskBound) -> None:
    met = smallest_samples(bound, 1.5, 0.1)
    assert met.outcome is Outcome.MET
    assert met.risk <= 0.1 < met.risk_one_fewer
    assert met.risk == bound(1.5, met.samples)
    assert met.decided_by == bound.name
    assert bound.name in met.reason
    enough = smallest_samples(bound, 0.1, 0.1)
    assert (enough.outcome, enough.samples, enough.risk_one_fewer) == (Outcome.ENOUGH, 0, math.inf)
    capped = smallest_samples(bound, 1.5, 0.1, met.samples - 1)
    assert (capped.outcome, capped.samples) == (Outcome.CAPPED, met.samples - 1)
    assert capped.risk > 0.1
    assert smallest_samples(bound, 1.5, 0.1, met.samples) == met
    assert smallest_samples(bound, 1.5, 0.1, 0).outcome is Outcome.CAPPED


def test_the_one_that_decided_is_named() -> None:
    answer = smallest_samples(Decided(m=1.0, M=1.0, noise=NOISE), 1.5, 0.1)
    assert answer.decided_by == f"the one at {answer.samples}"


def test_questions_outside_what_is_allowed_are_refused() -> None:
    for distance, epsilon, cap in (
        (-1.0, 0.1, 10),
        (math.inf, 0.1, 10),
        (1.0, 0.0, 10),
        (1.0, math.nan, 10),
        (1.0, 0.1, -1),
    ):
        with pytest.raises(ParameterError, match=r"^smallest_samples\(.*\.$"):
            smallest_samples(BOUNDS[0], distance, epsilon, cap)

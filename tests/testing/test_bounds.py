"""Each clause of check_bound catches a bound that breaks it, and nothing else: the sound one passes."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from driftpace.bounds import Factors, Nature
from driftpace.testing import check_bound


@dataclass(frozen=True, kw_only=True)
class Toy:
    """b = (1 + d^2)/(1 + K), every part of it replaceable."""

    name: Any = "toy"
    nature: Any = Nature.UPPER
    rate: Any = -1.0
    conditions: Any = ("an example",)
    value: Callable[[float, int], Any] = lambda distance, samples: (1.0 + distance**2) / (1.0 + samples)
    factored: Callable[[int], Factors | None] = lambda samples: Factors(
        alpha=1.0 / (1.0 + samples), beta=1.0 / (1.0 + samples)
    )
    using: Callable[[float, int], Any] = lambda distance, samples: samples
    reaching: Callable[[float], float] = math.sqrt
    searched: Callable[[int | None], int | None] = field(default=lambda found: found)

    def __call__(self, distance: float, samples: int) -> Any:
        return self.value(distance, samples)

    def factors(self, samples: int) -> Factors | None:
        return self.factored(samples)

    def used(self, distance: float, samples: int) -> Any:
        return self.using(distance, samples)

    def reach(self, risk: float) -> float:
        return self.reaching(risk)

    def smallest(self, distance: float, epsilon: float, cap: int) -> int | None:
        within = (count for count in range(cap + 1) if self.value(distance, count) <= epsilon)
        return self.searched(next(within, None))


def sound(distance: float, samples: int) -> float:
    return (1.0 + distance**2) / (1.0 + samples)


BROKEN: dict[str, Toy] = {
    "has no name": Toy(name=" "),
    "nature that is not": Toy(nature="upper"),
    "states no conditions": Toy(conditions=()),
    "has an empty condition": Toy(conditions=("",)),
    "not a float": Toy(value=lambda d, k: int(sound(d, k))),
    "negative or NaN at distance 0 and 10 samples": Toy(value=lambda d, k: sound(d, k) if k < 10 else math.nan),
    "negative or NaN at distance 0 and 20 samples": Toy(value=lambda d, k: sound(d, k) - 0.06, factored=lambda k: None),
    "rises with the samples": Toy(value=lambda d, k: sound(d, k) if k != 5 else 10.0),
    "falls with the distance": Toy(value=lambda d, k: 1.0 / (1.0 + d) / (1.0 + k), factored=lambda k: None),
    "not finite": Toy(value=lambda d, k: math.inf),
    "uses 1 samples": Toy(using=lambda d, k: k + 1),
    "uses -1 samples": Toy(using=lambda d, k: -1),
    "something else for the samples it uses": Toy(using=lambda d, k: k // 2),
    "negative factor": Toy(factored=lambda k: Factors(alpha=-1.0, beta=5.0)),
    "factors that promise more": Toy(factored=lambda k: Factors(alpha=0.3 / (1.0 + k), beta=1.0 / (1.0 + k))),
    "factors that do not give": Toy(factored=lambda k: Factors(alpha=2.0 / (1.0 + k), beta=1.0 / (1.0 + k))),
    "where a linear scan finds": Toy(searched=lambda found: None if found is None else found + 1),
    "= None where a linear scan finds": Toy(searched=lambda found: None),
    "reach that is negative": Toy(reaching=lambda risk: math.inf),
    "reach that falls": Toy(reaching=lambda risk: 1.0 - 0.5 * risk),
    "declares a rate of -2": Toy(rate=-2.0),
    "declares a rate of 0": Toy(rate=0.0),
    "rate of minus infinity": Toy(rate=-math.inf),
    "not zero or less": Toy(rate=1.0),
}


def test_a_sound_bound_passes() -> None:
    check_bound(Toy())
    check_bound(Toy(factored=lambda samples: None))


@pytest.mark.parametrize("clause", BROKEN)
def test_every_clause_catches_a_bound_that_breaks_it(clause: str) -> None:
    with pytest.raises(AssertionError, match=r"^The bound .*\.$") as caught:
        check_bound(BROKEN[clause])
    assert clause in str(caught.value)


def test_infinity_is_allowed_where_samples_are_too_few() -> None:
    check_bound(
        Toy(
            value=lambda d, k: math.inf if k < 4 else sound(d, k),
            factored=lambda k: None if k < 4 else Factors(alpha=1.0 / (1.0 + k), beta=1.0 / (1.0 + k)),
        )
    )


def test_an_object_that_is_not_a_bound_is_reported_as_such() -> None:
    with pytest.raises(AssertionError, match="does not have every member"):
        check_bound(object())  # type: ignore[arg-type]

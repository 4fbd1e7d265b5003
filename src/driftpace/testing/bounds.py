"""A check of the contract of risk bounds."""

import itertools
import math
from collections.abc import Sequence

from driftpace import validation
from driftpace.bounds.base import Nature, RiskBound

_SLACK = 1e-9
_RATE_TOLERANCE = 0.1


def check_bound(
    bound: RiskBound,
    *,
    distances: Sequence[float] = (0.0, 0.1, 0.5, 1.0, 2.0),
    samples: Sequence[int] = (0, 1, 2, 3, 5, 10, 20, 50, 100, 300, 1000),
    rate_samples: tuple[int, int] = (2**18, 2**20),
) -> None:
    """Check a bound against the contract of :class:`driftpace.bounds.RiskBound`.

    * It is zero or more, never NaN, and finite at the largest of ``samples``; infinity is allowed where samples are too few,
      and zero samples are a valid argument.
    * It does not decrease with the distance nor increase with the samples (to 1e-9 of the value).
    * ``used`` is at most the samples, and using only that many gives the same bound.
    * ``factors``, where the bound has them, give the bound at the samples used, and never less than the bound.
    * ``smallest`` agrees with a linear scan, up to the last of ``samples`` under 300.
    * ``reach`` is finite, zero or more, and does not decrease with the risk.
    * The slope of log risk against log K between the two ``rate_samples``, at the largest distance, is the declared
      ``rate`` to 0.1; a rate of minus infinity needs a slope under -5, or a risk of 1e-200 at most.
    * It has a name, a nature and conditions in words.

    The check cannot show that the bound is true: compare it with simulations for that.

    Parameters
    ----------
    bound : RiskBound
        The bound to check.
    distances : sequence of float
        Initial distances to evaluate it at.
    samples : sequence of int
        Sample sizes to evaluate it at.
    rate_samples : tuple of int
        Two large sample sizes between which the rate is measured.

    Raises
    ------
    AssertionError
        If a property fails; the message names it.

    Examples
    --------
    >>> from driftpace.bounds import ClosedForm, NoiseModel
    >>> check_bound(ClosedForm(m=1.0, M=2.0, noise=NoiseModel(A=0.5, B=8.0)))
    """
    _claim(isinstance(bound, RiskBound), "does not have every member of driftpace.bounds.RiskBound")
    for distance in distances:
        validation.nonnegative("check_bound", distances=distance)
    distances, samples = sorted(distances), sorted(samples)
    _check_words(bound)
    _check_values(bound, distances, samples)
    _check_used(bound, distances, samples)
    _check_factors(bound, distances, samples)
    _check_smallest(bound, distances, max((count for count in samples if count < 300), default=50))
    _check_reach(bound)
    _check_rate(bound, distances[-1], *rate_samples)


def _claim(holds: bool, sentence: str) -> None:
    if not holds:
        raise AssertionError(f"The bound {sentence}.")


def _equal(left: float, right: float) -> bool:
    return left == right or abs(left - right) <= _SLACK * max(abs(left), abs(right))


def _at_most(left: float, right: float) -> bool:
    return left <= right or _equal(left, right)


def _check_words(bound: RiskBound) -> None:
    _claim(isinstance(bound.name, str) and bool(bound.name.strip()), "has no name")
    _claim(isinstance(bound.nature, Nature), "has a nature that is not a driftpace.bounds.Nature")
    conditions = bound.conditions
    _claim(isinstance(conditions, tuple) and len(conditions) > 0, "states no conditions")
    _claim(all(isinstance(text, str) and text.strip() for text in conditions), "has an empty condition")


def _check_values(bound: RiskBound, distances: Sequence[float], samples: Sequence[int]) -> None:
    for distance in distances:
        before = math.inf
        for count in (0, *samples):
            value = bound(distance, count)
            where = f"at distance {distance:.4g} and {count} samples"
            _claim(isinstance(value, float), f"returns something that is not a float {where}")
            _claim(value >= 0.0, f"is negative or NaN {where}")
            _claim(_at_most(value, before), f"rises with the samples {where}")
            before = value
        _claim(math.isfinite(before), f"is not finite at distance {distance:.4g} and {samples[-1]} samples")
    for count in samples:
        values = [bound(distance, count) for distance in distances]
        rising = all(_at_most(a, b) for a, b in itertools.pairwise(values))
        _claim(rising, f"falls with the distance at {count} samples")


def _check_used(bound: RiskBound, distances: Sequence[float], samples: Sequence[int]) -> None:
    for distance in distances:
        for count in samples:
            used, where = bound.used(distance, count), f"at distance {distance:.4g} and {count} samples"
            _claim(isinstance(used, int) and 0 <= used <= count, f"uses {used!r} samples {where}")
            _claim(
                _equal(bound(distance, used), bound(distance, count)),
                f"promises something else for the samples it uses {where}",
            )


def _check_factors(bound: RiskBound, distances: Sequence[float], samples: Sequence[int]) -> None:
    for count in samples:
        factors = bound.factors(count)
        if factors is None:
            continue
        _claim(factors.alpha >= 0.0 and factors.beta >= 0.0, f"has a negative factor at {count} samples")
        for distance in distances:
            raw, value = factors.alpha * distance**2 + factors.beta, bound(distance, count)
            where = f"at distance {distance:.4g} and {count} samples"
            _claim(not raw < value * (1.0 - _SLACK), f"has factors that promise more than the bound {where}")
            if bound.used(distance, count) == count:
                _claim(_equal(raw, value), f"has factors that do not give the bound {where}")


def _check_smallest(bound: RiskBound, distances: Sequence[float], cap: int) -> None:
    for distance in distances:
        values = [bound(distance, count) for count in range(cap + 1)]
        targets = [2.0 * values[0] + 1.0, 0.5 * values[-1]]
        steps = range(1, cap + 1, max(1, cap // 12))
        targets += [0.5 * (values[k - 1] + values[k]) for k in steps if values[k] < 0.999999 * values[k - 1]]
        for epsilon in targets:
            if not 0.0 < epsilon < math.inf:
                continue
            scanned = next((count for count, value in enumerate(values) if value <= epsilon), None)
            smallest = bound.smallest(distance, epsilon, cap)
            _claim(
                smallest == scanned,
                f"has smallest({distance:.4g}, {epsilon:.6g}, {cap}) = {smallest!r} where a linear scan finds {scanned!r}",
            )


def _check_reach(bound: RiskBound) -> None:
    reached = [bound.reach(risk) for risk in (0.0, 1e-6, 1e-3, 0.1, 1.0)]
    _claim(all(0.0 <= distance < math.inf for distance in reached), "has a reach that is negative or not finite")
    _claim(all(a <= b for a, b in itertools.pairwise(reached)), "has a reach that falls with the risk")


def _check_rate(bound: RiskBound, distance: float, few: int, many: int) -> None:
    first, last = bound(distance, few), bound(distance, many)
    if bound.rate == -math.inf:
        falls = last <= 1e-200 or math.log(last / first) / math.log(many / few) < -5.0
        _claim(falls, "declares a rate of minus infinity and does not fall faster than the fifth power")
        return
    _claim(bound.rate <= 0.0, "declares a rate that is not zero or less")
    slope = math.log(last / first) / math.log(many / few) if last > 0.0 else -math.inf
    _claim(
        abs(slope - bound.rate) <= _RATE_TOLERANCE,
        f"declares a rate of {bound.rate:.4g} and falls like K^{slope:.4g} between {few} and {many} samples",
    )

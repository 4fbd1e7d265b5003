"""A check of the contract of drift estimators."""

import copy
import math
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from numbers import Real
from typing import Any

import numpy as np
from scipy import stats

from driftpace.drift.estimator import DriftEstimator
from driftpace.losses import SquaredLoss
from driftpace.records import Constants, DriftEstimate, PeriodData
from driftpace.typing import FloatArray

_FEATURES = 3
_NOISE = 0.5
_RHO = 0.5
_LOSS = SquaredLoss()
_KNOWN = Constants.given(  # Gaussian rows, the same in every direction (theory 1.1g)
    m=1.0,
    M=1.0,
    A=_FEATURES * _NOISE,
    B=_FEATURES + 2.0,
    sigma=math.sqrt(_FEATURES * _NOISE),
    V=_FEATURES + 1.0,
    sigma_star=math.sqrt(_FEATURES * _NOISE),
    noise=_NOISE,
    trace=float(_FEATURES),
    R2=_FEATURES + 2.0,
    diameter=1e3,
)


def check_drift(
    estimator: DriftEstimator,
    *,
    rng: np.random.Generator | int | None = None,
    runs: int = 40,
    periods: int = 40,
    samples: int = 60,
    coverage: float = 0.9,
) -> None:
    """Check a drift estimator against the contract of :class:`driftpace.drift.DriftEstimator`.

    * The state is a frozen dataclass of plain values, and does not grow with the number of periods.
    * ``update`` mutates nothing and is deterministic.
    * A period without rows is valid at any time.
    * There is no estimate before the first period, unless the number was given (``steps`` zero); at the end of the
      simulation there is one; always upper >= value >= 0.
    * The upper limit covers. Over ``runs`` simulated regressions that drift by a known rho in random directions, followed by
      stochastic gradient descent on ``samples`` rows a period, it is below the truth (rho, or the distance of models from
      new minimisers where it ``measures`` that) in no more runs than ``coverage`` explains, at a false alarm rate of 1e-6.
      A given number and a "monitor" need not cover.

    Parameters
    ----------
    estimator : DriftEstimator
        The estimator to check.
    rng : Generator or int, optional
        The source of randomness; the same rows in every call when not given.
    runs, periods, samples : int
        The size of the simulation: runs, periods in each, rows in each period.
    coverage : float, default 0.9
        The share of runs in which the upper limit must be above the truth.

    Raises
    ------
    AssertionError
        If a property fails; the message names it.

    Examples
    --------
    >>> from driftpace.drift import Drift, Prequential
    >>> check_drift(Drift(one_step=Prequential()), runs=12)
    """
    _claim(isinstance(estimator, DriftEstimator), "does not have every member of driftpace.drift.DriftEstimator")
    _claim(0.0 <= estimator.held_out < 1.0, f"holds out a share of {estimator.held_out!r} of the rows")
    rng = np.random.default_rng(0 if rng is None else rng)
    _check_beginning(estimator)
    _check_updates(estimator, rng)
    _check_size(estimator, rng)
    _check_coverage(estimator, rng, runs, periods, samples, coverage)


def _claim(holds: bool, sentence: str) -> None:
    if not holds:
        raise AssertionError(f"The estimator of drift {sentence}.")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Period:
    data: PeriodData
    distance: float


def _follow(rng: np.random.Generator, held_out: float, sizes: list[int]) -> Iterator[_Period]:
    """Yield the periods of a drifting regression followed by stochastic gradient descent with steps 2/(k + s)."""
    truth, model = np.zeros(_FEATURES), np.zeros(_FEATURES)
    shift, squared = 2.0 * (_FEATURES + 2.0), 0.0
    for number, size in enumerate(sizes, start=1):
        if number > 1:
            direction = rng.standard_normal(_FEATURES)
            truth = truth + _RHO * direction / np.linalg.norm(direction)
        X = rng.standard_normal((size, _FEATURES))
        y = X @ truth + math.sqrt(_NOISE) * rng.standard_normal(size)
        training = size - int(held_out * size)
        start, squared = model, (math.sqrt(squared) + (_RHO if number > 1 else 0.0)) ** 2
        for k in range(training):
            step = 2.0 / (k + 1.0 + shift)
            model = model - step * (X[k] @ model - y[k]) * X[k]
            squared = (1.0 - 2.0 * step + (_FEATURES + 2.0) * step**2) * squared + _FEATURES * _NOISE * step**2
        data = PeriodData(
            period=number,
            X=X[:training],
            y=y[:training],
            X_held=X[training:],
            y_held=y[training:],
            start=start,
            coef=model,
            gradient=_LOSS.gradient(model, X[:training], y[:training]),
            scatter=math.sqrt(2.0 * squared),
            constants=_KNOWN,
        )
        yield _Period(data=data, distance=float(np.linalg.norm(start - truth)))


def _check_beginning(estimator: DriftEstimator) -> None:
    state = estimator.init(_FEATURES)
    _check_plain(state)
    first = estimator.estimate(state)
    _claim(first is None or first.steps == 0, "estimates from steps before the first period")
    if first is not None:
        _check_estimate(first)


def _check_updates(estimator: DriftEstimator, rng: np.random.Generator) -> None:
    sizes = [0, 20, 20, 0, 0, 20, 20, 20, 1, 20, 0, 20]
    state = estimator.init(_FEATURES)
    for period in _follow(rng, estimator.held_out, sizes):
        before, data = copy.deepcopy(state), copy.deepcopy(period.data)
        once, twice = (estimator.update(state, period.data, _LOSS) for _ in range(2))
        _claim(_same(once, twice), "answers the same update differently the second time")
        _claim(_same(state, before), "changes the state it is given")
        _claim(_same(period.data, data), "changes the period it is given")
        state = once
        _check_plain(state)
        estimate = estimator.estimate(state)
        _claim(_same(estimate, estimator.estimate(state)), "answers the same question differently the second time")
        if estimate is not None:
            _check_estimate(estimate)


def _check_estimate(estimate: DriftEstimate) -> None:
    _claim(isinstance(estimate, DriftEstimate), f"answers with a {type(estimate).__name__} and not a DriftEstimate")
    ordered = math.isfinite(estimate.value) and 0.0 <= estimate.value <= estimate.upper
    _claim(ordered, f"does not have upper >= value >= 0: value {estimate.value!r}, upper {estimate.upper!r}")
    _claim(estimate.steps >= 0, f"counts {estimate.steps!r} steps")
    words = ("rho", "distance", "monitor")
    _claim(estimate.measures in words, f"measures {estimate.measures!r}, which is none of {', '.join(words)}")
    _claim(isinstance(estimate.account, str) and estimate.account.strip() != "", "gives no account of its estimate")


def _check_size(estimator: DriftEstimator, rng: np.random.Generator) -> None:
    state, sizes = estimator.init(_FEATURES), {}
    for period in _follow(rng, estimator.held_out, [8] * 600):
        state = estimator.update(state, period.data, _LOSS)
        if period.data.period in (300, 600):
            sizes[period.data.period] = _count(state)
    _claim(
        sizes[600] <= sizes[300],
        f"has a state that grows with the periods: {sizes[300]} numbers after 300 and {sizes[600]} after 600",
    )


def _check_coverage(
    estimator: DriftEstimator, rng: np.random.Generator, runs: int, periods: int, samples: int, coverage: float
) -> None:
    misses, before = 0, estimator.estimate(estimator.init(_FEATURES))
    kinds: set[tuple[str, bool]] = set()
    for _ in range(runs):
        state, squares = estimator.init(_FEATURES), []
        for period in _follow(rng, estimator.held_out, [samples] * periods):
            state = estimator.update(state, period.data, _LOSS)
            squares.append(period.distance**2)
        estimate = estimator.estimate(state)
        _claim(estimate is not None, f"has no estimate after {periods} periods of {samples} rows")
        assert estimate is not None
        _check_estimate(estimate)
        kinds.add((estimate.measures, estimate.steps == 0))
        _claim(len(kinds) == 1, "measures now this and now that")
        if estimate.steps == 0:
            _claim(
                before == estimate,
                "says that it was given (steps = 0), and answers differently after periods were closed",
            )
        if estimate.steps == 0 or estimate.measures == "monitor":
            continue
        recent = squares[-min(estimate.steps, periods - 1) :]
        truth = _RHO if estimate.measures == "rho" else math.sqrt(sum(recent) / len(recent))
        misses += estimate.upper < truth
    allowed = int(stats.binom.ppf(1.0 - 1e-6, runs, 1.0 - coverage))
    _claim(
        misses <= allowed,
        f"has an upper end below the truth in {misses} of {runs} simulated runs; {allowed} are allowed at coverage {coverage:g}",
    )


def _check_plain(value: Any, *, top: bool = True) -> None:
    kind = type(value).__name__
    if is_dataclass(value) and not isinstance(value, type):
        frozen = value.__dataclass_params__.frozen  # type: ignore[attr-defined]
        _claim(frozen, f"has a state with a {kind} in it that is not frozen")
        for field in fields(value):
            _check_plain(getattr(value, field.name), top=False)
        return
    _claim(not top, f"has a state that is a {kind} and not a frozen dataclass")
    if isinstance(value, tuple):
        for item in value:
            _check_plain(item, top=False)
        return
    plain = value is None or isinstance(value, str | bool | Real | np.ndarray)
    _claim(plain, f"has a state with a {kind} in it, which is not plain")


def _count(value: Any) -> int:
    if isinstance(value, np.ndarray):
        return int(value.size)
    if isinstance(value, str):
        return 1 + len(value)
    if isinstance(value, tuple):
        return 1 + sum(_count(item) for item in value)
    if is_dataclass(value):
        return sum(_count(getattr(value, field.name)) for field in fields(value))
    return 1


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, np.ndarray):
        return isinstance(right, np.ndarray) and _same_arrays(left, right)
    if isinstance(left, tuple):
        return len(left) == len(right) and all(_same(a, b) for a, b in zip(left, right, strict=True))
    if is_dataclass(left) and not isinstance(left, type):
        named = [field.name for field in fields(left)]
        return type(left) is type(right) and all(_same(getattr(left, n), getattr(right, n)) for n in named)
    return bool(left == right) or (left != left and right != right)


def _same_arrays(left: FloatArray, right: FloatArray) -> bool:
    return left.shape == right.shape and bool(np.array_equal(left, right, equal_nan=True))

"""Whether an estimator of drift is what it says: a user's own earns its place by passing what the built-in ones pass."""

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
    """Raise AssertionError, in a sentence, unless the estimator keeps what :class:`driftpace.drift.DriftEstimator` promises.

    * the state is a frozen dataclass of plain things, and does not grow with the number of periods;
    * ``update`` changes nothing it is given, and gives the same answer to the same question;
    * a period without rows is legal, at any time;
    * nothing is estimated before anything was seen, unless the number was given (``steps`` zero); from the last period of the
      simulation on there is an estimate; always upper >= value >= 0;
    * its upper end covers. Over ``runs`` simulated regressions that drift by a known rho in random directions, followed by plain
      stochastic gradient descent on ``samples`` rows a period, it is below the truth (rho, or the distance of models from new
      minimisers where it ``measures`` that) in no more runs than a coverage of ``coverage`` explains, up to a chance of one in
      a million. A given number, and a "monitor", need not cover.

    Without ``rng`` every call checks the same rows.

    >>> from driftpace.drift import Drift, Prequential
    >>> check_drift(Drift(one_step=Prequential()), runs=12)
    """
    _claim(isinstance(estimator, DriftEstimator), "does not have every member of driftpace.drift.DriftEstimator")
    _claim(0.0 <= estimator.held_out < 1.0, f"keeps a share of {estimator.held_out!r} of the rows apart")
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
    seen: PeriodData
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
        seen = PeriodData(
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
        yield _Period(seen=seen, distance=float(np.linalg.norm(start - truth)))


def _check_beginning(estimator: DriftEstimator) -> None:
    state = estimator.init(_FEATURES)
    _check_plain(state)
    first = estimator.estimate(state)
    _claim(first is None or first.steps == 0, "estimates from steps before it has seen any period")
    if first is not None:
        _check_estimate(first)


def _check_updates(estimator: DriftEstimator, rng: np.random.Generator) -> None:
    sizes = [0, 20, 20, 0, 0, 20, 20, 20, 1, 20, 0, 20]
    state = estimator.init(_FEATURES)
    for period in _follow(rng, estimator.held_out, sizes):
        before, seen = copy.deepcopy(state), copy.deepcopy(period.seen)
        once, twice = (estimator.update(state, period.seen, _LOSS) for _ in range(2))
        _claim(_same(once, twice), "answers the same update differently the second time")
        _claim(_same(state, before), "changes the state it is given")
        _claim(_same(period.seen, seen), "changes the period it is given")
        state = once
        _check_plain(state)
        found = estimator.estimate(state)
        _claim(_same(found, estimator.estimate(state)), "answers the same question differently the second time")
        if found is not None:
            _check_estimate(found)


def _check_estimate(found: DriftEstimate) -> None:
    _claim(isinstance(found, DriftEstimate), f"answers with a {type(found).__name__} and not a DriftEstimate")
    ordered = math.isfinite(found.value) and 0.0 <= found.value <= found.upper
    _claim(ordered, f"does not have upper >= value >= 0: value {found.value!r}, upper {found.upper!r}")
    _claim(found.steps >= 0, f"counts {found.steps!r} steps")
    words = ("rho", "distance", "monitor")
    _claim(found.measures in words, f"measures {found.measures!r}, which is none of {', '.join(words)}")
    _claim(isinstance(found.account, str) and found.account.strip() != "", "gives no account of its estimate")


def _check_size(estimator: DriftEstimator, rng: np.random.Generator) -> None:
    state, sizes = estimator.init(_FEATURES), {}
    for period in _follow(rng, estimator.held_out, [8] * 600):
        state = estimator.update(state, period.seen, _LOSS)
        if period.seen.period in (300, 600):
            sizes[period.seen.period] = _count(state)
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
            state = estimator.update(state, period.seen, _LOSS)
            squares.append(period.distance**2)
        found = estimator.estimate(state)
        _claim(found is not None, f"has no estimate after {periods} periods of {samples} rows")
        assert found is not None
        _check_estimate(found)
        kinds.add((found.measures, found.steps == 0))
        _claim(len(kinds) == 1, "measures now this and now that")
        if found.steps == 0:
            _claim(
                before == found, "says that it was given (steps = 0), and answers differently after periods were seen"
            )
        if found.steps == 0 or found.measures == "monitor":
            continue
        recent = squares[-min(found.steps, periods - 1) :]
        truth = _RHO if found.measures == "rho" else math.sqrt(sum(recent) / len(recent))
        misses += found.upper < truth
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

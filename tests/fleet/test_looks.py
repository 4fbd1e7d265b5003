"""Looks by compiled loops are those of a single tracker up to rounding, and do not depend on the other segments."""

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from driftpace import Tracker
from driftpace.adaptive import judge
from driftpace.adaptive.expected import ExpectedModel
from driftpace.adaptive.noise import NoiseSums
from driftpace.fleet.looks import judge_together, with_closing, with_decision, with_look
from driftpace.losses import LogisticLoss, SquaredLoss
from driftpace.tracker.adaptive_order import PeriodRows


def numbers_of(value: Any, name: str = "") -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    """Yield every number and array of a record, however deep, with its name."""
    if dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from numbers_of(getattr(value, field.name), f"{name}.{field.name}")
    elif isinstance(value, tuple | list):
        for place, item in enumerate(value):
            yield from numbers_of(item, f"{name}[{place}]")
    elif isinstance(value, np.ndarray):
        yield name, value.astype(float)
    elif isinstance(value, int | float | np.number):
        yield name, np.array(float(value))


def followed(columns: int, periods: int = 5, **options: Any) -> tuple[Any, Any]:
    """Return the method and the state of a tracker with rows in its open period."""
    rng = np.random.default_rng(columns)
    coef = rng.standard_normal(columns)
    given: dict[str, Any] = {"loss": SquaredLoss(l2=0.01), "epsilon": 0.1, "rng": 0} | options
    tracker = Tracker(**given)

    def tell(count: int, *, final: bool) -> None:
        X = rng.standard_normal((count, columns))
        y = X @ coef + 1.0 + rng.standard_normal(count)
        tracker.tell(X, np.sign(y) if isinstance(options.get("loss"), LogisticLoss) else y, final=final)

    for _ in range(periods):
        while samples := tracker.ask().samples:
            tell(samples, final=False)
        tracker.tell()
        coef += 0.1 * rng.standard_normal(columns)
    tracker.ask()
    tell(3 * columns + 9, final=False)
    method, state = tracker.snapshot()
    return method, dataclasses.replace(state, looks=())


@pytest.mark.parametrize("columns", [1, 2, 7])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("rows", [True, False])
def test_every_number_of_a_look_is_that_of_a_single_tracker(columns: int, fit_intercept: bool, rows: bool) -> None:
    method, state = followed(columns, fit_intercept=fit_intercept)
    seen = method.rows_to_judge(state if rows else state.without_rows())
    assert isinstance(seen, PeriodRows)
    single = dict(numbers_of(judge(method.config, seen.adaptive, seen.rows)))
    (judged,) = judge_together([(method.config, seen.adaptive, seen.rows)])
    together = dict(numbers_of(judged))
    assert single.keys() == together.keys()
    assert (judged is not None and judged.fit is None) != rows
    for name, value in single.items():
        assert together[name] == pytest.approx(value, rel=1e-7, abs=1e-9 * float(np.abs(value).max(initial=1e-9))), name


def expected_near(state: Any, *, known: float) -> Any:
    """Return a state in its first period whose model is expected near its start, with the share ``known``."""
    blocks = len(state.adaptive.parts)
    variances = np.tile([0.01, 0.3, np.inf], (blocks, 1))
    shares = np.tile([0.5 * known, 0.5 * known, 1.0 - known], (blocks, 1))
    noise = NoiseSums(rows=8.0, total=7.0, squares=20.0, losses=4.0)
    expected = ExpectedModel(variances=variances, shares=shares, noise=noise)
    start = np.linspace(0.5, 1.0, state.adaptive.size)
    return dataclasses.replace(state, adaptive=dataclasses.replace(state.adaptive, model=start, expected=expected))


def with_few_rows(state: Any, count: int) -> Any:
    """Return a state with the first rows of its first batch only."""
    batch = state.batches[0]
    return dataclasses.replace(
        state, batches=(dataclasses.replace(batch, X=batch.X[:count], y=batch.y[:count]),), looks=()
    )


@pytest.mark.parametrize("columns", [1, 2, 7])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("known", [None, 0.0, 0.9])
@pytest.mark.parametrize("few", [False, True])
def test_every_number_of_a_first_look_is_that_of_a_single_tracker(
    columns: int, fit_intercept: bool, known: float | None, few: bool
) -> None:
    """Before the initial sample is there, a model passes through the rows, and all that they show is noise."""
    method, state = followed(columns, 0, fit_intercept=fit_intercept)
    state = with_few_rows(state, 2 * columns) if few else state
    state = state if known is None else expected_near(state, known=known)
    seen = method.rows_to_judge(state)
    assert isinstance(seen, PeriodRows)
    assert (len(seen.rows) < seen.adaptive.pilot) == few
    single = dict(numbers_of(judge(method.config, seen.adaptive, seen.rows)))
    (judged,) = judge_together([(method.config, seen.adaptive, seen.rows)])
    together = dict(numbers_of(judged))
    assert single.keys() == together.keys()
    for name, value in single.items():
        assert together[name] == pytest.approx(value, rel=1e-7, abs=1e-9 * float(np.abs(value).max(initial=1e-9))), name


def test_first_rows_whose_squares_are_no_numbers_are_left_to_the_method() -> None:
    method, state = followed(3, 0)
    batches = tuple(dataclasses.replace(batch, X=1e200 * batch.X) for batch in state.batches)
    with np.errstate(over="ignore", invalid="ignore"):
        assert with_look([method], [dataclasses.replace(state, batches=batches)])[0].looks == ()


@pytest.mark.parametrize("later", [True, False])
def test_the_bits_of_a_segment_do_not_depend_on_the_others(later: bool) -> None:
    cases = []
    for place in range(3):
        method, state = followed(3, place + 2 if later else 0, rng=place)
        state = state if later else expected_near(state, known=0.3 * place)
        seen = method.rows_to_judge(state)
        cases.append((method.config, seen.adaptive, seen.rows))
    alone = [judge_together([case])[0] for case in cases]
    for one, other in zip(alone, judge_together(cases), strict=True):
        for (name, value), (_, same) in zip(numbers_of(one), numbers_of(other), strict=True):
            assert np.array_equal(value, same), name


def test_looks_are_taken_for_orders_and_closings() -> None:
    method, state = followed(3)
    asked = with_decision([method], [state])[0]
    assert len(asked.looks) >= 1
    after, _ = method.ask(asked, None)
    closing = with_closing([method], [dataclasses.replace(after, looks=())])[0]
    assert len(closing.looks) == 2
    ours, theirs = method.close(closing)[1], method.close(dataclasses.replace(after, looks=()))[1]
    assert ours.risk_bound == pytest.approx(theirs.risk_bound, rel=1e-9)
    assert ours.certificate == pytest.approx(theirs.certificate, rel=1e-7)
    assert [one.verdict for one in ours.assumptions] == [one.verdict for one in theirs.assumptions]


@pytest.mark.parametrize(
    "options",
    [
        {"epsilon": None, "tolerance": 0.3},
        {"loss": LogisticLoss(l2=0.01)},
        {"loss": LogisticLoss(l2=0.01), "periods": 0},
        {"epsilon": None, "tolerance": 0.3, "periods": 0},
        {"season": 4},
        {"columns": 40, "periods": 1},
    ],
)
def test_other_periods_are_left_to_the_method(options: dict[str, Any]) -> None:
    method, state = followed(**({"columns": 2} | options))
    assert with_decision([method], [state])[0].looks == ()

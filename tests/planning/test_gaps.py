"""The objectives, against their definitions."""

import math
import pickle
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftpace.errors import ParameterError
from driftpace.planning.gaps import CustomGap, Gap, LargestGap, LargestRun, MeanGap
from driftpace.typing import FloatArray

GAPS = st.lists(
    st.one_of(st.just(0.0), st.sampled_from([0.25, 0.5, 1.0]), st.floats(0.0, 10.0)), min_size=1, max_size=12
)
WEIGHTED: list[type[MeanGap] | type[LargestGap] | type[LargestRun]] = [MeanGap, LargestGap, LargestRun]


@st.composite
def weighted_gaps(draw: st.DrawFn) -> tuple[list[float], tuple[float, ...]]:
    gaps = draw(GAPS)
    weight = st.one_of(st.just(0.0), st.floats(0.01, 5.0))
    weights = draw(st.lists(weight, min_size=len(gaps), max_size=len(gaps)).filter(any))
    return gaps, tuple(weights)


def slow_largest_run(gaps: list[float], weights: list[float]) -> float:
    """The definition (theory I16): over all a <= b whose gaps never fall from a to b."""
    periods = range(len(gaps))
    runs = [
        (a, b) for a in periods for b in periods[a:] if all(gaps[n + 1] >= gaps[n] * (1.0 - 1e-9) for n in range(a, b))
    ]
    return max(math.fsum(weights[n] * gaps[n] for n in range(a, b + 1)) for a, b in runs)


@given(weighted_gaps())
def test_the_mean_gap_is_the_weighted_mean(drawn: tuple[list[float], tuple[float, ...]]) -> None:
    gaps, weights = drawn
    mean = math.fsum(w * xi for w, xi in zip(weights, gaps, strict=True)) / math.fsum(weights)
    assert MeanGap(weights)(np.array(gaps)) == pytest.approx(mean, rel=1e-12, abs=1e-15)
    assert MeanGap()(np.array(gaps)) == pytest.approx(math.fsum(gaps) / len(gaps), rel=1e-12, abs=1e-15)


@given(weighted_gaps())
def test_the_largest_gap_is_the_weighted_maximum(drawn: tuple[list[float], tuple[float, ...]]) -> None:
    gaps, weights = drawn
    assert LargestGap(weights)(np.array(gaps)) == max(w * xi for w, xi in zip(weights, gaps, strict=True))
    assert LargestGap()(np.array(gaps)) == max(gaps)


@given(weighted_gaps())
def test_the_largest_run_is_that_of_the_definition(drawn: tuple[list[float], tuple[float, ...]]) -> None:
    gaps, weights = drawn
    assert LargestRun(weights)(np.array(gaps)) == pytest.approx(slow_largest_run(gaps, list(weights)), rel=1e-12)
    assert LargestRun()(np.array(gaps)) == pytest.approx(slow_largest_run(gaps, [1.0] * len(gaps)), rel=1e-12)


@given(GAPS)
def test_the_goals_are_in_order(gaps: list[float]) -> None:
    xi = np.array(gaps)
    assert MeanGap()(xi) <= LargestGap()(xi) * (1 + 1e-12) <= LargestRun()(xi) * (1 + 1e-11)
    assert LargestRun()(xi) <= MeanGap()(xi) * len(gaps) * (1 + 1e-12)


@pytest.mark.parametrize(
    ("gaps", "value"),
    [
        ([0.0, 0.0], 0.0),
        ([5.0, 1.0, 1.0, 1.0], 5.0),
        ([1.0, 1.0, 1.0, 0.5], 3.0),
        ([1.0, 2.0, 3.0, 2.9, 3.5], 6.4),
        ([0.0, 4.0, 0.0, 5.0], 5.0),
        ([7.0], 7.0),
    ],
    ids=str,
)
def test_runs_by_hand(gaps: list[float], value: float) -> None:
    assert LargestRun()(np.array(gaps)) == pytest.approx(value)


def test_a_fall_by_rounding_does_not_break_a_run() -> None:
    assert LargestRun()(np.array([1.0, 1.0 - 1e-12, 1.0])) == pytest.approx(3.0)
    assert LargestRun()(np.array([1.0, 1.0 - 1e-8, 1.0])) == pytest.approx(2.0)


def test_weights_do_not_decide_what_a_run_is() -> None:
    assert LargestRun((1.0, 0.1, 1.0))(np.array([1.0, 2.0, 3.0])) == pytest.approx(4.2)
    assert LargestRun((1.0, 9.0))(np.array([2.0, 1.0])) == pytest.approx(9.0)


def test_the_largest_run_is_not_monotone() -> None:
    assert LargestRun()(np.array([2.5, 2.0])) < LargestRun()(np.array([1.0, 2.0]))


@given(drawn=weighted_gaps(), data=st.data())
def test_later_is_the_same_goal_for_what_is_left(
    drawn: tuple[list[float], tuple[float, ...]], data: st.DataObject
) -> None:
    gaps, weights = drawn
    first = data.draw(st.integers(0, len(gaps) - 1))
    rest, xi = weights[first:], np.array(gaps[first:])
    for kind in WEIGHTED:
        later = kind(weights).later(first)
        later.check(len(rest))
        expected = kind(rest)(xi) if any(rest) else 0.0
        assert later(xi) == expected
        assert kind().later(first)(xi) == kind()(xi)
        twice = kind(weights).later(first).later(0)
        assert twice(xi) == expected
        assert pickle.loads(pickle.dumps(later)) == later


@pytest.mark.parametrize("kind", WEIGHTED)
def test_what_no_longer_counts_has_no_value(kind: type[MeanGap] | type[LargestGap] | type[LargestRun]) -> None:
    later = kind((1.0, 0.0, 0.0)).later(1)
    assert later(np.array([3.0, 4.0])) == 0.0
    assert later.shares(2).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("kind", WEIGHTED)
def test_weights_are_held_against_the_horizon(kind: type[MeanGap] | type[LargestGap] | type[LargestRun]) -> None:
    gap = kind([1, 2, 3])  # type: ignore[arg-type]
    assert gap.weights == (1.0, 2.0, 3.0)
    gap.check(3)
    kind().check(99)
    sentence = rf"^{kind.__name__}\(weights=\.\.\.\) must be one per period, 4; got 3 weights\.$"
    with pytest.raises(ParameterError, match=sentence):
        gap.check(4)
    with pytest.raises(ParameterError, match=sentence):
        gap(np.zeros(4))
    with pytest.raises(ParameterError, match="horizon"):
        kind().check(0)
    with pytest.raises(ParameterError, match=r"\.later\(first=\.\.\.\) must be one of the 3 periods"):
        gap.later(3)
    with pytest.raises(ParameterError, match=r"\.later\(first=\.\.\.\) must be a whole number of at least 0; got -1"):
        gap.later(-1)


@pytest.mark.parametrize("kind", WEIGHTED)
@pytest.mark.parametrize(
    "weights", [(), (0.0, 0.0), (1.0, -1.0), (1.0, math.nan), (math.inf,), "abc", 3.0, (1e308, 1e308)], ids=repr
)
def test_weights_that_are_none_are_rejected(kind: type[MeanGap], weights: tuple[float, ...]) -> None:
    with pytest.raises(ParameterError, match=rf"^{kind.__name__}\(weights=\.\.\.\) must be "):
        kind(weights)


@given(weighted_gaps())
def test_the_value_is_made_of_the_shares(drawn: tuple[list[float], tuple[float, ...]]) -> None:
    gaps, weights = drawn
    assert MeanGap(weights).shares(len(gaps)) @ np.array(gaps) == MeanGap(weights)(np.array(gaps))
    assert max(LargestGap(weights).shares(len(gaps)) * np.array(gaps)) == LargestGap(weights)(np.array(gaps))
    assert LargestRun(weights).shares(len(gaps)).tolist() == list(weights)


def root_mean_square(gaps: FloatArray) -> float:
    return float(np.sqrt(np.mean(gaps**2)))


@pytest.mark.parametrize(
    "gap", [MeanGap(), MeanGap((1, 2)), LargestGap(), LargestRun((0, 1)), CustomGap(root_mean_square, "rms")]
)
def test_goals_are_values(gap: Gap) -> None:
    assert isinstance(gap, Gap)
    assert pickle.loads(pickle.dumps(gap)) == gap
    assert hash(pickle.loads(pickle.dumps(gap))) == hash(gap)
    assert gap(np.array([1.0, 1.0])) > 0.0


def test_goals_of_different_kinds_differ() -> None:
    goals: list[Gap] = [MeanGap(), LargestGap(), LargestRun(), CustomGap(root_mean_square, "rms")]
    assert [gap.name for gap in goals] == ["mean gap", "largest gap", "largest run of gaps", "rms"]
    assert len(set(goals)) == 4
    assert len({MeanGap((1, 1)), LargestGap((1, 1)), LargestRun((1, 1))}) == 3


@pytest.mark.parametrize("horizon", [1, 2, 12, 100])
@pytest.mark.parametrize(
    "function",
    [
        root_mean_square,
        np.max,
        np.sum,
        lambda gaps: 3.0,
        lambda gaps: np.sort(gaps)[-2:].sum(),
        MeanGap(),
        LargestGap(),
    ],
    ids=["rms", "max", "sum", "constant", "two worst", "mean gap", "largest gap"],
)
def test_a_custom_goal_that_is_monotone_passes(function: Callable[[FloatArray], float], horizon: int) -> None:
    own = CustomGap(function, "own")
    own.check(horizon)
    gaps = np.linspace(0.0, 1.0, horizon)
    assert own(gaps) == float(function(gaps))


@pytest.mark.parametrize(
    "function",
    [
        lambda gaps: 1.0 / (1.0 + gaps.sum()),
        lambda gaps: float(gaps[-1] / (1.0 + gaps[0])),
        lambda gaps: float(np.std(gaps)),
        LargestRun(),
    ],
    ids=["falls", "falls in one period", "spread", "largest run"],
)
def test_a_custom_goal_that_falls_is_refused_with_the_place(function: Callable[[FloatArray], float]) -> None:
    with pytest.raises(
        ParameterError, match=r"^CustomGap\(function=\.\.\.\) must not decrease when a gap grows; got .* for \[.*and "
    ):
        CustomGap(function, "own").check(6)


@pytest.mark.parametrize("value", [math.nan, math.inf, -1.0, "many", None], ids=repr)
def test_a_custom_goal_must_be_a_number(value: float) -> None:
    with pytest.raises(
        ParameterError, match=r"^CustomGap\(function=\.\.\.\) must return a finite number of at least 0; got"
    ):
        CustomGap(lambda gaps: value, "own")(np.array([0.1, 0.2]))


def test_a_custom_goal_sees_zeros_for_periods_that_are_gone() -> None:
    own = CustomGap(lambda gaps: float(np.array([1.0, 2.0, 4.0]) @ gaps), "own")
    own.check(3)
    later = own.later(1)
    later.check(2)
    assert later(np.array([10.0, 100.0])) == 420.0
    assert later.later(1)(np.array([100.0])) == 400.0


def test_a_custom_goal_cannot_change_the_gaps() -> None:
    gaps = np.array([1.0, 2.0])

    def spoil(seen: FloatArray) -> float:
        seen[:] = 0.0
        return 0.0

    assert CustomGap(spoil, "own")(gaps) == 0.0
    assert gaps.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: CustomGap(3, "own"), "CustomGap(function=...) must be a function of the gaps; got 3."),  # type: ignore[arg-type]
        (lambda: CustomGap(np.max, ""), "CustomGap(name=...) must be a non-empty string; got ''."),
        (lambda: CustomGap(np.max, "own", -1), "CustomGap(gone=...) must be a whole number of at least 0; got -1."),
        (lambda: CustomGap(np.max, "own").later(-1), "CustomGap.later(first=...) must be a whole number"),
        (lambda: CustomGap(np.max, "own").check(0), "CustomGap(horizon=...) must be a whole number of at least 1"),
    ],
    ids=["function", "name", "gone", "later", "horizon"],
)
def test_invalid_goals_are_rejected(make: Callable[[], object], sentence: str) -> None:
    with pytest.raises(ParameterError) as refusal:
        make()
    assert sentence in str(refusal.value)

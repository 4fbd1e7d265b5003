"""The check of estimators of drift: it passes the built-in ones and catches broken ones."""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import pytest

from driftpace.drift import (
    BernsteinMargin,
    DebiasedDifference,
    Direct,
    DirectHeldOut,
    Drift,
    DriftEstimator,
    GradientMmd,
    KnownDrift,
    NoMargin,
    Prequential,
    RecentChange,
    RootMargin,
    TheoreticalMargin,
    WassersteinChange,
    WindowedChange,
)
from driftpace.records import DriftEstimate
from driftpace.testing import check_drift

GOOD: dict[str, DriftEstimator] = {
    "default": Drift(),
    "paper": Drift(margin=RootMargin()),
    "theorem": Drift(margin=TheoreticalMargin(diameter=1.0, m=1.0, G=1.0), correction=True),
    "held out": Drift(one_step=DirectHeldOut()),
    "debiased": Drift(one_step=DebiasedDifference(residuals="hc2")),
    "recent": Drift(one_step=Prequential(), combine=RecentChange(window=8)),
    "windowed": Drift(combine=WindowedChange(window=3), margin=BernsteinMargin(delta=0.1, width=2.0)),
    "change of gradients": Drift(one_step=GradientMmd()),
    "monitor": Drift(one_step=GradientMmd(kernel="gaussian")),
    "transport": Drift(one_step=WassersteinChange(row_lipschitz=4.0, most=4)),
    "known": KnownDrift(0.1),
}


@pytest.mark.parametrize("name", GOOD)
def test_every_estimator_of_the_library_passes(name: str, seed: int) -> None:
    check_drift(GOOD[name], rng=seed, runs=3 if name == "transport" else 15)  # linear programmes take their time


@dataclass(frozen=True)
class _Around:
    """An estimator that hands everything on to another."""

    inner: Any = field(default_factory=lambda: Drift(one_step=Prequential()))
    held_out: ClassVar[float] = 0.0

    def init(self, features: int) -> Any:
        return self.inner.init(features)

    def update(self, state: Any, seen: Any, loss: Any) -> Any:
        return self.inner.update(state, seen, loss)

    def estimate(self, state: Any) -> Any:
        return self.inner.estimate(state)


class _NoEstimate:
    held_out = 0.0


class _HoldsEverythingBack(_Around):
    held_out = 1.0


class _KnowsBeforeItSees(_Around):
    def estimate(self, state: Any) -> Any:
        return DriftEstimate(value=1.0, upper=1.0, steps=3, measures="rho", account="a guess")


class _ListState(_Around):
    def init(self, features: int) -> Any:
        return [0.0]


@dataclass
class _Loose:
    value: float = 0.0


class _LooseState(_Around):
    def init(self, features: int) -> Any:
        return _Loose()


@dataclass(frozen=True)
class _Holder:
    inside: Any
    also: Any


class _PeculiarState(_Around):
    def init(self, features: int) -> Any:
        return _Holder(self.inner.init(features), {1: 2})


class _MutatesRows(_Around):
    def update(self, state: Any, seen: Any, loss: Any) -> Any:
        after = self.inner.update(state, seen, loss)
        seen.coef[:] += 1.0
        return after


class _MutatesState(_Around):
    def init(self, features: int) -> Any:
        return _Holder(self.inner.init(features), np.zeros(1))

    def update(self, state: Any, seen: Any, loss: Any) -> Any:
        state.also[0] += 1.0
        return _Holder(self.inner.update(state.inside, seen, loss), np.zeros(1))

    def estimate(self, state: Any) -> Any:
        return self.inner.estimate(state.inside)


class _ThrowsDice(_Around):
    def init(self, features: int) -> Any:
        return _Holder(self.inner.init(features), 0.0)

    def update(self, state: Any, seen: Any, loss: Any) -> Any:
        return _Holder(self.inner.update(state.inside, seen, loss), float(np.random.default_rng().random()))

    def estimate(self, state: Any) -> Any:
        return self.inner.estimate(state.inside)


class _RemembersEverything(_Around):
    def init(self, features: int) -> Any:
        return _Holder(self.inner.init(features), ())

    def update(self, state: Any, seen: Any, loss: Any) -> Any:
        return _Holder(self.inner.update(state.inside, seen, loss), (*state.also, 1.0))

    def estimate(self, state: Any) -> Any:
        return self.inner.estimate(state.inside)


class _NeedsRows(_Around):
    def update(self, state: Any, seen: Any, loss: Any) -> Any:
        if len(seen.y) == 0:
            raise AssertionError("The estimator of drift cannot do without rows.")
        return self.inner.update(state, seen, loss)


class _Answers(_Around):
    changes: ClassVar[dict[str, Any]] = {}

    def estimate(self, state: Any) -> Any:
        inner = self.inner.estimate(state)
        return None if inner is None else replace(inner, **self.changes)


class _UpsideDown(_Answers):
    changes: ClassVar[dict[str, Any]] = {"upper": -1.0}


class _Negative(_Answers):
    changes: ClassVar[dict[str, Any]] = {"value": -0.1}


class _Unknown(_Answers):
    changes: ClassVar[dict[str, Any]] = {"measures": "speed"}


class _Silent(_Answers):
    changes: ClassVar[dict[str, Any]] = {"account": " "}


class _NeverReady(_Around):
    def estimate(self, state: Any) -> Any:
        return None


class _TooLow(_Around):
    def estimate(self, state: Any) -> Any:
        inner = self.inner.estimate(state)
        return None if inner is None else replace(inner, value=0.5 * inner.value, upper=0.5 * inner.upper)


class _NowThisNowThat(_Around):
    """Zero, and a monitor in about half of the runs."""

    def estimate(self, state: Any) -> Any:
        inner = self.inner.estimate(state)
        if inner is None:
            return None
        monitor = int(inner.value * 1e9) % 2 == 0
        return replace(inner, value=0.0, upper=0.0, measures="monitor" if monitor else "rho")


class _SaysItWasGiven(_Around):
    def estimate(self, state: Any) -> Any:
        inner = self.inner.estimate(state)
        return None if inner is None else replace(inner, value=0.0, upper=0.0, steps=0)


BROKEN = {
    _NowThisNowThat: "now this and now that",
    _SaysItWasGiven: "says that it was given",
    _NoEstimate: "does not have every member",
    _HoldsEverythingBack: "holds out a share of 1.0 of the rows",
    _KnowsBeforeItSees: "before the first period",
    _ListState: "is a list and not a frozen dataclass",
    _LooseState: "_Loose in it that is not frozen",
    _PeculiarState: "a dict in it, which is not plain",
    _MutatesRows: "changes the period it is given",
    _MutatesState: "changes the state it is given",
    _ThrowsDice: "differently the second time",
    _RemembersEverything: "grows with the periods",
    _NeedsRows: "cannot do without rows",
    _UpsideDown: "upper >= value >= 0",
    _Negative: "upper >= value >= 0",
    _Unknown: "measures 'speed'",
    _Silent: "gives no account",
    _NeverReady: "has no estimate after",
    _TooLow: "upper end below the truth in",
}


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__.strip("_"))
def test_a_broken_estimator_is_caught_in_a_sentence(broken: Any, seed: int) -> None:
    with pytest.raises(AssertionError, match=rf"^The estimator of drift .*{BROKEN[broken]}.*\.$"):
        check_drift(broken(), rng=seed, runs=15)


def test_an_estimate_without_a_margin_is_caught() -> None:
    """Its value is above rho in about half of the runs, which is not an upper end."""
    with pytest.raises(AssertionError, match="upper end below the truth"):
        check_drift(Drift(one_step=DebiasedDifference(), margin=NoMargin()), runs=60)


def test_the_same_rows_are_checked_without_a_generator() -> None:
    check_drift(Drift(one_step=Direct()), runs=3)
    check_drift(Drift(one_step=Direct()), runs=3, rng=np.random.default_rng(5))

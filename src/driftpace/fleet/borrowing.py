"""What segments learn from each other, and when: before a period is sized, while its rows arrive, and when it is closed.

Everything that crosses from one segment to another goes through here, in the order of the segments, so that the numbers do not
depend on who works on them. What a segment is told is a :class:`~driftpace.fleet.lent.Lent`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from driftpace.errors import ParameterError
from driftpace.fleet.common_movement import (
    AFFORDED,
    UNLIKE,
    UNSEEN,
    CommonMovement,
    CommonStep,
    LevelGap,
    after_period,
    common_step,
    odds_of,
)
from driftpace.fleet.drift_prior import ODD, lend_drift
from driftpace.fleet.fleet_model import find_fleet_model
from driftpace.fleet.lent import LEAST_SEGMENTS, NOTHING, Lent
from driftpace.fleet.observed import Observed, known_model
from driftpace.fleet.segments import Segment, with_order
from driftpace.planning import Demand
from driftpace.typing import FloatArray

PARTS = ("drift", "start", "slopes", "common")
"""What can be borrowed: how segments drift, where new ones start, slopes of those that begin together, movements of all levels."""

PROBE = 4
"""Rows of a segment that is asked for some only to see how far all moved."""

Observe = Callable[[Sequence[str]], list[Observed]]
Segments = dict[str, Segment]
Demands = dict[str, Demand]
Ask = Callable[[Segments], tuple[Segments, Demands]]


def parts_of(borrow: Any) -> tuple[str, ...]:
    """Return the parts that are named, in their usual order; all of them for True, none for False."""
    if isinstance(borrow, bool):
        return PARTS if borrow else ()
    if isinstance(borrow, str) or not isinstance(borrow, Sequence) or any(part not in PARTS for part in borrow):
        allowed = ", ".join(repr(part) for part in PARTS)
        raise ParameterError(
            f"must be True, False, or some of {allowed}; got {borrow!r:.80}.", owner="Fleet", name="borrow"
        )
    return tuple(part for part in PARTS if part in borrow)


@dataclass(frozen=True, kw_only=True, slots=True)
class Borrowing:
    """What is borrowed, and what is remembered of the fleet as a whole."""

    parts: tuple[str, ...] = ()
    movement: CommonMovement = field(default_factory=CommonMovement)

    def sized(self, segments: Segments, chosen: Sequence[str], ask: Ask, observe: Observe) -> tuple[Segments, Demands]:
        """Return the segments with the orders of their open period; the ``chosen`` ones are sized with what they are lent.

        Orders count on a common step that is known as well as all of them together will show it. Where they would not, some
        segments are asked for a few rows more, unless it takes fewer rows to do without.
        """
        segments = self.with_starts(segments, chosen, observe)
        told = self._step(segments, observe) if self.moves_together else None
        if told is None:
            return ask(segments)
        afforded = AFFORDED * _target(segments)
        together, demands = ask(_with_step(segments, chosen, told, most=afforded))
        if told.step.seen or not np.isfinite(told.step.whole) or told.step.whole <= afforded:
            return together, demands
        probes = _probes(together, chosen, told, afforded)
        if not probes:
            return together, demands
        apart, others = ask(_with_step(segments, chosen, told, most=np.inf))
        if _rows(together) + PROBE * len(probes) >= _rows(apart):
            return apart, others
        more = {
            name: replace(demands[name], least=max(demands[name].least, PROBE)) for name in probes if name in demands
        }
        return together | {name: _with_more(together[name], PROBE) for name in probes}, demands | more

    def before_closing(self, segments: Segments, observe: Observe) -> tuple[Segments, "Told | None"]:
        """Return the segments with what all rows of the period show, and what is needed after it is closed."""
        if "common" not in self.parts:
            return segments, None
        told = self._step(segments, observe)
        return (segments, None) if told is None else (_with_step(segments, told.names, told, most=np.inf), told)

    def after_closing(self, segments: Segments, told: "Told | None", period: int) -> tuple[Self, Segments]:
        """Return what is remembered after a period, and the segments with what they are lent for the next one."""
        movement = self.movement
        segments = dict(segments)
        if told is not None:
            odds = np.array([segments[name].odds for name in told.names])
            after = odds_of(odds, told.gaps, told.step)
            for name, one in zip(told.names, after.tolist(), strict=True):
                segments[name] = replace(segments[name], odds=one)
            movement = after_period(movement, told.step, 2.0 * _target(segments), _noise(told.gaps))
        segments = {name: replace(segment, lent=NOTHING) for name, segment in segments.items()}
        if "drift" in self.parts:
            segments = _with_priors(segments, period + 1)
        return replace(self, movement=movement), segments

    @property
    def moves_together(self) -> bool:
        """Whether the rows of all segments say something of the level of each."""
        return "common" in self.parts

    def with_starts(
        self, segments: Segments, chosen: Sequence[str], observe: Observe, *, unsized: bool = False
    ) -> Segments:
        """Return the segments, the ``chosen`` ones in their first period with the model of the others; those ``unsized`` only."""
        new = [
            name
            for name in chosen
            if (one := segments[name]).state.adaptive is not None
            and not one.state.adaptive.banks
            and not (unsized and one.state.order is not None)
        ]
        if not new:
            return segments
        adaptive = segments[new[0]].state.adaptive
        assert adaptive is not None
        if "start" in self.parts:
            known = [model for one in segments.values() if (model := known_model(one)) is not None]
            fleet = find_fleet_model(known, adaptive.parts, adaptive.intercept)
            if fleet is not None:
                lent = fleet.lend()
                return segments | {name: replace(segments[name], lent=lent) for name in new}
        if "slopes" in self.parts and len(adaptive.parts) > adaptive.intercept:
            models = [one.model for one in observe(new)]
            names = [name for name, model in zip(new, models, strict=True) if model is not None]
            if len(names) <= LEAST_SEGMENTS:
                return segments
            fleet = find_fleet_model(
                [model for model in models if model is not None], adaptive.parts, adaptive.intercept
            )
            if fleet is not None:
                return segments | {
                    name: replace(segments[name], lent=fleet.lend(place, level=False))
                    for place, name in enumerate(names)
                }
        return segments

    def _step(self, segments: Segments, observe: Observe) -> "Told | None":
        names = _with_past(segments)
        if len(names) <= LEAST_SEGMENTS:
            return None
        seen = [name for name in names if segments[name].state.gathered]
        if not seen and self.movement.bank is None:
            return None
        found = dict(zip(seen or names, observe(seen or names), strict=True))
        gaps = [found[name].gap or UNSEEN if name in found else UNSEEN for name in names]
        like = np.array([segments[name].odds > UNLIKE for name in names])
        step = common_step(self.movement, gaps, like, _noise(gaps))
        return Told(names=names, gaps=gaps, step=step)


@dataclass(frozen=True, kw_only=True, slots=True)
class Told:
    """The common step of a period as segments with a past are told it, and what their rows show."""

    names: list[str]
    gaps: list[LevelGap]
    step: CommonStep


def _with_past(segments: Mapping[str, Segment]) -> list[str]:
    """Return the segments whose level can move with the others: those with an intercept and a closed period."""
    return [
        name
        for name, one in segments.items()
        if one.state.adaptive is not None and one.state.adaptive.banks and one.state.adaptive.intercept
    ]


def _noise(gaps: Sequence[LevelGap]) -> float:
    """Return the usual noise of one row, in scores."""
    known = [gap.noise for gap in gaps if np.isfinite(gap.noise)]
    return float(np.median(known)) if known else 0.0


def _target(segments: Mapping[str, Segment]) -> float:
    """Return the usual target: the median of the last reports."""
    return float(np.median([one.reports[-1].epsilon for one in segments.values() if one.reports]))


def _rows(segments: Segments) -> int:
    return sum(_missing(segment) for segment in segments.values())


def _missing(segment: Segment) -> int:
    order = segment.state.order
    return 0 if order is None else order.total - order.after


def _probes(segments: Segments, chosen: Sequence[str], told: Told, afforded: float) -> list[str]:
    """Return the segments that are asked for a few rows more, so that all rows together show the common step."""
    known, idle, probes = 1.0 / told.step.whole, [], []
    for place, (name, gap) in enumerate(zip(told.names, told.gaps, strict=True)):
        rows = _missing(segments[name])
        known += 1.0 / gap.after(rows)
        if rows == 0 and _takes_more(segments[name]):
            idle.append((gap.after(PROBE), place))
    asked = set(chosen)
    for variance, place in sorted(idle):
        if known >= 1.0 / afforded:
            break
        if told.names[place] in asked:
            known += 1.0 / variance
            probes.append(told.names[place])
    return probes


def _takes_more(segment: Segment) -> bool:
    order = segment.state.order
    return order is not None and (order.pool is None or order.pool >= order.total + PROBE)


def _with_more(segment: Segment, rows: int) -> Segment:
    """Return a segment that is asked for a few rows, though it needs none itself."""
    order = segment.state.order
    assert order is not None
    reason = f"{rows} rows, with those of other segments, show how far all of them moved"
    return with_order(segment, replace(order, total=order.total + rows, reason=reason))


def _with_step(segments: Segments, chosen: Sequence[str], told: Told, *, most: float) -> Segments:
    """Return segments, the ``chosen`` ones told of the common step, whose variance counts as at most ``most``."""
    after, asked = dict(segments), set(chosen)
    step = told.step
    for name, mean, variance in zip(told.names, step.means.tolist(), step.variances.tolist(), strict=True):
        if name not in asked:
            continue
        segment = segments[name]
        known = np.isfinite(variance) and segment.odds > UNLIKE
        lent = replace(segment.lent, shift=mean if known else 0.0, shift_variance=min(variance, most) if known else 0.0)
        after[name] = replace(segment, lent=lent)
    return after


def _with_priors(segments: Segments, period: int) -> Segments:
    """Return segments told how the others drift."""
    names = _with_banks(segments)
    if len(names) <= LEAST_SEGMENTS:
        return segments
    priors, odd = lend_drift([segments[name].state.adaptive.banks for name in names])  # type: ignore[union-attr]
    after = dict(segments)
    for name, prior, one in zip(names, priors, odd.tolist(), strict=True):
        segment = segments[name]
        freed = (*segment.freed, period) if one >= ODD else segment.freed
        after[name] = replace(segment, lent=_told_drift(segment.lent, prior), freed=freed)
    return after


def _with_banks(segments: Mapping[str, Segment]) -> list[str]:
    return [name for name, one in segments.items() if one.state.adaptive is not None and one.state.adaptive.banks]


def _told_drift(lent: Lent, prior: tuple[tuple[FloatArray, float], ...]) -> Lent:
    return replace(lent, priors=tuple(each[0] for each in prior), expected_jumps=tuple(each[1] for each in prior))

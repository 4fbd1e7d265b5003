"""Labels that arrive late: what those outstanding will tell, and orders for the risk while a model is in use.

With labels that are L periods late, the model in use in period n has seen the labels of period n - L and of those before. The rows
of period n matter L periods later: what they leave then, the drift of those periods included, is what the target is compared with.
Where a step of the drift costs c targets that takes

    K_L / K_0 = (1 + c) / ((1 - L c) (1 - L c + c))

times as many rows as labels in time, and no number of rows is enough where L c is 1 or more. Part of the labels may arrive
earlier: how much of an order is known after each number of periods is learned from the orders before. What rows leave is computed
for each drift model, as the variances of its Kalman filter, which do not depend on what the labels will say.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from driftpace.adaptive.bank import Bank
from driftpace.records import DelayPrice
from driftpace.typing import BoolArray, FloatArray

RECENT = 20
"""Orders, all of whose labels could have arrived, from which it is learned when labels arrive."""

MOST_DELAY = 100
"""The longest delay of labels, in periods."""

ALL = 0.9
"""An order is known when so much has arrived of what ever will."""

AT_ONCE = 0.4
"""Where so much of an order is known in its own period, that period is to meet the target too."""

LEAST_AIM = 0.2
"""Orders aim at no less than this share of their usual aim: what little the drift leaves would take too many rows."""

LEAST_PERIODS = 5
"""Labelled periods before which nothing is said of the price of a delay."""

STEADY_ORDERS, STEADY = 8, 1.25
"""Orders differ by at most this factor from the mean of so many before them."""

RANGE = (0.1, 0.9)
"""The range of an order is for a drift as small, or as large, as nine models in ten allow."""

SURE = 0.95
"""The share of the drift models for which no number of rows is enough, at which the target is impossible."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Moments:
    """What is known of w*, a row for each block and an entry for each drift model: second moments about the mean of all models.

    ``spread``, ``cross`` and ``speed`` are those of theta and v, as in :class:`~driftpace.adaptive.bank.Bank`.
    """

    spread: FloatArray
    cross: FloatArray
    speed: FloatArray


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ClosedOrder:
    """The order of a closed period: how many rows were requested, and how many arrived how many periods later.

    ``moments`` is what was known after the period; None where it is not remembered.
    """

    requested: int
    arrived: tuple[tuple[int, int], ...]
    moments: Moments | None = None

    def known(self, periods: int) -> int:
        """Return how many rows were known so many periods later."""
        return sum(rows for late, rows in self.arrived if late <= periods)

    @property
    def rows(self) -> int:
        """How many rows have arrived."""
        return sum(rows for _, rows in self.arrived)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Walks:
    """The drift models of all blocks: a row for each block, an entry for each model."""

    sizes: FloatArray
    shares: FloatArray
    step: FloatArray
    keeps: FloatArray
    wobble: FloatArray
    noise: float

    @classmethod
    def of(cls, banks: Sequence[Bank], noise: float) -> "Walks":
        """Return the models of the banks, with their current shares."""
        return cls(
            sizes=np.array([float(bank.size) for bank in banks]),
            shares=np.array([bank.shares for bank in banks]),
            step=np.array([bank.models.step for bank in banks]),
            keeps=np.array([bank.models.persistence for bank in banks]),
            wobble=np.array([bank.models.wobble for bank in banks]),
            noise=noise,
        )

    def next(self, now: Moments) -> Moments:
        """Return what is known one period later."""
        keeps = self.keeps
        return Moments(
            spread=now.spread + 2.0 * now.cross + now.speed,
            cross=keeps * (now.cross + now.speed),
            speed=keeps**2 * now.speed + (1.0 - keeps**2) * self.step,
        )

    def variances(self, now: Moments) -> FloatArray:
        """Return the variance of w* by each model."""
        return now.spread + self.wobble

    def left(self, now: Moments, rows: float) -> FloatArray:
        """Return the variance of w* by each model after so many rows."""
        from driftpace.adaptive.kernels import mean_risk

        before = self.variances(now)
        if rows <= 0.0:
            return before
        left = 2.0 * mean_risk(self.sizes, self.shares, before, self.noise, float(rows))
        return np.asarray(before / (1.0 + before * (rows / (self.noise + (1.0 + 1.0 / self.sizes.sum()) * left))))

    def after(self, now: Moments, rows: float) -> Moments:
        """Return what is known after so many rows of the period."""
        before = self.variances(now)
        gain = (before - self.left(now, rows)) / np.maximum(before, 1e-300) ** 2
        return Moments(
            spread=now.spread - gain * now.spread**2,
            cross=now.cross - gain * now.spread * now.cross,
            speed=now.speed - gain * now.cross**2,
        )

    def mean(self, variances: FloatArray, among: BoolArray | None = None) -> FloatArray:
        """Return the mean over models of the variance of each block, ``among`` some of them."""
        shares = self.shares if among is None else self.shares * among
        return np.asarray((shares * variances).sum(axis=1) / np.maximum(shares.sum(axis=1), 1e-300))

    def quantile(self, variances: FloatArray, level: float) -> FloatArray:
        """Return the quantile over models of the variance of each block."""
        from driftpace.adaptive.kernels import share_quantile

        return np.array([share_quantile(*pair, level) for pair in zip(variances, self.shares, strict=True)])


def moments_of(banks: Sequence[Bank]) -> Moments:
    """Return what the banks know: how far the models are apart is part of what is not known."""
    place, speed = ([getattr(bank, name) for bank in banks] for name in ("place", "velocity"))
    place, speed = (
        [value - bank.shares @ value for value, bank in zip(values, banks, strict=True)] for values in (place, speed)
    )
    pairs = list(zip(place, speed, strict=True))
    return Moments(
        spread=np.array([bank.spread + np.square(a).mean(axis=1) for bank, (a, _) in zip(banks, pairs, strict=True)]),
        cross=np.array([bank.cross + (a * b).mean(axis=1) for bank, (a, b) in zip(banks, pairs, strict=True)]),
        speed=np.array([bank.speed + np.square(b).mean(axis=1) for bank, (_, b) in zip(banks, pairs, strict=True)]),
    )


def with_closed(closed: tuple[ClosedOrder, ...], order: ClosedOrder, delay: int) -> tuple[ClosedOrder, ...]:
    """Return the closed orders that are remembered, one more included."""
    kept = (*closed, order)[-(delay + RECENT) :]
    split = len(kept) - delay - 1
    return (*(replace(one, moments=None) if k < split else one for k, one in enumerate(kept)),)


def arrival_shares(closed: Sequence[ClosedOrder], delay: int) -> FloatArray:
    """Return the share of an order that is known after 0, 1, ..., ``delay`` periods, learned from closed orders.

    An order all of whose labels are late by the whole delay counts as one seen before.

    >>> half = ClosedOrder(requested=10, arrived=((0, 5), (2, 5)))
    >>> arrival_shares([half] * 9, 2)
    array([0.45, 0.45, 1.  ])
    """
    shares = np.zeros(delay + 1)
    newest_first = list(reversed(closed))
    for late in range(delay + 1):
        seen = [order for order in newest_first[late : late + RECENT] if order.requested > 0]
        first = 1.0 if late == delay else 0.0
        known = sum(min(order.known(late) / order.requested, 1.0) for order in seen)
        shares[late] = (first + known) / (1.0 + len(seen))
    return np.asarray(np.maximum.accumulate(shares))


def expected_moments(walks: Walks, now: Moments, closed: Sequence[ClosedOrder], delay: int) -> Moments:
    """Return what will be known of the last closed period when the labels outstanding have arrived; ``now`` is what is known."""
    window = list(closed[-delay:])
    ever = float(arrival_shares(closed, delay)[-1])
    rows = [max(order.rows, ever * order.requested) for order in window]
    first = next((k for k, order in enumerate(window) if rows[k] > order.rows), None)
    if first is None:
        return now
    before = closed[-len(window) + first - 1].moments if len(closed) > len(window) - first else None
    if before is None:  # nothing was known before it: begin with the first period after which something was
        known = next((k for k in range(first, len(window)) if window[k].moments is not None), None)
        if known is None:
            return now
        start = window[known].moments
        assert start is not None
        before, first = walks.after(start, rows[known] - window[known].rows), known + 1
    for expected in rows[first:]:
        before = walks.after(walks.next(before), expected)
    return before


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class InUse:
    """What an order leaves when its labels are known and a model is in use.

    ``now`` is what is known of the open period without its rows, ``start`` what will be known of it when the labels outstanding
    have arrived; ``known`` the share of an order that is known after each number of periods. Orders after this one are taken to be
    as large.
    """

    walks: Walks
    now: Moments
    start: Moments
    known: FloatArray

    @property
    def periods(self) -> int:
        """After how many periods the order is known."""
        return int(np.argmax(self.known >= ALL * self.known[-1]))

    def in_time(self, rows: float) -> FloatArray:
        """Return the variance by each model of the open period that so many known rows leave."""
        return self.walks.left(self.start, rows)

    def variances(self, rows: float) -> FloatArray:
        """Return the variance by each model of the period in which an order of so many rows is known."""
        walks, known, now = self.walks, self.known[: self.periods + 1], self.start
        for share in known[:0:-1]:
            now = walks.next(walks.after(now, rows * share))
        return walks.left(now, rows * known[0])


@dataclass(frozen=True, kw_only=True, slots=True)
class RowsInUse:
    """The rows of an order that meet the target in use, if any do, and those that would meet it with labels ``in_time``.

    ``low`` and ``high`` are a range for the order, ``impossible`` is the share of the drift models for which no number of rows is
    enough.
    """

    rows: int
    in_time: int
    low: int
    high: int
    impossible: float

    @property
    def refused(self) -> bool:
        """Whether the target is impossible: the order is then the one for labels in time."""
        return self.impossible >= SURE


def rows_in_use(use: InUse, risk: Callable[[FloatArray], float], aim: float, epsilon: float, cap: int) -> RowsInUse:
    """Return the rows of an order; ``risk`` is that of the variances of the blocks, ``aim`` what it is to be.

    Drift models under which no number of rows is enough have no say in the size of an order, as long as there are others.
    """
    walks = use.walks
    in_time = fewest(lambda rows: risk(walks.mean(use.in_time(rows))) <= aim, cap)
    known = float(use.known[use.periods])
    most = math.ceil(fewest(lambda rows: risk(walks.mean(use.in_time(rows))) <= LEAST_AIM * aim, cap) / known)
    possible = 0.5 * walks.sizes[:, None] * use.variances(most) <= epsilon
    impossible = 1.0 - float((walks.shares * possible).sum(axis=1).min())
    if impossible >= SURE:
        return RowsInUse(rows=in_time, in_time=in_time, low=in_time, high=in_time, impossible=impossible)
    rows = max(fewest(lambda rows: risk(walks.mean(use.variances(rows), possible)) <= aim, most), in_time)
    if use.known[0] >= AT_ONCE:
        rows = max(rows, fewest(lambda rows: risk(walks.mean(walks.left(use.now, use.known[0] * rows))) <= aim, most))
    low, high = (
        fewest(lambda rows: risk(walks.quantile(use.variances(rows), RANGE[0])) <= aim, most),
        fewest(lambda rows: risk(walks.quantile(use.variances(rows), RANGE[1])) <= aim, most),
    )
    return RowsInUse(rows=rows, in_time=in_time, low=min(low, rows), high=max(high, rows), impossible=impossible)


def price_of_delay(step: float, periods: int) -> float:
    """Return how many times as many labels a delay takes; infinite where no number of labels reaches the target.

    ``step`` is the cost of one step of the drift, in targets.

    >>> [round(price_of_delay(0.2, periods), 1) for periods in (0, 1, 2, 4, 5)]
    [1.0, 1.5, 2.5, 15.0, inf]
    """
    left = 1.0 - periods * step
    return (1.0 + step) / (left * (left + step)) if left > 1e-12 else math.inf


def delay_price(
    banks: Sequence[Bank], epsilon: float, periods: int, closed: Sequence[ClosedOrder], delay: int | None
) -> DelayPrice:
    """Return the price of a delay, from the drift over so many periods by each model and how much of orders arrives in time."""
    if not banks or banks[0].periods < LEAST_PERIODS:
        return DelayPrice(periods=periods)
    walks, now = Walks.of(banks, 0.0), moments_of(banks)
    later = now
    for _ in range(periods):
        later = walks.next(later)
    drift = later.spread - now.spread + walks.wobble
    in_time = 0.0 if delay is None else float(arrival_shares(closed, delay)[0])
    most = 1.0 / in_time if in_time >= AT_ONCE else math.inf
    least, largest = (walks.quantile(drift, level) for level in (1.0 - SURE, SURE))
    usual = walks.mean(np.clip(drift, least[:, None], largest[:, None]))
    low, middle, high = (
        min(price_of_delay(0.5 * float(walks.sizes @ each) / epsilon / periods, periods), most)
        for each in (least, usual, largest)
    )
    return DelayPrice(periods=periods, value=middle, interval=(low, high))


def steady(sized: RowsInUse, closed: Sequence[ClosedOrder]) -> int:
    """Return the rows of an order, near those of the orders before it, unless labels in time would take more.

    What is known of the drift varies from period to period, and rows for the drift ahead vary much more: few in one period and
    many in the next leave more risk than as many in each.
    """
    recent = [order.requested for order in closed[-STEADY_ORDERS:]]
    if len(recent) < STEADY_ORDERS:
        return sized.rows
    mean = sum(recent) / len(recent)
    return max(math.ceil(min(max(sized.rows, mean / STEADY), mean * STEADY)), sized.in_time)


def fewest(met: Callable[[float], bool], most: int) -> int:
    """Return the fewest rows that meet something which more rows meet too; ``most`` where no fewer do.

    >>> fewest(lambda rows: rows >= 37, 100), fewest(lambda rows: rows >= 37, 20)
    (37, 20)
    """
    if most <= 0 or met(0):
        return 0
    low, high = 0, 1
    while not met(high):
        if high >= most:
            return most
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if met(middle) else (middle, high)
    return high

"""One run of each way to spend the money, on the same world for all of them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from driftpace.planning import MeanGap, Problem, affordable
from driftpace.records import Money
from driftpace.tracker import Tracker
from driftpace.typing import FloatArray, IntArray
from paper.asked import key
from paper.cost.setting import (
    COST,
    EPSILON,
    EVERY,
    FIRST,
    LOSS,
    PERIODS,
    TOTAL,
    default_tracker,
    money,
    paper_tracker,
    rows_of,
    world_of,
)

Method = Literal["plan", "run plan", "relaxed plan", "up front", "every five", "rule", "default", "default, no budget"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """What is to be followed: a way to spend ``total``, in one run of a seed."""

    method: Method
    run: int
    seed: int = 0
    total: int = TOTAL


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Course:
    """True excess risk, samples and price of each period of one run."""

    risks: FloatArray
    samples: IntArray
    prices: IntArray

    @property
    def spent(self) -> int:
        """What all periods cost together."""
        return int(self.prices.sum())


def follow(job: Job) -> Course:
    """Return what one run of a method does, on the rows of this run's world.

    >>> course = follow(Job(method="every five", run=0))
    >>> course.samples[:7], course.spent
    (array([45,  0,  0,  0,  0, 45,  0]), 250)
    """
    number = key(job.seed, job.run)
    world, rows = world_of(number), rows_of(number)
    tracker = _tracker(job, number)
    size = _SIZES.get(job.method)
    risks, samples = np.empty(PERIODS), np.empty(PERIODS, dtype=np.int64)
    for index in range(PERIODS):
        now = world.period(index + 1)
        if size is not None:
            wanted = size(tracker, job.total)
            tracker.ask()
            report = tracker.tell(*now.draw(wanted, rng=rows)) if wanted else tracker.tell()
        else:
            report = tracker.step(lambda wanted, now=now: now.draw(wanted, rng=rows))  # type: ignore[misc]
        assert report is not None
        risks[index] = now.excess_risk(LOSS, tracker.coef)
        samples[index] = report.samples
    return Course(risks=risks, samples=samples, prices=COST.units(samples))


def _tracker(job: Job, number: int) -> Tracker:
    if job.method == "default":
        return default_tracker(number, money(job.total))
    if job.method == "default, no budget":
        return default_tracker(number)
    if job.method in ("plan", "run plan"):
        return paper_tracker(number, money(job.total, "mean" if job.method == "plan" else "run"))
    return paper_tracker(number)


def relaxed_size(tracker: Tracker, total: int) -> int:
    """Return K_n of the paper's relaxation over the periods left, with the money left (eq. rhoUnknownRelaxation)."""
    from driftpace.planning.relaxed import plan_relaxed

    period = tracker.period
    if period <= len(FIRST):
        return FIRST[period - 1]
    spent = sum(int(COST.units([report.samples])[0]) for report in tracker.history)
    problem = Problem(
        outlook=tracker.outlook(),
        epsilon=EPSILON,
        budget=Money.of(total - spent),
        horizon=PERIODS - period + 1,
        cost=COST,
        gap=MeanGap(),
        adjacent=True,
        bought_before=tracker.history[-1].samples > 0,
        first_period=period,
    )
    return plan_relaxed(problem, starts=1, rows="corrected").samples[0]


def up_front_size(tracker: Tracker, total: int) -> int:
    """Return everything in the first period (eq. costUpFront)."""
    return affordable(COST, Money.of(total)) if tracker.period == 1 else 0


def periodic_size(tracker: Tracker, total: int) -> int:
    """Return an even share of the money every five periods (eq. costPeriodic, theory I17)."""
    share = total // -(-PERIODS // EVERY)
    return affordable(COST, Money.of(share)) if (tracker.period - 1) % EVERY == 0 else 0


_SIZES: dict[str, Callable[[Tracker, int], int]] = {
    "relaxed plan": relaxed_size,
    "up front": up_front_size,
    "every five": periodic_size,
}

"""A solved plan with its baselines, trade-off curve, tightest target and cheapest budget."""

from dataclasses import dataclass, replace

from driftpace.cli.plan_inputs import Wanted, World
from driftpace.errors import ParameterError
from driftpace.planning import (
    Cost,
    Problem,
    TradeOff,
    affordable,
    cheapest_plan,
    periodic,
    plan,
    risk_rule,
    tightest_plan,
    trade_off,
    uniform,
    up_front,
)
from driftpace.planning.gaps import GAPS
from driftpace.records import Money, Plan

BUY, SKIP, EXHAUSTED = 0, 10, 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """A plan with its problem, in which whatever was solved for is filled in.

    ``could_hold`` is the plan with the lowest target that the money holds, ``enough`` the cheapest one that holds the target;
    None where that is the plan itself, or where there is none: ``hopeless`` where no money was found to be enough.
    """

    world: World
    problem: Problem
    plan: Plan
    solved: str | None
    baselines: tuple[Plan, ...] = ()
    curve: tuple[TradeOff, ...] = ()
    could_hold: Plan | None = None
    enough: Plan | None = None
    hopeless: bool = False

    @property
    def pays_an_order(self) -> bool:
        """Whether the budget buys at least one sample."""
        return affordable(self.problem.cost, self.problem.budget, 1) > 0

    @property
    def code(self) -> int:
        """How the command ends: 0 buy, 10 nothing to buy in the first period, 20 no money for what would be needed."""
        if self.plan.samples[0] > 0:
            return BUY
        return SKIP if self.plan.holds or self.pays_an_order else EXHAUSTED


def work_out(
    wanted: Wanted, world: World, cost: Cost, *, adjacent: bool, accuracy: float, compare: bool, curve: bool
) -> Answer:
    """Return the answer; other plans and the curve only where they are wanted, since they take time."""
    goal = wanted.goal or "mean"
    found = plan(
        world.outlook,
        cost=cost,
        epsilon=wanted.epsilon,
        budget=wanted.budget,
        horizon=wanted.horizon,
        gap=goal,
        adjacent=adjacent,
        bought_before=world.bought_before,
        first_period=world.first_period,
        accuracy=accuracy,
    )
    problem = Problem(
        outlook=world.outlook,
        epsilon=found.epsilon,
        budget=found.budget,
        horizon=found.horizon,
        cost=cost,
        gap=GAPS[goal]() if isinstance(goal, str) else goal,
        adjacent=adjacent,
        bought_before=world.bought_before,
        first_period=world.first_period,
    )
    answer = Answer(world=world, problem=problem, plan=found, solved=wanted.solved)
    enough = None if found.holds else _enough(problem, accuracy)
    room = wanted.solved is None and answer.pays_an_order
    return replace(
        answer,
        baselines=_baselines(problem) if compare else (),
        curve=_curve(problem, found.budget if enough is None else enough.budget, accuracy) if curve else (),
        could_hold=tightest_plan(problem, accuracy=accuracy) if room else None,
        enough=enough,
        hopeless=enough is None and not found.holds,
    )


def _enough(problem: Problem, accuracy: float) -> Plan | None:
    try:
        return cheapest_plan(problem, accuracy=accuracy)
    except ParameterError:  # the target is beyond what samples reach, or beyond what can be counted
        return None


def _baselines(problem: Problem) -> tuple[Plan, ...]:
    every = (periodic(problem, every=number) for number in (2, 5) if number < problem.horizon)
    return (up_front(problem), *every, uniform(problem), risk_rule(problem))


def _curve(problem: Problem, around: Money, accuracy: float) -> tuple[TradeOff, ...]:
    """Return the curve around the money that is enough, each budget once: small ones round to the same number of units."""
    points = {point.budget.amount: point for point in trade_off(replace(problem, budget=around), accuracy=accuracy)}
    return tuple(points[amount] for amount in sorted(points))

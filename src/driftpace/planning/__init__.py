"""Budgets: when to buy how many samples over a horizon, so that the gaps above the target are as small as the money allows."""

from driftpace.planning.baselines import periodic, risk_rule, uniform, up_front
from driftpace.planning.budget import Budget
from driftpace.planning.costs import Cost, LinearCost, OwnCost, TieredCost, affordable, price
from driftpace.planning.course import course, gaps_over
from driftpace.planning.door import plan
from driftpace.planning.exact import plan_exactly
from driftpace.planning.gaps import Gap, LargestGap, LargestRun, MeanGap, OwnGap
from driftpace.planning.outlook import Outlook
from driftpace.planning.planned import planned
from driftpace.planning.problem import Problem
from driftpace.planning.segments import Segment, SegmentPlans, even_split, plan_segments
from driftpace.planning.solving import TradeOff, best_target, cheapest, longest, trade_off

__all__ = [
    "Budget",
    "Cost",
    "Gap",
    "LargestGap",
    "LargestRun",
    "LinearCost",
    "MeanGap",
    "Outlook",
    "OwnCost",
    "OwnGap",
    "Problem",
    "Segment",
    "SegmentPlans",
    "TieredCost",
    "TradeOff",
    "affordable",
    "best_target",
    "cheapest",
    "course",
    "even_split",
    "gaps_over",
    "longest",
    "periodic",
    "plan",
    "plan_exactly",
    "plan_segments",
    "planned",
    "price",
    "risk_rule",
    "trade_off",
    "uniform",
    "up_front",
]

"""Budgets: when to buy how many samples over a horizon, so that the gaps above the target are as small as the money allows."""

from typing import TYPE_CHECKING

from driftpace.lazy import lazy

if TYPE_CHECKING:
    from driftpace.planning.analysis import PlanAnalysis, analyse_plan, periodic, risk_rule, uniform, up_front
    from driftpace.planning.api import plan
    from driftpace.planning.budget import Budget
    from driftpace.planning.costs import Cost, CustomCost, LinearCost, TieredCost, affordable, price
    from driftpace.planning.exact.planner import plan_exact
    from driftpace.planning.gaps import CustomGap, Gap, LargestGap, LargestRun, MeanGap
    from driftpace.planning.problem import Outlook, Problem, evaluate_plan, risk_gaps, risk_trajectory
    from driftpace.planning.segments import Segment, SegmentPlans, even_split, plan_segments
    from driftpace.planning.shared import Demand, SharedBudget, share_budget
    from driftpace.planning.tradeoffs import TradeOff, cheapest_plan, longest_plan, tightest_plan, trade_off

__all__ = [
    "Budget",
    "Cost",
    "CustomCost",
    "CustomGap",
    "Demand",
    "Gap",
    "LargestGap",
    "LargestRun",
    "LinearCost",
    "MeanGap",
    "Outlook",
    "PlanAnalysis",
    "Problem",
    "Segment",
    "SegmentPlans",
    "SharedBudget",
    "TieredCost",
    "TradeOff",
    "affordable",
    "analyse_plan",
    "cheapest_plan",
    "evaluate_plan",
    "even_split",
    "longest_plan",
    "periodic",
    "plan",
    "plan_exact",
    "plan_segments",
    "price",
    "risk_gaps",
    "risk_rule",
    "risk_trajectory",
    "share_budget",
    "tightest_plan",
    "trade_off",
    "uniform",
    "up_front",
]

_MODULES = {
    "Budget": "budget",
    "Cost": "costs",
    "CustomCost": "costs",
    "CustomGap": "gaps",
    "Demand": "shared",
    "Gap": "gaps",
    "LargestGap": "gaps",
    "LargestRun": "gaps",
    "LinearCost": "costs",
    "MeanGap": "gaps",
    "Outlook": "problem",
    "PlanAnalysis": "analysis",
    "Problem": "problem",
    "Segment": "segments",
    "SegmentPlans": "segments",
    "SharedBudget": "shared",
    "TieredCost": "costs",
    "TradeOff": "tradeoffs",
    "affordable": "costs",
    "analyse_plan": "analysis",
    "cheapest_plan": "tradeoffs",
    "evaluate_plan": "problem",
    "even_split": "segments",
    "longest_plan": "tradeoffs",
    "periodic": "analysis",
    "plan": "api",
    "plan_exact": "exact.planner",
    "plan_segments": "segments",
    "price": "costs",
    "risk_gaps": "problem",
    "risk_rule": "analysis",
    "risk_trajectory": "problem",
    "share_budget": "shared",
    "tightest_plan": "tradeoffs",
    "trade_off": "tradeoffs",
    "uniform": "analysis",
    "up_front": "analysis",
}

if not TYPE_CHECKING:
    __getattr__ = lazy(__name__, _MODULES)

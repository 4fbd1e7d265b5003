"""The paper's relaxed planner, solved by CasADi and IPOPT (extra ``ipopt``): a local solver for a problem with many optima."""

from driftpace.planning.relaxed.planner import STATUSES, RelaxedRun, plan_relaxed, relaxed_runs
from driftpace.planning.relaxed.rounding import round_samples

__all__ = ["STATUSES", "RelaxedRun", "plan_relaxed", "relaxed_runs", "round_samples"]

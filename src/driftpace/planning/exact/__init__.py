"""The exact planner: integer sample sizes, the true cost, and proven bounds on the optimum."""

"""The first experiment in numbers: what the paper says, and what theory 6.1 fills in."""

from paper.montecarlo import RegressionStudy

STUDY = RegressionStudy()
"""d = 2, rho = 1, epsilon = 0.1 and direct estimates as in the paper; the rest as in theory 6.1."""

MANY = 1_000
"""Runs of the compiled engine, for curves without noise and for the tables."""

PAPER_RISK, PAPER_SPREAD = 0.02797, 0.01071
"""What the paper reports for the mean excess risk, and what follows its plus-minus sign."""

BAND = (0.017, 0.039)
"""Where a mean over 20 runs must lie to count as the paper's number (theory 6.1)."""

PAPER_RUNS = 20

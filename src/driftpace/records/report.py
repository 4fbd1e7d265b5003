"""What ``tell`` answers."""

import math
from dataclasses import dataclass, field

from driftpace.records.assumption import Assumption
from driftpace.records.money import Money
from driftpace.records.outcome import Outcome
from driftpace.records.selected import Selected


@dataclass(frozen=True, kw_only=True, slots=True)
class StepReport:
    """One closed period, promised and measured.

    ``asked`` and ``samples`` are the rows that were asked for and that came; ``rho`` and ``rho_upper`` the drift as estimated
    after this period, with its upper end (None before two periods were seen); ``measures`` whether that is "rho" itself or
    the "distance" from the last model to the new minimiser (the practical method measures in the norm of the Hessian, in
    which rho^2/2 is what a model left alone loses, methods of parts in the units of the coefficients); ``risk_bound`` the
    excess risk promised for the model fitted, in the mean or, with a confidence, as its quantile; ``certificate`` an upper
    bound from data at the confidence asked for, or None where there is none. ``samples_theory`` is what the proven rule asked
    for, ``epsilon`` the target of the period, ``status`` whether the rows agreed with what was foretold ("stable", "warning",
    "drift"), ``assumptions`` what the promise rests on and whether it holds. With a budget ``cost`` is what the rows that
    came cost as one order. Where candidates were compared, ``selected`` says which was taken, and everything else is about
    that one. ``seconds`` is the time the period took to close; it is not part of equality, so that replays compare equal.
    """

    period: int
    asked: int
    samples: int
    rho: float | None
    rho_upper: float | None
    measures: str | None
    risk_bound: float
    certificate: float | None
    outcome: Outcome
    samples_theory: int = 0
    epsilon: float = math.nan
    status: str | None = None
    assumptions: tuple[Assumption, ...] = ()
    cost: Money | None = None
    selected: Selected | None = None
    seconds: float = field(compare=False)

"""What ``tell`` answers."""

from dataclasses import dataclass, field

from driftpace.records.outcome import Outcome


@dataclass(frozen=True, kw_only=True, slots=True)
class StepReport:
    """One closed period, promised and measured.

    ``asked`` and ``samples`` are the rows that were asked for and that came; ``rho`` and ``rho_upper`` the drift as
    estimated after this period, with its upper end (None before two periods were seen); ``measures`` whether that is "rho"
    itself or the "distance" from the last model to the new minimiser; ``risk_bound`` the excess risk promised in the mean
    for the model fitted; ``certificate`` an upper bound from data, or None where none was asked for.
    ``seconds`` is the time the period took to close; it is not part of equality, so that replays compare equal.
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
    seconds: float = field(compare=False)

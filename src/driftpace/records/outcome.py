"""How an answer came out, as a value that carries its own sentence."""

from enum import Enum


class Outcome(Enum):
    """How sizing, fitting or a period came out; the value is the sentence shown to people."""

    MET = "the target is met"
    ENOUGH = "no fresh samples are needed: the last model still meets the target"
    CAPPED = "the cap on samples came before the target; raise the cap or epsilon"
    INFEASIBLE = "no number of samples meets the target by this bound; raise epsilon or change the learner"
    POOL = "the pool of this period is too small for the target"
    BUDGET = "the money left does not hold the target"
    SHORT = "fewer samples came than were asked for, so the target is not promised"
    PILOT = "too little is known to promise anything yet"
    SETTLING = (
        "the bound is above the target: the first periods have not worn off, or the drift proved larger than assumed"
    )
    NONFINITE = "a number overflowed; rescale the columns"
    STALLED = "the solver stopped before it reached its tolerance"

    @property
    def promised(self) -> bool:
        """Whether the target is promised with this outcome."""
        return self in (Outcome.MET, Outcome.ENOUGH)

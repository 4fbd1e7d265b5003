"""What a stochastic gradient descent is made of, in words: its steps, its output, its batches, what is known of its noise."""

from dataclasses import dataclass

from driftpace import validation
from driftpace.errors import ParameterError
from driftpace.learners.forms import FORMS
from driftpace.schedules import ConstantSteps, GreedySteps, InverseTime, Schedule

STEPS = ("inverse-time", "harmonic", "constant", "greedy")
OUTPUTS = ("last", "weighted", "uniform", "tail")


@dataclass(frozen=True, kw_only=True, slots=True)
class Recipe:
    """The words of :class:`~driftpace.learners.Sgd`, where they are explained.

    >>> Recipe(steps="fast")
    Traceback (most recent call last):
        ...
    driftpace.errors.ParameterError: Recipe(steps=...) must be one of 'inverse-time', 'harmonic', 'constant', 'greedy'; got 'fast'.
    """

    steps: str | Schedule = "inverse-time"
    output: str = "last"
    batch: int = 1
    form: str = "second-moment"
    shift: float | None = None
    step: float | None = None
    eigenvalues: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        owner = type(self).__name__
        if not isinstance(self.steps, InverseTime | ConstantSteps | GreedySteps):
            validation.choice(owner, STEPS, steps=self.steps)
        validation.choice(owner, OUTPUTS, output=self.output)
        validation.choice(owner, tuple(FORMS), form=self.form)
        validation.count(owner, least=1, batch=self.batch)
        if self.shift is not None:
            validation.nonnegative(owner, shift=self.shift)
            if self.steps not in ("inverse-time", "harmonic"):
                raise ParameterError(
                    f"must be left out with steps={self.steps!r}; got {self.shift!r}.",
                    owner=owner,
                    name="shift",
                )
        if self.step is not None:
            validation.positive(owner, step=self.step)
            if self.steps != "constant":
                raise ParameterError(
                    f"must be left out with steps={self.steps!r}; got {self.step!r}.",
                    owner=owner,
                    name="step",
                )
        if self.eigenvalues is not None:
            values = validation.vector(owner, eigenvalues=self.eigenvalues).tolist()
            validation.positive(owner, eigenvalues=min(values, default=0.0))
            if self.form != "gaussian":
                raise ParameterError(
                    f"must be left out with form={self.form!r}; got {values!r}.",
                    owner=owner,
                    name="eigenvalues",
                )
            object.__setattr__(self, "eigenvalues", tuple(values))

"""Configurations of SGD and the bound that holds for each: steps, output, batch and noise form (theory 1.1 to 1.4)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from driftpace import validation
from driftpace.bounds import (
    AveragedSquares,
    ClosedForm,
    ExactAverage,
    GaussianLeastSquares,
    Greedy,
    LastIterate,
    LeastBound,
    LogarithmicAverage,
    NoiseModel,
    RiskBound,
    SecondMoment,
    UniformAverage,
    Weighted,
    WeightedBounded,
)
from driftpace.errors import ParameterError
from driftpace.records import Constants
from driftpace.schedules import ConstantSteps, GreedySteps, InverseTime, Schedule

STEPS = ("inverse-time", "harmonic", "constant", "greedy")
OUTPUTS = ("last", "weighted", "uniform", "tail")


@dataclass(frozen=True, kw_only=True, slots=True)
class SgdConfig:
    """Configuration of :class:`~driftpace.learners.Sgd`, where its parameters are documented.

    Examples
    --------
    >>> SgdConfig(steps="fast")
    Traceback (most recent call last):
        ...
    driftpace.errors.ParameterError: SgdConfig(steps=...) must be one of 'inverse-time', 'harmonic', ...; got 'fast'.
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


_ROWS = "rows are independent draws of the period's distribution, each used once"
_INTERIOR = "the gradient of the risk is zero at the minimiser (it is not on the boundary of the set)"


class NoiseForm(NamedTuple):
    """``noise(constants, batch)`` for the last iterate, ``moment(constants)`` for averages."""

    noise: Callable[[Constants, int], NoiseModel]
    moment: Callable[[Constants], SecondMoment]


def _second_moment(constants: Constants, batch: int) -> NoiseModel:
    M = constants.safe("M") if batch > 1 else None
    return NoiseModel.second_moment(A=constants.safe("A"), B=constants.safe("B"), M=M)


def _row_smooth(constants: Constants, batch: int) -> NoiseModel:
    L = constants.safe("L")  # the mean of L-smooth rows is L-smooth, so M may be taken as no more
    M = min(constants.safe("M"), L) if batch > 1 else None
    return NoiseModel.row_smooth(sigma_star=constants.safe("sigma_star"), L=L, m=constants.safe("m"), M=M)


def _variance(constants: Constants, batch: int) -> NoiseModel:
    del batch
    return NoiseModel.variance(
        sigma=constants.safe("sigma"), V=constants.safe("V"), m=constants.safe("m"), M=constants.safe("M")
    )


def _variance_moment(constants: Constants) -> SecondMoment:
    """E||g||^2 = E||g - grad f||^2 + ||grad f||^2, and ||grad f||^2 <= M <grad f(w), w - w*> where grad f(w*) = 0."""
    sigma, V, M = constants.safe("sigma"), constants.safe("V"), constants.safe("M")
    return SecondMoment(
        A=sigma**2,
        B=V,
        C=M,
        conditions=(
            _ROWS,
            _INTERIOR,
            f"the risk is convex and {M:.4g}-smooth",
            f"a row's gradient has variance E||g - grad f||^2 <= {sigma**2:.4g} + {V:.4g} ||w - w*||^2",
        ),
    )


def _least_squares(constants: Constants, batch: int) -> NoiseModel:
    R2 = constants.safe("R2")  # E||x||^2 xx' <= R2 H makes H <= R2 I
    M = min(constants.safe("M"), R2) if batch > 1 else None
    return NoiseModel.least_squares(
        noise=constants.safe("noise"), trace=constants.safe("trace"), R2=R2, m=constants.safe("m"), M=M
    )


def _gaussian(constants: Constants, batch: int) -> NoiseModel:
    M = constants.safe("M")
    return NoiseModel.least_squares(
        noise=constants.safe("noise"),
        trace=constants.safe("trace"),
        R2=gaussian_R2(constants),
        m=constants.safe("m"),
        M=M if batch > 1 else None,
    )


def _bounded(constants: Constants, batch: int) -> NoiseModel:
    del batch
    return NoiseModel.second_moment(A=constants.safe("G") ** 2, B=0.0)


def gaussian_R2(constants: Constants) -> float:
    """Return 2 lambda_max + tr H, the R2 of Gaussian features (theory 1.1b).

    Examples
    --------
    >>> gaussian_R2(Constants.given(M=1.0, trace=2.0))
    4.0
    """
    return 2.0 * constants.safe("M") + constants.safe("trace")


FORMS: dict[str, NoiseForm] = {
    "second-moment": NoiseForm(
        _second_moment, lambda constants: SecondMoment(A=constants.safe("A"), B=constants.safe("B"))
    ),
    "row-smooth": NoiseForm(
        _row_smooth,
        lambda constants: SecondMoment.row_smooth(sigma_star=constants.safe("sigma_star"), L=constants.safe("L")),
    ),
    "variance": NoiseForm(_variance, _variance_moment),
    "least-squares": NoiseForm(
        _least_squares,
        lambda constants: SecondMoment.least_squares(
            noise=constants.safe("noise"), trace=constants.safe("trace"), R2=constants.safe("R2")
        ),
    ),
    "gaussian": NoiseForm(
        _gaussian,
        lambda constants: SecondMoment.least_squares(
            noise=constants.safe("noise"), trace=constants.safe("trace"), R2=gaussian_R2(constants)
        ),
    ),
    "bounded": NoiseForm(
        _bounded,
        lambda constants: SecondMoment(A=constants.safe("G") ** 2),
    ),
}


_SQUARES = ("least-squares", "gaussian")


def with_spectrum(sgd: SgdConfig, constants: Constants) -> Constants:
    """Return the constants with m, M and the trace from the learner's eigenvalues."""
    if sgd.eigenvalues is None:
        return constants
    values = sgd.eigenvalues
    return constants.updated(Constants.given(m=min(values), M=max(values), trace=sum(values)))


def schedule_for(sgd: SgdConfig, constants: Constants) -> Schedule:
    """Return the steps with their numbers."""
    if not isinstance(sgd.steps, str):
        return sgd.steps
    m, form = constants.safe("m"), FORMS[sgd.form]
    if sgd.steps == "harmonic":
        return InverseTime(scale=1.0 / m, shift=0.0 if sgd.shift is None else sgd.shift)
    if sgd.steps == "inverse-time" and sgd.shift is not None:
        return InverseTime(scale=2.0 / m, shift=sgd.shift)
    if sgd.steps == "inverse-time" and sgd.output == "weighted":
        return Weighted(m=m, moment=form.moment(constants)).schedule
    if sgd.steps == "constant" and sgd.step is not None:
        return ConstantSteps(step=sgd.step)
    if sgd.steps == "constant" and sgd.output != "last":
        moment = form.moment(constants)
        if sgd.form in _SQUARES:
            return ConstantSteps(step=0.25 / moment.C)  # 1/(4 R2), theory 1.4
        return ConstantSteps(step=0.5 / max(moment.B / m + 0.5 * moment.C, m))  # half of the longest, theory 1.3
    noise = form.noise(constants, sgd.batch)
    if sgd.steps == "inverse-time":
        return ClosedForm(m=m, M=m, noise=noise, batch=sgd.batch).schedule  # the steps do not depend on M
    if sgd.steps == "greedy":
        return Greedy(m=m, M=m, noise=noise, batch=sgd.batch).schedule
    one = noise.batched(sgd.batch)
    return ConstantSteps(step=min(m / max(one.B, m * m), one.step_limit))  # forgets the start fastest, theory 1.1e


def bound_for(sgd: SgdConfig, constants: Constants, features: int) -> RiskBound:
    """Return the bound that holds for the learner, the least where there are several."""
    schedule = schedule_for(sgd, constants)
    if sgd.output == "last":
        return _last(sgd, constants, features, schedule)
    if sgd.batch > 1:
        raise _no_bound(sgd, "averages are bounded for batch=1 only")
    if sgd.output == "weighted":
        return _weighted(sgd, constants, schedule)
    if isinstance(schedule, ConstantSteps):
        return _constant_average(sgd, constants, features, schedule)
    if sgd.output == "uniform" and sgd.form == "bounded" and schedule == InverseTime(scale=1.0 / constants.safe("m")):
        return LogarithmicAverage(m=constants.safe("m"), G2=constants.safe("G") ** 2, M=_smoothness(constants))
    raise _no_bound(sgd, "it needs a constant step, or steps='harmonic' with output='uniform' and form='bounded'")


def _last(sgd: SgdConfig, constants: Constants, features: int, schedule: Schedule) -> RiskBound:
    m, M = constants.safe("m"), constants.safe("M")
    if isinstance(schedule, GreedySteps):
        greedy = Greedy(m=m, M=M, noise=FORMS[sgd.form].noise(constants, sgd.batch), batch=sgd.batch)
        if greedy.schedule != schedule:
            raise _no_bound(sgd, f"greedy steps must be those of the constants, {greedy.schedule}")
        return greedy
    if sgd.form != "gaussian":
        noise = FORMS[sgd.form].noise(constants, sgd.batch)
        longest, limit = float(schedule.steps(1)[0]), noise.batched(sgd.batch).step_limit
        if longest > limit * (1.0 + 1e-12):
            raise _no_bound(sgd, f"its first step, {longest:.6g}, is to be at most {limit:.6g} in this form")
        return LastIterate(m=m, M=M, noise=noise, schedule=schedule, batch=sgd.batch)
    values = sgd.eigenvalues
    if values is None and m == M:
        values = (m,) * features
    if values is None or len(values) != features:
        raise ParameterError(
            f"must be {features} numbers when form='gaussian', unless m = M; got {sgd.eigenvalues!r}.",
            owner="Sgd",
            name="eigenvalues",
        )
    return GaussianLeastSquares(eigenvalues=values, noise=constants.safe("noise"), schedule=schedule, batch=sgd.batch)


def _weighted(sgd: SgdConfig, constants: Constants, schedule: Schedule) -> RiskBound:
    m, M = constants.safe("m"), _smoothness(constants)
    if sgd.form == "bounded":
        bounded = WeightedBounded(m=m, G2=constants.safe("G") ** 2, M=M)
        if schedule == bounded.schedule:
            return bounded
        raise _no_bound(sgd, f"the weighted average is bounded for the steps {bounded.schedule}")
    weighted = Weighted(m=m, moment=FORMS[sgd.form].moment(constants), M=M)
    if schedule != weighted.schedule:
        raise _no_bound(sgd, f"the weighted average is bounded for the steps {weighted.schedule}")
    return weighted


def _constant_average(sgd: SgdConfig, constants: Constants, features: int, schedule: ConstantSteps) -> RiskBound:
    step, m, M = schedule.step, constants.safe("m"), _smoothness(constants)
    bounds: list[RiskBound] = []
    if sgd.form in _SQUARES:
        R2 = constants.safe("R2") if sgd.form == "least-squares" else gaussian_R2(constants)
        noise = constants.safe("noise")
        if M is not None and R2 * (1.0 + 1e-9) < M:
            raise _no_bound(
                sgd, f"R2 is at least M for squared loss without a penalty, and here R2={R2:.6g}, M={M:.6g}"
            )
        if sgd.form == "gaussian" and sgd.output == "uniform" and m == M and step * R2 < 2.0:
            return ExactAverage(noise=noise, features=features, step=step, h=m)
        if step * R2 <= 1.0:
            skip = 0.5 if sgd.output == "tail" else 0.0
            bounds.append(AveragedSquares(noise=noise, features=features, R2=R2, step=step, m=m, M=M, skip=skip))
    moment = FORMS[sgd.form].moment(constants)
    if sgd.output == "uniform" and step * (moment.B / m + 0.5 * moment.C) <= 1.0:
        bounds.append(UniformAverage(m=m, moment=moment, step=step, M=M))
    if not bounds:
        longest = "1/R2, with form='least-squares' or 'gaussian'" if sgd.output == "tail" else "1/(B/m + C/2)"
        raise _no_bound(sgd, f"the step {step:.6g} is to be at most {longest}")
    return bounds[0] if len(bounds) == 1 else LeastBound(bounds=tuple(bounds))


def _smoothness(constants: Constants) -> float | None:
    return constants.safe("M") if constants.knows("M") else None


def _no_bound(sgd: SgdConfig, why: str) -> ParameterError:
    return ParameterError(
        f"Sgd(output={sgd.output!r}) requires a combination for which a bound is known, and {why}; got "
        f"steps={sgd.steps!r}, batch={sgd.batch}, form={sgd.form!r}, shift={sgd.shift!r}, step={sgd.step!r}."
    )

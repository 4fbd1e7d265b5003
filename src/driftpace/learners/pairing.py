"""Which bound is true for which stochastic gradient descent: steps x output x batch x form, and nothing else."""

from driftpace.bounds import (
    AveragedSquares,
    ClosedForm,
    ExactAverage,
    GaussianLeastSquares,
    Greedy,
    LastIterate,
    Least,
    LogarithmicAverage,
    RiskBound,
    UniformAverage,
    Weighted,
    WeightedBounded,
)
from driftpace.errors import ParameterError
from driftpace.learners.forms import FORMS, gaussian_R2
from driftpace.learners.recipe import Recipe
from driftpace.records import Constants
from driftpace.schedules import ConstantSteps, GreedySteps, InverseTime, Schedule

_SQUARES = ("least-squares", "gaussian")


def with_spectrum(sgd: Recipe, constants: Constants) -> Constants:
    """Return the constants with those that the learner's eigenvalues say: m, M and the trace."""
    if sgd.eigenvalues is None:
        return constants
    values = sgd.eigenvalues
    return constants.updated(Constants.given(m=min(values), M=max(values), trace=sum(values)))


def resolved_schedule(sgd: Recipe, constants: Constants) -> Schedule:
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


def paired_bound(sgd: Recipe, constants: Constants, features: int) -> RiskBound:
    """Return the bound that is true for the learner, the least of them where there are several."""
    schedule = resolved_schedule(sgd, constants)
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


def _last(sgd: Recipe, constants: Constants, features: int, schedule: Schedule) -> RiskBound:
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


def _weighted(sgd: Recipe, constants: Constants, schedule: Schedule) -> RiskBound:
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


def _constant_average(sgd: Recipe, constants: Constants, features: int, schedule: ConstantSteps) -> RiskBound:
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
    return bounds[0] if len(bounds) == 1 else Least(bounds=tuple(bounds))


def _smoothness(constants: Constants) -> float | None:
    return constants.safe("M") if constants.knows("M") else None


def _no_bound(sgd: Recipe, why: str) -> ParameterError:
    return ParameterError(
        f"Sgd(output={sgd.output!r}) must come with a combination for which a bound is known, and {why}; got "
        f"steps={sgd.steps!r}, batch={sgd.batch}, form={sgd.form!r}, shift={sgd.shift!r}, step={sgd.step!r}."
    )

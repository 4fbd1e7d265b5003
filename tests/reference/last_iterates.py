"""Last-iterate SGD on problems whose risks are known exactly, for tests and benchmarks of the last-iterate bounds."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from driftpace.bounds import ClosedForm, ConstantStep, GaussianLeastSquares, Greedy, LastIterate, NoiseModel
from driftpace.losses import LinearLoss, LogisticLoss, SmoothedHinge, SquaredLoss
from driftpace.synthetic import BoundedRegression, TwoClasses
from driftpace.typing import FloatArray
from tests.reference.bound_checks import Squares
from tests.reference.monte_carlo import Draw, Project, gaussian_rows, sgd, squared_slope

AT = (0, 1, 10, 100, 1000)
DISTANCE = 2.0


def runs_for(features: int) -> int:
    """More runs where rows are short, so that each problem takes about a second."""
    return 16_000 // features


@dataclass(frozen=True, kw_only=True)
class SquaresBounds:
    """The bounds of one least-squares problem, each with the steps it is true for."""

    problem: Squares
    distance: float = DISTANCE
    batch: int = 1

    @property
    def noise(self) -> NoiseModel:
        """Form (b) of least squares."""
        squares = self.problem
        return NoiseModel.least_squares(noise=squares.noise, trace=squares.trace, R2=squares.R2, m=squares.m, M=1.0)

    @property
    def closed(self) -> ClosedForm:
        """Steps 2/(m(k+s)), telescoped."""
        return ClosedForm(m=self.problem.m, M=1.0, noise=self.noise, batch=self.batch)

    @property
    def recursion(self) -> LastIterate:
        """The same steps, by the recursion."""
        return LastIterate(m=self.problem.m, M=1.0, noise=self.noise, schedule=self.closed.schedule, batch=self.batch)

    @property
    def exact(self) -> GaussianLeastSquares:
        """The same steps, exactly."""
        eigenvalues = tuple(self.problem.eigenvalues.tolist())
        return GaussianLeastSquares(
            eigenvalues=eigenvalues, noise=self.problem.noise, schedule=self.closed.schedule, batch=self.batch
        )

    @property
    def greedy(self) -> Greedy:
        """Greedy steps."""
        return Greedy(m=self.problem.m, M=1.0, noise=self.noise, batch=self.batch)

    @property
    def constant(self) -> ConstantStep:
        """A third of the longest legal step."""
        step = self.noise.batched(self.batch).step_limit / 3.0
        return ConstantStep(m=self.problem.m, M=1.0, noise=self.noise, step=step, batch=self.batch)


def squares_risks(
    problem: Squares,
    steps: FloatArray,
    rng: np.random.Generator,
    *,
    steepest: bool,
    distance: float = DISTANCE,
    at: Sequence[int] = AT,
    runs: int | None = None,
    batch: int | Sequence[int] = 1,
    project: Project | None = None,
) -> dict[int, FloatArray]:
    """Return the excess risks of many runs after each number of steps in ``at``."""
    out = sgd(
        gaussian_rows(problem.eigenvalues, np.zeros(problem.features), problem.noise),
        squared_slope,
        problem.start(distance, steepest=steepest),
        steps,
        runs=runs or runs_for(problem.features),
        rng=rng,
        at=at,
        batch=batch,
        project=project,
    )
    return {count: problem.risk(W) for count, W in out["last"].items()}


def in_blocks(draw: Draw, steps: int = 100) -> Draw:
    """The same draws, the rows of many steps at a time: far faster where a draw multiplies matrices."""
    left: list[tuple[FloatArray, FloatArray]] = []

    def one(count: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        if not left:
            X, y = draw(steps * count, rng)
            left.extend(zip(np.split(X, steps), np.split(y, steps), strict=True))
        return left.pop()

    return one


@dataclass(frozen=True, kw_only=True)
class Penalised:
    """A loss with a penalty on a population that knows every constant: rows of any length (forms a, c) or of bounded length (b)."""

    population: TwoClasses | BoundedRegression
    loss: LinearLoss

    @property
    def name(self) -> str:
        """The loss and the number of features."""
        return f"{type(self.loss).__name__}, {self.population.features} features, l2 {self.loss.l2:g}"

    @property
    def noises(self) -> dict[str, NoiseModel]:
        """The forms of the noise model that are proven here. Gaussian rows have no L, so form (b) needs bounded rows."""
        safe = self.population.constants(self.loss).safe
        forms = {
            "a": NoiseModel.second_moment(A=safe("A"), B=safe("B"), M=safe("M")),
            "c": NoiseModel.variance(sigma=safe("sigma"), V=safe("V"), m=safe("m"), M=safe("M")),
        }
        if self.population.constants(self.loss).knows("L"):
            forms["b"] = NoiseModel.row_smooth(sigma_star=safe("sigma_star"), L=safe("L"), m=safe("m"), M=safe("M"))
        return forms

    def risks(
        self,
        steps: FloatArray,
        rng: np.random.Generator,
        *,
        distance: float = DISTANCE,
        at: Sequence[int] = AT,
        runs: int = 300,
    ) -> dict[int, FloatArray]:
        """Return the excess risks of many runs, started ``distance`` from the minimiser along minus the first coordinate."""
        start = self.population.minimiser(self.loss) - distance * np.eye(self.population.features)[0]
        out = sgd(
            in_blocks(lambda count, rng: self.population.draw(count, rng=rng)),
            self.loss.curve.slope,
            start,
            steps,
            runs=runs,
            rng=rng,
            l2=self.loss.l2,
            at=at,
        )
        return {count: np.asarray(self.population.excess_risk(self.loss, W)) for count, W in out["last"].items()}


def _classes(features: int) -> TwoClasses:
    return TwoClasses(mean=0.8 * np.eye(features)[0], covariance=0.5 / features)


PENALISED = tuple(
    Penalised(population=_classes(features), loss=loss)
    for features in (2, 10, 50)
    for loss in (LogisticLoss(l2=0.3), SmoothedHinge(l2=0.3))
) + tuple(
    Penalised(
        population=BoundedRegression(coef=np.ones(features) / np.sqrt(features), covariance=1.0 / features, noise=0.2),
        loss=SquaredLoss(l2=0.3),
    )
    for features in (2, 10, 50)
)

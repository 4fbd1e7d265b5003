"""Synthetic populations of the study: the full grid, and a balanced fraction of it."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from zlib import crc32

from driftpace import SquaredLoss
from driftpace.errors import ParameterError
from driftpace.losses import LogisticLoss, Loss, SmoothedHinge
from driftpace.synthetic import ShapedClasses, ShapedRegression
from driftpace.synthetic.paths import Shape
from driftpace.synthetic.shaped_regression import NoiseKind

FEATURES = (2, 10, 50)
CONDITIONS = (1.0, 100.0)
COSTS = (0.05, 0.3, 1.0, 5.0)  # and 0, where every shape is the same
EPSILONS = (0.05, 0.2)
NOISES: tuple[NoiseKind, ...] = ("gaussian", "student", "heteroscedastic")
SHAPES: tuple[Shape, ...] = ("line", "walk", "seasonal", "jump")
LOSSES: dict[str, Loss] = {
    "squared": SquaredLoss(),
    "logistic": LogisticLoss(),
    "smoothed hinge": SmoothedHinge(l2=0.1),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """One population and target. In classification the noise is that of the labels."""

    loss: str
    features: int
    condition: float
    cost: float
    epsilon: float
    noise: str
    shape: Shape

    @property
    def seed(self) -> int:
        """A whole number that belongs to this case, in whatever list it appears."""
        return crc32(str(self).encode())

    @property
    def name(self) -> str:
        """All of it in a few words."""
        return (
            f"{self.loss}, d {self.features}, condition {self.condition:g}, {self.shape}, cost {self.cost:g}, "
            f"epsilon {self.epsilon:g}, {self.noise}"
        )

    def population(self, run: int) -> ShapedRegression | ShapedClasses:
        """Return the population of a run: a separate path, rotation and start for regression, one for all in classification."""
        if self.loss == "squared":
            return ShapedRegression(
                features=self.features,
                cost=self.cost,
                shape=self.shape,
                condition=self.condition,
                noise_kind=self.noise,  # type: ignore[arg-type]
                rng=self.seed + run,
            )
        return ShapedClasses(
            features=self.features,
            cost=self.cost,
            shape=self.shape,
            condition=self.condition,
            loss=LOSSES[self.loss],
            rng=self.seed,
        )


def whole_grid() -> list[Case]:
    """Return every feasible population: costs that no rotation of the odds reaches are left out."""
    return [*_regressions(), *(case for case in _classifications() if attainable(case))]


def attainable(case: Case) -> bool:
    """Return whether a step of this shape can cost that much."""
    try:
        case.population(0)
    except ParameterError:
        return False
    return True


def balanced_fraction() -> list[Case]:
    """Return a fraction of the grid in which every value of every factor comes up about equally often.

    Squared loss: every shape with every cost at every number of features (48 populations), with condition, target and noise dealt
    out in turn, and 6 populations without drift. Classification: every shape of either loss at the smallest cost, every shape but
    the season at the next one for the logistic loss, and one without drift each.
    """
    cases = []
    for (i, shape), (j, cost), (k, features) in product(enumerate(SHAPES), enumerate(COSTS), enumerate(FEATURES)):
        cases.append(
            Case(
                loss="squared",
                features=features,
                condition=CONDITIONS[(i + j + k) % 2],
                cost=cost,
                epsilon=EPSILONS[(i // 2 + j + k // 2) % 2],
                noise=NOISES[(i + j + k) % 3],
                shape=shape,
            )
        )
    for (k, features), (e, epsilon) in product(enumerate(FEATURES), enumerate(EPSILONS)):
        cases.append(
            Case(
                loss="squared",
                features=features,
                condition=CONDITIONS[(k + e) % 2],
                cost=0.0,
                epsilon=epsilon,
                noise=NOISES[(k + e) % 3],
                shape="still",
            )
        )
    every: tuple[Shape, ...] = (*SHAPES, "still")
    for m, loss in enumerate(("logistic", "smoothed hinge")):
        for i, shape in enumerate(every):
            cases.append(
                Case(
                    loss=loss,
                    features=FEATURES[(i + m) % 3],
                    condition=CONDITIONS[(i + m) % 2],
                    cost=0.0 if shape == "still" else COSTS[0],
                    epsilon=EPSILONS[0],
                    noise="labels",
                    shape=shape,
                )
            )
    swift: tuple[Shape, ...] = ("line", "walk", "jump")
    for i, shape in enumerate(swift):
        cases.append(
            Case(
                loss="logistic",
                features=FEATURES[i],
                condition=CONDITIONS[(i + 1) % 2],
                cost=COSTS[1],
                epsilon=EPSILONS[1],
                noise="labels",
                shape=shape,
            )
        )
    return cases


def _moves() -> Iterator[tuple[Shape, float]]:
    yield "still", 0.0
    yield from product(SHAPES, COSTS)


def _regressions() -> Iterator[Case]:
    for features, condition, (shape, cost), epsilon, noise in product(FEATURES, CONDITIONS, _moves(), EPSILONS, NOISES):
        yield Case(
            loss="squared",
            features=features,
            condition=condition,
            cost=cost,
            epsilon=epsilon,
            noise=noise,
            shape=shape,
        )


def _classifications() -> Iterator[Case]:
    for loss, features, condition, (shape, cost), epsilon in product(
        ("logistic", "smoothed hinge"), FEATURES, CONDITIONS, _moves(), EPSILONS
    ):
        yield Case(
            loss=loss,
            features=features,
            condition=condition,
            cost=cost,
            epsilon=epsilon,
            noise="labels",
            shape=shape,
        )

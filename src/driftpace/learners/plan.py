"""A recipe under known constants, as the numbers a loop needs."""

from typing import NamedTuple

from driftpace.learners.pairing import resolved_schedule, with_spectrum
from driftpace.learners.recipe import Recipe
from driftpace.records import Constants
from driftpace.schedules import ConstantSteps, GreedySteps, InverseTime


class Plan(NamedTuple):
    """mu_k = scale/(grow k + shift), or greedy steps; the iterate before update k = 0, 1, .. weighs tilt k + level."""

    scale: float
    grow: float
    shift: float
    greedy: GreedySteps | None
    output: str
    tilt: float
    level: float
    batch: int

    def averaged(self, updates: int) -> tuple[int, float]:
        """Return the first iterate of the average and one over the sum of weights; zero when the last iterate is returned.

        >>> Plan(2.0, 1.0, 8.0, None, "weighted", 1.0, 8.0, 1).averaged(3)
        (0, 0.037037)
        """
        if self.output == "last":
            return 0, 0.0
        first = updates // 2 if self.output == "tail" else 0
        return first, 1.0 / (self.tilt * (0.5 * updates * (updates - 1)) + self.level * (updates - first))


def make_plan(recipe: Recipe, constants: Constants) -> Plan:
    """Return the numbers of a recipe under these constants.

    >>> make_plan(Recipe(output="weighted"), Constants.given(m=1.0, A=0.16, B=4.0))[:3]
    (2.0, 1.0, 16.0)
    """
    schedule = resolved_schedule(recipe, with_spectrum(recipe, constants))
    greedy = schedule if isinstance(schedule, GreedySteps) else None
    if isinstance(schedule, ConstantSteps):
        scale, grow, shift = schedule.step, 0.0, 1.0
    elif isinstance(schedule, InverseTime):
        scale, grow, shift = schedule.scale, 1.0, schedule.shift
    else:  # for a start at an unknown distance: what greedy steps tend to for a far one (theory 1.1f)
        m = schedule.m
        scale, grow, shift = 1.0 / m, 1.0, max(schedule.B / m**2, 1.0 / (m * schedule.limit))
    tilt, level = 0.0, 1.0
    if recipe.output == "weighted" and grow > 0.0:
        tilt, level = 1.0, max(shift, 1.0)  # k + s - 1, k from 1 (theory 1.2, where s is 1 at least)
    return Plan(scale, grow, shift, greedy, recipe.output, tilt, level, recipe.batch)

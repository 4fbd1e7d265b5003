"""Tightness of every bound: bound, Monte Carlo truth and their ratio, problem by problem.

``CASES`` is the registry: functions that take a generator and yield rows made by :func:`row`. Add yours to it.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from benchmarks import other_bounds
from driftpace.bounds import ClosedForm, FormulaBound, Greedy, GreedyClosedForm, LastIterate
from driftpace.typing import FloatArray
from tests.reference.bound_checks import SQUARES
from tests.reference.last_iterates import AT, DISTANCE, PENALISED, SquaresBounds, squares_risks
from tests.reference.monte_carlo import measure

Row = dict[str, Any]
Case = Callable[[np.random.Generator], Iterable[Row]]


def row(bound: FormulaBound, problem: str, distance: float, samples: int, risks: FloatArray) -> Row:
    """One line of the table: what was promised (the envelope) and what came."""
    truth, promise = measure(risks), bound(distance, samples)
    return {
        "bound": bound.name,
        "problem": problem,
        "distance": distance,
        "samples": samples,
        "promise": promise,
        "truth": truth.mean,
        "error": truth.error,
        "ratio": promise / truth.mean,
    }


def last_iterate_squares(rng: np.random.Generator) -> Iterator[Row]:
    """Gaussian least squares, condition 1 and 100, from the steepest direction."""
    for problem in SQUARES:
        name = f"squares, {problem.features} features, condition {problem.condition:g}"
        bounds = SquaresBounds(problem=problem)
        shared: list[tuple[tuple[FormulaBound, ...], FloatArray]] = [
            ((bounds.closed, bounds.recursion, bounds.exact), bounds.closed.schedule.steps(AT[-1])),
            ((bounds.greedy,), bounds.greedy.schedule.steps(AT[-1], DISTANCE)),
            ((bounds.constant,), bounds.constant.schedule.steps(AT[-1])),
        ]
        for group, steps in shared:
            risks = squares_risks(problem, steps, rng, steepest=True)
            for bound in group:
                for samples in AT[1:]:
                    yield row(bound, name, DISTANCE, samples, risks[samples])


def last_iterate_penalised(rng: np.random.Generator) -> Iterator[Row]:
    """Ridge logistic, smoothed hinge and ridge regression, by each form of the noise model that is proven."""
    for problem in PENALISED:
        safe = problem.population.constants(problem.loss).safe
        for form, noise in problem.noises.items():
            name = f"{problem.name}, form ({form})"
            closed = ClosedForm(m=safe("m"), M=safe("M"), noise=noise)
            recursion = LastIterate(m=safe("m"), M=safe("M"), noise=noise, schedule=closed.schedule)
            greedy = Greedy(m=safe("m"), M=safe("M"), noise=noise)
            simple = GreedyClosedForm(m=safe("m"), M=safe("M"), noise=noise)
            shared: list[tuple[tuple[FormulaBound, ...], FloatArray]] = [
                ((closed, recursion), closed.schedule.steps(AT[-1])),
                ((greedy, simple), greedy.schedule.steps(AT[-1], DISTANCE)),
            ]
            for group, steps in shared:
                risks = problem.risks(steps, rng)
                for bound in group:
                    for samples in (1, 1000):
                        yield row(bound, name, DISTANCE, samples, risks[samples])


def others(rng: np.random.Generator) -> Iterator[Row]:
    """Averages, minimisers, anchored minimisers and passes."""
    for case in other_bounds.CASES:
        for bound, problem, distance, samples, risks in case(rng):
            yield row(bound, problem, distance, samples, risks)


CASES: list[Case] = [last_iterate_squares, last_iterate_penalised, others]


def table(seed: int = 0) -> list[Row]:
    """Return every row of every case."""
    rng = np.random.default_rng(seed)
    return [line for case in CASES for line in case(rng)]


def summary(rows: list[Row]) -> None:
    """Print for each bound the range of bound over truth at the largest number of samples, well and ill conditioned."""
    most = max(line["samples"] for line in rows)
    wide = max(len(line["bound"]) for line in rows)
    print(f"\nBound over truth at {most} samples: least .. largest over the problems")
    print(f"{'bound':{wide}}  {'condition 100':>18} {'all others':>18}  lowest at any K, in standard errors from 1")
    for name in sorted({line["bound"] for line in rows}):
        mine = [line for line in rows if line["bound"] == name]
        shown = []
        for hard in (True, False):
            at = [
                line["ratio"]
                for line in mine
                if line["samples"] == most and ("condition 100" in line["problem"]) is hard
            ]
            shown.append(f"{min(at):.3g} .. {max(at):.3g}" if at else "")
        lowest = min((line["promise"] - line["truth"]) / line["error"] for line in mine)
        print(f"{name:{wide}}  {shown[0]:>18} {shown[1]:>18}  {lowest:+.1f}")


def main() -> None:
    rows = table()
    print("\nBounds against simulated truth: a ratio of 1 is exact, less than 1 (beyond the error) would be false")
    wide, long = max(len(line["bound"]) for line in rows), max(len(line["problem"]) for line in rows)
    head = f"{'distance':>8} {'samples':>7} {'bound':>10} {'truth':>10} {'+-':>8} {'ratio':>8}"
    print(f"{'bound':{wide}}  {'problem':{long}} {head}")
    for line in sorted(rows, key=lambda line: (line["bound"], line["problem"], line["samples"])):
        numbers = f"{line['promise']:10.4g} {line['truth']:10.4g} {line['error']:8.2g} {line['ratio']:8.3g}"
        print(
            f"{line['bound']:{wide}}  {line['problem']:{long}} {line['distance']:8.3g} {line['samples']:7d} {numbers}"
        )
    summary(rows)


if __name__ == "__main__":
    main()

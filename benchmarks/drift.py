"""Estimators of drift: the table of theory 3.3, the same in ten dimensions, and the overshoot of the direct estimate.

``python -m benchmarks.drift --runs 200`` for more runs than the default.
"""

import argparse
import math

import numpy as np

from driftpace.drift import (
    DebiasedDifference,
    Direct,
    DirectHeldOut,
    Drift,
    Prequential,
    StandardErrorMargin,
    WindowedChange,
    overshoot_bound,
    printed_overshoot_bound,
)
from driftpace.records import Constants
from tests.reference.drift_simulation import Array, Batch, estimates, sgd, simulate, uppers, values

RHOS = (0.0, 0.05, 0.2, 1.0)
PRINTED = {
    20: ".52/.52/.56/1.24  1.21/1.21/1.25/1.92  .03/.03/.10/.98   .11/.12/.23/1.06  .24/.25/.31/1.03",
    60: ".31/.31/.39/1.14  .73/.73/.80/1.51    .03/.03/.19/1.00  .08/.09/.24/1.04  .15/.15/.25/1.01",
    200: ".17/.18/.29/1.07  .41/.41/.51/1.28    .02/.04/.20/1.00  .05/.07/.22/1.02  .08/.09/.22/1.00",
}


def _cell(numbers: list[float]) -> str:
    return "/".join(f"{number:.2f}".lstrip("0") if number < 1.0 else f"{number:.2f}" for number in numbers)


def _table(rng: np.random.Generator, runs: int, shape: str) -> None:
    print(f"\nTheory 3.3: mean of rhohat at rho {RHOS}, 25 periods, {shape}, {runs} runs; the printed table beneath")
    print("   K  direct            held out 1/3        debiased (N)      (N) + 1.64 se     prequential")
    known = Constants.given(m=1.0, M=1.0)
    plain = StandardErrorMargin(z=1.64, lags=0, step_errors=False)
    for samples in PRINTED:
        columns: dict[str, list[float]] = {name: [] for name in ("direct", "held", "n", "upper", "preq")}
        for rho in RHOS:
            batches = simulate(rng, sgd(1.0, 4.0), runs=runs, samples=samples, rho=rho, shape=shape)
            apart = simulate(
                rng, sgd(1.0, 4.0), runs=runs, samples=samples, rho=rho, shape=shape, held_out=DirectHeldOut().held_out
            )
            debiased = estimates(Drift(one_step=DebiasedDifference(residuals="hc3"), margin=plain), batches, known)
            columns["direct"].append(values(estimates(Drift(one_step=Direct()), batches, known)).mean())
            columns["held"].append(values(estimates(Drift(one_step=DirectHeldOut()), apart, known)).mean())
            columns["n"].append(values(debiased).mean())
            columns["upper"].append(uppers(debiased).mean())
            columns["preq"].append(values(estimates(Drift(one_step=Prequential()), batches, known)).mean())
        print(f"{samples:4d}  " + "  ".join(_cell(column).ljust(16) for column in columns.values()))
        if shape == "walk":
            print(f"      {PRINTED[samples]}")


def _distance(batches: list[Batch]) -> Array:
    return np.asarray(np.sqrt(np.mean([batch.distances**2 for batch in batches[1:]], axis=0)))


def _wider(rng: np.random.Generator, runs: int) -> None:
    print(
        f"\nUpper ends of 1.645 standard errors (lag 1), 25 periods, {runs} runs: mean value, mean upper end, share that covers"
    )
    print(
        "features condition     K   rho  shape | direct            | (N) HC3           | (N) HC2           | prequential / distance"
    )
    for features, condition in ((2, 1.0), (10, 1.0), (10, 10.0)):
        spectrum = np.geomspace(1.0, condition, features)
        B = condition * (2.0 * condition + float(spectrum.sum()))
        known = Constants.given(m=1.0, M=condition)
        for samples in (60, 200):
            for rho in (0.05, 0.3, 1.0):
                for shape in ("walk", "line"):
                    batches = simulate(
                        rng, sgd(1.0, B), runs=runs, samples=samples, rho=rho, spectrum=spectrum, shape=shape
                    )
                    cells = []
                    for step in (Direct(), DebiasedDifference(residuals="hc3"), DebiasedDifference()):
                        results = estimates(Drift(one_step=step), batches, known)
                        cells.append(_covers(values(results), uppers(results), np.full(runs, rho)))
                    distance = _distance(batches)
                    results = estimates(Drift(one_step=Prequential()), batches, known)
                    cells.append(_covers(values(results) / distance, uppers(results) / distance, np.ones(runs)))
                    head = f"{features:8d} {condition:9g} {samples:5d} {rho:5g} {shape:>6s}"
                    print(head + " | " + " | ".join(cell.ljust(17) for cell in cells))


def _covers(value: Array, upper: Array, truth: Array) -> str:
    return f"{value.mean():.2f} {upper.mean():.2f} {(upper >= truth).mean():.2f}"


def _overshoot(rng: np.random.Generator, runs: int) -> None:
    print(
        f"\nOvershoot of the direct estimate by SGD, settled: mean rhohat, corrected bound, printed bound ({runs} runs)"
    )
    known = Constants.given(m=1.0, M=1.0)
    for samples in (20, 100, 400):
        for rho in (0.0, 0.3, 1.0):
            late = simulate(rng, sgd(1.0, 4.0), runs=runs, samples=samples, rho=rho, periods=40)[15:]
            results = values(estimates(Drift(), late, known)).mean()
            squared = float(np.mean([((batch.coef - batch.truth) ** 2).sum(axis=1) for batch in late]))
            parts = {"rho": rho, "epsilon": 0.5 * squared, "m": 1.0, "M": 1.0, "scatter": math.sqrt(2.0 * squared)}
            sigma = math.sqrt(1.0 + 3.0 * squared)
            corrected = overshoot_bound(**parts, sigma=sigma, samples=samples)
            printed = printed_overshoot_bound(**parts, sigma=sigma, samples=samples)
            print(f"  K {samples:4d}  rho {rho:4g}   {results:.3f}   {corrected:.3f}   {printed:.3f}")


def _windows(rng: np.random.Generator, runs: int) -> None:
    print(
        f"\nChanges even over [0, 1], 60 rows, 40 periods: mean value, mean upper end, share that covers 1 ({runs} runs)"
    )
    known = Constants.given(m=1.0, M=1.0)
    batches = simulate(rng, sgd(1.0, 4.0), runs=runs, samples=60, rho=rng.random((40, runs)), periods=40)
    for name, step in (("direct", Direct()), ("(N) HC2", DebiasedDifference())):
        for window in (3, 5):
            for h in ("max", "mean"):
                drift = Drift(one_step=step, combine=WindowedChange(window=window, h=h))
                results = estimates(drift, batches, known)
                print(f"  {name:8s} {h:4s} of {window}   {_covers(values(results), uppers(results), np.ones(runs))}")


def main(runs: int = 60, seed: int = 0) -> None:
    rng = np.random.default_rng(seed)
    for shape in ("walk", "line"):
        _table(rng, runs, shape)
    _wider(rng, runs)
    _overshoot(rng, runs)
    _windows(rng, runs)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=60, help="simulated runs behind every number")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    main(chosen.runs, chosen.seed)

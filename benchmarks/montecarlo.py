"""1,000 repetitions of the paper's first experiment, 25 periods of 200 rows each: the engine, NumPy over all runs, scikit-learn.

Everyone follows the same method (theory 6.1 with every size fixed): a walk of unit steps, fresh rows, one pass of SGD with steps
2/(k+8) from the last model, the mean gradient on the same rows, the direct estimate of the drift. Competitors take turns in one
process; a ratio is the median of the ratios of single rounds. NumPy works on all runs at once: one normal of every run side by
side, float64, nothing allocated in the loop, the normals of a row drawn where they are used, by the faster of two generators.
scikit-learn keeps one SGDRegressor for each run and calls partial_fit once a period with its nearest steps, eta0/sqrt(t); it is
measured on a few runs and scaled.
"""

import argparse
import statistics
from collections.abc import Callable

import numpy as np

from benchmarks.sgd import ratio, rounds
from driftpace.typing import FloatArray
from paper.montecarlo import RegressionStudy

RUNS, PERIODS, SAMPLES, FEATURES = 1_000, 25, 200, 2
NOISE, SHIFT = 0.08, 8.0
FIXED = RegressionStudy(periods=PERIODS, first_samples=(SAMPLES,) * PERIODS, noise=NOISE)
ADAPTIVE = RegressionStudy(periods=PERIODS, noise=NOISE)


def ours(study: RegressionStudy, threads: int, runs: int = RUNS) -> Callable[[], tuple[float, float]]:
    def run() -> tuple[float, float]:
        courses = study.run(runs, seed=0, threads=threads)
        return courses.mean_risk, float(courses.rho[:, -1].mean())

    return run


def batched(generator: type[np.random.BitGenerator], runs: int = RUNS) -> Callable[[], tuple[float, float]]:
    """NumPy over all runs at once."""
    normals = np.empty((SAMPLES, FEATURES + 1, runs))
    residual, product = np.empty(runs), np.empty((FEATURES, runs))
    residuals, products = np.empty((SAMPLES, runs)), np.empty((SAMPLES, runs))
    steps = 2.0 / (np.arange(1.0, SAMPLES + 1.0) + SHIFT)

    def run() -> tuple[float, float]:
        rng = np.random.Generator(generator(0))
        error, last, best = (np.zeros((FEATURES, runs)) for _ in range(3))
        pull, total, risk = np.zeros(runs), np.zeros(runs), np.zeros((PERIODS, runs))
        for n in range(PERIODS):
            if n:
                step = rng.standard_normal((FEATURES, runs))
                step /= np.sqrt((step * step).sum(axis=0))
                best += step
                error -= step
            for k in range(SAMPLES):  # w - w* in place of w, so that no y need be formed
                rng.standard_normal(out=normals[k])
                x, noise = normals[k, :FEATURES], normals[k, FEATURES]
                np.multiply(noise, NOISE**0.5, out=noise)
                np.multiply(x, error, out=product)
                np.add(product[0], product[1], out=residual)
                np.subtract(residual, noise, out=residual)
                np.multiply(residual, steps[k], out=residual)
                np.multiply(x, residual, out=product)
                np.subtract(error, product, out=error)
            np.multiply(normals[:, 0], error[0], out=residuals)
            np.multiply(normals[:, 1], error[1], out=products)
            np.add(residuals, products, out=residuals)
            np.subtract(residuals, normals[:, FEATURES], out=residuals)
            gradient = np.stack([np.einsum("kr,kr->r", normals[:, j], residuals) for j in range(FEATURES)]) / SAMPLES
            now = np.sqrt((gradient * gradient).sum(axis=0))
            coef = best + error
            if n:
                total += np.sqrt(((coef - last) ** 2).sum(axis=0)) + now + pull
            last, pull = coef, now
            risk[n] = 0.5 * (error * error).sum(axis=0)
        return float(risk.mean()), float((total / (PERIODS - 1)).mean())

    return run


def scikit_learn(runs: int) -> Callable[[], tuple[float, float]]:
    """One SGDRegressor after the other; the gradient by NumPy."""
    from sklearn.linear_model import SGDRegressor

    def one_run(rng: np.random.Generator) -> tuple[list[float], float]:
        model = SGDRegressor(
            alpha=0.0,
            shuffle=False,
            fit_intercept=False,
            learning_rate="invscaling",
            eta0=2.0 / (1.0 + SHIFT),
            power_t=0.5,
        )
        best, last, pull, total, risk = np.zeros(FEATURES), np.zeros(FEATURES), 0.0, 0.0, []
        for n in range(PERIODS):
            if n:
                step = rng.standard_normal(FEATURES)
                best = best + step / np.linalg.norm(step)
                model.t_ = 1.0  # the steps of a period begin anew
            X = rng.standard_normal((SAMPLES, FEATURES))
            y = X @ best + NOISE**0.5 * rng.standard_normal(SAMPLES)
            coef: FloatArray = model.partial_fit(X, y).coef_
            now = float(np.linalg.norm(X.T @ (X @ coef - y) / SAMPLES))
            total += float(np.linalg.norm(coef - last)) + now + pull if n else 0.0
            last, pull = coef.copy(), now
            risk.append(0.5 * float(((coef - best) ** 2).sum()))
        return risk, total / (PERIODS - 1)

    def run() -> tuple[float, float]:
        rng = np.random.default_rng(0)
        results = [one_run(rng) for _ in range(runs)]
        return float(np.mean([risk for risk, _ in results])), float(np.mean([drift for _, drift in results]))

    return run


def main(options: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks montecarlo")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--sklearn-runs", type=int, default=10, help="runs of scikit-learn in a round, scaled to all")
    given = parser.parse_args([] if options is None else options)
    few = given.sklearn_runs
    contestants: dict[str, Callable[[], tuple[float, float]]] = {
        "driftpace, 1 thread": ours(FIXED, 1),
        "driftpace, 2 threads": ours(FIXED, 2),
        "NumPy batched, PCG64": batched(np.random.PCG64),
        "NumPy batched, SFC64": batched(np.random.SFC64),
        f"scikit-learn, from {few} runs": scikit_learn(few),
        "driftpace adaptive, 1 thread": ours(ADAPTIVE, 1),
        "driftpace adaptive, 2 threads": ours(ADAPTIVE, 2),
    }
    times = rounds(dict(contestants), given.rounds)
    times[f"scikit-learn, from {few} runs"] = [
        seconds * RUNS / few for seconds in times[f"scikit-learn, from {few} runs"]
    ]
    slow, quick = (statistics.median(times[f"NumPy batched, {name}"]) for name in ("PCG64", "SFC64"))
    numpy = f"NumPy batched, {'SFC64' if quick < slow else 'PCG64'}"
    print(
        f"\n{RUNS:,} runs x {PERIODS} periods x {SAMPLES} rows of the first experiment, {FEATURES} features, {given.rounds} rounds"
    )
    print("(aim: 4 times NumPy batched over runs, 100 times a scikit-learn loop; adaptive: sizes chosen by the method)")
    print(f"{'':32}{'ms':>10}{'x faster than NumPy':>22}{'than scikit-learn':>19}{'mean risk':>12}{'drift':>8}")
    for name, contestant in contestants.items():
        risk, drift = contestant()
        fixed = "adaptive" not in name
        ahead = f"{ratio(times[numpy], times[name]):22.2f}" if fixed else f"{'':22}"
        further = f"{ratio(times[f'scikit-learn, from {few} runs'], times[name]):19.1f}" if fixed else f"{'':19}"
        print(f"{name:32}{1e3 * statistics.median(times[name]):10.1f}{ahead}{further}{risk:12.5f}{drift:8.3f}")


if __name__ == "__main__":
    main()

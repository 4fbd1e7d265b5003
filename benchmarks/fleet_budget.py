"""One budget for many segments: value and proven bound beside equal shares and shares by size, short of money and with enough.

Segments know their models with different uncertainty, have different noise, targets and prices, and half of them a fixed price.
"""

import argparse
import time
from collections.abc import Mapping, Sequence

import numpy as np

from driftpace.planning import Demand, LinearCost, share_budget
from driftpace.planning.kernels.shared import left_after

SHARES = (0.3, 0.6, 1.0)


def demands_of(count: int, rng: np.random.Generator) -> dict[str, Demand]:
    """Return segments with two to thirteen coefficients; larger ones are noisier."""
    found = {}
    for number in range(count):
        slopes = float(rng.integers(1, 13))
        found[f"s{number}"] = Demand(
            blocks=np.array([1.0, slopes]),
            shares=rng.dirichlet(np.ones(8), 2),
            variances=10 ** rng.uniform(-3.0, 0.5, (2, 8)),
            noise=float(10 ** rng.uniform(-0.5, 0.5)),
            epsilon=float(10 ** rng.uniform(-1.5, -1.0)),
            cost=LinearCost(fixed=int(rng.integers(0, 2)) * 10, per_sample=int(rng.integers(1, 4))),
        )
    return found


def gaps(demands: Mapping[str, Demand], rows: Mapping[str, int]) -> tuple[float, float]:
    """Return the largest relative risk and the mean gap."""
    relative, beyond = [], []
    for name, demand in demands.items():
        squares = (demand.blocks[:, None] * demand.shares * demand.variances).ravel()
        left = left_after(squares, demand.variances.ravel(), demand.noise, demand.blocks.sum(), float(rows[name]))
        relative.append(0.5 * left / demand.epsilon)
        beyond.append(max(0.5 * left - demand.epsilon, 0.0))
    return max(relative), float(np.mean(beyond))


def bought(demand: Demand, money: float) -> int:
    """Return the rows that an amount of money pays for."""
    one, two = (int(price) for price in demand.cost.units([1, 2]))
    return max(int((money - one) // (two - one)) + 1, 0) if money >= one else 0


def simple(demands: Mapping[str, Demand], budget: float, wanted: Mapping[str, int], *, by_size: bool) -> dict[str, int]:
    """Return the rows of shares that are equal, or proportional to the number of coefficients; none beyond the target."""
    sizes = {name: float(demand.blocks.sum()) if by_size else 1.0 for name, demand in demands.items()}
    total = sum(sizes.values())
    return {name: min(bought(demand, budget * sizes[name] / total), wanted[name]) for name, demand in demands.items()}


def main(arguments: Sequence[str] = ()) -> None:
    """Print a line for each number of segments and share of the money."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks fleet_budget")
    parser.add_argument("--segments", type=int, nargs="+", default=[100, 1_000, 10_000, 100_000])
    given = parser.parse_args(arguments)
    head = (
        "segments",
        "money",
        "level",
        "bound",
        "equal",
        "by size",
        "s",
        "mean gap",
        "bound",
        "equal",
        "by size",
        "s",
    )
    print(" ".join(f"{name:>10}" for name in head))
    for count in given.segments:
        demands = demands_of(count, np.random.default_rng(0))
        full = share_budget(demands, budget=10**12)
        for share in SHARES:
            budget = int(share * float(full.spent))
            began = time.perf_counter()
            level = share_budget(demands, budget=budget)
            between = time.perf_counter()
            weighted = share_budget(demands, budget=budget, weights={})
            ended = time.perf_counter()
            plain = [gaps(demands, simple(demands, budget, full.wanted, by_size=by_size)) for by_size in (False, True)]
            cells = (
                f"{count:,}",
                f"{share:.1f}",
                f"{level.value:.4f}",
                f"{level.lower:.4f}",
                f"{plain[0][0]:.2f}",
                f"{plain[1][0]:.2f}",
                f"{between - began:.1f}",
                f"{weighted.value:.5f}",
                f"{weighted.lower:.5f}",
                f"{plain[0][1]:.5f}",
                f"{plain[1][1]:.5f}",
                f"{ended - between:.1f}",
            )
            print(" ".join(f"{cell:>10}" for cell in cells), flush=True)

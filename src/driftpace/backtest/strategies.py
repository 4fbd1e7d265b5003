"""Every way of buying labels over all runs, with the words in which it is shown to people."""

import numpy as np

from driftpace.backtest.gathering import best_even, gather_strategy
from driftpace.backtest.job import Job
from driftpace.backtest.progress import Progress
from driftpace.backtest.records import Strategy
from driftpace.backtest.run import RunFound
from driftpace.backtest.workers import Workers
from driftpace.backtest.yardstick import (
    JUDGED_AFTER,
    PILOT_PERIODS,
    ROWS_PER_COEFFICIENT,
    BestConstant,
    constant_risks,
    constant_run,
    find_best_constant,
)
from driftpace.typing import FloatArray


def of_tracker(job: Job, found: list[RunFound]) -> Strategy:
    """Return what the tracker did."""
    own = job.asked.maker is not None
    return gather_strategy(
        "driftpace",
        "driftpace",
        "A tracker of your own." if own else "Buys what this period needs to hold the target, and no more.",
        [run.measured["driftpace"] for run in found],
        classification=job.classification,
    )


def of_others(job: Job, found: list[RunFound]) -> list[Strategy]:
    """Return the other ways of buying labels that every run replays, in the order in which they are shown."""
    capped = sum(run.followed.samples.sum() > job.pools[0] for run in found)
    short = f" The first period has only {job.pools[0]} rows to sell, less than that in {capped} of {len(found)} runs."
    spread, strength = best_even(found)
    texts = {
        "up_front": (
            "Everything up front",
            "As many labels as driftpace bought in the run, all in the first period; the model is kept."
            + (short if capped else ""),
        ),
        "even": (
            "Spread evenly",
            (
                "As many labels as driftpace bought in the run, the same number each period; fits anchored at the last "
                f"model with the best constant strength in hindsight, {strength:.3g}."
            ),
        ),
        "from_scratch": (
            "Re-fit from scratch",
            "A fresh fit each period, of the textbook size for a noise that is known from the whole period.",
        ),
        "first_model": ("Keep the first model", "The model of driftpace's first period, never touched again."),
        "paper": (
            "The paper's rule",
            (
                "Single-pass SGD sized by its proven bound, with constants measured on the whole table and all doubts "
                "decided in its favour; it gets the whole pool where it asks for more."
            ),
        ),
    }
    return [
        gather_strategy(
            name,
            title,
            note,
            spread if name == "even" else [run.measured[name] for run in found],
            classification=job.classification,
        )
        for name, (title, note) in texts.items()
    ]


def of_yardstick(job: Job, runs: int, crew: Workers, bar: Progress) -> Strategy:
    """Search for the best constant size over all runs, and return what it would have given."""

    def risks(size: int) -> FloatArray:
        bar.searching(f"best constant size in hindsight: {size}?")
        found = list(crew.map(constant_risks, [(run, size) for run in range(runs)]))
        return np.array(found).transpose(1, 0, 2)

    best = find_best_constant(risks, job.epsilon, int(job.pools.max()), job.asked.confidence)
    measured = list(crew.map(constant_run, [(run, best.size, best.strength) for run in range(runs)]))
    return gather_strategy(
        "best_constant", "Best constant size in hindsight", _said(best), measured, classification=job.classification
    )


def _said(best: BestConstant) -> str:
    pilot = f"{ROWS_PER_COEFFICIENT} rows per coefficient in each of the first {PILOT_PERIODS} periods"
    if not best.kept:
        return f"{pilot}, then the whole pool: no constant size keeps the promise after period {JUDGED_AFTER}."
    return (
        f"{pilot}, then {best.size} rows a period, the least that keeps the promise after period {JUDGED_AFTER} with the best "
        f"constant anchoring strength, {best.strength:.3g}. Nobody can know this number beforehand."
    )

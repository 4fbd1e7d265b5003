"""Every way of buying labels over all runs, with the words in which it is shown to people."""

import numpy as np

from driftpace.backtest.failures import BASELINE_ERRORS, explain
from driftpace.backtest.gathering import best_even, gather_strategy
from driftpace.backtest.job import Job
from driftpace.backtest.progress import Progress
from driftpace.backtest.records import SkippedBaseline, Strategy
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

BASELINES = {
    "up_front": "Everything up front",
    "even": "Spread evenly",
    "from_scratch": "Re-fit from scratch",
    "first_model": "Keep the first model",
    "paper": "The paper's rule",
    "best_constant": "Best constant size in hindsight",
}
"""The title of each baseline by its name, in the order in which they are listed."""

NOTES = {
    "up_front": "As many labels as driftpace bought in the run, all in the first period; the model is kept.",
    "from_scratch": "A fresh fit each period, of the textbook size for a noise that is known from the whole period.",
    "first_model": "The model of driftpace's first period, never updated.",
    "paper": (
        "Single-pass SGD sized by its proven bound, with constants measured on the whole table and all doubts decided in its "
        "favour; it gets the whole pool where it asks for more."
    ),
}


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


def of_baselines(
    job: Job, found: list[RunFound], crew: Workers, bar: Progress
) -> tuple[list[Strategy], list[SkippedBaseline]]:
    """Return the chosen baselines in the order of ``BASELINES``: those that were replayed, and those that could not run."""
    replayed: list[Strategy] = []
    skipped: list[SkippedBaseline] = []
    for name in BASELINES:
        if name not in job.baselines:
            continue
        reasons = [run.failures[name] for run in found if name in run.failures]
        if name == "best_constant":
            try:
                replayed.append(_best_constant(job, len(found), crew, bar))
            except BASELINE_ERRORS as error:
                reasons = [explain(error, job.features)] * len(found)
        elif not reasons:
            replayed.append(_baseline(name, job, found))
        if reasons:
            where = "" if len(reasons) == len(found) else f"In {len(reasons)} of {len(found)} runs: "
            skipped.append(SkippedBaseline(name=name, title=BASELINES[name], reason=f"{where}{reasons[0]}"))
    return replayed, skipped


def _baseline(name: str, job: Job, found: list[RunFound]) -> Strategy:
    runs, note = [run.measured[name] for run in found] if name != "even" else [], NOTES.get(name, "")
    if name == "even":
        runs, strength = best_even(found)
        note = (
            "As many labels as driftpace bought in the run, the same number each period; fits anchored at the last "
            f"model with the best constant strength in hindsight, {strength:.3g}."
        )
    if name == "up_front":
        capped = sum(run.followed.samples.sum() > job.pools[0] for run in found)
        if capped:
            note += f" The first period has only {job.pools[0]} rows to sell, less than that in {capped} of {len(found)} runs."
    return gather_strategy(name, BASELINES[name], note, runs, classification=job.classification)


def _best_constant(job: Job, runs: int, crew: Workers, bar: Progress) -> Strategy:
    """Search for the best constant size over all runs, and return what it would have given."""

    def risks(size: int) -> FloatArray:
        bar.searching(f"best constant size in hindsight: {size}?")
        found = list(crew.map(constant_risks, [(run, size) for run in range(runs)]))
        return np.array(found).transpose(1, 0, 2)

    best = find_best_constant(risks, job.epsilon, int(job.pools.max()), job.asked.confidence)
    measured = list(crew.map(constant_run, [(run, best.size, best.strength) for run in range(runs)]))
    return gather_strategy(
        "best_constant", BASELINES["best_constant"], _constant_note(best), measured, classification=job.classification
    )


def _constant_note(best: BestConstant) -> str:
    pilot = f"{ROWS_PER_COEFFICIENT} rows per coefficient in each of the first {PILOT_PERIODS} periods"
    if not best.kept:
        return f"{pilot}, then the whole pool: no constant size keeps the promise after period {JUDGED_AFTER}."
    return (
        f"{pilot}, then {best.size} rows a period, the least that keeps the promise after period {JUDGED_AFTER} with the best "
        f"constant anchoring strength, {best.strength:.3g}. Nobody can know this number beforehand."
    )

"""One run of a backtest, and the strategies, ledger and assumptions over all runs."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from driftpace.backtest.anchored import STRENGTHS
from driftpace.backtest.baselines import (
    BASELINE_ERRORS,
    even,
    explain_failure,
    first_model,
    from_scratch,
    paper_rule,
    up_front,
)
from driftpace.backtest.job import Job, TrackerConfig
from driftpace.backtest.metrics import RunMetrics, measure
from driftpace.backtest.population import Population, scores_of
from driftpace.backtest.result import (
    LEDGER_FIELDS,
    CandidateChoices,
    CheckVerdicts,
    SkippedBaseline,
    Strategy,
    TrackerLedger,
)
from driftpace.backtest.tracker_run import TrackerRun, run_tracker
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
from driftpace.progress import Progress
from driftpace.records import Assumption, Verdict
from driftpace.typing import FloatArray


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class RunResult:
    """The result of one run: the tracker's records, and the metrics of every strategy by name.

    ``even`` has one entry for each anchoring strength. ``failures`` has the reason for each baseline that could not run.
    """

    followed: TrackerRun
    measured: dict[str, RunMetrics]
    even: tuple[RunMetrics, ...] = ()
    failures: dict[str, str] = field(default_factory=dict)


def replay_run(job: Job, run: int) -> RunResult:
    """Replay one run, which depends on the job and its number alone."""
    rows = job.rows(run)
    tracker = job.asked.tracker(job.loss, len(job.features), job.tracker_seed(run))
    followed = run_tracker(tracker, rows, job.features)
    measured = {"driftpace": measure(rows, followed.coefs, followed.samples)}
    total = int(followed.samples.sum())
    tasks: dict[str, Callable[[], RunMetrics]] = {
        "up_front": lambda: up_front(job, rows, total),
        "from_scratch": lambda: from_scratch(job, rows),
        "first_model": lambda: first_model(rows, followed),
        "paper": lambda: paper_rule(job, rows, run),
    }
    failures: dict[str, str] = {}
    for name, task in tasks.items():
        if name in job.baselines:
            try:
                measured[name] = task()
            except BASELINE_ERRORS as error:
                failures[name] = explain_failure(error, job.features)
    spread: tuple[RunMetrics, ...] = ()
    if "even" in job.baselines:
        try:
            spread = even(job, rows, total)
        except BASELINE_ERRORS as error:
            failures["even"] = explain_failure(error, job.features)
    return RunResult(followed=followed, measured=measured, even=spread, failures=failures)


_SEVERITY = {Verdict.PASS: 0, Verdict.WARN: 1, Verdict.FAIL: 2}


def stack_strategy(name: str, title: str, note: str, runs: list[RunMetrics]) -> Strategy:
    """Return one strategy over all runs."""
    return Strategy(
        name=name,
        title=title,
        note=note,
        samples=np.array([run.samples for run in runs]),
        excess_risk=np.array([run.excess_risk for run in runs]),
        test_loss=np.array([run.test_loss for run in runs]),
        held_out_risk=np.array([run.held_out_risk for run in runs]),
        metrics={name: np.array([run.metrics[name] for run in runs]) for name in runs[0].metrics},
    )


def stack_ledger(results: Sequence[RunResult]) -> TrackerLedger:
    """Return the records of the tracker, (runs, periods) each."""
    stacked: dict[str, FloatArray] = {
        name: np.array([getattr(run.followed, name) for run in results]) for name in LEDGER_FIELDS
    }
    return TrackerLedger(**stacked)


def stack_choices(results: list[RunResult]) -> CandidateChoices | None:
    """Return the chosen candidates, None where there were none."""
    candidates = results[0].followed.candidates
    if not candidates:
        return None
    return CandidateChoices(candidates=candidates, chosen=np.array([run.followed.chosen for run in results]))


def best_even_strength(results: list[RunResult]) -> tuple[list[RunMetrics], float]:
    """Return the runs with the anchoring strength of least mean excess risk, and that strength."""
    means = np.array([[metrics.excess_risk.mean() for metrics in run.even] for run in results]).mean(axis=0)
    best = int(means.argmin())
    return [run.even[best] for run in results], float(STRENGTHS[best])


def _rank(assumption: Assumption) -> tuple[int, bool]:
    """Return how much a verdict says: the worse the more, and a check that was judged more than one that was not."""
    return _SEVERITY[assumption.verdict], assumption.judged


def worst_assumptions(results: Sequence[RunResult]) -> tuple[tuple[Assumption, float], ...]:
    """Return for each assumption its first worst verdict, and the share of runs and periods with that verdict.

    In the order in which they were first reported.
    """
    worst: dict[str, Assumption] = {}
    times: Counter[tuple[str, Verdict]] = Counter()
    periods = 0
    for run in results:
        for checks in run.followed.assumptions:
            periods += 1
            for assumption in checks:
                times[assumption.name, assumption.verdict] += 1
                known = worst.get(assumption.name)
                if known is None or _rank(assumption) > _rank(known):
                    worst[assumption.name] = assumption
    return tuple((check, times[check.name, check.verdict] / periods) for check in worst.values())


def stack_checks(results: Sequence[RunResult]) -> CheckVerdicts:
    """Return the verdicts of every check, in the order in which they were first reported."""
    reported = [checks for run in results for checks in run.followed.assumptions]
    names = tuple(dict.fromkeys(check.name for checks in reported for check in checks))
    verdicts = np.full((len(names), len(results), len(results[0].followed.assumptions)), np.nan)
    for row, run in enumerate(results):
        for period, checks in enumerate(run.followed.assumptions):
            for check in checks:
                if check.judged:
                    verdicts[names.index(check.name), row, period] = _SEVERITY[check.verdict]
    return CheckVerdicts(names=names, verdicts=verdicts)


def best_model_movement(populations: Sequence[Population]) -> FloatArray:
    """Return the movement of each coefficient of the best model since the period before, in units of the risk.

    Coefficient j moved by the risk H_jj (w_j - v_j)^2 / 2 that its old value v_j has in a model that is otherwise the best one w.
    Those of a column, one for each score, are added up.
    """
    best = np.array([now.best for now in populations])
    curvature = np.array([np.diag(now.hessian) for now in populations])
    moved = np.full(best.shape, np.nan)
    moved[1:] = 0.5 * curvature[1:] * np.square(np.diff(best, axis=0))
    by_column: FloatArray = moved.reshape(len(populations), -1, scores_of(populations[0].loss)).sum(axis=2)
    return by_column


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
        "Single-pass SGD sized by its proven bound, with constants measured on the whole table and every doubt resolved in its "
        "favour; it gets the whole pool where it asks for more."
    ),
}


def tracker_strategy(asked: TrackerConfig, results: Sequence[RunResult]) -> Strategy:
    """Return the strategy of the tracker."""
    custom = asked.maker is not None
    return stack_strategy(
        "driftpace",
        "driftpace",
        "A custom tracker." if custom else "Labels what the period needs to meet the target, and no more.",
        [run.measured["driftpace"] for run in results],
    )


def baseline_strategies(
    job: Job, results: list[RunResult], crew: Workers, bar: Progress
) -> tuple[list[Strategy], list[SkippedBaseline]]:
    """Return the chosen baselines in the order of ``BASELINES``: those that were replayed, and those that could not run."""
    replayed: list[Strategy] = []
    skipped: list[SkippedBaseline] = []
    for name in BASELINES:
        if name not in job.baselines:
            continue
        reasons = [run.failures[name] for run in results if name in run.failures]
        if name == "best_constant":
            try:
                replayed.append(_best_constant(job, len(results), crew, bar))
            except BASELINE_ERRORS as error:
                reasons = [explain_failure(error, job.features)] * len(results)
        elif not reasons:
            replayed.append(_baseline(name, job, results))
        if reasons:
            where = "" if len(reasons) == len(results) else f"In {len(reasons)} of {len(results)} runs: "
            skipped.append(SkippedBaseline(name=name, title=BASELINES[name], reason=f"{where}{reasons[0]}"))
    return replayed, skipped


def _baseline(name: str, job: Job, results: list[RunResult]) -> Strategy:
    runs, note = [run.measured[name] for run in results] if name != "even" else [], NOTES.get(name, "")
    if name == "even":
        runs, strength = best_even_strength(results)
        note = (
            "As many labels as driftpace bought in the run, the same number each period; fits anchored at the last "
            f"model with the best constant strength in hindsight, {strength:.3g}."
        )
    if name == "up_front":
        capped = sum(run.followed.samples.sum() > job.pools[0] for run in results)
        if capped:
            note += (
                f" The first period has only {job.pools[0]} rows, fewer than that in {capped} of {len(results)} runs."
            )
    return stack_strategy(name, BASELINES[name], note, runs)


def _best_constant(job: Job, runs: int, crew: Workers, bar: Progress) -> Strategy:
    """Search for the best constant size over all runs, and return its strategy."""

    def risks(size: int) -> FloatArray:
        bar.searching(f"best constant size in hindsight: {size}?")
        excess_risks = list(crew.map(constant_risks, [(run, size) for run in range(runs)]))
        return np.array(excess_risks).transpose(1, 0, 2)

    best = find_best_constant(risks, job.epsilon, int(job.pools.max()), job.asked.confidence)
    measured = list(crew.map(constant_run, [(run, best.size, best.strength) for run in range(runs)]))
    return stack_strategy("best_constant", BASELINES["best_constant"], _constant_note(best), measured)


def _constant_note(best: BestConstant) -> str:
    pilot = f"{ROWS_PER_COEFFICIENT} rows per coefficient in each of the first {PILOT_PERIODS} periods"
    if not best.kept:
        return f"{pilot}, then the whole pool: no constant size meets the target after period {JUDGED_AFTER}."
    return (
        f"{pilot}, then {best.size} rows a period, the least that meets the target after period {JUDGED_AFTER} with the best "
        f"constant anchoring strength, {best.strength:.3g}. This number is not known in advance."
    )

"""One run of a backtest: the tracker and every other way of buying labels, on the same rows in the same order."""

from collections.abc import Callable
from dataclasses import dataclass, field

from driftpace.backtest.even import even
from driftpace.backtest.failures import BASELINE_ERRORS, explain
from driftpace.backtest.following import Followed, follow
from driftpace.backtest.from_scratch import from_scratch
from driftpace.backtest.job import Job
from driftpace.backtest.kept import first_model, up_front
from driftpace.backtest.measure import Measured, measure
from driftpace.backtest.paper import paper_rule


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class RunFound:
    """What one run found: the tracker's account, and what was measured of every strategy by name.

    ``even`` has one entry for each anchoring strength. ``failures`` has the reason for each baseline that could not run.
    """

    followed: Followed
    measured: dict[str, Measured]
    even: tuple[Measured, ...] = ()
    failures: dict[str, str] = field(default_factory=dict)


def replay_run(job: Job, run: int) -> RunFound:
    """Replay one run; it depends on the job and the number of the run, and on nothing else."""
    rows = job.rows(run)
    tracker = job.asked.tracker(job.loss, job.coefficients - 1, job.tracker_seed(run))
    followed = follow(tracker, rows)
    measured = {"driftpace": measure(rows, followed.coefs, followed.samples, classification=job.classification)}
    total = int(followed.samples.sum())
    tasks: dict[str, Callable[[], Measured]] = {
        "up_front": lambda: up_front(job, rows, total),
        "from_scratch": lambda: from_scratch(job, rows),
        "first_model": lambda: first_model(job, rows, followed),
        "paper": lambda: paper_rule(job, rows, run),
    }
    failures: dict[str, str] = {}
    for name, task in tasks.items():
        if name in job.baselines:
            try:
                measured[name] = task()
            except BASELINE_ERRORS as error:
                failures[name] = explain(error, job.features)
    spread: tuple[Measured, ...] = ()
    if "even" in job.baselines:
        try:
            spread = even(job, rows, total)
        except BASELINE_ERRORS as error:
            failures["even"] = explain(error, job.features)
    return RunFound(followed=followed, measured=measured, even=spread, failures=failures)

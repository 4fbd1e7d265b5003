"""One run of a backtest: the tracker and every other way of buying labels, on the same rows in the same order."""

from dataclasses import dataclass

from driftpace.backtest.even import even
from driftpace.backtest.following import Followed, follow
from driftpace.backtest.from_scratch import from_scratch
from driftpace.backtest.job import Job
from driftpace.backtest.kept import first_model, up_front
from driftpace.backtest.measure import Measured, measure
from driftpace.backtest.paper import paper_rule


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class RunFound:
    """What one run found: the tracker's account, and what was measured of every strategy by name.

    ``even`` has one entry for each anchoring strength.
    """

    followed: Followed
    measured: dict[str, Measured]
    even: tuple[Measured, ...]


def replay_run(job: Job, run: int) -> RunFound:
    """Replay one run; it depends on the job and the number of the run, and on nothing else."""
    rows = job.rows(run)
    tracker = job.asked.tracker(job.loss, job.coefficients - 1, job.tracker_seed(run))
    followed = follow(tracker, rows)
    measured = {"driftpace": measure(rows, followed.coefs, followed.samples, classification=job.classification)}
    if not job.baselines:
        return RunFound(followed=followed, measured=measured, even=())
    total = int(followed.samples.sum())
    measured["up_front"] = up_front(job, rows, total)
    measured["from_scratch"] = from_scratch(job, rows)
    measured["first_model"] = first_model(job, rows, followed)
    measured["paper"] = paper_rule(job, rows, run)
    return RunFound(followed=followed, measured=measured, even=even(job, rows, total))

"""Labels that arrive late: the true excess risk while models are in use, and what the delay costs in labels.

python -m benchmarks late [--runs 6] [--delays 1 2 4] [--only NAME ...]

The flights table, a period a week, and two random walks. All rows of an order arrive some periods after it, or half of them in
time and the others then. The control is a tracker that is not told of the delay: its models are in use so many periods later.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.real_tables import SEED, TEST_FRACTION, markdown
from benchmarks.synthetic_cases import Case
from benchmarks.tables import tables
from driftpace import SquaredLoss, Tracker
from driftpace.adaptive.delay import price_of_delay
from driftpace.backtest.job import Job, TrackerConfig, prepare
from driftpace.executors import one_thread
from driftpace.losses import Loss
from driftpace.records import Outcome
from driftpace.typing import FloatArray

DELAYS, RUNS, PERIODS = (1, 2, 4), 6, 52
JUDGED_AFTER = 12  # with labels four periods late, the first orders that know the noise are complete by then
EPSILON = 0.05
WALKS = (0.05, 0.2)
FLIGHTS = {"flights squared": 0.02, "flights logistic": 0.02}
HEADS = (
    *("data", "labels", "risk/eps", "se", "above", "stated/eps", "says above", "says late", "promise"),
    *("labels/period", "x in time", "step c", "formula", "ignored"),
)
LEGEND = f"""
- risk/eps: mean true excess risk of the model in use over the target, after period {JUDGED_AFTER}, with its standard error over
  runs; above: share of periods whose run-average is above the target by over two standard errors.
- stated/eps: the same of the risk that reports state; says above: share of run-periods that state more than the target; says
  late: share of orders that say that no number of labels is enough.
- promise: kept, where the mean risk is at most two standard errors above the target; said, where it is above, and so is the mean
  of the stated risks; else broken.
- x in time: labels over those of labels in time; step c: cost of a step in targets, as the tracker learned it with labels in time
  (median over runs and periods); formula: (1 + c)/((1 - Lc)(1 - Lc + c)).
- ignored: risk/eps of the tracker that is not told of the delay.
"""

Draw = Callable[[int], tuple[FloatArray, FloatArray]]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Period:
    """A period of a run: rows to label, how many there are, and the excess risk of a model, the intercept last."""

    draw: Draw
    pool: int | None
    excess_risk: Callable[[FloatArray], float]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Data:
    """Periods by run, with the loss and the target."""

    name: str
    loss: Loss
    features: int
    epsilon: float
    periods: Callable[[int], Sequence[Period]]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Followed:
    """What came of some runs, a row for each and a column for each period: true and stated risks in targets, rows, steps, refusals.

    ``ignored`` is the true risk, so many periods later, of models that were fitted in time.
    """

    risks: FloatArray
    stated: FloatArray
    rows: FloatArray
    steps: FloatArray
    refused: FloatArray


def follow(data: Data, runs: int, delay: int, share: float) -> Followed:
    """Run the default tracker with a ``share`` of each order in time and the others ``delay`` periods late."""
    results = []
    for run in range(runs):
        tracker = Tracker(data.loss, epsilon=data.epsilon, features=data.features, delay=delay, rng=run)
        waiting: dict[int, tuple[FloatArray, FloatArray]] = {}
        lines = []
        for n, now in enumerate(data.periods(run), start=1):
            if n - delay in waiting:
                tracker.tell_late(n - delay, *waiting.pop(n - delay))
            request = tracker.ask(pool=now.pool)
            X, y = now.draw(request.samples)
            early = round(share * len(y))
            if early:
                tracker.tell(X[:early], y[:early], final=False)
            if len(y) > early:
                waiting[n] = (X[early:], y[early:])
            tracker.tell()
            lines.append((*_measured(data, now, tracker), len(y), request.outcome is Outcome.LATE))
        results.append(lines)
    risks, stated, steps, rows, refused = np.array(results, dtype=float).transpose(2, 0, 1)
    return Followed(risks=risks, stated=stated, rows=rows, steps=steps, refused=refused)


def follow_in_time(data: Data, runs: int, delays: Sequence[int]) -> tuple[Followed, dict[int, float]]:
    """Run the default tracker with labels in time; also return the mean risk of its models so many periods later."""
    results = []
    later: dict[int, list[float]] = {delay: [] for delay in delays}
    for run in range(runs):
        tracker = Tracker(data.loss, epsilon=data.epsilon, features=data.features, rng=run)
        periods = data.periods(run)
        lines = []
        for n, now in enumerate(periods):
            report = tracker.step(now.draw, pool=now.pool)
            lines.append((*_measured(data, now, tracker), report.samples, False))
            for delay in delays:
                if JUDGED_AFTER <= n + delay < len(periods):
                    later[delay].append(periods[n + delay].excess_risk(_model(tracker)) / data.epsilon)
        results.append(lines)
    risks, stated, steps, rows, refused = np.array(results, dtype=float).transpose(2, 0, 1)
    followed = Followed(risks=risks, stated=stated, rows=rows, steps=steps, refused=refused)
    return followed, {delay: float(np.mean(values)) for delay, values in later.items()}


def _model(tracker: Tracker) -> FloatArray:
    return np.append(tracker.coef, tracker.intercept)


def _measured(data: Data, now: Period, tracker: Tracker) -> tuple[float, float, float]:
    """Return the true risk of the model in use, the stated one, and the cost of a step, all in targets."""
    report = tracker.history[-1]
    price = tracker.delay_price(1).value  # (1 + c)/(1 - c), so this is the step c
    step = 1.0 if np.isinf(price) else (price - 1.0) / (price + 1.0)
    return now.excess_risk(_model(tracker)) / data.epsilon, report.risk_bound / data.epsilon, step


def walk(cost: float) -> Data:
    """Return a random walk in four features whose steps cost so many targets."""
    case = Case(
        loss="squared",
        features=4,
        condition=1.0,
        cost=cost * EPSILON,
        epsilon=EPSILON,
        noise="gaussian",
        shape="walk",
    )

    def period(run: int, n: int) -> Period:
        now, rng = case.population(run).period(n), np.random.default_rng([case.seed, run, n])
        return Period(
            draw=lambda count: now.draw(max(count, 1), rng=rng) if count else (np.empty((0, 4)), np.empty(0)),
            pool=None,
            excess_risk=lambda model: float(now.excess_risk(SquaredLoss(), model)),
        )

    return Data(
        name=f"walk, c {cost:g}",
        loss=SquaredLoss(),
        features=4,
        epsilon=EPSILON,
        periods=lambda run: [period(run, n) for n in range(1, PERIODS + 1)],
    )


def flights() -> Iterator[Data]:
    """Yield the flights table with each loss; nothing where the file is missing."""
    for table in tables():
        if isinstance(table, str) or table.name not in FLIGHTS:
            continue
        epsilon = FLIGHTS[table.name]
        job = prepare(
            table.panel,
            loss=table.loss,
            asked=TrackerConfig(epsilon=epsilon),
            test_fraction=TEST_FRACTION,
            seed=SEED,
            baselines=(),
        )
        yield Data(
            name=f"{table.name}, epsilon {epsilon:g}",
            loss=table.loss,
            features=job.coefficients - 1,
            epsilon=epsilon,
            periods=lambda run, job=job: list(_weeks(job, run)),  # type: ignore[misc]
        )


def _weeks(job: Job, run: int) -> Iterator[Period]:
    for rows in job.rows(run):
        given = [0]

        def draw(count: int, rows: object = rows, given: list[int] = given) -> tuple[FloatArray, FloatArray]:
            X, y = rows.bought(given[0], given[0] + count)  # type: ignore[attr-defined]
            given[0] += len(y)
            return X[:, :-1], y

        yield Period(
            draw=draw,
            pool=rows.pool,
            excess_risk=lambda model, rows=rows: float(rows.population.excess_risk(model)[0]),  # type: ignore[misc]
        )


def line(data: Data, labels: str, followed: Followed, in_time: Followed, delay: int, ignored: float) -> list[str]:
    """Return a line of the table."""
    late = slice(JUDGED_AFTER, None)
    risks, stated = followed.risks[:, late], followed.stated[:, late]
    runs = len(risks)
    mean, error = risks.mean(), risks.mean(axis=1).std(ddof=1) / runs**0.5
    above = risks.mean(axis=0) - 2.0 * risks.std(axis=0, ddof=1) / runs**0.5 > 1.0
    promise = "kept" if mean <= 1.0 + 2.0 * error else "said" if stated.mean() > 1.0 else "broken"
    step = float(np.nanmedian(in_time.steps[:, late]))
    labelled = followed.rows[:, late].mean()
    return [
        *(data.name, labels, f"{mean:.2f}", f"{error:.2f}", f"{100 * above.mean():.0f} %", f"{stated.mean():.2f}"),
        *(f"{100 * (stated > 1.0).mean():.0f} %", f"{100 * followed.refused[:, late].mean():.0f} %", promise),
        *(f"{labelled:.0f}", f"{labelled / in_time.rows[:, late].mean():.2f}", f"{step:.2f}"),
        *(f"{price_of_delay(step, delay):.2f}", f"{ignored:.2f}"),
    ]


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks late", description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--delays", type=int, nargs="+", default=DELAYS)
    parser.add_argument("--only", nargs="+", default=())
    given = parser.parse_args(arguments)
    lines = []
    with one_thread():
        for data in (*flights(), *(walk(cost) for cost in WALKS)):
            if given.only and not any(name in data.name for name in given.only):
                continue
            in_time, later = follow_in_time(data, given.runs, given.delays)
            lines.append(line(data, "in time", in_time, in_time, 0, float(in_time.risks[:, JUDGED_AFTER:].mean())))
            for share, name in ((0.0, "{} late"), (0.5, "half in time, half {} late")):
                for delay in given.delays:
                    followed = follow(data, given.runs, delay, share)
                    lines.append(line(data, name.format(delay), followed, in_time, delay, later[delay]))
                    print(f"{len(lines)} lines", end="\r", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    print(markdown(HEADS, lines))
    print(LEGEND)


if __name__ == "__main__":
    main(sys.argv[1:])

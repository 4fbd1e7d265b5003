"""What segments of a fleet save by learning from each other: labels against independent trackers at the same promise, per part.

python -m benchmarks fleet [--segments 300] [--periods 16] [--runs 1] [--only synthetic|births|flights|employment] [--workers 2]
    [--settings alone,control,all,drift+slopes]

Numbers do not depend on workers.
"""

import argparse
import math
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

import numpy as np

from benchmarks.fleet_worlds import FleetSource, SyntheticFleet, World, births, employment, flights
from benchmarks.real_tables import markdown
from driftpace import Fleet, SquaredLoss
from driftpace.executors import one_thread
from driftpace.fleet.borrowing import PARTS
from driftpace.typing import FloatArray

SETTINGS = ("alone", "control", *PARTS, "all")
TABLES = {"births": births, "flights": flights, "employment": employment}
SIZES = (2, 3, 4, 6, 8, 12, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 128)
DECAYS = (0.0, 0.3, 0.5, 0.65, 0.8, 0.9, 0.96, 1.0)
HEADS = (
    *("fleet", "borrow", "labels", "to alone", "first", "new", "risk/eps", "worst kind", "broken", "newly"),
    *("held out", "broken", "newly"),
)
LEGEND = """
- control: alone again, with other rows and, of the synthetic fleet, other segments: what is newly broken there is so by chance.
- labels: of a segment and period; first: of a first period; new: of the first period of segments that join later.
- risk/eps: mean excess risk over the target; worst kind: that of the kind of segments that has the most, and which.
- broken: segments whose mean over periods and runs is above the target by more than two standard errors; newly: not so alone.
- held out: the same on rows that were not drawn, of which each period keeps a fifth, less what the best of all rows owes to
  these; unbiased, but noisy. What is known of the synthetic fleet is the truth.
- constant: the smallest constant size whose mean risk is within the target, with the best decay of earlier rows in hindsight.
"""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class FleetRun:
    """Labels and risks over the target, (segments, periods), NaN where a segment had no period; and what segments are."""

    labels: FloatArray
    risk: FloatArray
    held_out: FloatArray
    kinds: list[str]


def parts_of(setting: str) -> tuple[str, ...]:
    """Return what is borrowed: "all", "alone", or parts such as "drift+slopes"."""
    return {"all": PARTS, "alone": (), "control": ()}.get(setting) or tuple(
        part for part in PARTS if part in setting.split("+")
    )


def source_of(name: str, segments: int, periods: int, run: int) -> FleetSource:
    """Return a fleet: the synthetic one, or a table."""
    if name in TABLES:
        return TABLES[name](run)
    made = World(segments=segments, odd=max(segments // 50, 1), common=0.05, joins=segments // 10)
    return SyntheticFleet(made=made, seed=run, periods=periods)


def follow(item: tuple[str, int, int, int, tuple[str, ...]]) -> FleetRun:
    """Run a fleet through all periods; ``item`` is (name, segments, periods, run, borrow). It depends on nothing else."""
    name, segments, periods, run, borrow = item
    source = source_of(name, segments, periods, run)
    labels: dict[str, list[float]] = {}
    risk: dict[str, list[float]] = {}
    held_out: dict[str, list[float]] = {}
    with one_thread():
        fleet = Fleet(
            source.loss,
            epsilon=source.epsilon,
            segment="segment",
            target="y",
            segments=source.names,
            borrow=borrow,
            rng=0,
        )
        for period in range(source.periods):
            fleet.add(source.names)
            while (orders := fleet.ask(pool=source.pool())).samples:
                fleet.tell(source.label(orders), final=False)
            fleet.tell()
            for segment, history in fleet.ledger.items():
                model = fleet.model(segment)
                labels.setdefault(segment, [math.nan] * period).append(history[-1].samples)
                for measured, of in ((risk, source.excess), (held_out, source.held_out)):
                    excess = math.nan if model is None else of(segment, model) / source.epsilon
                    measured.setdefault(segment, [math.nan] * period).append(excess)
            source.next_period()
    return FleetRun(
        labels=np.array(list(labels.values())),
        risk=np.array(list(risk.values())),
        held_out=np.array(list(held_out.values())),
        kinds=[source.kind(segment) for segment in labels],
    )


def constant(name: str, segments: int, periods: int) -> tuple[int, float] | None:
    """Return the smallest constant size within the target with the best decay, and its risk; squared loss only."""
    for size in SIZES:
        risks = []
        for decay in DECAYS:
            source = source_of(name, segments, periods, 0)
            if not isinstance(source.loss, SquaredLoss):
                return None
            risks.append(_constant_risk(source, size, decay))
        if min(risks) <= 1.0:
            return size, min(risks)
    return None


def _constant_risk(source: FleetSource, size: int, decay: float) -> float:
    """Return the mean risk over the target of a fit to so many rows a period, earlier ones with decaying weights."""
    sums: dict[str, tuple[FloatArray, FloatArray]] = {}
    risk = []
    for _ in range(source.periods):
        for name in source.names:
            X, y = source.draw(name, size)
            X = np.column_stack([X, np.ones(len(X))])
            gram, right = sums.get(name, (1e-6 * np.eye(X.shape[1]), np.zeros(X.shape[1])))
            gram, right = decay * gram + X.T @ X, decay * right + X.T @ y
            sums[name] = gram, right
            model = np.asarray(np.linalg.lstsq(gram + 1e-9 * np.eye(len(gram)), right, rcond=None)[0], np.float64)
            risk.append(source.excess(name, model) / source.epsilon)
        source.next_period()
    return float(np.nanmean(risk))


def broken(risk: FloatArray) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    """Return which segments have a mean risk above the target by more than two standard errors."""
    count = np.maximum(np.isfinite(risk).sum(axis=1), 2)
    mean, spread = np.nanmean(risk, axis=1), np.nanstd(risk, axis=1, ddof=1)
    return np.asarray(mean - 2.0 * spread / np.sqrt(count) > 1.0)


def together(name: str, runs: list[FleetRun]) -> FleetRun:
    """Return runs as one: of a table as more periods of the same segments, of a synthetic fleet as more segments."""
    axis = 1 if name in TABLES else 0
    return FleetRun(
        labels=np.concatenate([run.labels for run in runs], axis=axis),
        risk=np.concatenate([run.risk for run in runs], axis=axis),
        held_out=np.concatenate([run.held_out for run in runs], axis=axis),
        kinds=runs[0].kinds if axis else [kind for run in runs for kind in run.kinds],
    )


def line(name: str, setting: str, runs: list[FleetRun], alone: list[FleetRun]) -> list[str]:
    """Return a row of the table."""
    labels = float(np.nanmean([np.nanmean(run.labels) for run in runs]))
    usual = float(np.nanmean([np.nanmean(run.labels) for run in alone]))
    first = float(np.mean([np.nanmean(run.labels[:, 0]) for run in runs]))
    late = [each[np.isfinite(each)][0] for run in runs for each in run.labels if not np.isfinite(each[0])]
    every, before = together(name, runs), together(name, alone)
    kinds = {
        kind: float(np.nanmean(every.risk[[one == kind for one in every.kinds]])) for kind in sorted(set(every.kinds))
    }
    worst = max(kinds, key=lambda kind: kinds[kind])
    cells = [
        *(name, setting, f"{labels:.1f}", f"{labels / usual - 1.0:+.0%}", f"{first:.0f}"),
        *(f"{np.mean(late):.0f}" if late else "-", f"{np.nanmean(every.risk):.2f}", f"{worst} {kinds[worst]:.2f}"),
    ]
    for own, other in ((every.risk, before.risk), (every.held_out, before.held_out)):
        if not np.isfinite(own).any():
            return [*cells, *["-"] * 3]
        bad = broken(own)
        cells += [f"{np.nanmean(own):.2f}"] if own is every.held_out else []
        cells += [str(int(bad.sum())), str(int((bad & ~broken(other)).sum()))]
    return cells


def main(argv: list[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="benchmarks fleet")
    parser.add_argument("--segments", type=int, default=300)
    parser.add_argument("--periods", type=int, default=16)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", choices=("synthetic", *TABLES))
    parser.add_argument("--settings", default=",".join(SETTINGS))
    given = parser.parse_args(argv)
    names = [given.only] if given.only else ["synthetic", *TABLES]
    chosen = given.settings.split(",")
    items = [
        (name, given.segments, given.periods, run + given.runs * (setting == "control"), parts_of(setting))
        for name in names
        for setting in chosen
        for run in range(given.runs)
    ]
    lines = []
    with ProcessPoolExecutor(given.workers, mp_context=get_context("spawn")) as crew:
        done = crew.map(follow, items)
        for name in names:
            alone: list[FleetRun] = []
            for setting in chosen:
                runs = [next(done) for _ in range(given.runs)]
                alone = alone or runs
                lines.append(line(name, setting, runs, alone))
                print(" | ".join(lines[-1]), file=sys.stderr, flush=True)
                for kind in sorted(set(runs[0].kinds)):
                    own = [run.risk[[one == kind for one in run.kinds]] for run in runs]
                    paid = [run.labels[[one == kind for one in run.kinds]] for run in runs]
                    print(
                        f"    {kind}: labels {np.mean([np.nanmean(one) for one in paid]):.1f},"
                        f" risk/eps {np.mean([np.nanmean(one) for one in own]):.2f}",
                        file=sys.stderr,
                    )
            best = constant(name, given.segments, given.periods)
            if best is not None:
                lines.append([name, "constant", str(best[0]), *["-"] * 3, f"{best[1]:.2f}", *["-"] * 6])
    print(markdown(HEADS, lines))
    print(LEGEND)


if __name__ == "__main__":
    main()

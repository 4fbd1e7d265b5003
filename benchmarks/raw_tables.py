"""Raw tables: what ``driftpace check`` says of a file, and whether the backtest that it proposes meets its target.

python -m benchmarks raw_tables [--runs 5] [--only NAME ...] [--manifest FOLDER/tables.csv]

A manifest names tables of your own: a CSV file with the columns file and target, the files in its folder.
"""

import argparse
import csv
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.real_tables import brief, markdown
from benchmarks.tables import SHARED
from driftpace import check_table
from driftpace.backtest import BacktestResult, Strategy, TableCheck, promise, read_table, replay
from driftpace.backtest.yardstick import JUDGED_AFTER, PILOT_PERIODS
from driftpace.losses import get_loss, loss_names
from driftpace.typing import FloatArray

FILES = {
    "rodents": "sex",
    "gss_party": "abany",
    "flights": "late",
    "births": "births",
    "bike_trips": "trips",
    "us_employment": "growth",
    "gss_income": "log_rinc",
    "psid7682": "log_wage",
    "elec2": "up",
    "bike_hourly": "log_cnt",
}
"""The files in ../shared/data and the column to predict. Nothing else is given: periods, features, penalty and target are those
that ``check`` proposes."""
BASELINES = ("best_constant", "from_scratch")
SEED = 0
HEADS = (
    *("table", "target", "periods", "d", "tolerance", "check: later", "check expects", "risk/target", "se", "above"),
    *(
        "promise",
        "held out",
        "stated",
        "labels/period",
        "of pool",
        "yardstick K",
        "x yardstick",
        "scratch",
        "its held out",
    ),
)
LEGEND = """
- d: features after encoding; tolerance: the target that check proposes, a share of the best loss of each period; check: later:
  labels a period that it estimated; check expects: "yes", or "cautions", where it says why a backtest may not show the target met.
- risk/target: mean excess risk over the mean target, with its standard error over runs; above: periods whose run-average is
  above the target by over two standard errors; of pool: labels bought over rows that could be.
- held out: the excess risk in the world that the rows are a sample of, over the target, with its standard error over periods: on
  held-out rows, without the error of the best model of a period's rows; stated: the median over runs and periods of the risk that
  reports state, over the target.
- yardstick: the least constant K that keeps the promise, chosen in hindsight (as in real_tables); scratch: a fresh fit of
  textbook size in each period (labels a period), with its excess risk on held-out rows.
"""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class RawTable:
    """A file as ``check`` sees it, and the backtest that it proposes."""

    name: str
    check: TableCheck
    result: BacktestResult


def read_manifest(path: Path) -> dict[Path, str]:
    """Return the files that a manifest names, and the column of each that is predicted."""
    with path.open(newline="", encoding="utf-8") as file:
        return {path.parent / row["file"]: row["target"] for row in csv.DictReader(file)}


def replay_raw(path: Path, target: str, runs: int) -> RawTable | str:
    """Check a file and run the backtest of the command that ``check`` proposes; return why where there is none."""
    name = path.name.partition(".")[0]
    check = check_table(path, target=target)
    if check.problems:
        return f"{name} is left out: {' '.join(check.problems)}"
    panel = read_table(path, period=check.period, target=check.target, exclude=check.suspects)
    names = loss_names(panel.task)
    loss = None if check.l2 is None else get_loss(names[0], l2=check.l2)
    result = replay(panel, loss=loss, tolerance=check.tolerance, runs=runs, seed=SEED, baselines=BASELINES)
    return RawTable(name=name, check=check, result=result)


def line(raw: RawTable) -> list[str]:
    """Return what is shown of one table."""
    check, result = raw.check, raw.result
    epsilon = np.asarray(result.epsilon)
    named = {one.name: one for one in result.strategies}
    own, yardstick = named["driftpace"], named["best_constant"]
    judged, total = promise(own.excess_risk, epsilon), float(own.samples.sum(axis=1).mean())
    of_runs = own.excess_risk.mean(axis=1) / epsilon.mean()
    later = next((f"{one.later:.0f}" for one in check.labels if one.tolerance == check.tolerance), "-")
    scratch = named.get("from_scratch")
    size = float(yardstick.samples[:, PILOT_PERIODS:].max())
    judged_after = min(JUDGED_AFTER, len(epsilon) - 1)
    reached = promise(yardstick.excess_risk[:, judged_after:], epsilon[judged_after:]).kept
    return [
        raw.name,
        str(check.target),
        f"{len(result.periods)}",
        f"{len(result.features)}",
        f"{check.tolerance:g}",
        later,
        "yes" if check.caution is None else "cautions",
        f"{judged.mean / epsilon.mean():.2f}",
        f"{of_runs.std(ddof=1) / np.sqrt(len(of_runs)):.2f}" if len(of_runs) > 1 else "-",
        f"{judged.periods_above} of {len(result.periods)}",
        "kept" if judged.kept else "**broken**",
        held_out(own, epsilon),
        f"{np.median(result.ledger.risk_bound / epsilon):.2f}",
        f"{total / len(result.periods):.0f}",
        f"{total / sum(result.pool):.0%}",
        f"{size:.0f}{'' if reached else ' (broken)'}",
        f"{total / float(yardstick.samples.sum(axis=1).mean()):.2f}",
        brief(scratch, epsilon),
        "-" if scratch is None else held_out(scratch, epsilon),
    ]


def held_out(strategy: Strategy, epsilon: FloatArray) -> str:
    """Return the excess risk on held-out rows over the mean target, and its standard error over periods."""
    assert strategy.held_out_risk is not None
    periods = strategy.held_out_risk.mean(axis=0) / epsilon.mean()
    return f"{periods.mean():.2f} ± {periods.std(ddof=1) / np.sqrt(periods.size):.2f}"


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks raw_tables", description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", nargs="+", default=None, help="names of tables")
    parser.add_argument("--manifest", type=Path, default=None, help="CSV with the columns file and target")
    asked = parser.parse_args(arguments)
    began, lines = time.perf_counter(), list[list[str]]()
    files = {SHARED / f"{name}.csv.gz": target for name, target in FILES.items()}
    for path, target in (files if asked.manifest is None else read_manifest(asked.manifest)).items():
        name = path.name.partition(".")[0]
        if asked.only is not None and name not in asked.only:
            continue
        if not path.is_file():
            folder = "../shared/data" if asked.manifest is None else "the folder of the manifest"
            print(f"{name} is left out: there is no file {path.name} in {folder}.")
            continue
        raw = replay_raw(path, target, asked.runs)
        if isinstance(raw, str):
            print(raw)
        else:
            lines.append(line(raw))
            print(f"{name}: {', '.join(lines[-1][2:])}", file=sys.stderr, flush=True)
    print(f"\nRaw tables through check and the backtest that it proposes, {asked.runs} runs")
    print(LEGEND)
    print(markdown(HEADS, lines))
    print(f"\nTook {time.perf_counter() - began:.0f} s.")


if __name__ == "__main__":
    main(sys.argv[1:])

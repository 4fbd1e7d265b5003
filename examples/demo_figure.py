"""Draw a backtest: labels bought in each period, and the measured risk compared with the target.

    make demo
    python examples/demo_figure.py out/backtest.json --to docs/images/demo.png

It reads the JSON that ``driftpace backtest`` writes, so any backtest can be drawn.
"""

import argparse
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from driftpace.backtest import BacktestResult, Strategy, from_json, promise
from driftpace.backtest.judgement import total_labels

INK, ACCENT, FAINT = "#1f3a5f", "#c8553d", "#8fa3b8"


def draw(result: BacktestResult, path: Path) -> None:
    """Draw both panels and write the figure."""
    named = {one.name: one for one in result.strategies}
    figure, (left, right) = plt.subplots(1, 2, figsize=(11.5, 4.1), layout="constrained")
    _labels(left, result, named)
    _risk(right, result, named["driftpace"])
    places = np.arange(len(result.periods))
    shown = places[:: max(1, len(places) // 8)]
    for axes in (left, right):
        axes.set_xticks(shown, [result.periods[place] for place in shown])
        axes.set_ylim(0.0, 1.2 * axes.get_ylim()[1])  # room for the legend
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize=9, loc="upper left")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _labels(axes: Axes, result: BacktestResult, named: dict[str, Strategy]) -> None:
    own, places = named["driftpace"], np.arange(len(result.periods))
    axes.bar(places, own.samples.mean(axis=0), color=INK, label=f"driftpace: {total_labels(own):,.0f} in all")
    fresh = named["from_scratch"]
    axes.plot(
        *(places, fresh.samples.mean(axis=0)),
        color=FAINT,
        drawstyle="steps-mid",
        label=f"a fresh fit each time: {total_labels(fresh):,.0f}",
    )
    constant = named["best_constant"]
    axes.plot(
        *(places, constant.samples.mean(axis=0)),
        color=ACCENT,
        ls="--",
        drawstyle="steps-mid",
        label=f"best constant size, known in hindsight: {total_labels(constant):,.0f}",
    )
    axes.set_title(f"Labels bought, {result.table}")
    axes.set_ylabel(f"labels per period (of {min(result.pool):,} to {max(result.pool):,})")


def _risk(axes: Axes, result: BacktestResult, own: Strategy) -> None:
    places, risk = np.arange(len(result.periods)), own.excess_risk
    error = 2.0 * risk.std(axis=0, ddof=1) / np.sqrt(result.runs)
    axes.plot(places, result.epsilon, color=ACCENT, ls="--", label="promised: the target epsilon")
    axes.errorbar(
        *(places, risk.mean(axis=0)),
        yerr=error,
        fmt="o",
        ms=4,
        color=INK,
        ecolor=FAINT,
        label=f"measured: mean of {result.runs} runs, two standard errors",
    )
    judged = promise(risk, np.array(result.epsilon))
    axes.set_title(f"How much worse than the best model: promise {'kept' if judged.kept else 'broken'}")
    axes.set_ylabel("excess risk")


def main() -> None:
    parser = argparse.ArgumentParser(description="Draw a backtest: labels, and risk against the target.")
    parser.add_argument("numbers", type=Path, nargs="?", default=Path("out/backtest.json"), help="JSON of a backtest")
    parser.add_argument("--to", type=Path, default=Path("docs/images/demo.png"), help="path of the figure")
    chosen = parser.parse_args()
    draw(from_json(chosen.numbers.read_text(encoding="utf-8")), chosen.to)
    print(f"The figure is in {chosen.to}")


if __name__ == "__main__":
    main()

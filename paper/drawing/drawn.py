"""A figure as it would stand in a paper: one column wide, serif, told apart without colour; the same facts, the same bytes.

The caption is not in it; it belongs below.
"""

import io
import math
from textwrap import fill
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from driftpace.errors import MissingExtraError
from paper.drawing import axes
from paper.drawing.looks import COLOURS, Look, intervals_as_bands, looks
from paper.drawing.words import mathematics, number
from paper.records import Figure, Series

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Sheet

WIDTH, HEIGHT, LEGEND_ROW = (
    3.5,
    2.3,
    0.135,
)  # inches: a column of a journal, the axes with their labels, a row of the legend
DOTS = 300  # an inch, of a PNG
CROWDED = 26  # points; beyond, not every one has a marker
_UNSAID: dict[str, dict[str, None]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None, "Format": None, "Type": None},
}
_DASHES: dict[str, Any] = {
    "solid": "-",
    "dash": (0, (3.2, 1.8)),
    "dot": (0, (1.0, 1.3)),
    "dashdot": (0, (4.5, 1.4, 1.0, 1.4)),
    "longdash": (0, (7.0, 1.6)),
    "longdashdot": (0, (7.0, 1.4, 1.0, 1.4, 1.0, 1.4)),
}
_MARKERS = {
    "circle": "o",
    "square": "s",
    "triangle-up": "^",
    "triangle-down": "v",
    "diamond": "D",
    "cross": "P",
    "x": "x",
}
_STYLE: dict[str, Any] = {
    "font.family": ["STIXGeneral", "DejaVu Serif"],
    "mathtext.fontset": "stix",
    "font.size": 8.0,
    "axes.labelsize": 8.0,
    "xtick.labelsize": 7.0,
    "ytick.labelsize": 7.0,
    "legend.fontsize": 7.0,
    "axes.linewidth": 0.6,
    "axes.unicode_minus": True,
    "xtick.direction": "in",
    "ytick.direction": "in",
    "xtick.major.width": 0.5,
    "ytick.major.width": 0.5,
    "svg.hashsalt": "driftpace",
    "svg.fonttype": "path",
    "path.simplify": False,
}


def pictures(figure: Figure) -> dict[str, bytes]:
    """Return the figure as files, by their endings; nothing in them says when or by which programme they were drawn."""
    try:
        from matplotlib import style
    except ModuleNotFoundError as error:
        raise MissingExtraError(f'The figures need {error.name}: pip install "driftpace[figures]".') from error
    with style.context(["default", _STYLE]):
        sheet = _sheet(figure)
        sheet.draw_without_rendering()  # finds the layout, once for both
        sheet.set_layout_engine("none")
        return {form: _saved(sheet, form, nothing) for form, nothing in _UNSAID.items()}


def _saved(sheet: "Sheet", form: str, metadata: dict[str, None]) -> bytes:
    file = io.BytesIO()
    sheet.savefig(file, format=form, metadata=metadata)
    return file.getvalue()


def _sheet(figure: Figure) -> "Sheet":
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Sheet

    sheet = Sheet(figsize=(WIDTH, WIDTH if figure.equal else HEIGHT), layout="constrained", dpi=DOTS)
    FigureCanvasAgg(sheet)
    plot = sheet.add_subplot()
    bands = intervals_as_bands(figure.series)
    handles = []
    for place, (series, look) in enumerate(zip(figure.series, looks(figure), strict=True)):
        shown = axes.above(series, axes.floor(figure)) if figure.log_y else series
        handles.append(_curve(plot, shown, look, bands=bands, place=place, alike=figure.equal))
    plot.set_xlabel(mathematics(figure.x_label))
    plot.set_ylabel(mathematics(figure.y_label))
    _scales(plot, figure)
    plot.grid(True, linewidth=0.3, color="#d5d5d5")
    plot.set_axisbelow(True)
    _legend(sheet, handles, [mathematics(series.label) for series in figure.series])
    return sheet


def _curve(plot: "Axes", series: Series, look: Look, *, bands: bool, place: int, alike: bool) -> Any:
    colour = COLOURS[look.colour]
    hollow = (look.marker or "").endswith("-open")
    marker = _MARKERS[look.marker.removesuffix("-open")] if look.marker else None
    known = np.isfinite(series.y)
    lonely = known & ~np.concatenate(([False], known[:-1])) & ~np.concatenate((known[1:], [False]))
    dotted = marker or ("." if lonely.any() else None)
    style: dict[str, Any] = {
        "color": colour,
        "linestyle": "none" if series.marks else _DASHES[look.dash],
        "linewidth": 1.1 * look.width,
        "marker": (marker or "o") if series.marks else dotted,
        "markersize": 4.0 if alike and series.marks else 2.7,
        "markerfacecolor": "white" if hollow else colour,
        "markeredgewidth": 0.6,
        "markevery": 1 if series.marks or not marker else max(math.ceil(series.x.size / CROWDED), 1),
        "label": mathematics(series.label),
        "zorder": 3.0 + 0.01 * place if look.marker else 2.5,
        "clip_on": not series.marks,  # a point on the edge is seen whole
    }
    if series.steps and not series.marks:
        style["drawstyle"] = "steps-mid"
        style["markevery"] = (
            (place % 3, 3) if known.sum() > 3 else 1
        )  # enough to tell one staircase from another, and not all in one place
    if series.low is None or series.high is None:
        return plot.plot(series.x, series.y, **style)[0]
    if bands and not series.marks:
        step: Literal["mid"] | None = "mid" if series.steps else None
        plot.fill_between(
            series.x, series.low, series.high, step=step, color=colour, alpha=0.16, linewidth=0.0, zorder=2.0
        )
        return plot.plot(series.x, series.y, **style)[0]
    below, over = np.maximum(series.y - series.low, 0.0), np.maximum(series.high - series.y, 0.0)
    every = style.pop("markevery")
    bars = {"elinewidth": 0.5, "capsize": 1.3, "capthick": 0.5, "errorevery": every, "markevery": every}
    return plot.errorbar(series.x, series.y, yerr=np.array([below, over]), **bars, **style)


def _scales(plot: "Axes", figure: Figure) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    if figure.equal:
        plot.set_aspect("equal", adjustable="datalim")
        return
    if axes.logarithmic_x(figure):
        plot.set_xscale("log")
        _logarithm(plot.xaxis, *plot.get_xlim())
    elif axes.whole(figure):
        plot.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=7, min_n_ticks=2, steps=[1, 2, 5, 10]))
        plot.margins(x=0.03)
    if figure.log_y:
        plot.set_yscale("log", nonpositive="mask")
        plot.set_ylim(axes.floor(figure), axes.ceiling(figure))
        _logarithm(plot.yaxis, *plot.get_ylim())
        return
    if axes.from_zero(figure):
        plot.set_ylim(bottom=0.0)
    low, high = plot.get_ylim()
    if max(abs(low), abs(high)) >= 1000.0:
        plot.yaxis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))


def _logarithm(axis: Any, low: float, high: float) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter

    axis.set_major_locator(FixedLocator(axes.marks_of_logarithm(low, high)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
    axis.set_minor_formatter(NullFormatter())


def _legend(sheet: "Sheet", handles: list[Any], labels: list[str]) -> None:
    """Put the legend above the axes, where it hides nothing, in as many columns as fit; the sheet grows with its rows."""
    if len(labels) < 2:
        return
    for columns in range(min(4, len(labels)), 0, -1):
        wrapped = labels if columns > 1 else [fill(label, 58) for label in labels]
        legend = sheet.legend(
            handles,
            wrapped,
            loc="outside upper center",
            ncols=columns,
            frameon=False,
            handlelength=2.8,
            columnspacing=1.2,
            labelspacing=0.25,
            borderaxespad=0.3,
            borderpad=0.1,
        )
        size = legend.get_window_extent(sheet.canvas.get_renderer())  # type: ignore[attr-defined]
        if columns == 1 or size.width / sheet.dpi <= WIDTH - 0.1:
            sheet.set_figheight(sheet.get_figheight() + size.height / sheet.dpi)
            return
        legend.remove()

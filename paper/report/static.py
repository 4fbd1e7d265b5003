"""Matplotlib figures in the paper's layout; the same finding gives the same bytes."""

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from textwrap import fill
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from driftpace.errors import MissingExtraError
from driftpace.typing import FloatArray
from paper.records import Figure, Series
from paper.report import static
from paper.report.text import mathematics, number

COLOURS = {  # the same as the page's, in the light
    "own": "#1f5fbf",
    "rust": "#b8501c",
    "teal": "#0d7d77",
    "plum": "#7d3fa3",
    "olive": "#6a7113",
    "rose": "#b3336b",
    "slate": "#5c6670",
    "ink": "#1d2126",
    "bad": "#bb2525",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Look:
    """A colour by its name on the page, a dash and a marker by plotly's names; no marker for what is known beforehand."""

    colour: str
    dash: str
    marker: str | None
    width: float = 1.0


ROLES = {
    "paper": Look(colour="rust", dash="solid", marker="circle"),
    "practical": Look(colour="own", dash="longdash", marker="square-open"),
    "other": Look(colour="teal", dash="dashdot", marker="triangle-up"),
    "second": Look(colour="plum", dash="dot", marker="diamond"),
    "third": Look(colour="olive", dash="longdashdot", marker="triangle-down-open"),
    "truth": Look(colour="ink", dash="dash", marker=None, width=0.8),
    "target": Look(colour="bad", dash="dot", marker=None, width=0.8),
}
SPARE = (  # for a second curve of a role that is taken
    Look(colour="rose", dash="dash", marker="cross"),
    Look(colour="slate", dash="solid", marker="x"),
    ROLES["third"],
    ROLES["second"],
    ROLES["other"],
    Look(colour="own", dash="dot", marker="diamond-open"),
    Look(colour="rust", dash="dashdot", marker="square"),
    Look(colour="teal", dash="solid", marker="circle-open"),
    Look(colour="plum", dash="longdash", marker="triangle-up-open"),
)
_PLAIN = ("dashdot", "longdash", "solid")  # of a second truth or target, which have no marker


def looks(figure: Figure) -> list[Look]:
    """Return a look for each series, in their order; no two alike while there are enough.

    >>> one, two = (Series(label=name, role="paper", x=[1.0], y=[1.0]) for name in "ab")
    >>> [look.colour for look in looks(Figure(key="k", title="", caption="", alt="", x_label="", y_label="", series=(one, two)))]
    ['rust', 'rose']
    """
    first: dict[str, int] = {}
    for place, series in enumerate(figure.series):
        first.setdefault(series.role, place)
    taken = {ROLES[role] for role in first}
    spare = [look for look in SPARE if look not in taken] or list(SPARE)
    found, again = [], 0
    for place, series in enumerate(figure.series):
        if first[series.role] == place:
            found.append(ROLES[series.role])
            continue
        look = spare[again % len(spare)]
        again += 1
        if series.role in ("truth", "target"):
            look = Look(colour=look.colour, dash=_PLAIN[again % len(_PLAIN)], marker=None, width=0.8)
        found.append(look)
    return found


def intervals_as_bands(series: Sequence[Series]) -> bool:
    """Return whether intervals are drawn as bands: of three and more, one would hide the other."""
    wide = (each for each in series if each.low is not None and each.high is not None and (each.high > each.low).any())
    return sum(1 for _ in wide) <= 2


_NEAR_ZERO = 0.4  # of the highest value; a figure that goes so low shows its zero


def along(figure: Figure) -> FloatArray:
    """Return every x of a figure once, in order."""
    return _finite([series.x for series in figure.series])


def heights(figure: Figure) -> FloatArray:
    """Return every height of a figure once, in order, those of intervals among them."""
    return _finite(
        [values for series in figure.series for values in (series.y, series.low, series.high) if values is not None]
    )


def whole(figure: Figure) -> bool:
    """Return whether the x axis counts, as periods do."""
    x = along(figure)
    return not figure.equal and bool(x.size) and bool((x == np.round(x)).all())


def logarithmic_x(figure: Figure) -> bool:
    """Return whether the x are even on a logarithm and uneven otherwise, as targets of 0.3, 0.1, 0.03, 0.01 are.

    >>> def over(*x):
    ...     series = Series(label="a", role="paper", x=x, y=x)
    ...     return Figure(key="k", title="", caption="", alt="", x_label="", y_label="", series=(series,))
    >>> logarithmic_x(over(0.3, 0.1, 0.03, 0.01)), logarithmic_x(over(1.0, 2.0, 3.0, 5.0)), logarithmic_x(over(0.0, 0.1, 1.0))
    (True, False, False)
    """
    x = along(figure)
    if figure.equal or x.size < 3 or x[0] <= 0.0:
        return False
    steps, ratios = np.diff(x), np.diff(np.log(x))
    return bool(steps.max() > 4.0 * steps.min() and ratios.max() < 2.5 * ratios.min())


def from_zero(figure: Figure) -> bool:
    """Return whether the y axis starts at zero: where all is above it and some of it near."""
    y = heights(figure)
    return not (figure.log_y or figure.equal) and bool(y.size) and 0.0 <= y[0] <= _NEAR_ZERO * y[-1]


def marks_of_logarithm(low: float, high: float) -> list[float]:
    """Return round numbers for a logarithmic axis from ``low`` to ``high``: powers of ten, or more where those are few.

    >>> marks_of_logarithm(0.03, 0.4), marks_of_logarithm(0.002, 90.0), marks_of_logarithm(2.2, 4.1)
    ([0.03, 0.1, 0.3], [0.01, 0.1, 1.0, 10.0], [2.5, 3.0, 4.0])
    """
    choices = ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8))
    powers = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2)
    marks: list[float] = []
    for digits in choices:
        marks = [float(f"{digit}e{power}") for power in powers for digit in digits]
        marks = [mark for mark in marks if low * 0.999 <= mark <= high * 1.001]
        if len(marks) >= 3:
            break
    every = math.ceil(len(marks) / 7)
    return marks[::every]


def floor(figure: Figure) -> float:
    """Return where a logarithmic axis ends below: under every curve; an interval that goes near zero is cut there."""
    y = _finite([series.y for series in figure.series])
    above = y[y > 0.0]
    return float(above[0]) / 2.0 if above.size else 0.1


def ceiling(figure: Figure) -> float:
    """Return where a logarithmic axis ends above."""
    y = heights(figure)
    return 1.3 * float(y[-1]) if y.size and y[-1] > 0.0 else 10.0


def above(series: Series, least: float) -> Series:
    """Return the series as a logarithmic axis can show it: nothing where it is not above zero, intervals cut at ``least``."""
    y = np.where(series.y > 0.0, series.y, np.nan)
    if series.low is None or series.high is None:
        return replace(series, y=y)
    return replace(series, y=y, low=np.maximum(series.low, least), high=np.maximum(series.high, least))


def _finite(parts: list[FloatArray]) -> FloatArray:
    values = np.unique(np.concatenate(parts)) if parts else np.empty(0)
    return values[np.isfinite(values)]


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
        shown = static.above(series, static.floor(figure)) if figure.log_y else series
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
    if static.logarithmic_x(figure):
        plot.set_xscale("log")
        _logarithm(plot.xaxis, *plot.get_xlim())
    elif static.whole(figure):
        plot.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=7, min_n_ticks=2, steps=[1, 2, 5, 10]))
        plot.margins(x=0.03)
    if figure.log_y:
        plot.set_yscale("log", nonpositive="mask")
        plot.set_ylim(static.floor(figure), static.ceiling(figure))
        _logarithm(plot.yaxis, *plot.get_ylim())
        return
    if static.from_zero(figure):
        plot.set_ylim(bottom=0.0)
    low, high = plot.get_ylim()
    if max(abs(low), abs(high)) >= 1000.0:
        plot.yaxis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))


def _logarithm(axis: Any, low: float, high: float) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter

    axis.set_major_locator(FixedLocator(static.marks_of_logarithm(low, high)))
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

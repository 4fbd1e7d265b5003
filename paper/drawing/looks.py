"""How each curve of a figure looks, alike in print and on the page: by who it is, and told apart without colour.

Dash and marker differ wherever the colour does, so that a figure survives a grey print.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from paper.records import Figure, Series

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
    """Tell whether intervals are drawn as bands: of three and more, one would hide the other."""
    wide = (each for each in series if each.low is not None and each.high is not None and (each.high > each.low).any())
    return sum(1 for _ in wide) <= 2

"""The numbers behind a figure as a table of words."""

import math

import numpy as np

from paper.drawing.words import number, typeset
from paper.records import Figure, Series


def numbers(figure: Figure) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the heads and the rows: one row for each x, one column for each curve; or one row for each point.

    >>> one = Series(label="K_n", role="paper", x=[1.0, 2.0], y=[50.0, 17.5], low=[50.0, 16.0], high=[50.0, 19.0])
    >>> two = Series(label="truth", role="truth", x=[2.0], y=[14.0])
    >>> numbers(Figure(key="k", title="", caption="", alt="", x_label="period", y_label="samples", series=(one, two)))
    (('period', 'Kₙ', 'truth'), [('1', '50 (50 to 50)', ''), ('2', '17.5 (16 to 19)', '14')])
    """
    x_label, y_label = typeset(figure.x_label), typeset(figure.y_label)
    if figure.equal or any(np.unique(series.x).size < series.x.size for series in figure.series):
        rows: list[tuple[str, ...]] = [
            (typeset(series.label), number(x), _cell(series, place))
            for series in figure.series
            for place, x in enumerate(series.x.tolist())
        ]
        return ("line", x_label, y_label), rows
    places = sorted({x for series in figure.series for x in series.x.tolist() if math.isfinite(x)})
    where = [{x: place for place, x in enumerate(series.x.tolist())} for series in figure.series]
    rows_of_x: list[tuple[str, ...]] = [
        (
            number(x),
            *(_cell(series, at[x]) if x in at else "" for series, at in zip(figure.series, where, strict=True)),
        )
        for x in places
    ]
    return (x_label, *(typeset(series.label) for series in figure.series)), rows_of_x


def _cell(series: Series, place: int) -> str:
    text = number(float(series.y[place]))
    if series.low is None or series.high is None or not math.isfinite(series.low[place] + series.high[place]):
        return text
    return f"{text} ({number(float(series.low[place]))} to {number(float(series.high[place]))})"

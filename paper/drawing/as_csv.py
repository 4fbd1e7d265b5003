"""The numbers behind a figure as CSV: one line for each point of each curve."""

import csv
import io
import math

from paper.records import Figure

COLUMNS = ("series", "role", "x", "y", "low", "high")


def to_csv(figure: Figure) -> str:
    """Return the figure as text; nothing where nothing was measured.

    >>> from paper.records import Series
    >>> series = Series(label="K_n", role="paper", x=[1.0, 2.0], y=[50.0, math.nan])
    >>> print(to_csv(Figure(key="k", title="", caption="", alt="", x_label="", y_label="", series=(series,))))
    series,role,x,y,low,high
    K_n,paper,1,50,,
    K_n,paper,2,,,
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for series in figure.series:
        nothing = [math.nan] * series.x.size
        low, high = (nothing if each is None else each.tolist() for each in (series.low, series.high))
        for row in zip(series.x.tolist(), series.y.tolist(), low, high, strict=True):
            writer.writerow([series.label, series.role, *(_cell(value) for value in row)])
    return text.getvalue()


def _cell(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.10g}"

"""Numbers and symbols as text, for pages and for pictures."""

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np

from paper.records import Comparison, Figure, Measured, Series


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


NOTHING = "–"
_GREEK = {"rho": "ρ", "epsilon": "ε", "lambda": "λ", "sigma": "σ", "mu": "μ", "phi": "φ", "pi": "π"}
_LOW = str.maketrans("0123456789+-nikx", "₀₁₂₃₄₅₆₇₈₉₊₋ₙᵢₖₓ")
_HIGH = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_SYMBOL = re.compile(
    rf"(?<![\w-])(?P<name>{'|'.join(_GREEK)}|[a-zA-Z])(?P<star>\*)?"
    r"(?:_(?P<low>\{[-+0-9nikx]+\}|[0-9]+|[nikx]))?(?:\^(?P<high>-?[0-9]+))?(?![\w{(])"
)
_POWER = re.compile(r"(?<=[\w)\]|])\^(-?[0-9]+)")


def typeset(text: str) -> str:
    """Return the text with its symbols as letters; words of programmes (``rho_upper``, ``--epsilon``) stay as they are.

    >>> typeset("K_n settles; rho_{n-1}^2, sigma_x and w*_1 do not, --epsilon 0.1 is epsilon = 0.1 +- 0")
    'Kₙ settles; ρₙ₋₁², σₓ and w*₁ do not, --epsilon 0.1 is ε = 0.1 ± 0'
    """

    def letters(found: re.Match[str]) -> str:
        low, high = (found["low"] or "").strip("{}").translate(_LOW), (found["high"] or "").translate(_HIGH)
        return f"{_GREEK.get(found['name'], found['name'])}{found['star'] or ''}{low}{high}"

    return _POWER.sub(lambda found: found[1].translate(_HIGH), _SYMBOL.sub(letters, text.replace("+-", "±")))


def mathematics(text: str) -> str:
    r"""Return the text as matplotlib sets it, symbols in italics, a dollar as a dollar.

    >>> print(mathematics("estimate of rho^2, K_n in $"))
    estimate of $\rho^{2}$, $K_{n}$ in \$
    """

    def symbol(found: re.Match[str]) -> str:
        name, low, high = found["name"], (found["low"] or "").strip("{}"), (found["star"] or "") + (found["high"] or "")
        if name not in _GREEK and not low and not high and name != "n":
            return found[0]
        written = f"\\{name}" if name in _GREEK else name
        return f"${written}{f'^{{{high}}}' if high else ''}{f'_{{{low}}}' if low else ''}$"

    return _SYMBOL.sub(symbol, text.replace("$", r"\$").replace("+-", "±"))


def number(value: float, digits: int = 4) -> str:
    """Write a number with so many significant digits, without needless zeros.

    >>> [number(value) for value in (0.028154, 14.0, 12345.6, 0.0000123, 1e-7, math.nan, -math.inf)]
    ['0.02815', '14', '12,346', '1.23·10⁻⁵', '10⁻⁷', 'not measured', '−infinite']
    """
    if not math.isfinite(value):
        return "not measured" if math.isnan(value) else f"{'−' if value < 0.0 else ''}infinite"
    if value and not 1e-4 <= abs(value) < 1e7:
        base, power = f"{value:.{digits - 1}e}".split("e")
        base = base.rstrip("0").rstrip(".") if "." in base else base
        return f"{'' if base == '1' else f'{_minus(base)}·'}10{str(int(power)).translate(_HIGH)}"
    places = max(digits - 1 - math.floor(math.log10(abs(value))), 0) if value else 0
    text = f"{value:,.{places}f}"
    return _minus(text.rstrip("0").rstrip(".") if "." in text else text)


def measured(found: Measured | None) -> str:
    """Write a number with its error, both to the same place.

    >>> measured(Measured(value=0.028154, error=0.00123)), measured(Measured(value=1153.2, error=35.4, unit="dollars"))
    ('0.0282 ± 0.0012', '1,153 ± 35 dollars')
    >>> measured(Measured(value=17.0)), measured(None)
    ('17', '–')
    """
    if found is None:
        return NOTHING
    unit = f" {found.unit}" if found.unit else ""
    error = found.error
    small = 0.0 < abs(found.value) < 1e-4 or (error is not None and 0.0 < abs(error) < 1e-6)
    if error is None or not math.isfinite(error) or not math.isfinite(found.value) or error == 0.0 or small:
        plus = f" ± {number(error, 2)}" if error is not None and math.isfinite(error) else ""
        return f"{number(found.value)}{plus}{unit}"
    places = max(1 - math.floor(math.log10(abs(error))), 0)
    return f"{_minus(f'{found.value:,.{places}f}')} ± {error:,.{places}f}{unit}"


def plural(count: int, one: str) -> str:
    """Write a count with its noun.

    >>> plural(1, "run"), plural(20, "run")
    ('1 run', '20 runs')
    """
    return f"{count:,} {one if count == 1 else one + 's'}"


def _minus(text: str) -> str:
    return text.replace("-", "−")


def grouped(comparisons: Sequence[Comparison]) -> list[tuple[str, list[Comparison]]]:
    """Return runs of numbers that share what stands before the first colon of their names, which is then named once.

    Numbers of no group come first; where some come later they would seem to belong to the group above, and none is made.

    >>> rows = [Comparison(what=what, paper=None, as_in_paper=None, practical=None) for what in ("z", "a: x", "a: y")]
    >>> [(head, [each.what for each in group]) for head, group in grouped(rows)]
    [('', ['z']), ('a', ['x', 'y'])]
    >>> [(head, len(group)) for head, group in grouped(rows[::-1])]
    [('', 3)]
    """
    found: list[tuple[str, list[Comparison]]] = []
    for head, run in groupby(comparisons, key=_head):
        group = list(run)
        if head and len(group) > 1:
            found.append((head, [replace(each, what=each.what.partition(": ")[2]) for each in group]))
        elif not found:
            found.append(("", group))
        elif len(found) == 1 and not found[0][0]:
            found[0][1].extend(group)
        else:
            return [("", list(comparisons))]
    return found


def _head(comparison: Comparison) -> str:
    head, colon, _ = comparison.what.partition(": ")
    return head if colon else ""

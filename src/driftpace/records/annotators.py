"""What rows labelled by several people show: sums over the rows of a period, and how much of the noise is the annotators'."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields

from driftpace.formatting import plural

FIRST_SHARE, LATER_SHARE, ENOUGH_ROWS = 0.1, 0.05, 50
"""The share of rows to label twice until enough of them are, and from then on."""

MANY_LABELS = 10
"""More labels a row than this are not told apart."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AnnotatorSums:
    """The labels of one annotator: how many, and the sums of their differences from the others' on the same rows."""

    name: str
    labels: int = 0
    compared: int = 0
    difference: float = 0.0
    squares: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelSums:
    """Sums over the rows of periods, from which :func:`driftpace.adaptive.summarise_labels` computes.

    A row has r labels, f = r - 1 degrees of freedom, the sum of squares s of the slopes of its labels about their mean, and t, the
    mean square of these slopes at the model, its leverage taken out. ``repeated`` rows have more than one label;
    ``disagreement`` is the sum over them of the share of pairs of labels that differ, where labels are classes, and ``positives``
    of ``votes`` labels of these rows are of the second class.
    """

    classes: bool = False
    rows: int = 0
    labels: int = 0
    repeated: int = 0
    freedom: float = 0.0
    freedom_squares: float = 0.0
    within: float = 0.0
    within_squares: float = 0.0
    within_freedom: float = 0.0
    total: float = 0.0
    total_squares: float = 0.0
    within_total: float = 0.0
    freedom_total: float = 0.0
    disagreement: float = 0.0
    positives: float = 0.0
    votes: int = 0
    annotators: tuple[AnnotatorSums, ...] = ()

    def __add__(self, other: "LabelSums") -> "LabelSums":
        """Return the sums over the rows of both."""
        numbers = {
            item.name: getattr(self, item.name) + getattr(other, item.name)
            for item in fields(self)
            if item.name not in ("classes", "annotators")
        }
        each: dict[str, AnnotatorSums] = {}
        for one in (*self.annotators, *other.annotators):
            before = each.get(one.name, AnnotatorSums(name=one.name))
            each[one.name] = AnnotatorSums(
                name=one.name,
                labels=before.labels + one.labels,
                compared=before.compared + one.compared,
                difference=before.difference + one.difference,
                squares=before.squares + one.squares,
            )
        annotators = tuple(each[name] for name in sorted(each))
        return LabelSums(classes=self.classes or other.classes, annotators=annotators, **numbers)

    @classmethod
    def over(cls, periods: "Iterable[LabelSums | None]") -> "LabelSums | None":
        """Return the sums over periods; None where no labels had annotators."""
        found = None
        for one in periods:
            found = one if found is None else found if one is None else found + one
        return found


@dataclass(frozen=True, kw_only=True, slots=True)
class AnnotatorBias:
    """How far the labels of one annotator are from the others' on the same rows.

    Parameters
    ----------
    name : str
        The annotator.
    labels, compared : int
        The labels of the annotator, and how many of them are on rows that others labelled too.
    bias : float, optional
        The mean difference from the mean of the others; for classes, of the share of the second class. None where fewer than
        five labels can be compared.
    interval : tuple of float, optional
        Its interval, at 95 % for all annotators together (Bonferroni).
    """

    name: str
    labels: int
    compared: int
    bias: float | None = None
    interval: tuple[float, float] | None = None

    @property
    def clear(self) -> bool:
        """Whether the interval leaves zero out."""
        return self.interval is not None and not self.interval[0] <= 0.0 <= self.interval[1]


@dataclass(frozen=True, kw_only=True, slots=True)
class AnnotatorReport:
    """How much of the noise of the labels is the annotators', and what to buy next.

    Parameters
    ----------
    rows, labels, repeated : int
        The rows, their labels, and the rows with more than one label.
    share, interval : float and tuple of float, optional
        The share of the noise of a label that is the annotators', and its 95 % interval; None where fewer than five rows have more
        than one label.
    spread : float, optional
        The standard deviation of the labels of one row; None for classes.
    disagreement, kappa : float, optional
        For classes, the share of pairs of labels of one row that differ, and Fleiss' kappa.
    annotators : tuple of AnnotatorBias
        Each annotator, by name.
    labels_per_row : int, optional
        The number of labels a row that needs the least money for the same precision.
    plausible : tuple of int, optional
        The same at both ends of the interval.
    saving : float, optional
        The share of the money that this number saves against one label a row.

    Examples
    --------
    >>> report = AnnotatorReport(
    ...     rows=400, labels=440, repeated=40, share=0.62, interval=(0.48, 0.74), labels_per_row=1, plausible=(1, 1), saving=0.0
    ... )
    >>> report.sentence
    "62 % of the noise is the annotators' (95 %: 48 to 74 %; 40 rows labelled more than once); another row is the better buy"
    """

    rows: int
    labels: int
    repeated: int
    share: float | None = None
    interval: tuple[float, float] | None = None
    spread: float | None = None
    disagreement: float | None = None
    kappa: float | None = None
    annotators: tuple[AnnotatorBias, ...] = ()
    labels_per_row: int | None = None
    plausible: tuple[int, int] | None = None
    saving: float | None = None

    def rows_to_repeat(self, samples: int) -> int:
        """Return how many of so many rows to label more than once: all where that is cheaper, else a few to know the noise."""
        if self.labels_per_row is not None and self.labels_per_row > 1:
            return samples
        return math.ceil((FIRST_SHARE if self.repeated < ENOUGH_ROWS else LATER_SHARE) * samples)

    @property
    def advice(self) -> str:
        """What to buy next, in words, without a full stop."""
        if self.labels_per_row is None or self.plausible is None:
            return "label 5 to 10 % of the rows twice to know"
        least, most = self.plausible
        if self.labels_per_row == 1:
            best = "another row is the better buy"
        else:
            times = "twice" if self.labels_per_row == 2 else f"{self.labels_per_row} times"
            best = f"label every row {times}, {100.0 * (self.saving or 0.0):.0f} % cheaper for the same precision"
        to = f"{least} to {most}" if most <= MANY_LABELS else f"{least} or more"
        return best if least == most else f"{best} (not settled: {to} labels a row)"

    @property
    def sentence(self) -> str:
        """The share and the advice in words, without a full stop."""
        if self.share is None or self.interval is None:
            few = "no row" if not self.repeated else f"only {plural(self.repeated, 'row')}"
            was = "were" if self.repeated > 1 else "was"
            return f"not known: {few} of the closed periods {was} labelled more than once; {self.advice}"
        low, high = (100.0 * end for end in self.interval)
        return (
            f"{100.0 * self.share:.0f} % of the noise is the annotators' (95 %: {low:.0f} to {high:.0f} %; "
            f"{plural(self.repeated, 'row')} labelled more than once); {self.advice}"
        )

    @property
    def agreement(self) -> str:
        """How the labels of one row agree, in words, without a full stop; empty where too few rows tell."""
        if self.share is None:
            return ""
        if self.disagreement is None:
            return f"labels of one row differ by a standard deviation of {self.spread:.3g}"
        kappa = "" if self.kappa is None else f" (Fleiss' kappa {self.kappa:.2f})"
        return f"two labels of one row differ in {100.0 * self.disagreement:.1f} %{kappa}"

    @property
    def warnings(self) -> tuple[str, ...]:
        """The annotators whose labels are clearly different from the others', in sentences."""
        return tuple(_bias_sentence(one, classes=self.disagreement is not None) for one in self.annotators if one.clear)


def _bias_sentence(one: AnnotatorBias, *, classes: bool) -> str:
    """Return a clear bias in words."""
    assert one.bias is not None
    assert one.interval is not None
    unit, scale = (" percentage points", 100.0) if classes else ("", 1.0)
    what = "chooses the second class more often" if classes else "labels higher"
    if one.bias < 0.0:
        what = "chooses the second class less often" if classes else "labels lower"
    low, high = sorted(abs(scale * end) for end in one.interval)
    return (
        f"{one.name} {what} than the others on the same rows, by {abs(scale * one.bias):.3g}{unit} "
        f"(95 %: {low:.3g} to {high:.3g}; {plural(one.compared, 'row')})."
    )

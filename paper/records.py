"""Records of what an experiment finds: figures, comparisons with the paper, constants that it does not state, and claims."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from driftpace.errors import DataError
from driftpace.typing import FloatArray

Role = Literal["paper", "practical", "other", "second", "third", "truth", "target"]
"""What a curve shows: the method as in the paper, the default method, something it is compared with, the truth, the target."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Series:
    """One curve of a figure: ``y`` over ``x``, with an interval where ``low`` and ``high`` are given (NaN leaves a gap).

    ``steps`` draws it as a staircase, ``marks`` as points without a line. Colours follow the ``role``.
    """

    label: str
    role: Role
    x: FloatArray
    y: FloatArray
    low: FloatArray | None = None
    high: FloatArray | None = None
    steps: bool = False
    marks: bool = False

    def __post_init__(self) -> None:
        for name in ("x", "y", "low", "high"):
            values = getattr(self, name)
            if values is None:
                continue
            array = np.array(values, dtype=np.float64)
            if array.ndim != 1 or array.size != np.size(self.x):
                raise DataError(
                    f"must have one number for each of x; got shape {array.shape}.",
                    owner="Series",
                    name=name,
                )
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        if (self.low is None) != (self.high is None):
            raise DataError("must come together with high; got one of them.", owner="Series", name="low")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Figure:
    """A figure: ``key`` names its files, ``paper`` says which figure of the paper it is (None for a new one).

    ``caption`` is one or two plain sentences that say what is to be seen; ``alt`` describes it for readers who cannot see it.
    ``equal`` makes the units of both axes alike (class means on their circle).
    """

    key: str
    title: str
    caption: str
    alt: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    paper: str | None = None
    log_y: bool = False
    equal: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """A number with its standard error over runs (None where there is none), and in words what "+-" means where it differs."""

    value: float
    error: float | None = None
    unit: str = ""
    note: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """One number, side by side: what the paper reports (in its own words), what we get as in the paper, and by default."""

    what: str
    paper: str | None
    as_in_paper: Measured | None
    practical: Measured | None
    note: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenConstant:
    """Something the paper does not state: the value chosen here, and why."""

    name: str
    chosen: str
    why: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Sensitivity:
    """How an outcome depends on what the paper does not state: a table, its first column what was changed."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    reading: str

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise DataError(
                    f"must have {len(self.columns)} cells each; got {len(row)}.",
                    owner="Sensitivity",
                    name="rows",
                )


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    """What the paper says of a figure in words, whether it holds here, and the numbers that decide it."""

    says: str
    holds: bool
    measured: str


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Finding:
    """Everything one experiment found. The same runs and seed give the same finding, so no clock is in it.

    ``question`` is what the experiment asks, in plain words; ``answer`` the result, in one or two sentences.
    """

    name: str
    title: str
    question: str
    answer: str
    runs: int
    seed: int
    figures: tuple[Figure, ...]
    comparisons: tuple[Comparison, ...] = ()
    constants: tuple[OpenConstant, ...] = ()
    sensitivity: tuple[Sensitivity, ...] = ()
    claims: tuple[Claim, ...] = ()
    notes: tuple[str, ...] = ()

"""The result of a comparison of kinds of models: its frontier, its advice in one sentence, its text and its JSON."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from driftpace.formatting import plural

SCHEMA = 1
TITLES = {
    "reference": "trees, every row labelled",
    "frozen": "trees as trained",
    "linear": "linear model",
    "head": "head on trees",
    "trees": "trees fitted again",
}
"""The kinds of models in words."""

BETTER = 0.005
"""A model that costs more labels is worth naming where its loss is lower by this share."""

ALL = 0.95
"""A tracker that bought this share of the rows of a median period ran out of rows."""

_NAMES = {"linear": "a linear model", "head": "a head on the trees", "trees": "trees fitted again"}


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparedModel:
    """One way of keeping a model: the labels of a mean period, and the mean loss on test rows.

    ``error`` is its standard error over runs, None for one. ``epsilon`` is the target, ``excess`` the mean loss above the best
    linear model of each period for a linear model, and above the reference for a head; None where nothing is promised.
    ``retrained`` is how often the trees below a head were trained again.
    """

    kind: str
    detail: str
    labels: float
    loss: float
    error: float | None = None
    epsilon: float | None = None
    excess: float | None = None
    retrained: float | None = None

    @property
    def promise(self) -> str:
        """What was promised and what was measured, as text; empty where nothing was promised.

        >>> ComparedModel(kind="head", detail="", labels=60.0, loss=0.3, epsilon=0.02, excess=0.031).promise
        'missed: excess loss 0.031, target 0.02'
        """
        if self.epsilon is None or self.excess is None:
            return ""
        kept = "kept" if self.excess <= self.epsilon else "missed"
        return f"{kept}: excess loss {max(self.excess, 0.0):.2g}, target {self.epsilon:g}"


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelComparison:
    """What :func:`~driftpace.compare_models` found.

    ``models`` are all that were tried, the reference (every row of every period labelled) first. The trees were trained on the
    ``first`` periods; ``periods`` are those that followed, with ``rows`` rows to buy in a median one.
    """

    table: str
    target: str
    loss: str
    learner: str
    first: int
    periods: tuple[str, ...]
    rows: int
    runs: int
    seed: int
    models: tuple[ComparedModel, ...]
    notes: tuple[str, ...]
    seconds: float

    @property
    def reference(self) -> ComparedModel:
        """The trees with every row of every period labelled."""
        return self.models[0]

    @property
    def frontier(self) -> tuple[ComparedModel, ...]:
        """The models that no other beats with as few labels, the cheapest first; each is better than the one before by 0.5 %."""
        kept: list[ComparedModel] = []
        for each in sorted(self.models[1:], key=lambda one: (one.labels, one.loss)):
            if not kept or each.loss < kept[-1].loss - BETTER * abs(kept[-1].loss):
                kept.append(each)
        return tuple(kept)

    @property
    def advice(self) -> str:
        """The frontier in one sentence: the best model of each kind on it, and what the next kind would need."""
        best: list[ComparedModel] = []
        for each in self.frontier:
            if best and best[-1].kind == each.kind:
                best[-1] = each
            else:
                best.append(each)
        free = [each for each in best if each.kind == "frozen"]
        paid = [each for each in best if each.kind != "frozen"]
        parts = [f"without labels the trees as trained have a loss of {_loss(each.loss)}" for each in free]
        if paid:
            first = f"{_NAMES[paid[0].kind]} reaches {_loss(paid[0].loss)} with {paid[0].labels:,.0f} labels a period"
            first = first.replace("again reaches", "again reach")
            others = [f"{_NAMES[each.kind]} {_loss(each.loss)} with {each.labels:,.0f}" for each in paid[1:]]
            parts.append(", ".join([first, *others]))
        trees = [each for each in self.models if each.kind == "trees"]
        if trees and best[-1].kind != "trees":
            least = min(trees, key=lambda one: one.loss)
            parts.append(
                f"trees fitted again do no better: {_loss(least.loss)} with {least.labels:,.0f} labels a period"
            )
        text = "; ".join(parts)
        return f"{text[:1].upper()}{text[1:]}."

    def every_row_bought(self, model: ComparedModel) -> bool:
        """Whether a tracker asked for (nearly) all rows that there were, so that its target was out of reach."""
        return model.epsilon is not None and model.labels >= ALL * self.rows

    def to_values(self) -> dict[str, Any]:
        """Return everything as JSON values, the frontier and the advice included."""
        values = asdict(self)
        values |= {"models": [asdict(each) | {"promise": each.promise} for each in self.models]}
        places = {id(each): place for place, each in enumerate(self.models)}
        return {
            "schema": SCHEMA,
            "kind": "driftpace.compare",
            **values,
            "frontier": [places[id(each)] for each in self.frontier],
            "advice": self.advice,
        }

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Self:
        """Return the comparison of :meth:`to_values`."""
        names = [field.name for field in fields(ComparedModel)]
        models = tuple(ComparedModel(**{name: each[name] for name in names}) for each in values["models"])
        held = {field.name: values[field.name] for field in fields(cls)}
        return cls(**{**held, "models": models, "periods": tuple(held["periods"]), "notes": tuple(held["notes"])})

    def to_json(self) -> str:
        """Return everything as JSON text."""
        return json.dumps(self.to_values(), allow_nan=False, ensure_ascii=False, separators=(",", ":"))

    def table_rows(self) -> list[tuple[str, ...]]:
        """Return the models as text, the columns those of :data:`HEADS`."""
        kept = {id(each) for each in self.frontier}
        return [
            (
                TITLES[each.kind],
                each.detail + (", every row bought" if self.every_row_bought(each) else ""),
                f"{each.labels:,.0f}",
                _loss(each.loss) + ("" if each.error is None else f" ± {each.error:.2g}"),
                each.promise,
                "" if each.retrained is None else f"{each.retrained:.3g}",
                "best so far" if id(each) in kept else "",
            )
            for each in self.models
        ]

    def lines(self) -> list[tuple[str, str]]:
        """Return the answer as labelled lines."""
        return [
            ("Advice", self.advice),
            (
                "Table",
                f"{self.table}: {plural(len(self.periods), 'period')} after the {self.first} that trained {self.learner}",
            ),
            ("Loss", f"{self.loss}; with every row labelled {_loss(self.reference.loss)}"),
        ]


HEADS = ("model", "setting", "labels a period", "loss", "promise", "retrained", "frontier")
"""The columns of :meth:`ModelComparison.table_rows`."""


def _loss(value: float) -> str:
    """Return a loss with three significant digits.

    >>> _loss(0.33612), _loss(12.0)
    ('0.336', '12')
    """
    return f"{value:.3g}" if math.isfinite(value) else "–"


def points(models: Sequence[ComparedModel], kind: str) -> list[ComparedModel]:
    """Return the models of a kind, the cheapest first."""
    return sorted((each for each in models if each.kind == kind), key=lambda one: one.labels)

"""Spline terms and products of encoded columns, learned once and made in the same way in every period.

The expanded columns come after all others: ``age~1``, ``age~2``, ... are the directions in which a spline of ``age`` differs from a
line, and ``age*income`` is a product. Each column's spline terms are a band, and all products together are one
(:func:`band_sizes`): a band has a variance of its own, so that it costs labels only where it explains something.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal, Self

import numpy as np

from driftpace.errors import DataError, ParameterError
from driftpace.typing import FloatArray

SplineKind = Literal["natural", "b-spline"]
SPLINE_KINDS: tuple[SplineKind, ...] = ("natural", "b-spline")

KNOTS = 5
"""Knots of a spline, at quantiles: three terms of a natural one."""

OUTER = 0.02
"""The outer knots are at this quantile from either end. Beyond them terms are what they are at the knot: rows far out then have no
leverage on a curve that few rows show."""

MOST_SPLINES = 50
"""The most columns with splines."""

MOST_CROSSED = 12
"""The most numeric columns of which all pairs are multiplied."""

MOST_PRODUCTS = 200
"""The most products."""

MOST_BANDS = 12
"""With more columns than this, all spline terms are one band."""

FEW_VALUES = 6
"""A column with fewer distinct values gets no spline, unless it is named: then it has to have as many as there are knots."""

_ORDER = 3
_SMALL = 1e-4


@dataclass(frozen=True, kw_only=True, slots=True)
class ExpansionRequest:
    """What is expanded: ``splines`` by column, or all numeric columns; ``interactions`` of pairs, or of all numeric columns."""

    splines: tuple[tuple[str, SplineKind], ...] = ()
    all_splines: bool = False
    interactions: tuple[tuple[str, str], ...] = ()
    all_interactions: bool = False

    @classmethod
    def of(cls, owner: str, splines: Any, interactions: Any) -> Self | None:
        """Return the request of settings that a user gave, None for none.

        >>> ExpansionRequest.of("Tracker", ["age"], None).splines
        (('age', 'natural'),)
        """
        every, named = _named(owner, splines)
        crossed, pairs = _pairs(owner, interactions)
        if not (every or named or crossed or pairs):
            return None
        return cls(splines=named, all_splines=every, interactions=pairs, all_interactions=crossed)

    def to_values(self) -> dict[str, Any]:
        """Return plain values, the settings ``splines`` and ``interactions``."""
        return {
            "splines": True if self.all_splines else dict(self.splines) or None,
            "interactions": True if self.all_interactions else [list(pair) for pair in self.interactions] or None,
        }


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SplineTerms:
    """The terms of a column: ``turn`` makes orthogonal terms of variance one of 1, the column, and a basis of its spline."""

    name: str
    kind: SplineKind
    knots: FloatArray
    turn: FloatArray

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the terms."""
        return tuple(f"{self.name}~{place + 1}" for place in range(self.turn.shape[1]))

    def transform(self, values: FloatArray) -> FloatArray:
        """Return the terms of values, (rows, terms)."""
        return _basis(values, self.kind, self.knots) @ self.turn


@dataclass(frozen=True, kw_only=True, slots=True)
class Product:
    """The product of two columns, each counted from its mean and in its standard deviations."""

    names: tuple[str, str]
    means: tuple[float, float]
    scales: tuple[float, float]

    @property
    def name(self) -> str:
        """The name of the product."""
        return "*".join(self.names)


@dataclass(frozen=True, kw_only=True, slots=True)
class Expansion:
    """The expanded columns of an encoding.

    Examples
    --------
    >>> X = np.random.default_rng(0).uniform(size=(200, 2))
    >>> request = ExpansionRequest.of("doc", ["a"], [("a", "b")])
    >>> found = learn_expansion(request, X, ("a", "b"), numeric=("a", "b"), owner="doc")
    >>> found.names, found.expand(X, ("a", "b")).shape
    (('a~1', 'a~2', 'a~3', 'a*b'), (200, 6))
    """

    splines: tuple[SplineTerms, ...] = ()
    products: tuple[Product, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the expanded columns."""
        terms = tuple(name for spline in self.splines for name in spline.names)
        return terms + tuple(product.name for product in self.products)

    def expand(self, X: FloatArray, names: Sequence[str]) -> FloatArray:
        """Return the columns of X and, after them, the expanded ones; ``names`` are those of X."""
        place = {name: index for index, name in enumerate(names)}
        parts = [X, *(spline.transform(X[:, place[spline.name]]) for spline in self.splines)]
        for product in self.products:
            first, second = (
                (X[:, place[name]] - mean) / scale
                for name, mean, scale in zip(product.names, product.means, product.scales, strict=True)
            )
            parts.append((first * second)[:, None])
        return np.ascontiguousarray(np.column_stack(parts))

    def to_values(self) -> dict[str, Any]:
        """Return plain values that :meth:`of` reads, such as JSON holds."""
        return {
            "splines": [
                {"name": one.name, "kind": one.kind, "knots": one.knots.tolist(), "turn": one.turn.tolist()}
                for one in self.splines
            ],
            "products": [
                {"names": list(one.names), "means": list(one.means), "scales": list(one.scales)}
                for one in self.products
            ],
        }

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "Expansion":
        """Return the expansion of plain values."""
        return cls(
            splines=tuple(
                SplineTerms(
                    name=one["name"], kind=one["kind"], knots=np.array(one["knots"]), turn=np.array(one["turn"])
                )
                for one in values["splines"]
            ),
            products=tuple(
                Product(names=tuple(one["names"]), means=tuple(one["means"]), scales=tuple(one["scales"]))
                for one in values["products"]
            ),
        )


def learn_expansion(
    request: ExpansionRequest, X: FloatArray, names: Sequence[str], *, numeric: Sequence[str], owner: str
) -> Expansion:
    """Return the expansion that rows show: the knots of splines, and the means and scales of products.

    Parameters
    ----------
    request : ExpansionRequest
        What is expanded.
    X : ndarray of shape (rows, columns)
        Encoded rows without missing cells.
    names : sequence of str
        The names of the columns of X.
    numeric : sequence of str
        Those of numbers, as against categories and marks of missing cells.
    owner : str
        What error messages name.

    Returns
    -------
    Expansion

    Raises
    ------
    ParameterError, DataError
    """
    taken = [name for name in names if _term_of(name) is not None or "*" in name]
    if taken:
        raise DataError(f"must not have columns named like expanded ones; got {taken[0]!r}.", owner=owner, name="X")
    splines = []
    wanted = [(name, "natural") for name in numeric] if request.all_splines else list(request.splines)
    for name, kind in wanted:
        if name not in numeric:
            known = ", ".join(numeric[:10]) or "none"
            raise ParameterError(
                f"must name numeric columns; got {name!r}, there are {known}.", owner=owner, name="splines"
            )
        values = X[:, list(names).index(name)]
        distinct = len(np.unique(values))
        if request.all_splines and distinct < FEW_VALUES:
            continue
        if distinct < KNOTS:
            raise DataError(
                f"must have at least {KNOTS} different values in column {name!r}, which has a spline; got {distinct}.",
                owner=owner,
                name="X",
            )
        made = _spline(name, kind, values)
        if made is not None:
            splines.append(made)
    if len(splines) > MOST_SPLINES:
        raise ParameterError(
            f"must be at most {MOST_SPLINES} columns; got {len(splines)}: name some.", owner=owner, name="splines"
        )
    pairs = request.interactions
    if request.all_interactions:
        several = [name for name in numeric if len(np.unique(X[:, list(names).index(name)])) > 1]
        if len(several) > MOST_CROSSED:
            raise ParameterError(
                f"must be pairs of names, since True takes at most {MOST_CROSSED} numeric columns; got {len(several)}.",
                owner=owner,
                name="interactions",
            )
        pairs = tuple(combinations(several, 2))
    products = [
        _product((one, other), X, names)
        for first, second in pairs
        for one in _encoded(first, names, owner)
        for other in _encoded(second, names, owner)
    ]
    if len(products) > MOST_PRODUCTS:
        raise ParameterError(
            f"must be at most {MOST_PRODUCTS} products; got {len(products)}.", owner=owner, name="interactions"
        )
    return Expansion(splines=tuple(splines), products=tuple(products))


def band_sizes(names: Sequence[str] | None) -> tuple[int, ...]:
    """Return the number of columns of each band of expanded columns, which are the last of ``names``.

    >>> band_sizes(["a", "b", "a~1", "a~2", "b~1", "a*b"])
    (2, 1, 1)
    """
    names = names or ()
    products = sum("*" in name for name in names)
    sizes: list[int] = []
    before = None
    for column in (_term_of(name) for name in names):
        if column is not None and column == before:
            sizes[-1] += 1
        elif column is not None:
            sizes.append(1)
        before = column
    if len(sizes) > MOST_BANDS:
        sizes = [sum(sizes)]
    return (*sizes, products) if products else tuple(sizes)


def _term_of(name: str) -> str | None:
    """Return the column that a spline term is of."""
    column, mark, number = name.rpartition("~")
    return column if mark and number.isdigit() else None


def _encoded(name: str, names: Sequence[str], owner: str) -> list[str]:
    """Return the encoded columns of a name: itself, or a column for each category."""
    found = [name] if name in names else [one for one in names if one.startswith(f"{name}=")]
    if not found:
        known = ", ".join(names[:10])
        raise ParameterError(f"must name columns; got {name!r}, there are {known}.", owner=owner, name="interactions")
    return found


def _product(pair: tuple[str, str], X: FloatArray, names: Sequence[str]) -> Product:
    places = [list(names).index(name) for name in pair]
    means = X[:, places].mean(axis=0)
    scales = X[:, places].std(axis=0)
    scales = np.where(scales > 0.0, scales, 1.0)
    return Product(names=pair, means=(float(means[0]), float(means[1])), scales=(float(scales[0]), float(scales[1])))


def _spline(name: str, kind: SplineKind | str, values: FloatArray) -> SplineTerms | None:
    """Return the terms of a column: what its spline has beyond a line, orthogonal and of variance one in these rows."""
    places = np.linspace(OUTER, 1.0 - OUTER, KNOTS)
    knots = np.unique(np.quantile(values, places))
    if len(knots) < KNOTS:  # values that many rows share: knots among the different ones
        knots = np.unique(np.quantile(np.unique(values), places))
    basis = _basis(values, kind, knots)
    line, rest = basis[:, :2], basis[:, 2:]
    along = np.linalg.lstsq(line, rest, rcond=None)[0]
    _, lengths, turn = np.linalg.svd((rest - line @ along) / np.sqrt(len(values)), full_matrices=False)
    kept = lengths > _SMALL * max(float(lengths.max(initial=0.0)), 1e-300)
    if not kept.any():
        return None
    made = np.vstack([-along, np.eye(rest.shape[1])]) @ (turn[kept].T / lengths[kept])
    return SplineTerms(name=name, kind="natural" if kind == "natural" else "b-spline", knots=knots, turn=made)


def _basis(values: FloatArray, kind: str, knots: FloatArray) -> FloatArray:
    """Return 1, the column between the outer knots, and the basis of its spline, in units of their distance."""
    width = knots[-1] - knots[0]
    at, places = np.clip((values - knots[0]) / width, 0.0, 1.0), (knots - knots[0]) / width
    if kind == "natural":
        cubes = np.maximum(at[:, None] - places[:-1], 0.0) ** _ORDER / (1.0 - places[:-1])
        return np.column_stack([np.ones(len(at)), at, cubes[:, :-1] - cubes[:, -1:]])
    if not len(at):  # which SciPy does not take
        return np.zeros((0, len(knots) + _ORDER + 1))
    from scipy.interpolate import BSpline  # slow to import, and not always needed

    ends = np.concatenate([np.zeros(_ORDER), places, np.ones(_ORDER)])
    inside = BSpline.design_matrix(at, ends, _ORDER).toarray()
    return np.column_stack([np.ones(len(at)), at, inside])


def _named(owner: str, splines: Any) -> tuple[bool, tuple[tuple[str, SplineKind], ...]]:
    """Return whether all numeric columns have splines, and which ones, of which kind."""
    if splines is None or isinstance(splines, bool):
        return bool(splines), ()
    given = {splines: "natural"} if isinstance(splines, str) else splines
    if not isinstance(given, Mapping):
        if not isinstance(given, Sequence) or not all(isinstance(name, str) for name in given):
            raise _refused(owner, splines)
        if len(set(given)) < len(given):
            raise _refused(owner, splines)
        given = dict.fromkeys(given, "natural")
    if not all(isinstance(name, str) and kind in SPLINE_KINDS for name, kind in given.items()):
        raise _refused(owner, splines)
    return False, tuple(given.items())


def _refused(owner: str, splines: Any) -> ParameterError:
    return ParameterError(
        "must be True, different names of columns, or a mapping of names to 'natural' or 'b-spline'; "
        f"got {splines!r:.80}.",
        owner=owner,
        name="splines",
    )


def _pairs(owner: str, interactions: Any) -> tuple[bool, tuple[tuple[str, str], ...]]:
    """Return whether all numeric columns are multiplied, and which pairs of columns."""
    if interactions is None or isinstance(interactions, bool):
        return bool(interactions), ()
    good = isinstance(interactions, Sequence) and not isinstance(interactions, str)
    pairs = [tuple(pair) if isinstance(pair, list | tuple) else () for pair in interactions] if good else [()]
    valid = all(
        len(pair) == 2 and all(isinstance(name, str) for name in pair) and len(set(pair)) == 2 for pair in pairs
    )
    if not valid or len({frozenset(pair) for pair in pairs}) < len(pairs) or len(pairs) > MOST_PRODUCTS:
        raise ParameterError(
            f"must be True or at most {MOST_PRODUCTS} pairs of different columns, such as [('age', 'income')]; "
            f"got {interactions!r:.80}.",
            owner=owner,
            name="interactions",
        )
    return False, tuple((str(first), str(second)) for first, second in pairs)

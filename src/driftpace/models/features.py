"""What the head sees of a row: the scores of the base, the columns, and the leading components of leaves or of a hidden layer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from driftpace import validation
from driftpace.errors import DataError
from driftpace.losses.softmax import helmert
from driftpace.models.adapter import ModelAdapter
from driftpace.models.rows import count_rows, is_matrix
from driftpace.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from driftpace.tables.encoding import Encoding

MOST_COLUMNS = 40
"""With more encoded columns than this the head sees none of them, unless it is told to."""

ROWS_PER_COMPONENT = 5
"""Rows that show each component, at least."""

MOST = 1e75
"""Cells of this size or more are refused: their squares overflow."""

_LEAST_SCALE = 1e-9


@dataclass(frozen=True, kw_only=True, slots=True)
class Head:
    """What a tracker of a model fits on top of it.

    Parameters
    ----------
    columns : bool, optional
        Whether the head sees the columns besides the scores; by default where there are at most forty of them.
    components : int, default 12
        How many leading components of the leaves of trees, or of the last hidden layer, it sees.
    share : float, default 0.7
        The share of the target that is spent on estimating the head; the rest is for what no head can reach.
    window : int, default 8
        The number of periods whose rows say whether the base should be trained again.

    Examples
    --------
    >>> Head(components=0).share
    0.7
    """

    columns: bool | None = None
    components: int = 12
    share: float = 0.7
    window: int = 8

    def __post_init__(self) -> None:
        if self.columns is not None:
            validation.switch("Head", columns=self.columns)
        validation.count("Head", least=0, at_most=200, components=self.components)
        validation.fraction("Head", share=self.share)
        validation.count("Head", least=1, at_most=1000, window=self.window)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class HeadFeatures:
    """The features of a head, learned once from rows without labels, and then fixed.

    ``encoding`` says how columns become numbers, as JSON values (None where the head sees none); columns are counted from
    ``center`` in units of ``scale``, and those ``kept`` vary. Components are ``basis`` times what trees or layers say, less
    ``mean``; ``leaf_starts`` are the places of the leaves of each tree.
    """

    outputs: int
    encoding: dict[str, Any] | None
    kept: IntArray
    center: FloatArray
    scale: FloatArray
    leaf_starts: IntArray | None
    mean: FloatArray
    basis: FloatArray

    @classmethod
    def learn(cls, head: Head, base: ModelAdapter, X: Any, scores: FloatArray, owner: str) -> Self:
        """Return the features that unlabelled rows show."""
        encoding, columns = None, np.empty((count_rows(X), 0))
        wide = is_matrix(X) and X.shape[1] > MOST_COLUMNS
        if head.columns or (head.columns is None and not wide):
            encoding = _learn(X, owner)
            columns = _encoded(encoding, X, owner)
            if head.columns is None and columns.shape[1] > MOST_COLUMNS:
                encoding, columns = None, columns[:, :0]
        center, scale = columns.mean(axis=0), columns.std(axis=0)
        kept = np.flatnonzero(scale > _LEAST_SCALE * (1.0 + np.abs(center)))
        count = min(head.components, count_rows(X) // ROWS_PER_COMPONENT)
        leaf_starts, mean, basis = _components(base, X, count)
        return cls(
            outputs=scores.shape[1],
            encoding=None if encoding is None or not len(kept) else encoding.to_values(),
            kept=kept,
            center=center[kept],
            scale=scale[kept],
            leaf_starts=leaf_starts,
            mean=mean,
            basis=basis,
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the features."""
        scores = ("score",) if self.outputs == 1 else tuple(f"score {place}" for place in range(1, self.outputs))
        components = tuple(f"component {place + 1}" for place in range(self.basis.shape[1]))
        if self.encoding is None:
            return (*scores, *components)
        names = _encoding(self.encoding).names
        return (*scores, *(f"column {names[place]}" for place in self.kept), *components)

    @property
    def bands(self) -> tuple[int, ...]:
        """The numbers of last features that drift in their own way: the components, which seldom move as scores and columns do."""
        return tuple(count for count in (self.basis.shape[1],) if count)

    @property
    def start(self) -> FloatArray:
        """The head before the first rows: the base as it is, the intercept last."""
        scores = max(self.outputs - 1, 1)
        coef = np.zeros((len(self.names) + 1, scores))
        coef[:scores] = np.eye(scores)
        return coef.ravel()

    def of(self, base: ModelAdapter, X: Any, scores: FloatArray, owner: str = "Tracker.predict") -> FloatArray:
        """Return the features of rows whose scores are known."""
        parts = [scores if self.outputs == 1 else scores @ helmert(self.outputs)]
        if self.encoding is not None:
            columns = _encoded(_encoding(self.encoding), X, owner)[:, self.kept]
            parts.append((columns - self.center) / self.scale)
        if self.basis.shape[1]:
            if len(scores):
                parts.append(_said(base, X, self.leaf_starts) @ self.basis - self.mean @ self.basis)
            else:  # which not every library takes
                parts.append(np.zeros((0, self.basis.shape[1])))
        return np.column_stack(parts)

    def smooth(self, base: ModelAdapter, X: Any) -> FloatArray:
        """Return what a smooth correction sees of rows: the columns, or scores and components where the head sees no columns."""
        return self.smooth_of(self.of(base, X, base.checked_scores(X, count_rows(X), "Tracker.tell")))

    def smooth_of(self, phi: FloatArray) -> FloatArray:
        """Return the same of rows whose features are known."""
        outputs = max(self.outputs - 1, 1)
        return phi if self.encoding is None else phi[:, outputs : outputs + len(self.kept)]


def _encoding(values: dict[str, Any]) -> "Encoding":
    from driftpace.tables.encoding import Encoding

    return Encoding.of(values)


def _learn(X: Any, owner: str) -> "Encoding":
    from driftpace.tables.columns import from_frame
    from driftpace.tables.encoding import Encoding as MadeEncoding
    from driftpace.tables.encoding import NumberColumn
    from driftpace.tables.learn import learn_encoding

    if not is_matrix(X):
        columns = from_frame(X, owner)
        return learn_encoding(columns, list(columns), missing="impute", owner=owner).encoding
    array = _dense(X)
    gone = np.isnan(array)
    fills = np.where(gone, 0.0, array).sum(axis=0) / np.maximum((~gone).sum(axis=0), 1)
    return MadeEncoding(
        columns=tuple(NumberColumn(name=str(place), fill=float(fill)) for place, fill in enumerate(fills)),
        missing="impute",
    )


def _encoded(encoding: "Encoding", X: Any, owner: str) -> FloatArray:
    from driftpace.tables.columns import from_frame

    if not is_matrix(X):
        found = encoding.encode(from_frame(X, owner, as_text=encoding.text_columns), owner=owner).X
        return _of_size(found, encoding.names, owner)
    array = _of_size(_dense(X), encoding.names, owner)
    if array.shape[1] != len(encoding.columns) or not all(hasattr(column, "fill") for column in encoding.columns):
        raise DataError(
            f"must be a frame, as the first rows were, with the columns {', '.join(encoding.names[:10])}; got an array.",
            owner=owner,
            name="X",
        )
    fills = np.array([column.fill for column in encoding.columns])  # type: ignore[union-attr]
    return np.where(np.isnan(array), fills, array)


def _of_size(array: FloatArray, names: Sequence[str], owner: str) -> FloatArray:
    """Return columns, or refuse cells that are endless or too large to be squared; missing ones pass."""
    large = np.abs(array) >= MOST
    if large.any():
        row, place = (int(at) for at in np.argwhere(large)[0])
        raise DataError(
            f"must be below {MOST:g} in size, or missing; column {names[place]!r} has {array[row, place]:g} in row {row}.",
            owner=owner,
            name="X",
        )
    return array


def _dense(X: Any) -> FloatArray:
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)


def _components(base: ModelAdapter, X: Any, count: int) -> tuple[IntArray | None, FloatArray, FloatArray]:
    """Return where trees begin, the means of what trees or layers say of rows, and its leading directions, in unit variance."""
    none = np.zeros(0), np.zeros((0, 0))
    if count == 0:
        return (None, *none)
    leaves = base.leaves(X)
    hidden = base.hidden(X) if leaves is None else None
    if leaves is None and hidden is None:
        return (None, *none)
    starts = None if leaves is None else np.concatenate([[0], np.cumsum(leaves.max(axis=0) + 1)]).astype(np.int64)
    said = _hot(leaves, starts) if leaves is not None and starts is not None else hidden
    assert said is not None
    mean = np.asarray(said.mean(axis=0), dtype=np.float64).ravel()
    count = min(count, min(said.shape) - 1)
    if count < 1:
        return (None, *none)
    directions, lengths = _leading(said, mean, count)
    strong = lengths > 1e-6 * max(float(lengths[0]), 1e-300)
    scaled = directions[:, strong] / (lengths[strong] / np.sqrt(said.shape[0]))
    return starts, mean, np.ascontiguousarray(scaled)  # rows in memory, as a saved state has them


def _leading(said: Any, mean: FloatArray, count: int) -> tuple[FloatArray, FloatArray]:
    """Return the leading right singular vectors of centred rows, and the singular values, largest first."""
    from scipy.sparse.linalg import LinearOperator, svds

    operator = LinearOperator(
        said.shape,
        matvec=lambda v: said @ v.ravel() - mean @ v.ravel(),
        rmatvec=lambda v: said.T @ v.ravel() - mean * v.sum(),
        matmat=lambda V: said @ V - mean @ V,
        rmatmat=lambda V: said.T @ V - np.outer(mean, V.sum(axis=0)),
        dtype=np.float64,
    )
    _, lengths, rows = svds(operator, k=count, rng=np.random.default_rng(0))
    order = np.argsort(-lengths)
    vectors = rows[order].T
    signs = np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(count)])
    return np.asarray(vectors * signs), np.asarray(lengths[order])


def _hot(leaves: IntArray, starts: IntArray) -> Any:
    """Return leaves as a sparse matrix of 0 and 1; leaves that the first rows did not reach are left out."""
    from scipy import sparse

    rows, trees = leaves.shape
    known = leaves < np.diff(starts)
    places = np.where(known, leaves + starts[:-1], 0)
    data = known.astype(np.float64).ravel()
    return sparse.csr_matrix(
        (data, places.ravel(), np.arange(0, rows * trees + 1, trees)), shape=(rows, int(starts[-1]))
    )


def _said(base: ModelAdapter, X: Any, starts: IntArray | None) -> Any:
    if starts is None:
        return base.hidden(X)
    leaves = base.leaves(X)
    assert leaves is not None
    return _hot(leaves, starts)

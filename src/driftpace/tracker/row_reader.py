"""How a tracker reads rows: what frames, texts, missing cells and labels of classes have shown so far."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import compress
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from driftpace.errors import DataError, ParameterError
from driftpace.losses import MultiSquaredLoss, SoftmaxLoss
from driftpace.tracker.builder import (
    WIDE_COLUMNS,
    as_wide,
    can_be_wide,
    check_annotators,
    check_exposure,
    check_weights,
    is_wide,
    uses_groups,
)
from driftpace.tracker.encoding import encode_rows
from driftpace.tracker.inputs import (
    InputRows,
    as_rates,
    column_count,
    is_frame,
    read_classes,
    read_exposure,
    read_groups,
    read_labels,
    read_rows,
    read_targets,
    read_weights,
    read_wide_rows,
)
from driftpace.tracker.method import Method, TellEvent
from driftpace.typing import BoolArray

if TYPE_CHECKING:
    from driftpace.tables.encoding import Encoding, MissingPolicy
    from driftpace.tables.expansion import ExpansionRequest
    from driftpace.tracker.wide_frame import FrameLayout


class EncodedRows(NamedTuple):
    """Rows without missing cells and texts, which of the rows given they are (None for all), and the encoding."""

    rows: Any
    keep: BoolArray | None
    encoding: "Encoding | None"


class Delivery(NamedTuple):
    """Rows as a method takes them, with the reader, the method and the state that they lead to."""

    event: TellEvent
    reader: "RowReader"
    method: Method
    state: Any


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class RowReader:
    """How rows are read; a call that fails changes nothing, since what rows show is in a new reader.

    ``missing``, ``text`` and ``expand`` are settings of the user, and with ``may_widen`` many columns choose the wide method.
    ``encoding``, ``layout`` and ``labels`` of classes are learned from rows, the encoding perhaps ``from_pool``. ``exposures`` are
    the rows with an exposure in closed periods and its sum, and ``open_exposures`` those of the open one.
    """

    missing: "MissingPolicy" = "impute"
    text: tuple[str, ...] = ()
    expand: "ExpansionRequest | None" = None
    may_widen: bool = False
    encoding: "Encoding | None" = None
    from_pool: bool = False
    layout: "FrameLayout | None" = None
    labels: tuple[str | int, ...] = ()
    exposures: tuple[float, float] = (0.0, 0.0)
    open_exposures: tuple[float, float] = (0.0, 0.0)

    @property
    def mean_exposure(self) -> float:
        """The mean exposure of the rows of closed periods; 1 where none had any."""
        rows, total = self.exposures
        return total / rows if rows else 1.0

    def after_close(self) -> Self:
        """Return the reader after the period is closed."""
        rows, total = self.exposures
        more = self.open_exposures
        return replace(self, exposures=(rows + more[0], total + more[1]), open_exposures=(0.0, 0.0))

    def deliver(self, method: Method, state: Any, X: Any, y: Any, more: Mapping[str, Any], owner: str) -> Delivery:
        """Return labelled rows as the method takes them; ``more`` has the optional arguments of :meth:`Tracker.tell`."""
        laid_out, X = self.with_layout(X, owner)
        plain = all(value is None for value in more.values())
        original, start = method, state
        if plain:
            method, state = self.widened(original, start, X)
        given, keep, encoding = X, None, self.encoding
        if not (is_wide(method) and not is_frame(X, owner)):
            given, keep, encoding = self.encoded(start, X, owner, drop=True)
            method, state = self.widened(original, start, given) if plain else (original, start)
        read = read_wide_rows if is_wide(method) else read_rows
        rows = read(given, owner=owner, features=state.features, columns=state.columns)
        count, labels = rows.X.shape[0] if keep is None else keep.size, self.labels
        if learns_classes(original):
            targets, labels = read_classes(y, labels, owner=owner, rows=count)
        else:
            several = isinstance(method.spec.loss, MultiSquaredLoss)
            targets = read_targets(y, owner=owner, rows=count, several=several)
        codes, weights = _read_groups(method, more["groups"], len(targets)), None
        exposed = self.open_exposures
        if more["sample_weight"] is not None:
            check_weights(method, owner)
            weights = read_weights(more["sample_weight"], owner=owner, rows=len(targets))
        if more["exposure"] is not None:
            check_exposure(original, owner)
            with named_errors(owner):
                original.spec.loss.encode(targets)  # a rate would be refused with another number
            exposure = read_exposure(more["exposure"], owner=owner, rows=len(targets))
            targets, weights = as_rates(targets, weights, exposure)
            exposed = self.open_exposures[0] + len(exposure), self.open_exposures[1] + float(exposure.sum())
        if more["annotators"] is not None:
            check_annotators(method, owner)
        ids, annotators = read_labels(more["ids"], more["annotators"], owner=owner, rows=len(targets))
        if keep is not None:
            targets, codes = targets[keep], None if codes is None else codes[keep]
            weights = None if weights is None else weights[keep]
            ids, annotators = (None if all_ is None else tuple(compress(all_, keep)) for all_ in (ids, annotators))
        event = TellEvent(
            X=rows.X, y=targets, columns=rows.columns, groups=codes, weights=weights, ids=ids, annotators=annotators
        )
        known = replace(laid_out, encoding=encoding, labels=labels, open_exposures=exposed)
        return Delivery(event, known, method, state)

    def rows(self, method: Method, state: Any, X: Any, owner: str) -> Any:
        """Return unlabelled rows as the method takes them."""
        return self.read(method, state, X if self.layout is None else self.layout.matrix(X, owner), owner).X

    def read(self, method: Method, state: Any, X: Any, owner: str) -> Any:
        """Return unlabelled rows in their layout as the method takes them, and the names of their columns."""
        wide = is_wide(method)
        given = X if wide and not is_frame(X, owner) else self.encoded(state, X, owner, drop=False).rows
        read = read_wide_rows if wide else read_rows
        return read(given, owner=owner, features=state.features, columns=state.columns)

    def shows_nothing(self, state: Any, X: Any) -> bool:
        """Return whether the first frame, or the first rows of columns to expand, has no rows that could show how it is read."""
        if self.encoding is not None or self.layout is not None or state.rows_seen or state.gathered:
            return False
        shape = getattr(X, "shape", None)
        if not shape or shape[0] or isinstance(X, InputRows):
            return False
        return self.expand is not None or is_frame(X, "Tracker.tell")

    def with_layout(self, X: Any, owner: str) -> tuple[Self, Any]:
        """Return the reader with the layout of frames with texts or lists, which the first one shows, and rows as a matrix."""
        if self.layout is None and not self.text and (_is_array(X) or not is_frame(X, owner)):
            return self, X
        from driftpace.tracker.wide_frame import FrameLayout

        layout = self.layout or FrameLayout.of_frame(X, self.text, owner)
        return (self, X) if layout is None else (replace(self, layout=layout), layout.matrix(X, owner))

    def widened(self, method: Method, state: Any, X: Any) -> tuple[Method, Any]:
        """Return the method and its state; before the first rows the wide method, where these have many columns."""
        if X is None or not self.may_widen or state.features is not None or state.gathered or state.rows_seen:
            return method, state
        count = column_count(X)
        if count is None or count <= WIDE_COLUMNS or not can_be_wide(method):
            return method, state
        return as_wide(method, state)

    def encoded(self, state: Any, X: Any, owner: str, *, drop: bool, learned: "Encoding | None" = None) -> EncodedRows:
        """Return rows without missing cells and texts, and the encoding that they have shown."""
        encoding = learned or self.encoding
        strict = encoding is None and (state.rows_seen > 0 or state.columns is not None)
        if (
            isinstance(X, InputRows)
            or strict
            or (encoding is None and self.missing == "refuse" and self.expand is None and not is_frame(X, owner))
        ):
            return EncodedRows(X, None, encoding)
        made = encode_rows(
            X,
            encoding=encoding,
            missing=self.missing,
            widen=state.features is None,
            drop=drop,
            owner=owner,
            expand=self.expand,
        )
        return EncodedRows(made.rows, made.keep, made.encoding)

    def without_rows(self, state: Any, classes: int) -> Self:
        """Return the reader after the rows of the open period are withdrawn, in the state without them, of so many classes."""
        kept = replace(self, labels=self.labels[:classes], open_exposures=(0.0, 0.0))
        if state.rows_seen or self.from_pool:
            return kept
        return replace(kept, encoding=None, layout=self.layout if state.features is not None else None)

    def to_body(self) -> dict[str, Any]:
        """Return everything as JSON values, which :meth:`of_body` reads."""
        encoding = None if self.encoding is None else self.encoding.to_values()
        body: dict[str, Any] = {"encoding": encoding, "missing": self.missing, "from_pool": self.from_pool}
        body |= {"text": list(self.text), "may_widen": self.may_widen}
        if self.expand is not None:
            body["expand"] = self.expand.to_values()
        if self.labels:
            body["labels"] = list(self.labels)
        if self.layout is not None:
            body["layout"] = self.layout.to_values()
        if self.exposures[0] or self.open_exposures[0]:
            body["exposures"] = [*self.exposures, *self.open_exposures]
        return body

    @classmethod
    def of_body(cls, body: Mapping[str, Any]) -> Self:
        """Return the reader of JSON values that :meth:`to_body` wrote."""
        encoding = layout = expand = None
        if body.get("encoding") is not None:
            from driftpace.tables.encoding import Encoding

            encoding = Encoding.of(body["encoding"])
        if body.get("layout") is not None:
            from driftpace.tracker.wide_frame import FrameLayout

            layout = FrameLayout.of(body["layout"])
        if body.get("expand") is not None:
            expand = expansion_request(**body["expand"])
        return cls(
            missing=body.get("missing", "impute"),
            text=tuple(body.get("text", ())),
            expand=expand,
            may_widen=body.get("may_widen", False),
            encoding=encoding,
            from_pool=body.get("from_pool", False),
            layout=layout,
            labels=tuple(body.get("labels", ())),
            exposures=tuple(body.get("exposures", (0.0, 0.0))[:2]),
            open_exposures=tuple(body.get("exposures", (0.0,) * 4)[2:]),
        )


@contextmanager
def named_errors(owner: str) -> Iterator[None]:
    """Name the method that was called in errors about rows."""
    try:
        yield
    except DataError as error:
        raise (error if error.owner else error.renamed(owner=owner, name=error.name or "X")) from None


def learns_classes(method: Method) -> bool:
    """Whether labels of classes are numbered as they appear."""
    loss = method.spec.loss
    return isinstance(loss, SoftmaxLoss) and loss.classes is None


def text_columns(text: Any) -> tuple[str, ...]:
    """Return the names of columns of texts."""
    names = () if text is None else (text,) if isinstance(text, str) else text
    if (
        not isinstance(names, list | tuple)
        or not all(isinstance(name, str) for name in names)
        or len(set(names)) < len(names)
    ):
        raise ParameterError(
            f"must be the name of a column, or different names of several; got {text!r:.80}.",
            owner="Tracker",
            name="text",
        )
    return tuple(names)


def expansion_request(splines: Any, interactions: Any, **others: Any) -> "ExpansionRequest | None":
    """Return which columns are expanded, None for none; refuse settings that need the number of columns, or another method."""
    if splines is None and interactions is None:
        return None
    from driftpace.tables.expansion import ExpansionRequest

    request = ExpansionRequest.of("Tracker", splines, interactions)
    for name, value in others.items():
        if request is not None and value is not None and not (name == "method" and value == "adaptive"):
            raise ParameterError(
                f"must be None with splines= and interactions=; got {value!r:.80}.", owner="Tracker", name=name
            )
    return request


def _read_groups(method: Method, groups: Any, rows: int) -> Any:
    if groups is None:
        return None
    if not uses_groups(method):
        raise ParameterError(
            "must be None with the wide method; give method='adaptive' where rows belong together."
            if is_wide(method)
            else "must be None with learner=, drift= and rule=, unless there are candidates to compare (l2=[...] or select=).",
            owner="Tracker.tell",
            name="groups",
        )
    if isinstance(groups, list | tuple):  # of strings and NaN together NumPy would make strings: the group "nan"
        groups = np.array(groups, dtype=object)
    return read_groups(groups, owner="Tracker.tell", rows=rows)


def _is_array(X: Any) -> bool:
    return isinstance(X, np.ndarray | list | tuple | InputRows)

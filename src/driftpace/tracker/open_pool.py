"""The pool of the open period of a tracker: whether the rows delivered look like it, and weights that make them look like it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from driftpace.errors import ParameterError, StateFileError
from driftpace.records import Assumption, Verdict
from driftpace.storage.codec import decode, encode
from driftpace.tables.balance import balance
from driftpace.tables.pool_match import DeliveredRows, find_mismatch
from driftpace.tables.pool_profile import PoolProfile
from driftpace.tracker.inputs import InputRows
from driftpace.tracker.method import TellEvent
from driftpace.typing import FloatArray

NAME = "like the pool"
"""The name of the check in reports."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class OpenPool:
    """The profile of the pool, and the rows delivered since, each delivery with the weights that its rows were given."""

    profile: PoolProfile
    rows: tuple[FloatArray, ...] = ()
    weights: tuple[FloatArray, ...] = ()

    @classmethod
    def of_rows(cls, rows: InputRows) -> Self:
        """Return a pool from which nothing was delivered yet."""
        names = rows.columns or tuple(f"column {place}" for place in range(rows.X.shape[1]))
        return cls(profile=PoolProfile.of_rows(rows.X, names))

    def with_rows(self, event: TellEvent) -> Self:
        """Return the pool after a delivery. Rows that may have several labels are not compared."""
        if event.annotators is not None:
            return self
        weights = np.ones(len(event.y)) if event.weights is None else event.weights
        return replace(self, rows=(*self.rows, np.array(event.X)), weights=(*self.weights, weights))

    def without_rows(self) -> Self:
        """Return the pool after the rows were withdrawn."""
        return replace(self, rows=(), weights=())

    def balanced(self, event: TellEvent, gathered: int, owner: str) -> TellEvent:
        """Return a delivery with weights under which the rows of the period look like the pool, ``gathered`` of them before it."""
        if event.annotators is not None or gathered != sum(len(rows) for rows in self.rows):
            raise ParameterError("must be False for rows with several labels.", owner=owner, name="balance")
        after = self.with_rows(event)
        made = balance(
            np.concatenate(after.rows), [(self.profile, 1.0)], np.concatenate(after.weights), owner=owner
        ).weights
        return replace(event, weights=made[gathered:], earlier_weights=made[:gathered] if gathered else None)

    def check(self) -> Assumption | None:
        """Return whether the rows look like the pool; None where there are none."""
        parts = [
            DeliveredRows(X=rows[weights > 0.0], profile=self.profile, weights=weights[weights > 0.0], members=False)
            for rows, weights in zip(self.rows, self.weights, strict=True)
            if (weights > 0.0).any()
        ]
        if not parts:
            return None
        found = find_mismatch(parts)
        if found is None:
            return Assumption(name=NAME, verdict=Verdict.PASS, sentence="The rows look like the pool.")
        sentence = f"{found.sentence[:1].upper()}{found.sentence[1:]}; balance=True weights them."
        return Assumption(name=NAME, verdict=Verdict.WARN, sentence=sentence)

    def to_body(self) -> dict[str, Any]:
        """Encode the pool as JSON values."""
        return {
            "profile": self.profile.to_values(),
            "rows": [encode(rows) for rows in self.rows],
            "weights": [encode(weights) for weights in self.weights],
        }

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> Self:
        """Decode a pool."""
        try:
            return cls(
                profile=PoolProfile.of(body["profile"]),
                rows=tuple(decode(rows) for rows in body["rows"]),
                weights=tuple(decode(weights) for weights in body["weights"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise StateFileError(f"the state does not have the shape this version reads: {error}") from error

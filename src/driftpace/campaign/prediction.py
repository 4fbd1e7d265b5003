"""The model of a campaign without its rows: what predicts, as a value of its own that can be saved."""

import base64
import os
import zlib
from dataclasses import dataclass, replace
from typing import Any, Self, cast

import numpy as np

from driftpace.campaign.definition import Definition
from driftpace.campaign.records import Predicted
from driftpace.campaign.schema import current_encoding, encoding_for, read_table
from driftpace.campaign.state import CampaignState
from driftpace.errors import DriftpaceError, StateFileError
from driftpace.losses import VectorLoss, loss_spec
from driftpace.models import HeadFeatures
from driftpace.models.stored import StoredModel, pack_model
from driftpace.storage.codec import SHAPE_ERRORS, decode, encode
from driftpace.storage.statefile import read_state, write_state
from driftpace.tables.encoding import Encoding
from driftpace.tracker.head_method import HeadMethod
from driftpace.tracker.head_rows import head_matrix
from driftpace.typing import FloatArray

OWNER = "CampaignModel"


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class CampaignModel:
    """The model of a campaign at one time; no labelled row is part of it.

    Scores are rows times ``weights``, the intercept last where there is one: rows as ``encoding`` says, or what a head sees
    of them (``head_features``) where there is a ``base``. Without weights they are those of the base.
    """

    definition: Definition
    encoding: Encoding | None
    weights: FloatArray | None
    head_features: HeadFeatures | None = None
    base: StoredModel | None = None

    @classmethod
    def of(cls, state: CampaignState) -> Self:
        """Return the model of a state in which a period is closed, or that follows a base."""
        definition, held = state.definition, state.state
        if isinstance(state.method, HeadMethod):
            fitted = held.head_features is not None and held.rows_seen
            return cls(
                definition=definition,
                encoding=state.encoding,
                weights=head_matrix(held.coef, held.adapter.outputs) if fitted else None,
                head_features=held.head_features if fitted else None,
                base=held.base,
            )
        method, current = state.method.current(held)
        coef = held.coef
        loss = method.spec.objective_for(coef, current.features)
        weights = loss.output_scores(loss.matrix(coef)) if isinstance(loss, VectorLoss) else coef
        return cls(definition=definition, encoding=state.encoding, weights=weights)

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The columns of a table that are read; None where none are known by name."""
        encoding = current_encoding(self.definition, self.encoding)
        return None if encoding is None else encoding.sources

    def scores(self, X: FloatArray) -> FloatArray:
        """Return the scores of rows of numbers, (rows,) or (rows, classes)."""
        if self.base is not None:
            outputs = self.base.adapter.outputs
            scores = self.base.adapter.checked_scores(X, len(X), OWNER)
            if self.weights is not None:
                assert self.head_features is not None
                seen = self.head_features.of(self.base.adapter, X, scores, OWNER)
                scores = np.column_stack([seen, np.ones(len(seen))]) @ self.weights
            return np.asarray(scores[:, 0] if outputs == 1 else scores)
        assert self.weights is not None
        if not self.definition.fit_intercept:
            return np.asarray(X @ self.weights)
        return np.asarray(X @ self.weights[:-1] + self.weights[-1])

    def predict_table(self, table: Any) -> Predicted:
        """Predict the target of the rows of a table, as :meth:`Campaign.predict_table` does."""
        definition = self.definition
        columns = read_table(table, owner=OWNER, definition=definition, encoding=self.encoding)
        rows = encoding_for(definition, self.encoding, columns, owner=OWNER).encode(columns, owner=OWNER)
        return replace(
            predicted(definition, self.scores(rows.X)),
            unknown_categories=rows.mapped_categories(),
            filled=rows.filled_cells(),
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write one JSON file with the model, the base included; nothing in it is executed when it is read."""
        base = None
        if self.base is not None:
            facts, _ = pack_model(self.base.adapter, owner=OWNER)
            base = {**facts, "data": base64.b64encode(self.base.data()).decode()}
        body = {
            "definition": self.definition.to_values(),
            "encoding": None if self.encoding is None else self.encoding.to_values(),
            "weights": encode(self.weights),
            "head_features": encode(self.head_features),
            "base": base,
        }
        write_state(path, {"model": body})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model that :meth:`save` wrote; StateFileError where it is damaged."""
        try:
            body = read_state(path)["model"]
            encoding, base = body["encoding"], body["base"]
            return cls(
                definition=Definition.of(body["definition"], saved=True),
                encoding=None if encoding is None else Encoding.of(encoding),
                weights=decode(body["weights"]),
                head_features=cast("HeadFeatures | None", decode(body["head_features"])),
                base=None if base is None else _stored(base),
            )
        except DriftpaceError:
            raise
        except SHAPE_ERRORS as error:
            raise StateFileError(f"{os.fspath(path)!r} is not the model of a campaign: {error}.") from None


def _stored(base: dict[str, Any]) -> StoredModel:
    packed = zlib.compress(base64.b64decode(base["data"], validate=True), 1)
    return StoredModel(base["format"], base["sha256"], lambda: packed)


def predicted(definition: Definition, scores: FloatArray) -> Predicted:
    """Return predictions with the classes of the definition; of several classes, ``scores`` are (rows, classes)."""
    spec = loss_spec(definition.loss)
    if spec.task == "multiclass":
        return _several(definition, scores)
    values = spec.predictions(scores).tolist()
    if spec.task == "classification":
        words: tuple[Any, ...] = definition.classes or (0, 1)
        values = [words[int(value > 0.0)] for value in values]
    return Predicted(values=values, score=scores, probability=spec.probabilities(scores))


def _several(definition: Definition, scores: FloatArray) -> Predicted:
    """Return predictions of several classes; those that no row had yet have no score, and the probability 0."""
    assert definition.classes is not None
    powers = np.exp(scores - scores.max(axis=1, keepdims=True, initial=-np.inf))
    known, listed = scores.shape[1], len(definition.classes)
    probability, score = np.zeros((len(scores), listed)), np.full((len(scores), listed), -np.inf)
    probability[:, :known], score[:, :known] = powers / powers.sum(axis=1, keepdims=True), scores
    values = [definition.classes[place] for place in scores.argmax(axis=1)]
    return Predicted(values=values, score=score, probability=probability, classes=definition.classes)

"""A model that was trained again from the scores of an earlier one: the sum of both."""

import json
from typing import Any

import numpy as np

from driftpace.models.adapter import ModelAdapter
from driftpace.models.features import HeadFeatures
from driftpace.typing import FloatArray, IntArray


class CorrectedAdapter(ModelAdapter):
    """An earlier base with the head that it had, and a correction that was trained from their scores.

    Parameters
    ----------
    base : ModelAdapter
        The earlier base.
    features : HeadFeatures
        What the head saw of it.
    coef : ndarray of shape (features + 1, outputs)
        The head, the intercept last, as scores of classes where there are several.
    correction : ModelAdapter
        What is added.
    """

    def __init__(self, base: ModelAdapter, features: HeadFeatures, coef: FloatArray, correction: ModelAdapter) -> None:
        super().__init__(correction.model)
        self.base, self.head, self.coef, self.correction = base, features, coef, correction
        self.task, self.labels, self.columns, self.features = base.task, base.labels, base.columns, base.features
        self.takes_offset = correction.takes_offset
        self.needs_model = correction.needs_model or base.needs_model
        self.format = None if base.format is None or correction.format is None else "corrected"

    def scores(self, X: Any) -> FloatArray:
        """Return the scores of the head on the earlier base, corrected."""
        before = self.base.checked_scores(X, X.shape[0], "Tracker.predict")
        phi = self.head.of(self.base, X, before)
        total = np.column_stack([phi, np.ones(len(phi))]) @ self.coef + self.correction.checked_scores(
            X, X.shape[0], "Tracker.predict"
        )
        return np.asarray(total[:, 0] if self.outputs == 1 else total)

    def leaves(self, X: Any) -> IntArray | None:
        """Return the leaves of the earlier base and of the correction."""
        parts = [leaves for leaves in (self.base.leaves(X), self.correction.leaves(X)) if leaves is not None]
        return np.concatenate(parts, axis=1) if parts else None

    def hidden(self, X: Any) -> FloatArray | None:
        """Return the last hidden layers of the earlier base and of the correction."""
        parts = [hidden for hidden in (self.base.hidden(X), self.correction.hidden(X)) if hidden is not None]
        return np.concatenate(parts, axis=1) if parts else None

    @property
    def trainable(self) -> bool:
        """Whether the correction can be trained."""
        return self.correction.trainable

    def refit(
        self, X: Any, y: FloatArray, *, sample_weight: FloatArray | None = None, offset: FloatArray | None = None
    ) -> ModelAdapter:
        """Return a model of the same kind, without the earlier ones."""
        return self.correction.refit(X, y, sample_weight=sample_weight, offset=offset)

    def dump(self) -> bytes:
        """Return all parts."""
        from driftpace.models.artefacts import artefact_of
        from driftpace.storage.codec import encode

        body = {
            "base": artefact_of(self.base),
            "correction": artefact_of(self.correction),
            "features": encode(self.head),
            "coef": encode(self.coef),
        }
        return json.dumps(body).encode()

    @classmethod
    def restore(cls, data: bytes, *, model: Any = None) -> "CorrectedAdapter":
        """Return the model of these parts."""
        from driftpace.models.artefacts import adapter_of_artefact
        from driftpace.storage.codec import decode

        body = json.loads(data)
        return cls(
            adapter_of_artefact(body["base"], model=model if body["base"].get("needs_model") else None),
            decode(body["features"]),
            decode(body["coef"]),
            adapter_of_artefact(body["correction"], model=model if body["correction"].get("needs_model") else None),
        )

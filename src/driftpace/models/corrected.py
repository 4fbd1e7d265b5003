"""An earlier model with its head and a correction of their scores: a model that was trained again, or a smooth function.

The correction is added to the scores of the head, for a head that begins anew, or to those of the model below it, turned as the
head turns them, so that the same head goes on and says the same as before but for the correction.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from driftpace.losses.softmax import helmert
from driftpace.models.adapter import ModelAdapter
from driftpace.models.features import HeadFeatures
from driftpace.models.smooth import SmoothCorrection
from driftpace.typing import FloatArray, IntArray

_LEAST_USE = 0.3
"""A head whose scores move by less than this with those of its base begins anew on another one."""


class CorrectedAdapter(ModelAdapter):
    """An earlier base with the head that it had, and a correction of their scores.

    Parameters
    ----------
    base : ModelAdapter
        The earlier base.
    features : HeadFeatures
        What the head saw of it.
    coef : ndarray of shape (features + 1, outputs)
        The head, the intercept last, as scores of classes where there are several.
    correction : ModelAdapter or SmoothCorrection
        What is added.
    share : float, default 1.0
        The share of it that is added.
    blend : bool, default False
        Whether the correction is a model with scores of the same kind, from which those of the head are subtracted first.
    turn : ndarray of shape (outputs, outputs), optional
        What is added to the scores of the base for each unit of the correction, where the head goes on; see :func:`turn_of`.
    """

    def __init__(
        self,
        base: ModelAdapter,
        features: HeadFeatures,
        coef: FloatArray,
        correction: ModelAdapter | SmoothCorrection,
        *,
        share: float = 1.0,
        blend: bool = False,
        turn: FloatArray | None = None,
    ) -> None:
        self._library = base if isinstance(correction, SmoothCorrection) else correction
        super().__init__(self._library.model)
        self.base, self.head, self.coef, self.correction = base, features, coef, correction
        self.share, self.blend, self.turn = share, blend, turn
        self.corrections = base.corrections + 1
        self.task, self.labels, self.columns, self.features = base.task, base.labels, base.columns, base.features
        self.loss_name = base.loss_name
        self.takes_offset = self._library.takes_offset
        self.needs_model = self._library.needs_model or base.needs_model
        self.format = None if base.format is None or self._library.format is None else "corrected"

    def scores(self, X: Any) -> FloatArray:
        """Return the scores of the head on the earlier base, corrected; where the head goes on, those of the base."""
        before = self.base.checked_scores(X, X.shape[0], "Tracker.predict")
        phi = self.head.of(self.base, X, before)
        head = np.column_stack([phi, np.ones(len(phi))]) @ self.coef
        if isinstance(self.correction, SmoothCorrection):
            added = self.correction.staged_scores(self.head.smooth_of(phi)).T
        else:
            added = self.correction.checked_scores(X, X.shape[0], "Tracker.predict")
        added = self.share * (added - head if self.blend else added)
        total = head + added if self.turn is None else before + added @ self.turn
        return np.asarray(total[:, 0] if self.outputs == 1 else total)

    def categories(self, X: Any) -> Mapping[str, Sequence[Any]]:
        """Return the categories of the earlier base."""
        return self.base.categories(X)

    def leaves(self, X: Any) -> IntArray | None:
        """Return the leaves of the earlier base and of the correction; where the head goes on, those that it knows."""
        parts = [leaves for leaves in (model.leaves(X) for model in self._models) if leaves is not None]
        return np.concatenate(parts, axis=1) if parts else None

    def hidden(self, X: Any) -> FloatArray | None:
        """Return the last hidden layers of the earlier base and of the correction; where the head goes on, those that it knows."""
        parts = [hidden for hidden in (model.hidden(X) for model in self._models) if hidden is not None]
        return np.concatenate(parts, axis=1) if parts else None

    @property
    def _models(self) -> list[ModelAdapter]:
        known = isinstance(self.correction, SmoothCorrection) or self.turn is not None
        return [self.base] if known else [self.base, self.correction]  # type: ignore[list-item]

    @property
    def trainable(self) -> bool:
        """Whether its library can train."""
        return self._library.trainable

    def refit(
        self, X: Any, y: FloatArray, *, sample_weight: FloatArray | None = None, offset: FloatArray | None = None
    ) -> ModelAdapter:
        """Return a model of the same kind, without the earlier ones."""
        return self._library.refit(X, y, sample_weight=sample_weight, offset=offset)

    def dump(self) -> bytes:
        """Return all parts."""
        from driftpace.models.artefacts import artefact_of
        from driftpace.storage.codec import encode

        body = {
            "base": artefact_of(self.base),
            "correction": encode(self.correction)
            if isinstance(self.correction, SmoothCorrection)
            else artefact_of(self.correction),
            "smooth": isinstance(self.correction, SmoothCorrection),
            "features": encode(self.head),
            "coef": encode(self.coef),
            "share": self.share,
            "blend": self.blend,
            "turn": encode(self.turn),
        }
        return json.dumps(body).encode()

    @classmethod
    def restore(cls, data: bytes, *, model: Any = None) -> "CorrectedAdapter":
        """Return the model of these parts."""
        from driftpace.models.artefacts import adapter_of_artefact
        from driftpace.storage.codec import decode

        body = json.loads(data)
        if body["smooth"]:
            correction = decode(body["correction"])
        else:
            again = model if body["correction"].get("needs_model") else None
            correction = adapter_of_artefact(body["correction"], model=again)
        return cls(
            adapter_of_artefact(body["base"], model=model if body["base"].get("needs_model") else None),
            decode(body["features"]),
            decode(body["coef"]),
            correction,
            share=body["share"],
            blend=body["blend"],
            turn=decode(body["turn"]),
        )


def turn_of(coef: FloatArray, outputs: int) -> FloatArray | None:
    """Return what has to be added to the scores of a base so that those of its head move by one; None where it hardly uses them.

    >>> turn_of(np.array([0.5, 2.0, 1.0]), 1)
    array([[2.]])
    """
    contrasts = max(outputs - 1, 1)
    uses = coef.reshape(-1, contrasts)[:contrasts]
    if not np.isfinite(uses).all() or np.linalg.svd(uses, compute_uv=False)[-1] < _LEAST_USE:
        return None
    inverse = np.asarray(np.linalg.inv(uses), dtype=np.float64)
    return inverse if outputs == 1 else np.asarray(helmert(outputs) @ inverse @ helmert(outputs).T)

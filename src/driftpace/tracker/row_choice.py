"""Choose the rows of a pool to label next for a tracker."""

from typing import Any, cast

import numpy as np

from driftpace import validation
from driftpace.adaptive import CHOICES, draw_by_rate, draw_stratified, importance
from driftpace.errors import ParameterError
from driftpace.losses import VectorLoss
from driftpace.tracker.adaptive_method import AdaptiveMethod, AdaptiveMethodState
from driftpace.tracker.budget_method import BudgetState
from driftpace.tracker.builder import model_method
from driftpace.tracker.candidates_method import CandidatesMethod
from driftpace.tracker.head_method import HeadMethod
from driftpace.typing import FloatArray, IntArray


def choose_rows(
    method: Any,
    state: Any,
    X: FloatArray,
    samples: int,
    how: str,
    rng: np.random.Generator,
    *,
    owner: str,
    before: int = 0,
) -> tuple[IntArray, FloatArray | None]:
    """Return the places of rows of a pool, and their weights; None where all count alike.

    Rows of a first period are drawn uniformly as long as nothing is known. ``before`` informative rows were taken out of the pool.
    """
    validation.choice(owner, CHOICES, method=how)
    if how != "uniform":
        one, now = method.current(state)
        X = method.seen(state, X) if isinstance(method, HeadMethod) else X
        inner = model_method(one)
        if not isinstance(inner, AdaptiveMethod):
            raise ParameterError(
                f"must be 'uniform' with this method, whose rows count alike; got {how!r}.",
                owner=owner,
                name="method",
            )
        now = cast(AdaptiveMethodState, now.inner if isinstance(now, BudgetState) else now)
        if isinstance(method, CandidatesMethod) and state.places:
            seen = state.places[state.chosen]
            X = X if seen is None else X[:, list(seen)]
        adaptive = now.adaptive
        if adaptive is not None and (adaptive.banks or now.gathered):
            return _chosen(inner, now, X, samples, how, rng, before)
    return rng.permutation(X.shape[0])[:samples], None


def _chosen(
    method: AdaptiveMethod, state: Any, X: FloatArray, samples: int, how: str, rng: np.random.Generator, before: int
) -> tuple[IntArray, FloatArray | None]:
    look = method.look(state)
    if method.spec.fit_intercept:
        assert look.adaptive.place is not None
        X = np.column_stack([np.ones(len(X)), X - look.adaptive.place])
    with np.errstate(over="ignore", invalid="ignore"):
        if how == "stratified":
            loss, model = look.rows.loss, look.judged.model
            scores = loss.scores(model, X)[:, 0] if isinstance(loss, VectorLoss) else X @ model
            return draw_stratified(np.nan_to_num(scores), samples, rng), None
        rates = importance(look.adaptive, look.judged, look.rows, X, min(samples, len(X)))
    return draw_by_rate(rates if np.isfinite(rates).all() else np.ones(len(X)), samples, rng, before=before)

"""One pass of SGD: prepare the numbers of a configuration once, then run a compiled loop."""

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from driftpace.constraints import Ball, Box, ConstraintSet, WholeSpace
from driftpace.learners.kernels import AHEAD_FEATURES, GRAM_FEATURES, work_space
from driftpace.learners.sgd_bounds import SgdConfig, schedule_for, with_spectrum
from driftpace.losses import HuberLoss, LogisticLoss, SmoothedHinge, SquaredLoss
from driftpace.losses.protocol import Loss
from driftpace.records import Constants, Fit, Outcome
from driftpace.schedules import ConstantSteps, GreedySteps, InverseTime
from driftpace.typing import FloatArray


class PassPlan(NamedTuple):
    """mu_k = scale/(grow k + shift), or greedy steps; the iterate before update k = 0, 1, .. weighs tilt k + level."""

    scale: float
    grow: float
    shift: float
    greedy: GreedySteps | None
    output: str
    tilt: float
    level: float
    batch: int

    def averaged(self, updates: int) -> tuple[int, float]:
        """Return the first iterate of the average and one over the sum of weights; zero when the last iterate is returned.

        Examples
        --------
        >>> PassPlan(2.0, 1.0, 8.0, None, "weighted", 1.0, 8.0, 1).averaged(3)
        (0, 0.037037)
        """
        if self.output == "last":
            return 0, 0.0
        first = updates // 2 if self.output == "tail" else 0
        return first, 1.0 / (self.tilt * (0.5 * updates * (updates - 1)) + self.level * (updates - first))


def make_plan(recipe: SgdConfig, constants: Constants) -> PassPlan:
    """Return the numbers of a recipe under these constants.

    Examples
    --------
    >>> make_plan(SgdConfig(output="weighted"), Constants.given(m=1.0, A=0.16, B=4.0))[:3]
    (2.0, 1.0, 16.0)
    """
    schedule = schedule_for(recipe, with_spectrum(recipe, constants))
    greedy = schedule if isinstance(schedule, GreedySteps) else None
    if isinstance(schedule, ConstantSteps):
        scale, grow, shift = schedule.step, 0.0, 1.0
    elif isinstance(schedule, InverseTime):
        scale, grow, shift = schedule.scale, 1.0, schedule.shift
    else:  # for a start at an unknown distance: what greedy steps tend to for a far one (theory 1.1f)
        m = schedule.m
        scale, grow, shift = 1.0 / m, 1.0, max(schedule.B / m**2, 1.0 / (m * schedule.limit))
    tilt, level = 0.0, 1.0
    if recipe.output == "weighted" and grow > 0.0:
        tilt, level = 1.0, max(shift, 1.0)  # k + s - 1, k from 1 (theory 1.2, where s is 1 at least)
    return PassPlan(scale, grow, shift, greedy, recipe.output, tilt, level, recipe.batch)


def method_pass(
    loss: Loss,
    domain: ConstraintSet,
    coef: FloatArray,
    X: FloatArray,
    y: FloatArray,
    plan: PassPlan,
    steps: FloatArray,
    average: tuple[int, float],
) -> tuple[FloatArray, bool]:
    """Update ``coef`` as the compiled passes do, through methods; return the mean gradient and whether all is finite."""
    first, share = average
    total, w = np.zeros_like(coef), coef.copy()
    with np.errstate(all="ignore"):
        for k, begin in enumerate(range(0, len(y), plan.batch)):
            rows = slice(begin, begin + plan.batch)
            mu = steps[k] if steps.size else plan.scale / (plan.grow * (k + 1) + plan.shift)
            if k >= first:
                total += (plan.tilt * k + plan.level) * w
            w = domain.project(w - mu * loss.gradient(w, X[rows], y[rows]))
        coef[:] = share * total if share > 0.0 else w
        gradient = np.array(loss.gradient(coef, X, y), dtype=np.float64)
        return gradient, bool(np.isfinite(coef).all() and np.isfinite(gradient).all())


_NONE = np.zeros(0)
_FLOAT = np.dtype(np.float64)
_LOSSES: dict[type[Any], int] = {kind: kind.code for kind in (SquaredLoss, SmoothedHinge, LogisticLoss, HuberLoss)}
_REMEMBERED = 64


class _Ready(NamedTuple):
    """Everything about a pass that does not depend on the rows; no loop for user-defined losses and sets."""

    owners: tuple[SgdConfig, Constants, Loss, ConstraintSet]
    plan: PassPlan
    batch: int
    last: bool
    loop: Callable[..., None] | None = None
    curve: tuple[Any, ...] = ()
    before: tuple[Any, ...] = ()
    after: tuple[Any, ...] = ()
    work: int = 0


_ready: dict[tuple[int, int, int, int, int], _Ready] = {}


def one_pass(
    recipe: SgdConfig,
    loss: Loss,
    domain: ConstraintSet,
    start: FloatArray,
    X: FloatArray,
    y: FloatArray,
    constants: Constants,
    distance: float,
) -> Fit:
    """Return the model after one pass over the rows, with the mean gradient there."""
    rows, features = X.shape
    key = (id(recipe), id(constants), id(loss), id(domain), features)
    ready = _ready.get(key) or _make_ready(key, (recipe, constants, loss, domain), features)
    _, plan, batch, last, loop, curve, before, after, work_size = ready
    steps = _NONE
    if plan.greedy is not None:
        rows -= rows % batch  # an incomplete last batch is not used, as the bound assumes
        X, y = X[:rows], y[:rows]
        if rows and distance < math.inf:
            steps = _greedy_steps(plan.greedy, rows // batch, distance)
    coef = np.array(start, _FLOAT)
    if rows == 0:
        return Fit(coef=coef, gradient=np.zeros(features), rows=0, updates=0, outcome=Outcome.MET)
    updates = rows if batch == 1 else -(-rows // batch)
    first, share = (0, 0.0) if last else plan.averaged(updates)
    if loop is None:
        gradient, finite = method_pass(loss, domain, coef, X, y, plan, steps, (first, share))
    else:
        if not X.flags.c_contiguous or X.dtype is not _FLOAT:
            X = np.ascontiguousarray(X, _FLOAT)
        if not y.flags.c_contiguous or y.dtype is not _FLOAT:
            y = np.ascontiguousarray(y, _FLOAT)
        gradient, work = np.empty(features), np.zeros(work_size)
        loop(X, y, coef, work, *before, steps, first, share, *after)
        finite = _gradient()(X, y, coef, gradient, work, *curve)
    outcome = Outcome.MET if finite else Outcome.NONFINITE
    return Fit(coef=coef, gradient=gradient, rows=rows, updates=updates, outcome=outcome)


def _make_ready(
    key: tuple[int, int, int, int, int], owners: tuple[SgdConfig, Constants, Loss, ConstraintSet], features: int
) -> _Ready:
    """Prepare a pass, and remember it under the identities of its owners: to compare them would cost more than 200 rows.

    The owners are kept with it, so that no other object can reuse the identity of one of them.
    """
    recipe, constants, loss, domain = owners
    plan = make_plan(recipe, constants)
    ready = _Ready(owners, plan, plan.batch, plan.output == "last")
    code = _LOSSES.get(type(loss))  # the very class: one derived from it may have another gradient
    if code is not None and type(domain) in (WholeSpace, Ball, Box):
        free = min(loss.unpenalised, features)
        curve = (code, float(loss.shape), float(loss.l2), free)  # type: ignore[attr-defined]
        radius = domain.radius if isinstance(domain, Ball) else math.inf
        loop, limits = _loop(curve, domain, features, plan.batch)
        ready = ready._replace(
            loop=loop,
            curve=curve,
            before=(*curve, radius, plan.scale, plan.grow, plan.shift),
            after=(plan.tilt, plan.level, *limits),
            work=work_space(features),
        )
    if len(_ready) >= _REMEMBERED:
        _ready.clear()
    _ready[key] = ready
    return ready


def _loop(
    curve: tuple[int, float, float, int], domain: ConstraintSet, features: int, batch: int
) -> tuple[Callable[..., None], tuple[Any, ...]]:
    """Return the compiled pass and its extra arguments."""
    centred = isinstance(domain, WholeSpace) or (isinstance(domain, Ball) and domain.center is None)
    if batch > 1 or not centred:
        from driftpace.learners.kernels.passes import plain_pass

        return plain_pass, (batch, *_limits(domain, features))
    _, _, l2, free = curve
    one_penalty = l2 == 0.0 or free == 0
    if one_penalty and features <= AHEAD_FEATURES:
        from driftpace.learners.kernels.passes import look_ahead

        return look_ahead(max(1, -(-features // 4))), ()
    if one_penalty and features >= GRAM_FEATURES:
        from driftpace.learners.kernels.passes import gram_pass

        return gram_pass, ()
    from driftpace.learners.kernels.passes import fused_pass

    return fused_pass, ()


def _limits(domain: ConstraintSet, features: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the centre of a ball and the ends of a box."""
    if isinstance(domain, Box):
        low, high = domain.ends(features)
        return np.zeros(features), np.array(low), np.array(high)
    center = domain.center if isinstance(domain, Ball) else None
    return np.zeros(features) if center is None else np.array(center), _NONE, _NONE


@cache
def _gradient() -> Callable[..., bool]:
    from driftpace.learners.kernels.gradient import mean_gradient

    return mean_gradient


def _greedy_steps(schedule: GreedySteps, updates: int, distance: float) -> FloatArray:
    from driftpace.learners.kernels.gradient import fill_greedy_steps

    steps = np.empty(updates)
    fill_greedy_steps(steps, schedule.m, schedule.A, schedule.B, schedule.limit, float(distance))
    return steps

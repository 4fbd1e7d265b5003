"""The tracker: a thin shell around the engine that checks what comes in, keeps time and keeps the history."""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np

from driftpace import validation
from driftpace.constants import ConstantsEstimator
from driftpace.constraints import ConstraintSet, WholeSpace
from driftpace.drift import DriftEstimator
from driftpace.errors import DataError, ParameterError, ProtocolError
from driftpace.learners import Learner
from driftpace.losses import Loss
from driftpace.planning import Budget, Cost, Gap, LinearCost, Outlook, plan
from driftpace.records import Constants, Money, Plan, Request, StepReport
from driftpace.rules import Rule
from driftpace.selection import Selection
from driftpace.storage import read_state, write_state
from driftpace.tracker.branches import BranchedState, Branches
from driftpace.tracker.branching import apply, begin, chosen
from driftpace.tracker.candidates import MEMORY, branches_of, selection_of
from driftpace.tracker.events import Asked, Closed, Forgot, Told
from driftpace.tracker.history import History
from driftpace.tracker.intake import read_groups, read_rows, read_targets
from driftpace.tracker.method import choose_method
from driftpace.tracker.outlooks import needs_neighbours, outlook_now, target_now
from driftpace.tracker.paper import RuleName, paper_parts, with_paper_parts
from driftpace.tracker.parts import check_method
from driftpace.tracker.saving import from_body, to_body
from driftpace.tracker.spending import Spending
from driftpace.tracker.state import Settings, State
from driftpace.typing import FloatArray

Draw = Callable[[int], tuple[Any, ...]]


class Tracker:
    """Asks for the number of fresh samples each period, fits them, and says what it promises.

    ``epsilon`` is the largest excess risk you accept; nothing else can choose it for you. Or ``tolerance``: 0.05 is within 5 % of
    the best loss that a model of this kind can have, which is estimated as rows come. The target is held in the mean, or in each
    period with probability ``confidence``; ``certificate`` is the confidence of the upper bounds that reports carry.

    Nothing else is needed. A tracker can also be made of parts of one's own: ``learner`` fits and knows its bound, ``drift``
    estimates how fast the world moves, ``rule`` turns both into a number of samples, ``constants`` are what you know of the
    problem (the rest is estimated), ``domain`` is where coefficients live. :meth:`as_in_paper` puts together the paper's method.

    With a ``budget`` (:class:`~driftpace.Budget`: money, periods, prices) the rows of a period are paid as one order, and how many
    that has is what the best plan for the money left says, made anew in every period: none, in many of them, where an order has a
    fixed price; and made anew with every batch that came, where batches cost nothing more. Nothing is asked that the money cannot
    pay. Requests carry their cost and the plan ahead, reports the true price of their rows; and as soon as the money is seen not to
    hold the target, the request says so, with the target that it can hold.

    With a list ``l2=[0.01, 0.1, 1.0]`` the penalty is chosen too: one tracker for each value inside this one, each from its
    own last model; a period asks for the largest of their requests, and when its rows came cross-validation picks the model
    of the period. ``select`` is the general form, a :class:`~driftpace.selection.Selection` of losses, columns or parts. Rows
    of one person or shop are kept together where ``tell`` is given ``groups``. :attr:`StepReport.selected` says what was
    chosen.

    A call that is refused changes nothing. A tracker is used by one thread at a time.

    >>> from driftpace import Ball, SquaredLoss, Tracker
    >>> from driftpace.records import Constants
    >>> from driftpace.synthetic import DriftingRegression
    >>> world = DriftingRegression(features=2, rho=1.0, noise=0.08, rng=0)
    >>> tracker = Tracker.as_in_paper(
    ...     SquaredLoss(), epsilon=0.1, domain=Ball(radius=50.0), first_samples=(50, 50), rng=0,
    ...     constants=Constants.given(m=1.0, M=1.0, A=0.16, B=4.0),
    ... )
    >>> rng = np.random.default_rng(0)
    >>> for period in range(1, 6):
    ...     report = tracker.step(lambda samples: world.period(period).draw(samples, rng=rng))
    >>> report.period, report.samples < 30
    (5, True)

    A budget of 900 EUR for a year, 60 EUR for an order and 1 EUR for a row:

    >>> from driftpace import Budget, LinearCost
    >>> world = DriftingRegression(features=2, rho=0.05, noise=1.0, rng=0)
    >>> budget = Budget(total=900, horizon=12, cost=LinearCost(fixed=60, per_sample=1, currency="EUR"))
    >>> tracker = Tracker(SquaredLoss(), epsilon=0.1, budget=budget, rng=0)
    >>> for period in range(1, 5):
    ...     report = tracker.step(lambda samples: world.period(period).draw(samples, rng=rng))
    >>> request = tracker.ask()
    >>> request.cost <= request.money_left, request.plan.first_period, request.plan.horizon
    (True, 5, 8)
    """

    def __init__(
        self,
        loss: Loss,
        *,
        epsilon: float | None = None,
        tolerance: float | None = None,
        confidence: float | None = None,
        certificate: float = 0.95,
        learner: Learner | None = None,
        drift: DriftEstimator | None = None,
        rule: Rule | None = None,
        constants: Constants | Sequence[Constants] | None = None,
        constants_estimator: ConstantsEstimator | None = None,
        domain: ConstraintSet | None = None,
        fit_intercept: bool = True,
        features: int | None = None,
        start: Any = None,
        cap: int = 10**6,
        pool: int | None = None,
        budget: Budget | None = None,
        l2: Sequence[float] | None = None,
        select: Selection | None = None,
        rng: np.random.Generator | int | None = None,
    ) -> None:
        validation.count("Tracker", least=1, cap=cap)
        validation.switch("Tracker", fit_intercept=fit_intercept)
        if features is not None:
            validation.count("Tracker", least=1, features=features)
        if pool is not None:
            validation.count("Tracker", least=0, pool=pool)
        made_of = {
            "learner": learner,
            "drift": drift,
            "rule": rule,
            "constants": constants,
            "constants_estimator": constants_estimator,
        }
        each = constants if l2 is not None else None
        if each is not None:
            made_of["constants"] = None  # each penalty brings its own
        entropy = _entropy(rng)

        def settled(loss: Loss, parts: dict[str, Any], seen: int | None) -> Settings:
            settings = Settings(
                loss=loss,
                method=choose_method(
                    "Tracker",
                    parts,
                    epsilon=epsilon,
                    tolerance=tolerance,
                    confidence=confidence,
                    certificate=certificate,
                ),
                domain=WholeSpace() if domain is None else domain,
                fit_intercept=fit_intercept,
                features=seen,
                start=None if start is None else validation.vector("Tracker", start=start),
                cap=int(cap),
                pool=pool,
                entropy=entropy,
                budget=budget,
            )
            check_method("Tracker", settings)
            return settings

        practical = each is None and all(part is None for part in made_of.values())
        selection = selection_of("Tracker", loss, l2, select, each, memory=MEMORY if practical else 0.0)
        self._settings: Settings | Branches = (
            settled(loss, made_of, features)
            if selection is None
            else branches_of("Tracker", loss, selection, made_of, settled, features=features, started=start is not None)
        )
        self._state: State | BranchedState = begin(self._settings, features)
        self._reports: list[StepReport] = []

    @classmethod
    def as_in_paper(
        cls,
        loss: Loss,
        *,
        epsilon: float,
        domain: ConstraintSet,
        constants: Constants | Sequence[Constants] | None = None,
        rho: float | None = None,
        first_samples: tuple[int, ...] | None = None,
        learner: Learner | None = None,
        drift: DriftEstimator | None = None,
        rule: RuleName | Rule = "do-not-update",
        features: int | None = None,
        start: Any = None,
        cap: int = 10**6,
        pool: int | None = None,
        budget: Budget | None = None,
        l2: Sequence[float] | None = None,
        select: Selection | None = None,
        rng: np.random.Generator | int | None = None,
    ) -> Self:
        """Return the method of the paper, sections II to V, with its errata corrected; no intercept, no scaling.

        By default: single-pass SGD with steps 2/(m(k+s)) and its last iterate, bounded by the exact recursion; the direct
        estimate of the drift, averaged, plus t_n = 1/sqrt(n-1); the do-not-update rule. Every one of them can be replaced:
        ``learner=Sgd(...)`` for steps, averaging and batches, ``drift=Drift(...)`` for one-step estimate, combination,
        margin and D_n, ``rule="update-past"``. ``rho`` is the drift when it is known. ``first_samples`` are K_1, K_2, ...;
        without them the first periods are sized from the diameter, which needs given constants and ``features``.
        ``start`` is w_0. Constants that are not given are estimated.

        With ``l2=[...]`` (section IV-B) ``constants``, where given, are one for each penalty, since m, M, A and B depend on
        it; with ``select`` each candidate has its own.
        """
        given: dict[str, Any] = {
            "domain": domain,
            "rho": rho,
            "first_samples": first_samples,
            "learner": learner,
            "drift": drift,
            "rule": rule,
            "features": features,
        }
        selection = selection_of("Tracker.as_in_paper", loss, l2, select, constants)
        if selection is None:
            made_of = paper_parts(constants=constants, **given)
        else:
            selection, made_of = with_paper_parts(selection, given), {"domain": domain}
        return cls(
            loss,
            epsilon=epsilon,
            fit_intercept=False,
            features=features,
            start=start,
            cap=cap,
            pool=pool,
            budget=budget,
            select=selection,
            rng=rng,
            **made_of,
        )

    def ask(self, *, pool: int | None = None) -> Request:
        """Return how many fresh samples to bring this period, and why.

        Asking again gives the same answer until :meth:`tell`; after a part of the period was told, what is still missing.
        ``pool`` is how many rows this period can give at most, when that is known; it counts when a period is first asked.
        """
        if pool is not None:
            validation.count("Tracker.ask", least=0, pool=pool)
        self._state, request = apply(self._settings, self._state, Asked(pool=pool))
        assert isinstance(request, Request)
        return request

    def tell(self, X: Any = None, y: Any = None, *, groups: Any = None, final: bool = True) -> StepReport | None:
        """Take the rows that came, however many, and close the period with a report.

        ``groups`` says for each row whose it is, where candidates are compared and some people or shops have several rows.
        With ``final=False`` they are a part of the period, which stays open (None is returned). Without rows the period is
        closed on what was told before, which may be nothing.
        """
        began = time.perf_counter()
        validation.switch("Tracker.tell", final=final)
        state = self._state
        if state.order is None:
            raise ProtocolError(f"tell() came before ask() in period {state.period}; call ask() first.")
        if (X is None) != (y is None):
            missing = "X" if X is None else "y"
            raise DataError("must come together with the other; got None.", owner="Tracker.tell", name=missing)
        if X is None and groups is not None:
            raise DataError("must come together with the rows; got no rows.", owner="Tracker.tell", name="groups")
        if X is not None:
            rows = read_rows(X, owner="Tracker.tell", features=state.features, columns=state.columns)
            targets = read_targets(y, owner="Tracker.tell", rows=len(rows.X))
            told = Told(X=rows.X, y=targets, columns=rows.columns, groups=self._groups(groups, len(targets)))
            try:
                state, _ = apply(self._settings, state, told)
            except DataError as error:
                raise DataError(_owned(error)) from None
        if not final:
            self._state = state
            return None
        with np.errstate(over="ignore", invalid="ignore"):
            state, report = apply(self._settings, state, Closed())
        assert isinstance(report, StepReport)
        report = replace(report, seconds=time.perf_counter() - began)
        del self._reports[report.period - 1 :]  # an interrupt may have come between the next two lines before
        self._reports.append(report)
        self._state = state
        return report

    def forget(self) -> None:
        """Take back the rows told so far in the open period, such as a delivery that proved bad."""
        self._state, _ = apply(self._settings, self._state, Forgot())

    def step(self, draw: Draw, *, pool: int | None = None) -> StepReport:
        """Run a whole period: ask, draw, top up until enough or nothing more comes, close.

        ``draw(k)`` returns k fresh rows (X, y), or (X, y, groups), or fewer when no more can be had. If the period is refused
        when it is closed, the rows that this call drew are taken back; if ``draw`` fails, those that came before are kept.
        """
        request = self.ask(pool=pool)
        asked = self._state
        while request.samples > 0:
            drawn = draw(request.samples)
            if not isinstance(drawn, tuple | list) or len(drawn) not in (2, 3):
                raise ParameterError(
                    f"must return a pair (X, y), or (X, y, groups); got {drawn!r:.80}.",
                    owner="Tracker.step",
                    name="draw",
                )
            before = self._state.gathered
            self.tell(drawn[0], drawn[1], groups=drawn[2] if len(drawn) == 3 else None, final=False)
            if self._state.gathered == before:
                break
            request = self.ask()
        try:
            report = self.tell()
        except DataError:
            self._state = asked
            raise
        assert report is not None
        return report

    def outlook(self) -> Outlook:
        """Return how the risk of the model develops from this period on, before any row of it: what plans are made from.

        A tracker made of parts takes its bound with the constants known, the drift at its upper end, every step straight away
        from the model, and the start that is proven. The practical one takes the risk that it foretells for its own fits, with the
        margin that it keeps, and steps in directions of their own. Before the pilot nothing is known, and a ProtocolError says so.
        """
        return outlook_now(*self._chosen())

    def plan(
        self,
        *,
        cost: Cost | None = None,
        epsilon: float | None = None,
        budget: Any = None,
        horizon: int | None = None,
        gap: Gap | str | None = None,
        weights: tuple[float, ...] | None = None,
        adjacent: bool | None = None,
        accuracy: float = 0.01,
    ) -> Plan:
        """Return a plan from this period on, by :func:`driftpace.plan` with this tracker's outlook; nothing is changed by it.

        ``epsilon`` is the tracker's own unless given. With ``horizon`` alone the plan is the cheapest that holds it, with
        ``budget`` alone it goes on as long as the money lasts, with both it comes as near to the target as it can. A tracker that
        has a budget takes its prices; with neither, it plans what is left of its money over the periods left of it, for its goal.
        """
        settings, state = self._chosen()
        outlook = self.outlook()
        epsilon = target_now(settings, state) if epsilon is None else epsilon
        own = settings.budget
        if own is not None:
            spending = Spending.of(settings, state)
            cost = own.cost if cost is None else cost
            adjacent = spending.adjacent if adjacent is None else adjacent
            if budget is None and horizon is None:
                if spending.periods == 0:
                    raise ProtocolError(f"plan() came after the {own.horizon} periods of the budget; give horizon=.")
                budget, horizon = spending.left, spending.periods
                gap = own.goal.later(state.period - 1) if gap is None else gap
        return plan(
            outlook,
            cost=LinearCost() if cost is None else cost,
            epsilon=epsilon,
            budget=budget,
            horizon=horizon,
            gap="mean" if gap is None else gap,
            weights=weights,
            adjacent=needs_neighbours(settings) if adjacent is None else adjacent,
            bought_before=state.bought,
            first_period=state.period,
            accuracy=accuracy,
        )

    @property
    def period(self) -> int:
        """The period being asked for, from 1."""
        return self._state.period

    @property
    def epsilon(self) -> float | None:
        """The largest excess risk the user accepts; None where a tolerance was given in its place."""
        return self._chosen()[0].method.epsilon

    @property
    def budget(self) -> Budget | None:
        """The budget that the tracker keeps to; None where money is no object."""
        return self._chosen()[0].budget

    @property
    def money_left(self) -> Money | None:
        """What is left of the budget, the rows told so far in this period paid; None without a budget."""
        settings, state = self._chosen()
        return None if settings.budget is None else Spending.of(settings, state).left_after(state.gathered)

    @property
    def coef(self) -> FloatArray:
        """The coefficients of the current model, in the units of X."""
        coef = self._model()
        return coef[: self._state.features].copy()

    @property
    def intercept(self) -> float:
        """The intercept of the current model; 0 when none is fitted."""
        return float(self._model()[-1]) if self._chosen()[0].fit_intercept else 0.0

    @property
    def selected(self) -> str | None:
        """The candidate whose model is the current one; None where nothing is chosen among."""
        if isinstance(self._settings, Settings):
            return None
        assert isinstance(self._state, BranchedState)
        return self._settings.selection.labels[self._state.chosen]

    @property
    def models(self) -> dict[str, FloatArray]:
        """The current model of each candidate by its label: coefficients for all columns, then the intercept where there is one."""
        if isinstance(self._settings, Settings):
            raise ProtocolError(
                "models came from a tracker that chooses among nothing; its model is coef and intercept."
            )
        assert isinstance(self._state, BranchedState)
        return {label: self._of(index) for index, label in enumerate(self._settings.selection.labels)}

    def predict(self, X: Any) -> FloatArray:
        """Return what the current model says of rows: a number for regression, -1 or 1 for classification."""
        return self._chosen()[0].objective.predict(self._model(), self._values(X))

    def scores(self, X: Any) -> FloatArray:
        """Return the linear scores of rows: the prediction itself for regression, its sign for classification."""
        return self._values(X) @ self._model()

    @property
    def history(self) -> History:
        """The reports of the closed periods; ``.to_frame()`` for a table."""
        return History(self._reports[: self._state.period - 1])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one file: complete or not at all, without pickle, exact to the bit."""
        write_state(path, to_body(self._settings, self._state, self._reports))

    @classmethod
    def load(cls, path: str | os.PathLike[str], **own: Any) -> Self:
        """Return the tracker that was saved; parts of your own (``loss=``, ``learner=``, ..., ``select=``) are given again."""
        return cls.resumed(*from_body(read_state(path), own))

    @classmethod
    def resumed(
        cls, settings: Settings | Branches, state: State | BranchedState, reports: Sequence[StepReport] = ()
    ) -> Self:
        """Return a tracker in a state that the engine led to, as one that keeps its states elsewhere needs it."""
        tracker = cls.__new__(cls)
        tracker._settings, tracker._state, tracker._reports = settings, state, list(reports)
        return tracker

    @property
    def inside(self) -> tuple[Settings | Branches, State | BranchedState]:
        """How the tracker works and where it stands, both frozen: what the engine folds."""
        return self._settings, self._state

    def __repr__(self) -> str:
        return (
            f"Tracker({type(self._settings.loss).__name__}, epsilon={self.epsilon!r}, period={self.period}, "
            f"features={self._state.features})"
        )

    def _chosen(self) -> tuple[Settings, State]:
        return chosen(self._settings, self._state)

    def _groups(self, groups: Any, rows: int) -> Any:
        if groups is None:
            return None
        if isinstance(self._settings, Settings):
            raise ParameterError(
                "must be None without candidates to compare (l2=[...] or select=).",
                owner="Tracker.tell",
                name="groups",
            )
        if isinstance(groups, list | tuple):  # of words and NaN together NumPy would make words: the group "nan"
            groups = np.array(groups, dtype=object)
        return read_groups(groups, owner="Tracker.tell", rows=rows)

    def _of(self, index: int) -> FloatArray:
        assert isinstance(self._state, BranchedState)
        coef = self._state.coef_of(index)
        return self._model() if coef is None else coef

    def _values(self, X: Any) -> FloatArray:
        """Return rows in the coordinates of the model."""
        self._model()
        rows = read_rows(X, owner="Tracker.predict", features=self._state.features, columns=self._state.columns)
        return np.column_stack([rows.X, np.ones(len(rows.X))]) if self._chosen()[0].fit_intercept else rows.X

    def _model(self) -> FloatArray:
        if self._state.coef is None:
            raise ProtocolError("the tracker has no model yet; ask() and tell() once, or give features= for the start.")
        return self._state.coef


def _owned(error: DataError) -> str:
    """Return the sentence of a refusal, with its owner before it where it has none."""
    sentence = str(error)
    return f"Tracker.tell(X=...) {sentence}" if sentence.startswith("must ") else sentence


def _entropy(rng: np.random.Generator | int | None) -> int:
    """Return a whole number that stands for ``rng``: itself, or one drawn from it (SPEC 7)."""
    if isinstance(rng, int | np.integer | np.bool_):
        validation.count("Tracker", rng=rng)
        return int(rng)
    try:
        return int(np.random.default_rng(rng).integers(2**63))
    except (TypeError, ValueError):
        raise ParameterError(
            f"must be a Generator, a whole number or None; got {rng!r}.",
            owner="Tracker",
            name="rng",
        ) from None

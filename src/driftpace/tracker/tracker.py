"""The tracker: checks its input, keeps time and history, and leaves every decision to its method."""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Self, overload

import numpy as np

from driftpace import validation
from driftpace.adaptive import (
    MOST_DELAY,
    AdaptiveConfig,
    check_audit,
    metric_target,
    season_length,
    summarise_labels,
)
from driftpace.constants import ConstantsEstimator
from driftpace.constraints import ConstraintSet, WholeSpace
from driftpace.drift import DriftEstimator
from driftpace.errors import DataError, ParameterError, ProtocolError
from driftpace.learners import Learner
from driftpace.losses import LinearLoss, Loss, VectorLoss
from driftpace.planning import Budget, Cost, Gap, LinearCost, Outlook
from driftpace.records import AnnotatorReport, Constants, DelayPrice, LabelSums, Plan, Request, StepReport
from driftpace.rules import Rule
from driftpace.selection import Selection
from driftpace.storage import read_state, write_state
from driftpace.tracker.builder import (
    MEMORY,
    build_candidates,
    build_method,
    can_be_wide,
    check_weights,
    is_wide,
    selection_of,
    with_wide_pool,
)
from driftpace.tracker.candidates_method import CandidatesMethod
from driftpace.tracker.codec import from_body, to_body
from driftpace.tracker.encoding import learn_frame
from driftpace.tracker.fitted import FittedModel
from driftpace.tracker.history import History
from driftpace.tracker.inputs import (
    is_frame,
    read_entropy,
    read_rows,
    read_wide_rows,
)
from driftpace.tracker.late import KeptPeriod, LateWindow, find_delay_price
from driftpace.tracker.method import Method, TellEvent, require_order
from driftpace.tracker.paper import RuleName, paper_parts, with_paper_parts
from driftpace.tracker.row_choice import choose_rows
from driftpace.tracker.row_reader import RowReader, expansion_request, named_errors, text_columns
from driftpace.tracker.state import ModelSpec
from driftpace.tracker.wide_method import WIDE_LOSSES
from driftpace.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from driftpace.models import Head
    from driftpace.tables.encoding import MissingPolicy
    from driftpace.tracker.kinds_tracker import KindsTracker
    from driftpace.tracker.model_tracker import ModelTracker
    from driftpace.tracker.open_pool import OpenPool
    from driftpace.tracker.refit_tracker import RefitTracker

Draw = Callable[[int], tuple[Any, ...]]


class Tracker(FittedModel):
    """Track a drifting linear model with as few fresh labels per period as the target allows.

    Each period, :meth:`ask` returns how many labelled rows are needed and :meth:`tell` takes them, fits the model and reports a
    bound on its excess loss. A call that is refused changes nothing. A tracker is used by one thread at a time.

    Parameters
    ----------
    loss : Loss
        What is minimised, such as :class:`~driftpace.SquaredLoss` or :class:`~driftpace.LogisticLoss`.
    epsilon : float, optional
        The largest excess loss that is acceptable. Give this, ``tolerance`` or ``metric``.
    tolerance : float, optional
        The target as a share of the best loss of a linear model, which is estimated: 0.05 is within 5 % of it.
    metric : str, optional
        In place of both: the target is a value of this metric, such as "accuracy", on average over periods. Which ones there are
        depends on the loss (:func:`driftpace.metrics.target_metrics`).
    at_least, at_most : float, optional
        The target in ``metric``: at least 0.9 of a share such as accuracy or R^2, at most 1.5 of an error such as the MAE. The
        excess loss that a period affords is estimated from labels, and the report says when even the best linear model misses the
        target.
    confidence : float, optional
        Meet the target in each period with this probability instead of on average.
    certificate_level : float, default 0.95
        The confidence of the upper bounds in reports.
    orders : int, optional
        The most orders of a period, for labels that are ordered once or twice a period: a single order is larger, since no row
        of the period can correct it. The first period has an initial sample besides. By default rows are requested in batches,
        as many as are useful.
    season : int or {"quarter", "weekday", "month", "week"}, optional
        After how many periods the drift may repeat itself, such as 12 or "month" for months of a year: the model of the same period
        in earlier cycles is then one more prediction, believed as far as it proved right. By default none.
    audit : float, optional
        The share of each order that is held out for the audit, such as 0.1, and at least three rows in a period: orders are so much
        larger, and the rows held out enter no fit and no decision, so that they measure the final model of their period whatever
        the drift. By default no label is bought for the audit.
    delay : int, optional
        For how many periods labels may arrive late, at most 100: the rows and states of so many closed periods are kept, so that
        :meth:`tell_late` can add rows to them, and an order, by default one a period, is large enough for the target to be met
        by the model in use when its labels are known, as far as that is possible. By default labels are in time.
    learner, drift, rule, constants, constants_estimator : optional
        Parts of a composed method in place of the default one: the learner knows its bound, ``drift`` estimates how fast the best
        model moves, ``rule`` turns both into a number of rows, ``constants`` are known properties of the problem, and
        ``constants_estimator`` estimates the others. :meth:`as_in_paper` composes the method of the paper.
    domain : ConstraintSet, optional
        The set of allowed coefficients; for composed methods.
    fit_intercept : bool, default True
        Whether an intercept is fitted; it is not penalised.
    features : int, optional
        The number of columns; by default that of the first rows.
    start : array-like, optional
        The model before the first period.
    cap : int, default 1_000_000
        The most rows that a period may request.
    pool : int, optional
        The most rows that any period can provide.
    budget : Budget, optional
        Money, periods and prices. The rows of a period are paid as one order, whose size is that of the best plan for the
        remaining money, made again in every period (and with every batch, where batches cost nothing extra). Requests carry their
        cost and the plan ahead, reports the true price of their rows, and a check says when the money cannot meet the target.
    l2 : sequence of float, optional
        Penalties to choose from. One model is tracked for each; a period requests the largest of their sizes, and
        cross-validation on its rows picks the model of the period (:attr:`StepReport.selected`).
    select : Selection, optional
        Candidates that differ in losses, columns or parts; the general form of ``l2``.
    missing : {"impute", "drop", "refuse"}, default "impute"
        Missing cells are filled with the mean of their column in the first rows, and marked in a column of their own where these
        had some; or their rows are left out; or they are refused. Texts of frames become columns of 0 and 1. The first rows,
        or :meth:`fit_pool`, show how (:attr:`encoding`).
    method : {"adaptive", "wide"}, optional
        The wide method follows thousands of columns, dense or sparse, in bands of their principal components; its promise is about
        the loss with a penalty of each band. By default it is used where rows have more than a hundred columns, by
        :class:`~driftpace.SquaredLoss`, :class:`~driftpace.SoftmaxLoss` or a loss of two classes, without candidates, ``metric``,
        ``season``, ``delay``, and groups, weights or annotators of the first rows.
    text : str or sequence of str, optional
        Columns of frames that are texts: hashed words and pairs of words, weighted by how rare they are in the first texts shown
        (:class:`driftpace.tables.TextTerms`). Columns of lists of equal length, such as embeddings, need no setting. The other
        columns are numbers.
    splines : bool, str, sequence of str or mapping, optional
        Numeric columns that may have a smooth curve in place of a line: True for all that have six different values or more, names,
        or a mapping of names to "natural" (by default) or "b-spline". Knots are at quantiles of the pool (:meth:`fit_pool`) or of
        the first rows, learned once. A curve costs labels only where there is one.
    interactions : bool or sequence of pairs, optional
        Pairs of columns that are multiplied, such as ``[("age", "income")]``, of texts every category; True for all
        pairs of numeric columns, of which there may be twelve.
    rng : int or numpy.random.Generator, optional
        Seeds the order in which rows are visited and the folds.

    Examples
    --------
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

    def __init__(  # noqa: PLR0913  public API
        self,
        loss: Loss,
        *,
        epsilon: float | None = None,
        tolerance: float | None = None,
        metric: str | None = None,
        at_least: float | None = None,
        at_most: float | None = None,
        confidence: float | None = None,
        certificate_level: float = 0.95,
        orders: int | None = None,
        season: int | str | None = None,
        delay: int | None = None,
        audit: float | None = None,
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
        missing: "MissingPolicy" = "impute",
        method: str | None = None,
        text: str | Sequence[str] | None = None,
        splines: Any = None,
        interactions: Any = None,
        rng: np.random.Generator | int | None = None,
    ) -> None:
        validation.count("Tracker", least=1, cap=cap)
        if method is not None:
            validation.choice("Tracker", ("adaptive", "wide"), method=method)
        validation.choice("Tracker", ("impute", "drop", "refuse"), missing=missing)
        validation.switch("Tracker", fit_intercept=fit_intercept)
        if features is not None:
            validation.count("Tracker", least=1, features=features)
        if pool is not None:
            validation.count("Tracker", least=0, pool=pool)
        if orders is not None:
            validation.count("Tracker", least=1, orders=orders)
        if delay is not None:
            validation.count("Tracker", least=1, at_most=MOST_DELAY, delay=delay)
        check_audit("Tracker", audit)
        expand = expansion_request(splines, interactions, features=features, start=start, method=method, text=text)
        parts: dict[str, Any] = {
            "learner": learner,
            "drift": drift,
            "rule": rule,
            "constants": None if l2 is not None else constants,  # with l2, each penalty has its own
            "constants_estimator": constants_estimator,
        }
        each = constants if l2 is not None else None
        entropy = read_entropy("Tracker", rng)
        config = AdaptiveConfig(
            epsilon=epsilon,
            tolerance=tolerance,
            confidence=confidence,
            certificate_level=certificate_level,
            orders=None if orders is None else int(orders),
            season=season_length("Tracker", season),
            audit=None if audit is None else float(audit),
            delay=None if delay is None else int(delay),
            metric=metric_target("Tracker", loss, metric, at_least=at_least, at_most=at_most),
            expanded=expand is not None,
        )

        def build(loss: Loss, parts: dict[str, Any], seen: int | None) -> Any:
            spec = ModelSpec(
                loss=loss,
                domain=WholeSpace() if domain is None else domain,
                fit_intercept=fit_intercept,
                features=seen,
                start=None if start is None else validation.vector("Tracker", start=start),
                cap=int(cap),
                pool=pool,
                entropy=entropy,
            )
            wide = None if method is None and not candidates else method == "wide"
            return build_method("Tracker", spec, config, parts, budget, wide=wide)

        candidates = l2 is not None or select is not None
        if candidates and method == "wide":
            raise ParameterError(
                "must be None with l2= and select=: the wide method has no candidates.", owner="Tracker", name="method"
            )
        adaptive = each is None and all(part is None for part in parts.values())
        selection = selection_of("Tracker", loss, l2, select, each, memory=MEMORY if adaptive else 0.0)
        self._method: Method = (
            build(loss, parts, features)
            if selection is None
            else build_candidates(
                "Tracker", loss, selection, parts, build, features=features, started=start is not None
            )
        )
        self._state: Any = self._method.begin()
        self._reader = RowReader(missing=missing, text=text_columns(text), expand=expand, may_widen=method is None)
        if self._reader.text and not (is_wide(self._method) or (method is None and can_be_wide(self._method))):
            raise ParameterError(
                f"must be None without the wide method: {WIDE_LOSSES}, no candidates, metric, season or delay.",
                owner="Tracker",
                name="text",
            )
        self._reports: list[StepReport] = []
        self._pool: OpenPool | None = None
        self._late: LateWindow | None = None
        if delay is not None:
            self._late = LateWindow(delay=int(delay), opened=KeptPeriod(start=self._state))

    @classmethod
    def as_in_paper(  # noqa: PLR0913  public API
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
        estimate of the drift, averaged, plus t_n = 1/sqrt(n-1); the do-not-update rule. Constants that are not given are estimated.

        Parameters
        ----------
        loss, epsilon, domain, features, cap, pool, budget, select, rng
            As for :class:`Tracker`.
        constants : Constants or sequence of Constants, optional
            Known constants; with ``l2`` (section IV-B) one for each penalty, since m, M, A and B depend on it.
        rho : float, optional
            The drift, where it is known.
        first_samples : tuple of int, optional
            K_1, K_2, ...; without them the first periods are sized from the diameter, which needs given constants and ``features``.
        learner : Learner, optional
            Such as ``Sgd(...)`` with other steps, averaging or batches.
        drift : DriftEstimator, optional
            Such as ``Drift(...)`` with another one-step estimate, combination or margin.
        rule : {"do-not-update", "update-past"} or Rule
            The sample-size rule.
        start : array-like, optional
            The model w_0.
        l2 : sequence of float, optional
            Penalties to choose from.

        Returns
        -------
        Tracker
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
            parts = paper_parts(constants=constants, **given)
        else:
            selection, parts = with_paper_parts(selection, given), {"domain": domain}
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
            **parts,
        )

    @overload
    @classmethod
    def for_model(cls, model: Any, *, head: "Head | None" = None, **options: Any) -> "ModelTracker": ...

    @overload
    @classmethod
    def for_model(cls, model: Any, *, head: Literal[False], **options: Any) -> "RefitTracker": ...

    @classmethod
    def for_model(  # noqa: PLR0913  public API
        cls,
        model: Any,
        *,
        epsilon: float | None = None,
        tolerance: float | None = None,
        loss: LinearLoss | VectorLoss | None = None,
        head: "Head | Literal[False] | None" = None,
        task: str | None = None,
        labels: Any = None,
        trained_until: Any = None,
        rng: np.random.Generator | int | None = None,
        **options: Any,
    ) -> "ModelTracker | RefitTracker":
        """Track a fitted model of any kind: the labels that it needs each period, and when to train it again.

        Parameters
        ----------
        model : object
            A fitted model of LightGBM, XGBoost, CatBoost, scikit-learn, torch or ONNX, the path of a file of one, a function
            X -> scores, or a model whose class :func:`driftpace.models.register_adapter` was told of. Task and loss are read
            from it.
        epsilon : float, optional
            How much worse than a model of the same kind with unlimited labels is acceptable. Give this or ``tolerance``.
        tolerance : float, optional
            The target as a share of the best loss of a head.
        loss : LinearLoss or VectorLoss, optional
            What is minimised; by default the loss of the model's task.
        head : Head or False, optional
            What the head sees, and its share of the target, 0.7 by default: ``epsilon`` of requests and reports is this share.
            With False there is none: the model is trained again in every period, on as many labels as its learning curve asks
            for, which takes more of them. Models that predict labels without scores need it.
        task, labels : str and sequence, optional
            What the model predicts ("regression", "classification", "multiclass" or "counts") where it does not say it, as
            functions and torch modules, and the labels of its classes.
        trained_until : date, str or number, optional
            When the last row is from that the model was trained on: a date, a month or the like in any spelling, to whose end it
            counts, or a number such as that of a period. ``tell(times=)`` then refuses rows that are not later.
        rng : int or numpy.random.Generator, optional
            A seed.
        **options
            ``confidence``, ``certificate_level``, ``orders``, ``season``, ``audit``, ``cap``, ``pool`` and ``budget`` as for
            :class:`Tracker`.

        Returns
        -------
        ModelTracker or RefitTracker

        Examples
        --------
        >>> from driftpace import Tracker
        >>> rng = np.random.default_rng(0)
        >>> def old(X): return np.sin(2.0 * X[:, 0])                 # a model that was right some time ago
        >>> def label(rows):
        ...     X = rng.uniform(-2.0, 2.0, (rows, 2))
        ...     return X, 0.5 + np.sin(2.0 * X[:, 0]) + 0.3 * rng.standard_normal(rows)
        >>> tracker = Tracker.for_model(old, task="regression", epsilon=0.02, rng=0)
        >>> while rows := tracker.ask().samples:
        ...     _ = tracker.tell(*label(rows), final=False)
        >>> report = tracker.tell()
        >>> bool(abs(tracker.predict(np.zeros((1, 2)))[0] - 0.5) < 0.2), report.samples < 60
        (True, True)
        """
        from driftpace.tracker.model_tracker import track_model

        return track_model(
            cls,
            model,
            epsilon=epsilon,
            tolerance=tolerance,
            loss=loss,
            head=head,
            task=task,
            labels=labels,
            trained_until=trained_until,
            rng=rng,
            **options,
        )

    @classmethod
    def for_models(
        cls, models: Sequence[Any], *, epsilon: float | None = None, tolerance: float | None = None, **options: Any
    ) -> "KindsTracker":
        """Track several kinds of models on the same labels; the one in use changes when the evidence says so.

        Parameters
        ----------
        models : sequence
            Two or more fitted models as in :meth:`for_model`, each of which gets a head, and ``"linear"`` for a linear model of
            the columns. The first is in use at the beginning.
        epsilon : float, optional
            How much worse than the kind in use with unlimited labels is acceptable. Give this or ``tolerance``.
        tolerance : float, optional
            The target as a share of the best loss.
        **options
            ``loss``, ``head``, ``task``, ``labels``, ``trained_until`` and ``rng`` as in :meth:`for_model`, and ``confidence``,
            ``certificate_level``, ``orders``, ``season``, ``cap`` and ``pool`` as for :class:`Tracker`.

        Returns
        -------
        KindsTracker

        Examples
        --------
        >>> from driftpace import Tracker
        >>> rng = np.random.default_rng(0)
        >>> def old(X): return np.sin(2.0 * X[:, 0])
        >>> tracker = Tracker.for_models([old, "linear"], task="regression", epsilon=0.02, rng=0)
        >>> tracker.in_use, list(tracker.kinds)
        ('head on function', ['head on function', 'linear'])
        """
        from driftpace.tracker.kinds_tracker import KindsTracker

        return KindsTracker(cls, models, epsilon=epsilon, tolerance=tolerance, **options)

    def fit_pool(self, pool: Any) -> tuple[str, ...]:
        """Show the rows that this period could label: the rows delivered are compared with them.

        Called before the first rows, a frame also shows how texts and missing cells are encoded. Call it again in each period whose
        rows are drawn from another pool; the report of the period says whether its rows look like it (check ``like the pool``).

        Parameters
        ----------
        pool : data frame or array-like of shape (rows, columns)
            Unlabelled rows, with every column of those that will be delivered.

        Returns
        -------
        tuple of str
            What became of missing cells and categories, in sentences; none after the first rows.

        Raises
        ------
        ProtocolError
            If rows of the period were delivered already.
        DataError
            If a column can be neither numbers nor categories.

        Examples
        --------
        >>> import pandas as pd
        >>> from driftpace import SquaredLoss, Tracker
        >>> tracker = Tracker(SquaredLoss(), epsilon=0.1, rng=0)
        >>> tracker.fit_pool(pd.DataFrame({"age": [30, None], "city": ["Oslo", "Rome"]}))[0]
        'age: 1 of 2 cells is missing; filled with the mean 30, and age=missing says where.'
        >>> tracker.columns
        ('age', 'age=missing', 'city=Rome')
        """
        owner, reader = "Tracker.fit_pool", self._reader
        if self._state.gathered:
            raise ProtocolError("fit_pool() must be called before the first rows of a period are delivered.")
        learned, first = reader.encoding, not self._state.rows_seen
        notes: tuple[str, ...] = ()
        if reader.shows_nothing(self._state, pool):
            raise DataError("must have at least one row; got none.", owner=owner, name="pool")
        laid_out, pool = reader.with_layout(pool, owner)
        method, state = reader.widened(self._method, self._state, pool)
        if not is_frame(pool, owner) and is_wide(method):
            self._state, self._method, self._reader = self._with_pool(method, state, pool, owner), method, laid_out
            return ()
        if first and is_frame(pool, owner):
            learned, notes = learn_frame(pool, missing=reader.missing, widen=self._state.features is None, owner=owner)
        given, _, encoding = reader.encoded(self._state, pool, owner, drop=True, learned=learned)
        method, state = reader.widened(self._method, self._state, given)
        if is_wide(method):
            self._state, self._method = self._with_pool(method, state, given, owner), method
        else:
            from driftpace.tracker.open_pool import OpenPool

            rows = read_rows(given, owner=owner, features=state.features, columns=state.columns)
            self._pool = OpenPool.of_rows(rows)
        from_pool = reader.from_pool or (first and encoding is not None)
        self._reader = replace(reader, encoding=encoding, from_pool=from_pool)
        return notes

    @staticmethod
    def _with_pool(method: Method, state: Any, pool: Any, owner: str) -> Any:
        """Return the state of the wide method with the components of a pool."""
        rows = read_wide_rows(pool, owner=owner, features=state.features, columns=state.columns)
        with named_errors(owner):
            return with_wide_pool(method, state, rows.X)

    def ask(self, *, pool: int | None = None) -> Request:
        """Return how many labelled rows this period needs, and why.

        Asking again gives the same answer until :meth:`tell`; after a partial delivery, the rows still missing.

        Parameters
        ----------
        pool : int, optional
            The most rows that this period can provide; it counts when a period is first sized.

        Returns
        -------
        Request

        Raises
        ------
        ProtocolError
            If the period was sized for another pool.
        """
        if pool is not None:
            validation.count("Tracker.ask", least=0, pool=pool)
        self._state, request = self._method.ask(self._state, pool)
        return request

    def choose(
        self,
        pool: Any,
        samples: int | None = None,
        *,
        method: str = "informative",
        drawn: int = 0,
        rng: np.random.Generator | int | None = None,
    ) -> tuple[IntArray, FloatArray]:
        """Choose the rows of a pool to label next, with the weights that :meth:`tell` needs.

        Parameters
        ----------
        pool : array-like or data frame of shape (rows, columns)
            Features of the rows that could be labelled.
        samples : int, optional
            How many; by default what :meth:`ask` requests. A smaller pool gives all it has.
        method : {"informative", "stratified", "uniform"}
            Informative rows are drawn in proportion to what they are expected to add to what is known of the model, a tenth of them
            uniformly; their weights undo that, and without them the model is wrong. Stratified rows have predictions spread as
            those of the pool, and uniform rows are drawn at random: both count alike. As long as no rows were delivered, nothing
            is known, and rows are drawn uniformly.
        drawn : int, default 0
            How many informative rows were chosen before in this period and are no longer in the pool; the weights allow for it.
        rng : int or numpy.random.Generator, optional
            By default a stream of the tracker's own: the same rows for the same state.

        Returns
        -------
        places : ndarray of int
            Where the rows are in the pool, none twice, in random order.
        weights : ndarray of float
            One for each row, for ``tell(..., sample_weight=weights)``.

        Examples
        --------
        >>> from driftpace import LogisticLoss, Tracker
        >>> rng = np.random.default_rng(0)
        >>> X = rng.standard_normal((2000, 2))
        >>> y = np.where(X[:, 0] + rng.logistic(size=2000) > 4.0, 1, -1)
        >>> tracker = Tracker(LogisticLoss(l2=0.001), epsilon=0.01, rng=0)
        >>> while tracker.ask().samples:
        ...     places, weights = tracker.choose(X)
        ...     _ = tracker.tell(X[places], y[places], sample_weight=weights, final=False)
        >>> report = tracker.tell()
        >>> report.effective_samples < report.samples
        True
        """
        owner = "Tracker.choose"
        if samples is None:
            require_order(self._state, "choose")
            samples = self.ask().samples
        validation.count(owner, least=0, samples=samples, drawn=drawn)
        state = self._state
        reader, pool = self._reader.with_layout(pool, owner)
        rows = reader.read(self._method, state, pool, owner)
        if rng is None:
            rng = np.random.default_rng((self._method.spec.entropy, state.period, state.gathered, 2))
        places, weights = choose_rows(
            self._method,
            state,
            rows.X,
            int(samples),
            method,
            np.random.default_rng(rng),
            owner=owner,
            before=int(drawn),
        )
        return places, np.ones(len(places)) if weights is None else weights

    def tell(  # noqa: PLR0913  public API
        self,
        X: Any = None,
        y: Any = None,
        *,
        groups: Any = None,
        sample_weight: Any = None,
        exposure: Any = None,
        ids: Any = None,
        annotators: Any = None,
        balance: bool = False,
        final: bool = True,
    ) -> StepReport | None:
        """Add labelled rows, however many, and close the period.

        Parameters
        ----------
        X : array-like or data frame of shape (rows, columns), optional
            Features. Without rows, the period is closed on what was delivered before, which may be nothing.
        y : array-like, optional
            Targets, one for each row.
        groups : array-like, optional
            The group of each row (a person, a shop), where rows belong together: their noise is counted by group, and
            cross-validation keeps groups together. Rows of one group in several deliveries of a period belong together.
        sample_weight : array-like, optional
            What each row counts for, such as one over the probability that it was drawn: numbers of 0 or more, on one scale
            within a period. Only their ratios matter. The target is then about the weighted rows, and uneven weights need more
            of them. By default all rows count alike.
        exposure : array-like, optional
            What each count or amount is a total over, such as years at risk or the population of a place: numbers above 0, 1 where
            none are given. The model is then that of a unit of exposure, and so is the loss; a row counts in proportion to
            its exposure, times its ``sample_weight`` if it has one.
        ids, annotators : array-like, optional
            The row that each label is of, and who gave it, where rows may be labelled by several people. Labels of one id in a
            period, in one delivery or several, are labels of one row: its target is their mean. :meth:`annotators` says how much
            of the noise is theirs.
        balance : bool, default False
            Weight the rows of the period, those delivered before included, so that they look like the pool that :meth:`fit_pool`
            was shown; for rows that were not labelled at random.
        final : bool, default True
            Whether the period is closed; with False it stays open for more rows.

        Returns
        -------
        StepReport or None
            The report of the closed period; None while it stays open.

        Raises
        ------
        ProtocolError
            Before :meth:`ask`.
        DataError
            If the rows cannot be used; nothing is changed then.
        """
        began = time.perf_counter()
        validation.switch("Tracker.tell", balance=balance, final=final)
        method, state, reader, late, pool = self._method, self._state, self._reader, self._late, self._pool
        require_order(state)
        if (X is None) != (y is None):
            missing = "X" if X is None else "y"
            raise DataError("must be given together with the other; got None.", owner="Tracker.tell", name=missing)
        more = {
            "groups": groups,
            "sample_weight": sample_weight,
            "exposure": exposure,
            "ids": ids,
            "annotators": annotators,
        }
        for name, value in more.items():
            if X is None and value is not None:
                raise DataError("must be given together with rows; got no rows.", owner="Tracker.tell", name=name)
        if X is not None and reader.shows_nothing(state, X) and not len(y):
            X = None
        if X is not None:
            event, reader, method, state = reader.deliver(method, state, X, y, more, "Tracker.tell")
            after = None if pool is None else pool.with_rows(event)
            if balance:
                event = self._balanced(event)
            pool = after
            with named_errors("Tracker.tell"):
                state = method.gather(state, event)
            late = None if late is None else late.with_rows(event)
        if not final:
            self._method, self._state, self._reader, self._late, self._pool = method, state, reader, late, pool
            return None
        with np.errstate(over="ignore", invalid="ignore"), named_errors("Tracker.tell"):
            before, (state, report) = state, method.close(state)
        late = None if late is None else late.after_close(before, state)
        check = None if pool is None else pool.check()
        if check is not None:
            report = replace(report, assumptions=(*report.assumptions, check))
        report = replace(report, seconds=time.perf_counter() - began)
        del self._reports[report.period - 1 :]  # an interrupt may have fallen between the next two lines before
        self._reports.append(report)
        self._method, self._state, self._late, self._pool = method, state, late, None
        self._reader = reader.after_close()
        return report

    def _balanced(self, event: TellEvent) -> TellEvent:
        """Return a delivery with weights under which the rows of the period look like its pool."""
        if self._pool is None:
            raise ParameterError(
                "must be False for a period whose pool is not known; call fit_pool() before its first rows.",
                owner="Tracker.tell",
                name="balance",
            )
        check_weights(self._method, "Tracker.tell")
        return self._pool.balanced(event, self._state.gathered, "Tracker.tell")

    def tell_late(
        self,
        period: int,
        X: Any,
        y: Any,
        *,
        groups: Any = None,
        sample_weight: Any = None,
        exposure: Any = None,
        ids: Any = None,
        annotators: Any = None,
    ) -> History:
        """Add rows to a closed period; it and the periods since are absorbed again, with the orders that were placed.

        The state is the one that the rows would have led to if they had been the last of their period.

        Parameters
        ----------
        period : int
            One of the last ``delay`` closed periods.
        X, y, groups, sample_weight, exposure, ids, annotators
            As in :meth:`tell`.

        Returns
        -------
        History
            The new reports of the periods that were absorbed again.

        Raises
        ------
        ProtocolError
            Without ``delay``, or if the period is not kept.

        Examples
        --------
        >>> from driftpace import SquaredLoss, Tracker
        >>> from driftpace.synthetic import DriftingRegression
        >>> world, rng = DriftingRegression(features=2, rho=0.05, noise=1.0, rng=0), np.random.default_rng(0)
        >>> tracker = Tracker(SquaredLoss(), epsilon=0.2, delay=2, rng=0)
        >>> for period in (1, 2, 3):
        ...     report = tracker.step(lambda samples: world.period(period).draw(samples, rng=rng))
        >>> rows = tracker.history[1].samples
        >>> again = tracker.tell_late(2, *world.period(2).draw(5, rng=rng))
        >>> [report.period for report in again], tracker.history[1].samples - rows
        ([2, 3], 5)
        """
        owner = "Tracker.tell_late"
        if self._late is None:
            raise ProtocolError("tell_late() needs a tracker that keeps its last periods; give Tracker(delay=...).")
        validation.count(owner, least=1, period=period)
        more = {
            "groups": groups,
            "sample_weight": sample_weight,
            "exposure": exposure,
            "ids": ids,
            "annotators": annotators,
        }
        event, reader, *_ = self._reader.deliver(self._method, self._state, X, y, more, owner)
        with named_errors(owner):
            late, state, reports = self._late.tell_late(self._method, self._state, int(period), event)
        old = self._reports[period - 1 : self._state.period - 1]
        again = [replace(new, seconds=one.seconds) for new, one in zip(reports, old, strict=True)]
        self._reports[period - 1 :] = again
        self._state, self._late, self._reader = state, late, replace(self._reader, labels=reader.labels)
        return History(again)

    def delay_price(self, periods: int | None = None) -> DelayPrice:
        """Return how many times as many labels a delay takes as labels in time, at the drift seen so far.

        Parameters
        ----------
        periods : int, optional
            How many periods late the labels are; by default ``delay``.

        Returns
        -------
        DelayPrice
            With ``status`` "finite", "impossible" where no number of labels reaches the target, or "unknown".
        """
        periods = self.delay if periods is None else periods
        validation.count("Tracker.delay_price", least=1, at_most=MOST_DELAY, periods=periods)  # type: ignore[arg-type]
        assert periods is not None
        return find_delay_price(self._method, self._state, int(periods))

    def forget(self) -> None:
        """Withdraw the rows of the open period, such as a delivery that proved wrong."""
        self._state = self._method.forget(self._state)
        self._pool = None if self._pool is None else self._pool.without_rows()
        self._reader = self._reader.without_rows(self._state, self._classes_fitted())
        self._late = None if self._late is None else self._late.forgotten()

    def step(self, draw: Draw, *, pool: int | None = None) -> StepReport:
        """Run a whole period: ask, draw rows until there are enough or no more, and close it.

        Parameters
        ----------
        draw : callable
            ``draw(k)`` returns k fresh rows ``(X, y)``, ``(X, y, groups)`` or ``(X, y, groups, sample_weight)``, or fewer when
            there are no more.
        pool : int, optional
            The most rows that this period can provide.

        Returns
        -------
        StepReport

        Raises
        ------
        DataError
            If the period cannot be closed; the rows of this call are withdrawn then. If ``draw`` fails, rows drawn before are kept.
        """
        request = self.ask(pool=pool)
        before_rows = self._method, self._state, self._reader, self._late, self._pool
        while request.samples > 0:
            drawn = draw(request.samples)
            if not isinstance(drawn, tuple | list) or len(drawn) not in (2, 3, 4):
                raise ParameterError(
                    f"must return a pair (X, y), or (X, y, groups, sample_weight); got {drawn!r:.80}.",
                    owner="Tracker.step",
                    name="draw",
                )
            before = self._state.gathered
            X, y, groups, weights = (*drawn, None, None)[:4]
            self.tell(X, y, groups=groups, sample_weight=weights, final=False)
            if self._state.gathered == before:
                break
            request = self.ask()
        try:
            report = self.tell()
        except DataError:
            self._method, self._state, self._reader, self._late, self._pool = before_rows
            raise
        assert report is not None
        return report

    def annotators(self, *, row_cost: float = 1.0, label_cost: float = 1.0) -> AnnotatorReport | None:
        """Return how much of the noise is that of annotators, and whether a second label or another row is the better buy.

        Parameters
        ----------
        row_cost, label_cost : float
            The price of one more row, without its label, and of one more label of a row. Only their ratio matters.

        Returns
        -------
        AnnotatorReport or None
            None where no labels of closed periods had annotators.

        Examples
        --------
        >>> from driftpace import SquaredLoss, Tracker
        >>> rng, tracker = np.random.default_rng(0), Tracker(SquaredLoss(), epsilon=0.2, rng=0)
        >>> rows = tracker.ask().samples
        >>> ids = np.r_[:rows, :rows]  # every row is labelled by two people
        >>> X = rng.standard_normal((rows, 2))[ids]
        >>> y = X @ [1.0, 2.0] + rng.standard_normal(2 * rows)
        >>> report = tracker.tell(X, y, ids=ids, annotators=["Ada"] * rows + ["Ben"] * rows)
        >>> report.samples == rows, tracker.annotators().repeated == rows
        (True, True)
        """
        validation.nonnegative("Tracker.annotators", row_cost=row_cost)
        validation.positive("Tracker.annotators", label_cost=label_cost)
        sums = LabelSums.over(report.label_sums for report in self._reports)
        return None if sums is None else summarise_labels(sums, row_cost=row_cost, label_cost=label_cost)

    def outlook(self) -> Outlook:
        """Return how the risk of the model develops from this period on, before any row of it: the basis of plans.

        A composed method uses its bound with the known constants, the drift at its upper end, every step straight away from the
        model, and the start that is proven. The default method uses the risk that it predicts for its own fits, with its margin,
        and steps in random directions.

        Raises
        ------
        TooEarlyError
            Before the initial labels.
        """
        return self._method.outlook(self._state)

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
        """Return a plan from this period on, by :func:`driftpace.plan` with this tracker's outlook; nothing is changed.

        With ``horizon`` alone the plan is the cheapest that meets the target, with ``budget`` alone it lasts as long as the money,
        with both it comes as close to the target as it can. A tracker with a budget uses its prices; with neither, it plans the
        remaining money over the remaining periods, for its goal. Plans are for labels in time: with a ``delay`` the plan's
        ``delay_price`` says how many times as many it takes.

        Parameters
        ----------
        cost : Cost, optional
            Prices; by default those of the budget, or one unit for each row.
        epsilon : float, optional
            The target; by default the tracker's.
        budget, horizon, gap, weights, adjacent, accuracy
            As for :func:`driftpace.plan`.

        Returns
        -------
        Plan
        """
        method, state = self._method.current(self._state)
        outlook = self.outlook()
        epsilon = method.target(state) if epsilon is None else epsilon
        spending = method.spending(state)
        if spending is not None:
            money = spending.budget
            cost = money.cost if cost is None else cost
            adjacent = spending.adjacent if adjacent is None else adjacent
            if budget is None and horizon is None:
                if spending.periods == 0:
                    raise ProtocolError(
                        f"plan() was called after the {money.horizon} periods of the budget; give horizon=."
                    )
                budget, horizon = spending.left, spending.periods
                gap = money.goal.later(state.period - 1) if gap is None else gap
        from driftpace.planning import plan  # slow to import, and not always needed

        made = plan(
            outlook,
            cost=LinearCost() if cost is None else cost,
            epsilon=epsilon,
            budget=budget,
            horizon=horizon,
            gap="mean" if gap is None else gap,
            weights=weights,
            adjacent=method.adjacent if adjacent is None else adjacent,
            bought_before=state.bought,
            first_period=state.period,
            accuracy=accuracy,
        )
        return made if self.delay is None else replace(made, delay_price=self.delay_price())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one file: atomically, without pickle, exact to the bit.

        Parameters
        ----------
        path : str or path-like
            The file.
        """
        write_state(path, self.to_body())

    def to_body(self) -> dict[str, Any]:
        """Return everything as JSON values, which :meth:`from_body` reads."""
        body = to_body(self._method, self._state, self._reports) | self._reader.to_body()
        if self._pool is not None:
            body["pool"] = self._pool.to_body()
        return body if self._late is None else {**body, "late": self._late.to_body()}

    @classmethod
    def load(cls, path: str | os.PathLike[str], **own: Any) -> Any:
        """Return the tracker that was saved.

        Parameters
        ----------
        path : str or path-like
            The file.
        **own
            Parts of your own (``loss=``, ``learner=``, ..., ``select=``), which a file cannot hold, are given again, and so is the
            ``model`` of a tracker made by :meth:`for_model` where it cannot be saved (``models``, by the names of kinds, of one
            made by :meth:`for_models`).

        Returns
        -------
        Tracker or ModelTracker
            As it was saved.

        Raises
        ------
        StateFileError
            If the file is damaged, or was written by a newer version.
        ParameterError
            If a part of your own is missing.
        """
        body = read_state(path)
        if isinstance(body, dict) and "refit" in body:
            from driftpace.tracker.refit_tracker import RefitTracker

            return RefitTracker.from_body(body, own.pop("model", None))
        if isinstance(body, dict) and "kinds" in body:
            from driftpace.tracker.kinds_tracker import KindsTracker

            return KindsTracker.from_body(cls, body, own.pop("models", None))
        if isinstance(body, dict) and "model" in body:
            from driftpace.tracker.model_tracker import ModelTracker

            model = own.pop("model", None)
            return ModelTracker.from_body(cls, body, model, own)
        return cls.from_body(body, own)

    @classmethod
    def from_body(cls, body: dict[str, Any], own: dict[str, Any]) -> Self:
        """Return the tracker of JSON values that :meth:`to_body` wrote, with parts of the user's own."""
        tracker = cls.from_snapshot(*from_body(body, own))
        tracker._reader = RowReader.of_body(body)
        if body.get("pool") is not None:
            from driftpace.tracker.open_pool import OpenPool

            tracker._pool = OpenPool.from_body(body["pool"])
        if body.get("late") is not None:
            tracker._late = LateWindow.from_body(body["late"])
        return tracker

    @classmethod
    def from_snapshot(
        cls, method: Method, state: Any, reports: Sequence[StepReport] = (), *, classes: Sequence[str | int] = ()
    ) -> Self:
        """Return a tracker with this method in this state, such as :meth:`snapshot` returned.

        Parameters
        ----------
        method : Method
            How periods are sized and closed.
        state : object
            A state of that method.
        reports : sequence of StepReport, default ()
            Those of the closed periods.
        classes : sequence of str or int, default ()
            The labels of the classes by number, where a :class:`~driftpace.SoftmaxLoss` takes them as they appear.
        """
        tracker = cls.__new__(cls)
        tracker._method, tracker._state, tracker._reports = method, state, list(reports)
        tracker._reader, tracker._late, tracker._pool = RowReader(labels=tuple(classes)), None, None
        return tracker

    def snapshot(self) -> tuple[Method, Any]:
        """Return the method and its current state, both frozen.

        Returns
        -------
        method : Method
        state : object
        """
        return self._method, self._state

    def __repr__(self) -> str:
        loss = self._method.loss if isinstance(self._method, CandidatesMethod) else self._method.spec.loss
        return (
            f"Tracker({type(loss).__name__}, epsilon={self.epsilon!r}, period={self.period}, "
            f"features={self._state.features})"
        )

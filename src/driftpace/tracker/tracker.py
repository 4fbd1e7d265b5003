"""The tracker: checks its input, keeps time and history, and leaves every decision to its method."""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import compress
from typing import TYPE_CHECKING, Any, Self

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
from driftpace.losses import LinearLoss, Loss, MultiSquaredLoss, PoissonLoss, SoftmaxLoss, VectorLoss, classifies
from driftpace.planning import Budget, Cost, Gap, LinearCost, Outlook
from driftpace.records import AnnotatorReport, Constants, DelayPrice, LabelSums, Money, Plan, Request, StepReport
from driftpace.rules import Rule
from driftpace.selection import Selection
from driftpace.storage import read_state, write_state
from driftpace.tracker.builder import (
    MEMORY,
    WIDE_COLUMNS,
    as_wide,
    build_candidates,
    build_method,
    can_be_wide,
    check_annotators,
    check_exposure,
    check_weights,
    model_method,
    selection_of,
    uses_groups,
    with_wide_pool,
)
from driftpace.tracker.candidates_method import CandidatesMethod
from driftpace.tracker.codec import from_body, to_body
from driftpace.tracker.encoding import encode_rows, learn_frame
from driftpace.tracker.history import History
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
from driftpace.tracker.late import KeptPeriod, LateWindow, delay_of, find_delay_price
from driftpace.tracker.method import Method, TellEvent, require_order
from driftpace.tracker.paper import RuleName, paper_parts, with_paper_parts
from driftpace.tracker.row_choice import choose_rows
from driftpace.tracker.state import ModelSpec
from driftpace.tracker.wide_method import WIDE_LOSSES, WideMethod
from driftpace.typing import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from driftpace.models import Head
    from driftpace.tables.encoding import Encoding, MissingPolicy
    from driftpace.tables.expansion import ExpansionRequest
    from driftpace.tracker.model_tracker import ModelTracker
    from driftpace.tracker.open_pool import OpenPool
    from driftpace.tracker.wide_frame import FrameLayout

Draw = Callable[[int], tuple[Any, ...]]


class Tracker:
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
    metric : {"accuracy", "auc", "log_loss", "r2", "mae", "rmse"}, optional
        In place of both: the target is a value of this metric, on average over periods. Which ones there are depends on
        the loss.
    at_least, at_most : float, optional
        The target in ``metric``: at least 0.9 of accuracy, AUC or R^2, at most 1.5 of log loss, MAE or RMSE. The excess loss that
        a period affords is estimated from labels, and the report says when even the best linear model misses the target.
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
        expand = _expansion_request(splines, interactions, features=features, start=start, method=method, text=text)
        parts: dict[str, Any] = {
            "learner": learner,
            "drift": drift,
            "rule": rule,
            "constants": None if l2 is not None else constants,  # with l2, each penalty has its own
            "constants_estimator": constants_estimator,
        }
        each = constants if l2 is not None else None
        entropy = _entropy(rng)
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
        self._may_widen = method is None
        self._expand: ExpansionRequest | None = expand
        self._text = _text_columns(text)
        if self._text and not (_is_wide(self._method) or (method is None and can_be_wide(self._method))):
            raise ParameterError(
                f"must be None without the wide method: {WIDE_LOSSES}, no candidates, metric, season or delay.",
                owner="Tracker",
                name="text",
            )
        self._layout: FrameLayout | None = None
        self._reports: list[StepReport] = []
        self._missing: MissingPolicy = missing
        self._encoding: Encoding | None = None
        self._from_pool = False
        self._pool: OpenPool | None = None
        self._labels: tuple[str | int, ...] = ()
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

    @classmethod
    def for_model(  # noqa: PLR0913  public API
        cls,
        model: Any,
        *,
        epsilon: float | None = None,
        tolerance: float | None = None,
        loss: LinearLoss | VectorLoss | None = None,
        head: "Head | None" = None,
        task: str | None = None,
        labels: Any = None,
        trained_until: Any = None,
        rng: np.random.Generator | int | None = None,
        **options: Any,
    ) -> "ModelTracker":
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
        head : Head, optional
            What the head sees, and its share of the target, 0.7 by default: ``epsilon`` of requests and reports is this share.
        task, labels : str and sequence, optional
            What the model predicts ("regression", "classification", "multiclass" or "counts") where it does not say it, as
            functions and torch modules, and the labels of its classes.
        trained_until : object, optional
            The time of the last row that the model was trained on; ``tell(times=)`` then refuses earlier rows.
        rng : int or numpy.random.Generator, optional
            A seed.
        **options
            ``confidence``, ``certificate_level``, ``orders``, ``season``, ``audit``, ``cap``, ``pool`` and ``budget`` as for
            :class:`Tracker`.

        Returns
        -------
        ModelTracker

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
        from driftpace.tracker.model_tracker import ModelTracker

        return ModelTracker(
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
        owner = "Tracker.fit_pool"
        if self._state.gathered:
            raise ProtocolError("fit_pool() must be called before the first rows of a period are delivered.")
        learned, first = self._encoding, not self._state.rows_seen
        notes: tuple[str, ...] = ()
        if self._shows_nothing(pool):
            raise DataError("must have at least one row; got none.", owner=owner, name="pool")
        layout, pool = self._laid_out(pool, owner)
        method, state = self._widened(pool)
        if not is_frame(pool, owner) and _is_wide(method):
            rows = read_wide_rows(pool, owner=owner, features=state.features, columns=state.columns)
            with _named(owner):
                state = with_wide_pool(method, state, rows.X)
            self._method, self._state, self._layout = method, state, layout
            return ()
        if first and is_frame(pool, owner):
            learned, notes = learn_frame(pool, missing=self._missing, widen=self._state.features is None, owner=owner)
        given, _, encoding = self._encoded(pool, owner, drop=True, learned=learned)
        method, state = self._widened(given)
        if _is_wide(method):
            rows = read_wide_rows(given, owner=owner, features=state.features, columns=state.columns)
            with _named(owner):
                state = with_wide_pool(method, state, rows.X)
            self._method, self._state = method, state
        else:
            from driftpace.tracker.open_pool import OpenPool

            rows = read_rows(given, owner=owner, features=state.features, columns=state.columns)
            self._pool = OpenPool.of_rows(rows)
        self._encoding = encoding
        self._from_pool = self._from_pool or (first and encoding is not None)
        return notes

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
        _, pool = self._laid_out(pool, owner)
        if _is_wide(self._method):
            rows = read_wide_rows(pool, owner=owner, features=state.features, columns=state.columns)
        else:
            given, _, _ = self._encoded(pool, owner, drop=False)
            rows = read_rows(given, owner=owner, features=state.features, columns=state.columns)
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
        method, state, late, pool, layout = self._method, self._state, self._late, self._pool, self._layout
        labels = self._labels
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
        if X is not None and self._shows_nothing(X) and not len(y):
            X = None
        if X is not None:
            layout, X = self._laid_out(X, "Tracker.tell")
            event, encoding, labels, method, state = self._event(X, y, more, "Tracker.tell")
            after = None if pool is None else pool.with_rows(event)
            if balance:
                event = self._balanced(event)
            pool = after
            with _named("Tracker.tell"):
                state = method.gather(state, event)
            late = None if late is None else late.with_rows(event)
        else:
            encoding = self._encoding
        if not final:
            self._state, self._late, self._encoding, self._pool = state, late, encoding, pool
            self._method, self._layout, self._labels = method, layout, labels
            return None
        with np.errstate(over="ignore", invalid="ignore"), _named("Tracker.tell"):
            before, (state, report) = state, method.close(state)
        late = None if late is None else late.after_close(before, state)
        check = None if pool is None else pool.check()
        if check is not None:
            report = replace(report, assumptions=(*report.assumptions, check))
        report = replace(report, seconds=time.perf_counter() - began)
        del self._reports[report.period - 1 :]  # an interrupt may have fallen between the next two lines before
        self._reports.append(report)
        self._state, self._late, self._encoding, self._pool = state, late, encoding, None
        self._method, self._layout, self._labels = method, layout, labels
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
        _, X = self._laid_out(X, owner)
        event, _, labels, *_ = self._event(X, y, more, owner)
        with _named(owner):
            late, state, reports = self._late.tell_late(self._method, self._state, int(period), event)
        old = self._reports[period - 1 : self._state.period - 1]
        again = [replace(new, seconds=one.seconds) for new, one in zip(reports, old, strict=True)]
        self._reports[period - 1 :] = again
        self._state, self._late, self._labels = state, late, labels
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
        if not self._state.rows_seen and not self._from_pool:
            self._encoding = None
            self._layout = self._layout if self._state.features is not None else None
        self._labels = self._labels[: self._classes_fitted()]
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
        asked, late, before_rows = self._state, self._late, self._pool
        shown = self._method, self._encoding, self._layout, self._labels
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
            self._state, self._late, self._pool = asked, late, before_rows
            self._method, self._encoding, self._layout, self._labels = shown
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

    @property
    def delay(self) -> int | None:
        """How many periods late labels may be; None where they are in time."""
        return delay_of(self._method)

    @property
    def period(self) -> int:
        """The open period, from 1."""
        period: int = self._state.period
        return period

    @property
    def epsilon(self) -> float | None:
        """The largest acceptable excess loss; None where a tolerance is given instead."""
        return self._method.epsilon

    @property
    def budget(self) -> Budget | None:
        """The budget; None without one."""
        return self._method.budget

    @property
    def money_left(self) -> Money | None:
        """What is left of the budget when the rows of the open period are paid; None without a budget."""
        spending = self._method.spending(self._state)
        return None if spending is None else spending.left_after(self._state.gathered)

    @property
    def encoding(self) -> "Encoding | None":
        """How columns are encoded; None before the first rows and :meth:`fit_pool`."""
        return self._encoding

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The names of the coefficients; None where arrays gave none."""
        if self._state.columns is None and self._from_pool and self._encoding is not None:
            return self._encoding.names
        columns: tuple[str, ...] | None = self._state.columns
        return columns

    @property
    def classes(self) -> tuple[str | int, ...] | None:
        """The labels of the classes, in the order of the columns of :meth:`predict_proba`; None where numbers are predicted."""
        loss = self._method.spec.loss
        if isinstance(loss, SoftmaxLoss):
            return self._labels if loss.classes is None else tuple(range(loss.classes))
        return (-1, 1) if classifies(loss) else None

    @property
    def coef(self) -> FloatArray:
        """The coefficients of the current model, in the units of X; of several classes, those of each, (classes, columns)."""
        model = self._model()
        loss = self._objective()
        if isinstance(loss, VectorLoss):
            return loss.output_matrix(model)[:, : self._state.features].copy()
        return model[: self._state.features].copy()

    @property
    def intercept(self) -> Any:
        """The intercept of the current model, 0 when none is fitted; of several classes, that of each."""
        loss, model = self._objective(), self._model()
        if isinstance(loss, VectorLoss):
            matrix = loss.output_matrix(model)
            return matrix[:, -1].copy() if self._method.spec.fit_intercept else np.zeros(len(matrix))
        return float(model[-1]) if self._method.spec.fit_intercept else 0.0

    @property
    def selected(self) -> str | None:
        """The candidate whose model is the current one; None without candidates."""
        if not isinstance(self._method, CandidatesMethod):
            return None
        label: str = self._method.selection.labels[self._state.chosen]
        return label

    @property
    def models(self) -> dict[str, FloatArray]:
        """The current model of each candidate by its label: coefficients for all columns, then an intercept if there is one."""
        if not isinstance(self._method, CandidatesMethod):
            raise ProtocolError("models needs a tracker with candidates; the model of this one is coef and intercept.")
        coefs = [self._state.coef_of(index) for index in range(len(self._method.methods))]
        return {
            label: self._model() if coef is None else coef
            for label, coef in zip(self._method.selection.labels, coefs, strict=True)
        }

    def decision_function(self, X: Any) -> FloatArray:
        """Return the linear scores of rows, X @ coef + intercept; of several classes, those of each.

        Parameters
        ----------
        X : array-like or data frame of shape (rows, columns)
            Features.

        Returns
        -------
        ndarray of shape (rows,)

        Raises
        ------
        ProtocolError
            Before the first fit.
        """
        scores, loss = self._linear_scores(X, "Tracker.decision_function"), self._objective()
        return loss.output_scores(scores) if isinstance(loss, VectorLoss) else scores

    def predict(self, X: Any, *, exposure: Any = None) -> Any:
        """Return the predictions of the current model: numbers for regression, -1 or 1 for two classes, labels for several.

        Those of counts and amounts are means, those of a :class:`~driftpace.QuantileLoss` its quantile.

        Parameters
        ----------
        X : array-like or data frame of shape (rows, columns)
            Features.
        exposure : array-like, optional
            What each count or amount is a total over; by default a unit.

        Returns
        -------
        ndarray of shape (rows,)

        Raises
        ------
        ProtocolError
            Before the first fit.
        """
        loss = self._objective()
        if isinstance(loss, LinearLoss | VectorLoss):
            predicted = loss.link(self._linear_scores(X, "Tracker.predict"))
        else:
            rows = self._rows(X, "Tracker.predict")
            values = np.column_stack([rows, np.ones(len(rows))]) if self._method.spec.fit_intercept else rows
            predicted = loss.predict(self._model(), values)
        if self._learns_classes:  # as long as there is one label, the model has a second class without one
            return np.array(self._labels)[np.minimum(predicted.astype(np.int64), len(self._labels) - 1)]
        if exposure is None:
            return predicted
        check_exposure(self._method, "Tracker.predict")
        return predicted * read_exposure(exposure, owner="Tracker.predict", rows=len(predicted))

    def predict_interval(self, X: Any, *, level: float = 0.9, exposure: Any = None) -> FloatArray:
        """Return intervals that hold a new count with a given probability, at the means that :meth:`predict` returns.

        Counts vary as those of earlier periods did: their variance is the estimated noise times the mean, so that over-dispersed
        counts have wider intervals than Poisson counts. For other targets, two trackers with a
        :class:`~driftpace.QuantileLoss` each, such as for 0.05 and 0.95, predict the ends of an interval.

        Parameters
        ----------
        X : array-like or data frame of shape (rows, columns)
            Features.
        level : float, default 0.9
            The probability.
        exposure : array-like, optional
            What each count is a total over; by default a unit.

        Returns
        -------
        ndarray of shape (rows, 2)
            The least and the largest count of each interval, both in it.

        Raises
        ------
        ProtocolError
            Before the first fit, or if the loss is not :class:`~driftpace.PoissonLoss` in the default method.

        Examples
        --------
        >>> from driftpace import PoissonLoss, Tracker
        >>> rng = np.random.default_rng(0)
        >>> X = rng.standard_normal((300, 1))
        >>> tracker = Tracker(PoissonLoss(), epsilon=0.1, rng=0)
        >>> _ = tracker.ask()
        >>> _ = tracker.tell(X, rng.poisson(np.exp(1.0 + 0.5 * X[:, 0])))
        >>> tracker.predict_interval([[0.0], [2.0]])
        array([[ 0.,  6.],
               [ 3., 13.]])
        """
        validation.fraction("Tracker.predict_interval", level=level)
        means = self.predict(X, exposure=exposure)
        method, state = self._method.current(self._state)
        adaptive = getattr(state, "adaptive", None)
        if not isinstance(method.spec.loss, PoissonLoss) or adaptive is None:
            raise ProtocolError(
                f"predict_interval() is for counts, with PoissonLoss; got {type(method.spec.loss).__name__}: two trackers with "
                "QuantileLoss predict the ends of an interval."
            )
        from driftpace.tracker.intervals import count_intervals

        return count_intervals(means, adaptive.memory.noise.estimate().mean, level)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probabilities of the classes -1 and 1, or of all :attr:`classes`.

        Parameters
        ----------
        X : array-like or data frame of shape (rows, columns)
            Features.

        Returns
        -------
        ndarray of shape (rows, classes)

        Raises
        ------
        ProtocolError
            Before the first fit, or if the loss does not estimate probabilities.

        Examples
        --------
        >>> from driftpace import LogisticLoss, Tracker
        >>> rng = np.random.default_rng(0)
        >>> X = rng.standard_normal((40, 1))
        >>> tracker = Tracker(LogisticLoss(l2=0.1), epsilon=0.1, rng=0)
        >>> _ = tracker.ask()
        >>> _ = tracker.tell(X, np.sign(X[:, 0] + rng.standard_normal(40)))
        >>> tracker.predict_proba([[0.0], [2.0]]).round(1)
        array([[0.5, 0.5],
               [0.2, 0.8]])
        """
        scores = self._linear_scores(X, "Tracker.predict_proba")
        loss = self._objective()
        estimate = getattr(loss, "probabilities", None)
        probabilities = None if estimate is None else estimate(scores)
        if probabilities is None:
            raise ProtocolError(
                f"predict_proba() needs a loss that estimates probabilities; got {type(loss).__name__}."
            )
        if isinstance(loss, VectorLoss):
            return self._of_labels(np.asarray(probabilities)) if self._learns_classes else np.asarray(probabilities)
        return np.column_stack([1.0 - probabilities, probabilities])

    @property
    def history(self) -> History:
        """The reports of the closed periods; ``.to_frame()`` for a table."""
        return History(self._reports[: self._state.period - 1])

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
        encoding = None if self._encoding is None else self._encoding.to_values()
        body = to_body(self._method, self._state, self._reports)
        body |= {"encoding": encoding, "missing": self._missing, "from_pool": self._from_pool}
        body |= {"text": list(self._text), "may_widen": self._may_widen}
        if self._expand is not None:
            body["expand"] = self._expand.to_values()
        if self._labels:
            body["labels"] = list(self._labels)
        if self._layout is not None:
            body["layout"] = self._layout.to_values()
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
            ``model`` of a tracker made by :meth:`for_model` where it cannot be saved.

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
        if isinstance(body, dict) and "model" in body:
            from driftpace.tracker.model_tracker import ModelTracker

            model = own.pop("model", None)
            return ModelTracker.from_body(cls, body, model, own)
        return cls.from_body(body, own)

    @classmethod
    def from_body(cls, body: dict[str, Any], own: dict[str, Any]) -> Self:
        """Return the tracker of JSON values that :meth:`to_body` wrote, with parts of the user's own."""
        tracker = cls.from_snapshot(*from_body(body, own))
        if body.get("encoding") is not None:
            from driftpace.tables.encoding import Encoding

            tracker._encoding = Encoding.of(body["encoding"])
        tracker._missing, tracker._from_pool = body.get("missing", "impute"), body.get("from_pool", False)
        tracker._text, tracker._may_widen = tuple(body.get("text", ())), body.get("may_widen", False)
        if body.get("layout") is not None:
            from driftpace.tracker.wide_frame import FrameLayout

            tracker._layout = FrameLayout.of(body["layout"])
        if body.get("pool") is not None:
            from driftpace.tracker.open_pool import OpenPool

            tracker._pool = OpenPool.from_body(body["pool"])
        tracker._labels = tuple(body.get("labels", ()))
        if body.get("expand") is not None:
            tracker._expand = _expansion_request(**body["expand"])
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
        tracker._missing, tracker._encoding, tracker._from_pool = "impute", None, False
        tracker._may_widen, tracker._text, tracker._layout, tracker._expand = False, (), None, None
        tracker._late, tracker._pool, tracker._labels = None, None, tuple(classes)
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

    def _event(
        self, X: Any, y: Any, more: Mapping[str, Any], owner: str
    ) -> "tuple[TellEvent, Encoding | None, tuple[str | int, ...], Method, Any]":
        """Return rows as the method takes them, the encoding and the labels of classes so far, and the method with its state."""
        plain = all(value is None for value in more.values())
        method, state = self._widened(X) if plain else (self._method, self._state)
        given, keep, encoding = X, None, self._encoding
        if not (_is_wide(method) and not is_frame(X, owner)):
            given, keep, encoding = self._encoded(X, owner, drop=True)
            method, state = self._widened(given) if plain else (self._method, self._state)
        read = read_wide_rows if _is_wide(method) else read_rows
        rows = read(given, owner=owner, features=state.features, columns=state.columns)
        count, labels = rows.X.shape[0] if keep is None else keep.size, self._labels
        if self._learns_classes:
            targets, labels = read_classes(y, labels, owner=owner, rows=count)
        else:
            several = isinstance(method.spec.loss, MultiSquaredLoss)
            targets = read_targets(y, owner=owner, rows=count, several=several)
        codes, weights = self._groups(method, more["groups"], len(targets)), None
        if more["sample_weight"] is not None:
            check_weights(method, owner)
            weights = read_weights(more["sample_weight"], owner=owner, rows=len(targets))
        if more["exposure"] is not None:
            check_exposure(self._method, owner)
            exposure = read_exposure(more["exposure"], owner=owner, rows=len(targets))
            targets, weights = as_rates(targets, weights, exposure)
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
        return event, encoding, labels, method, state

    def _shows_nothing(self, X: Any) -> bool:
        """Return whether the first frame, or the first rows of columns to expand, has no rows that could show how it is read."""
        if self._encoding is not None or self._layout is not None or self._state.rows_seen or self._state.gathered:
            return False
        shape = getattr(X, "shape", None)
        if not shape or shape[0] or isinstance(X, InputRows):
            return False
        return self._expand is not None or is_frame(X, "Tracker.tell")

    def _laid_out(self, X: Any, owner: str) -> "tuple[FrameLayout | None, Any]":
        """Return the layout of frames with texts or lists, which the first one shows, and rows as a matrix."""
        if self._layout is None and not self._text and (_is_array(X) or not is_frame(X, owner)):
            return None, X
        from driftpace.tracker.wide_frame import FrameLayout

        layout = self._layout or FrameLayout.of_frame(X, self._text, owner)
        return layout, X if layout is None else layout.matrix(X, owner)

    def _widened(self, X: Any) -> tuple[Method, Any]:
        """Return the method and its state; before the first rows the wide method, where these have many columns."""
        method, state = self._method, self._state
        if X is None or not self._may_widen or state.features is not None or state.gathered or state.rows_seen:
            return method, state
        count = column_count(X)
        if count is None or count <= WIDE_COLUMNS or not can_be_wide(method):
            return method, state
        return as_wide(method, state)

    def _groups(self, method: Method, groups: Any, rows: int) -> Any:
        if groups is None:
            return None
        if not uses_groups(method):
            raise ParameterError(
                "must be None with the wide method; give method='adaptive' where rows belong together."
                if _is_wide(method)
                else "must be None with learner=, drift= and rule=, unless there are candidates to compare (l2=[...] or select=).",
                owner="Tracker.tell",
                name="groups",
            )
        if isinstance(groups, list | tuple):  # of strings and NaN together NumPy would make strings: the group "nan"
            groups = np.array(groups, dtype=object)
        return read_groups(groups, owner="Tracker.tell", rows=rows)

    def _encoded(
        self, X: Any, owner: str, *, drop: bool, learned: "Encoding | None" = None
    ) -> "tuple[Any, BoolArray | None, Encoding | None]":
        """Return rows without missing cells and texts, which of the rows they are, and the encoding that they have shown."""
        state, encoding = self._state, learned or self._encoding
        strict = encoding is None and (state.rows_seen > 0 or state.columns is not None)
        if (
            isinstance(X, InputRows)
            or strict
            or (encoding is None and self._missing == "refuse" and self._expand is None and not is_frame(X, owner))
        ):
            return X, None, encoding
        made = encode_rows(
            X,
            encoding=encoding,
            missing=self._missing,
            widen=state.features is None,
            drop=drop,
            owner=owner,
            expand=self._expand,
        )
        return made.rows, made.keep, made.encoding

    def _linear_scores(self, X: Any, owner: str) -> FloatArray:
        """Return the scores of rows, (rows,) or (rows, outputs)."""
        model, loss, rows = self._model(), self._objective(), self._rows(X, owner)
        coef = loss.matrix(model) if isinstance(loss, VectorLoss) else model
        if not self._method.spec.fit_intercept:
            return np.asarray(rows @ coef)
        if _is_wide(self._method):
            return np.asarray(rows @ coef[:-1] + coef[-1])
        return np.asarray(np.column_stack([rows, np.ones(len(rows))]) @ coef)

    def _objective(self) -> Loss:
        """Return the loss that the current model minimises, for as many classes as it has."""
        method, state = self._method.current(self._state)
        return method.spec.objective_for(self._model(), state.features)

    @property
    def _learns_classes(self) -> bool:
        """Whether labels of classes are numbered as they appear."""
        loss = self._method.spec.loss
        return isinstance(loss, SoftmaxLoss) and loss.classes is None

    def _of_labels(self, probabilities: FloatArray) -> FloatArray:
        """Return a column for each label: zeros where the model has no class for one yet, and no class without a label."""
        known, fitted = len(self._labels), probabilities.shape[1]
        if fitted > known:
            kept = probabilities[:, :known]
            return np.asarray(kept / kept.sum(axis=1, keepdims=True)) if known > 1 else np.ones_like(kept)
        return np.pad(probabilities, ((0, 0), (0, known - fitted)))

    def _classes_fitted(self) -> int:
        """Return how many classes the current model has; 0 before the first fit."""
        if not self._learns_classes or not self._state.rows_seen:
            return 0
        loss = self._objective()
        return loss.outputs + 1 if isinstance(loss, VectorLoss) else 0

    def _rows(self, X: Any, owner: str) -> Any:
        """Return rows as the method takes them."""
        if self._state.rows_seen == 0:
            raise ProtocolError("the tracker has no model yet; call ask() and tell() first.")
        state, wide = self._state, _is_wide(self._method)
        X = X if self._layout is None else self._layout.matrix(X, owner)
        given = X if wide and not is_frame(X, owner) else self._encoded(X, owner, drop=False)[0]
        read = read_wide_rows if wide else read_rows
        return read(given, owner=owner, features=state.features, columns=state.columns).X

    def _model(self) -> FloatArray:
        coef: FloatArray | None = self._state.coef
        if coef is None:
            raise ProtocolError("the tracker has no model yet; call ask() and tell() first, or give features=.")
        return coef


@contextmanager
def _named(owner: str) -> Iterator[None]:
    """Name the method that was called in errors about rows."""
    try:
        yield
    except DataError as error:
        raise (error if error.owner else error.renamed(owner=owner, name=error.name or "X")) from None


def _is_array(X: Any) -> bool:
    return isinstance(X, np.ndarray | list | tuple | InputRows)


def _is_wide(method: Any) -> bool:
    """Whether a method takes rows of many columns, sparse ones as they are."""
    return not isinstance(method, CandidatesMethod) and isinstance(model_method(method), WideMethod)


def _text_columns(text: Any) -> tuple[str, ...]:
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


def _expansion_request(splines: Any, interactions: Any, **others: Any) -> "ExpansionRequest | None":
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


def _entropy(rng: np.random.Generator | int | None) -> int:
    """Return an integer seed: ``rng`` itself, or one drawn from it."""
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

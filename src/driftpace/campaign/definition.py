"""The definition of a campaign: columns, loss, target and budget, as plain values such as a TOML file holds."""

import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from driftpace import validation
from driftpace.campaign.column_settings import check_categories, check_fill, check_unknown_categories, words
from driftpace.errors import ParameterError
from driftpace.losses import get_loss, loss_names, loss_spec, parse_loss
from driftpace.losses.registry import Task
from driftpace.tables.encoding import MISSING_POLICIES, MissingPolicy
from driftpace.tables.targets import MOST_LABELS

if TYPE_CHECKING:
    from driftpace.fleet import FleetBudget
    from driftpace.losses import Loss
    from driftpace.planning import Budget
    from driftpace.tables.expansion import ExpansionRequest
    from driftpace.tracker import Tracker

MOST_COLUMNS = 5_000
"""The most columns of a table whose rows are kept."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


_BUDGET = ("total", "horizon", "fixed", "per_sample", "tiers", "minimum", "currency", "gap", "batches")
_SEGMENT_PRICES = ("fixed", "per_sample", "minimum")
_FLEET_BUDGET = ("total", "horizon", *_SEGMENT_PRICES, "currency", "order_price", "weights", "costs")
"""Settings of a budget, and of one that segments share."""

DEFAULT_MAX_ROWS = 10**6
"""Most rows that a period takes by default; six columns of them are 50 MB."""

_WORDS = ("target", "segment", "period", "id", "groups", "weight", "exposure", "annotator", "description")


_ONE_MODEL = ("period", "text", "splines", "interactions", "exposure", "annotator", "model", "max_rows")
"""Settings of a campaign of one model that one of segments does not have."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Definition:
    """The definition of a campaign.

    Parameters
    ----------
    name : str
        Letters, digits, dots, dashes and underscores.
    target : str, optional
        The column to predict; needed to read tables.
    segment : str, optional
        Column with the name of a segment, such as a shop: each has a model of its own, with the same target. The campaign is then
        a :class:`FleetCampaign`.
    epsilons : mapping of str to float, optional
        With ``segment``: targets of segments that differ from ``epsilon``.
    borrow : bool or sequence of str, default True
        With ``segment``: what segments learn from each other, of ``"drift"``, ``"start"``, ``"slopes"`` and ``"common"``; all of
        it, or nothing.
    period : str, optional
        Column by which the rows of a table are put into periods: ``"wave"``, or ``"date:month"`` for the months of a date (day,
        week, quarter, year). Keys of periods are then its values, such as 2026-11. Rows of a closed period are absorbed into it,
        rows of other periods are left out and counted.
    dayfirst : bool, optional
        Whether 03/04/2010 is 3 April, in all tables; by default the other dates of each table decide.
    epsilon : float, optional
        Largest accepted excess loss over the best model.
    tolerance : float, optional
        Instead of ``epsilon``: relative to the best loss, 0.05 for 5 %.
    metric : str, optional
        Instead of both: a target in a metric of the loss (:func:`driftpace.metrics.target_metrics`), such as "accuracy" or "mae".
    at_least, at_most : float, optional
        The target in the metric.
    confidence : float, optional
        Meet the target in each period with this probability instead of on average.
    certificate_level : float, default 0.95
        Confidence of the upper bounds in reports.
    orders : int, optional
        The most orders of a period; by default rows are ordered in batches, as many as are useful.
    season : int or {"quarter", "weekday", "month", "week"}, optional
        After how many periods the drift may repeat itself, such as 12 or "month" for months of a year.
    audit : float, optional
        The share of each order that is held out for the audit, such as 0.1; by default none.
    delay : int, optional
        How many periods after their order labels may arrive. Asking for the next period then closes one whose rows are missing,
        and they are absorbed when they arrive. Needs ``keep_rows``.
    splines, interactions : optional
        Columns that may have a curve in place of a line, and pairs of columns that are multiplied, as in
        :class:`~driftpace.Tracker`. The first delivery shows the knots.
    features : sequence of str, optional
        Feature columns; by default every column of the first delivery but dates, free text and ids.
    text : sequence of str
        Feature columns that are texts: words are hashed and weighted by how rare they are in the first delivery, and the model is
        followed by the wide method, whose promise is about a penalised loss.
    classes : sequence of str, optional
        The classes of the target: the negative and the positive one of two that are not 0/1, or three and more. Classes that appear
        later are added by :meth:`Campaign.amend`.
    categories : mapping of str to sequence of str
        The categories of each categorical feature; the first is the reference.
    unknown_categories : mapping of str to str or sequence of str
        The category that unknown ones count as, by column; by default the reference. Of several, the hash of a category selects
        one.
    missing : {"impute", "drop", "refuse"}
        Whether missing features are filled, their rows are left out, or the table is refused.
    fill : mapping of str to float
        What missing cells of numeric features count as; by default the mean of the first delivery. Missing categories count as
        the category ``missing`` where it is listed, else as the reference.
    indicators : sequence of str
        Numeric features with a column of their own, such as ``age=missing``, that says where they are missing.
    id : str, optional
        Column that identifies rows.
    groups : str, optional
        Column of groups of rows that belong together, such as a person: their noise is counted by group, and cross-validation
        keeps them together.
    weight : str, optional
        Column of what each row counts for, such as one over the probability that it was drawn; see :meth:`Tracker.tell`.
    exposure : str, optional
        Column of what each count or amount is a total over, such as years at risk; predictions are then for a unit of it.
    annotator : str, optional
        Column of who labelled a row: labels of one id in a period are then labels of one row, whose target is their mean. Needs
        an id column, or rows that the campaign drew.
    row_cost, label_cost : float, default 1.0
        The price of one more row, without its label, and of one more label of a row: what to buy next depends on their ratio.
    loss : str
        One of :func:`driftpace.losses.loss_names`, such as poisson or quantile(0.9); by default squared for numbers, logistic for
        two ``classes``, and softmax for more.
    l2 : float or sequence of float
        Penalty, or candidates to choose from.
    pool : int, optional
        Number of rows that can be labelled in a period.
    cap : int
        Largest order.
    max_rows : int, optional
        Most rows that a period takes; deliveries beyond it are refused. Default: a million, or the cap where that is more.
    fit_intercept : bool, default True
        Whether the model has an intercept.
    seed : int, optional
        Seed of all random draws.
    keep_rows : bool, default True
        Keep delivered rows, so that the log can be replayed.
    description : str
        A note for people.
    budget : mapping, optional
        total, horizon, fixed, per_sample, tiers, minimum, currency, gap, batches. With ``segment`` it is shared by all: total,
        horizon, currency, the prices of a segment's rows (fixed, per_sample, minimum), order_price of an order of any rows, and
        weights and costs (with prices of their own) by segment; see :class:`~driftpace.fleet.FleetBudget`.
    model : mapping, optional
        format and sha256 of the model that a head is fitted on, which :meth:`Campaign.create` fills in, and trained_until, the
        date of the last row that it was trained on: rows of tables that are not later, by the column of ``period``, are refused,
        since its scores of them may be too good. The features are then its columns, in its order, and missing cells stay missing
        for it.

    Examples
    --------
    >>> definition = Definition.of({"name": "churn", "target": "left", "classes": ["no", "yes"], "epsilon": 0.02})
    >>> definition.loss, definition.l2
    ('logistic', 0.001)
    >>> Definition.of({"name": "species", "target": "s", "classes": ["cat", "dog", "owl"], "epsilon": 0.02}).loss
    'softmax'
    >>> Definition.of({"name": "churn", "target": "left", "epsilom": 0.02})
    Traceback (most recent call last):
        ...
    driftpace.errors.ParameterError: Campaign(epsilom=...) must be a setting of a campaign; did you mean 'epsilon'?
    """

    name: str
    target: str | None = None
    segment: str | None = None
    epsilons: Mapping[str, float] = field(default_factory=dict)
    borrow: bool | tuple[str, ...] = True
    period: str | None = None
    dayfirst: bool | None = None
    epsilon: float | None = None
    tolerance: float | None = None
    metric: str | None = None
    at_least: float | None = None
    at_most: float | None = None
    confidence: float | None = None
    certificate_level: float = 0.95
    orders: int | None = None
    season: int | None = None
    audit: float | None = None
    delay: int | None = None
    splines: bool | tuple[str, ...] | Mapping[str, str] | None = None
    interactions: bool | tuple[tuple[str, str], ...] | None = None
    features: tuple[str, ...] | None = None
    text: tuple[str, ...] = ()
    classes: tuple[str, ...] | None = None
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unknown_categories: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    missing: MissingPolicy = "impute"
    fill: Mapping[str, float] = field(default_factory=dict)
    indicators: tuple[str, ...] = ()
    id: str | None = None
    groups: str | None = None
    weight: str | None = None
    exposure: str | None = None
    annotator: str | None = None
    row_cost: float = 1.0
    label_cost: float = 1.0
    loss: str = "squared"
    l2: float | tuple[float, ...] = 0.0
    pool: int | None = None
    cap: int = 10**6
    max_rows: int | None = None
    fit_intercept: bool = True
    seed: int | None = None
    keep_rows: bool = True
    description: str = ""
    budget: Mapping[str, Any] | None = None
    model: Mapping[str, str] | None = None

    @property
    def row_limit(self) -> int:
        """Most rows that a period takes."""
        return max(self.cap, DEFAULT_MAX_ROWS) if self.max_rows is None else self.max_rows

    @classmethod
    def of(cls, values: Mapping[str, Any], *, saved: bool = False) -> "Definition":
        """Return the definition of plain values.

        Parameters
        ----------
        values : mapping
            Settings by name; None means the default.
        saved : bool, default False
            Whether a campaign has saved them: an amendment may have mapped categories that its rows have shown.

        Raises
        ------
        ParameterError
            If a setting is unknown or invalid.
        """
        known = [item.name for item in fields(cls)]
        for name in values:
            if name not in known:
                near = get_close_matches(str(name), known, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"got {name!r}; there are {', '.join(known)}."
                raise ParameterError(f"must be a setting of a campaign; {hint}", owner="Campaign", name=name)
        given = {name: value for name, value in values.items() if value is not None}
        given["name"] = check_name(given.get("name"))
        for name in _WORDS:
            if name in given and (not isinstance(given[name], str) or "\0" in given[name]):
                raise ParameterError(f"must be a text; got {given[name]!r}.", owner="Campaign", name=name)
        for name in ("fit_intercept", "keep_rows", "dayfirst"):
            validation.switch("Campaign", **{name: given.get(name, True)})
        validation.count("Campaign", seed=given.get("seed", 0))
        validation.count("Campaign", least=1, max_rows=given.get("max_rows", 1))
        for name in ("features", "classes", "indicators", "text"):
            if name in given and (name in ("features", "classes") or given[name] not in ([], ())):
                given[name] = words(name, given[name])
        if "classes" in given:
            check_classes("Campaign", "classes", given["classes"])
        given["categories"] = check_categories(given.get("categories", {}))
        given["unknown_categories"] = check_unknown_categories(
            "Campaign",
            given.get("unknown_categories", {}),
            given["categories"],
            learned=saved,
        )
        validation.choice("Campaign", MISSING_POLICIES, missing=given.get("missing", "impute"))
        given["fill"] = check_fill(given.get("fill", {}))
        given["epsilons"] = _epsilons(given.get("epsilons", {}))
        given["borrow"] = _borrow(given.get("borrow", True))
        given["indicators"], given["text"] = tuple(given.get("indicators", ())), tuple(given.get("text", ()))
        given["loss"] = given.get("loss", loss_names(_task(given.get("classes")))[0])
        _check_loss(given)
        given["l2"] = _penalty(given)
        if "budget" in given:
            given["budget"] = _budget(given["budget"], _BUDGET if given.get("segment") is None else _FLEET_BUDGET)
        given["delay"] = _delay(given)
        given["model"] = _model(given)
        validation.nonnegative("Campaign", row_cost=given.get("row_cost", 1.0))
        validation.positive("Campaign", label_cost=given.get("label_cost", 1.0))
        if "season" in given:
            from driftpace.adaptive import season_length

            given["season"] = season_length("Campaign", given["season"])
        _check_expansion(given)
        definition = cls(**given)
        definition._check_columns()
        definition._check_segment()
        return definition

    @classmethod
    def of_toml(cls, text: str | bytes) -> "Definition":
        """Return the definition of a TOML file, given as its text."""
        try:
            values = tomllib.loads(text.decode("utf-8-sig") if isinstance(text, bytes) else text)
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
            raise ParameterError(f"must be TOML; {error}.", owner="Campaign", name="file") from None
        return cls.of(values)

    def _check_columns(self) -> None:
        names = ("target", "segment", "id", "groups", "weight", "exposure", "annotator")
        given = {name: getattr(self, name) for name in names}
        roles = {name: column for name, column in given.items() if column is not None}
        count = len(self.features or ())
        if count > MOST_COLUMNS:
            raise ParameterError(
                f"must be at most {MOST_COLUMNS:,} columns, since rows are kept with all of them; got {count:,}.",
                owner="Campaign",
                name="features",
            )
        used = Counter([*roles.values(), *(self.features or ())])
        twice = next((name for name, times in used.items() if times > 1), None)
        if twice is not None:
            as_what = [role for role, column in roles.items() if column == twice]
            if len(as_what) > 1:
                raise ParameterError(
                    f"must be another column than the {as_what[0]}; got {twice!r} for both.",
                    owner="Campaign",
                    name=as_what[1],
                )
            raise ParameterError(f"must name each column once; got {twice!r} twice.", owner="Campaign", name="features")
        self._check_text(roles)
        for setting in ("categories", "fill", "indicators"):
            for name in getattr(self, setting):
                numeric = setting == "categories" or name not in (*self.categories, *self.text)
                if (self.features is not None and name not in self.features) or not numeric:
                    raise ParameterError(
                        f"must be one of features{'' if numeric else ' that is numeric'}; got {name!r}.",
                        owner="Campaign",
                        name=setting,
                    )
        self._check_loss()

    def _check_segment(self) -> None:
        """Refuse settings that segments with a model each do not have, and those that only they have."""
        if self.segment is None:
            for name, default in (("epsilons", {}), ("borrow", True)):
                if getattr(self, name) != default:
                    raise ParameterError(
                        f"must be left out without segment; got {_plain(getattr(self, name))!r:.80}.",
                        owner="Campaign",
                        name=name,
                    )
            return
        if self.epsilons and self.epsilon is None:
            raise ParameterError(
                "must be left out without epsilon, which they are exceptions from; got targets.",
                owner="Campaign",
                name="epsilons",
            )
        if self.target is None:
            raise ParameterError("must be given with segment; got None.", owner="Campaign", name="target")
        refused = [name for name in _ONE_MODEL if getattr(self, name)]
        refused += ["l2"] if isinstance(self.l2, tuple) else []
        if refused:
            got = getattr(self, refused[0])
            raise ParameterError(
                f"must be left out with segment, which gives each segment a model; got {got!r:.80}.",
                owner="Campaign",
                name=refused[0],
            )
        if self.task == "multiclass":
            raise ParameterError(
                f"must be left out with the loss {self.loss!r}, which has a score for each class; got {self.segment!r}.",
                owner="Campaign",
                name="segment",
            )

    def _check_text(self, roles: Mapping[str, str]) -> None:
        """Refuse columns of texts that are no features, and settings that the wide method cannot work with."""
        for name in self.text:
            if name in (*roles.values(), *self.categories) or (self.features is not None and name not in self.features):
                raise ParameterError(
                    f"must be columns of features that are nothing else; got {name!r}.", owner="Campaign", name="text"
                )
        unusable = ("groups", "weight", "exposure", "annotator", "metric", "season", "delay", "splines", "interactions")
        names = [name for name in unusable if getattr(self, name) is not None]
        names += ["l2"] if isinstance(self.l2, tuple) else []
        if self.text and names:
            raise ParameterError(
                f"must be left out with {names[0]}, which the wide method does not use; got {list(self.text)!r:.80}.",
                owner="Campaign",
                name="text",
            )

    def _check_loss(self) -> None:
        """Refuse a loss that does not go with the classes, and several labels of a row where they have no mean."""
        task = self.task
        if self.classes is None:
            if task == "multiclass":
                raise ParameterError(
                    f"must be given for the loss {self.loss!r}: list the classes of the target.",
                    owner="Campaign",
                    name="classes",
                )
        elif task != "multiclass" and (task == "regression" or len(self.classes) > 2):
            names = (*(loss_names("classification") if len(self.classes) == 2 else ()), *loss_names("multiclass"))
            *others, last = (repr(name) for name in names)
            allowed = f"{', '.join(others)} or {last}" if others else last
            raise ParameterError(
                f"must be {allowed} where {len(self.classes)} classes are given; got {self.loss!r}.",
                owner="Campaign",
                name="loss",
            )
        if task == "multiclass" and self.annotator is not None:
            raise ParameterError(
                f"must be left out with the loss {self.loss!r}: labels of several classes have no mean.",
                owner="Campaign",
                name="annotator",
            )

    def to_values(self) -> dict[str, Any]:
        """Return the plain values that :meth:`of` reads, without defaults."""
        plain: dict[str, Any] = {}
        for item in fields(self):
            value = getattr(self, item.name)
            default = {} if item.name in ("categories", "unknown_categories", "fill", "epsilons") else item.default
            if value != default:
                plain[item.name] = _plain(value)
        return plain

    @property
    def expand(self) -> "ExpansionRequest | None":
        """Which columns are expanded; None for none."""
        if self.splines is None and self.interactions is None:
            return None
        from driftpace.tables.expansion import ExpansionRequest

        return ExpansionRequest.of("Campaign", self.splines, self.interactions)

    @property
    def label_columns(self) -> tuple[str, ...]:
        """Columns that are filled in when a row is labelled."""
        return tuple(name for name in (self.target, self.annotator) if name is not None)

    @property
    def task(self) -> Task:
        """What the loss predicts: "regression", "classification" (of two classes) or "multiclass"."""
        return loss_spec(self.loss).task

    def unknown_levels(self, name: str, default: tuple[str, ...]) -> tuple[str, ...]:
        """Return the categories that unknown ones of a column count as."""
        levels = self.unknown_categories.get(name, default)
        return (levels,) if isinstance(levels, str) else tuple(levels)

    def make_loss(self) -> "Loss":
        """Return the loss."""
        return get_loss(self.loss, l2=0.0 if isinstance(self.l2, tuple) else self.l2)

    def make_budget(self) -> "Budget | None":
        """Return the budget; None without one."""
        if self.budget is None:
            return None
        from driftpace.planning import Budget

        return Budget(
            total=self.budget["total"],
            horizon=self.budget["horizon"],
            cost=make_cost(self.budget),
            gap=self.budget.get("gap", "mean"),
            batches=self.budget.get("batches"),
        )

    def make_fleet_budget(self) -> "FleetBudget | None":
        """Return the budget that all segments share; None without one."""
        if self.budget is None:
            return None
        from driftpace.fleet import FleetBudget

        prices = {name: self.budget[name] for name in (*_SEGMENT_PRICES, "currency") if name in self.budget}
        return FleetBudget(
            total=self.budget["total"],
            horizon=self.budget["horizon"],
            cost=make_cost(prices),
            costs={name: make_cost({**prices, **own}) for name, own in self.budget.get("costs", {}).items()},
            order_price=self.budget.get("order_price", 0),
            weights=self.budget.get("weights"),
        )

    def make_tracker(self, *, rng: int) -> "Tracker":
        """Return a new tracker; ``rng`` seeds it unless the definition has a seed."""
        from driftpace.tracker import Tracker

        features = None
        if self.features is not None and self.expand is None and not self.text:
            features = len(self.indicators) + sum(
                len(self.categories.get(name, ("", ""))) - 1 for name in self.features
            )
        try:
            return Tracker(
                self.make_loss(),
                epsilon=self.epsilon,
                tolerance=self.tolerance,
                metric=self.metric,
                at_least=self.at_least,
                at_most=self.at_most,
                confidence=self.confidence,
                certificate_level=self.certificate_level,
                orders=self.orders,
                season=self.season,
                audit=self.audit,
                delay=self.delay,
                splines=self.splines,
                interactions=self.interactions,
                features=features,
                fit_intercept=self.fit_intercept,
                cap=self.cap,
                pool=self.pool,
                budget=self.make_budget(),
                l2=list(self.l2) if isinstance(self.l2, tuple) else None,
                method="wide" if self.text else None,
                rng=rng if self.seed is None else self.seed,
            )
        except ParameterError as error:
            raise error if error.owner is None else error.renamed(owner="Campaign") from None


def of_segments(name: str, *, owner: str) -> ParameterError:
    """Return the error of what is for campaigns of one model."""
    problem = f"must be a campaign of one model; {name!r} follows segments: open it with FleetCampaign.open."
    return ParameterError(problem, owner=owner, name="name")


def _check_expansion(given: dict[str, Any]) -> None:
    """Refuse splines and interactions that cannot be, and make what is listed unchangeable."""
    if "splines" not in given and "interactions" not in given:
        return
    from driftpace.tables.expansion import ExpansionRequest

    ExpansionRequest.of("Campaign", given.get("splines"), given.get("interactions"))
    splines = given.get("splines")
    if splines is not None and not isinstance(splines, bool | Mapping):
        given["splines"] = (splines,) if isinstance(splines, str) else tuple(splines)
    if not isinstance(given.get("interactions", True), bool):
        given["interactions"] = tuple(tuple(pair) for pair in given["interactions"])


def check_classes(owner: str, name: str, classes: Sequence[str], *, known: Sequence[str] = ()) -> None:
    """Refuse classes that are not distinct, fewer than two of them, and more than there can be."""
    together = (*known, *classes)
    if not classes or len(together) < 2 or len(together) > MOST_LABELS or len(set(together)) != len(together):
        but = " that are not listed yet" if known else ""
        least = "one" if known else "two"
        raise ParameterError(
            f"must be {least} or more different texts{but}, {MOST_LABELS} at most together; got {list(classes)!r:.200}.",
            owner=owner,
            name=name,
        )


def _task(classes: Sequence[str] | None) -> Task:
    if classes is None:
        return "regression"
    return "classification" if len(classes) == 2 else "multiclass"


def check_name(name: object) -> str:
    """Return the name of a campaign, or raise ParameterError; it is part of URLs and file names."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise ParameterError(
            f"must be up to 100 letters, digits, dots, dashes and underscores, "
            f"a letter or digit first; got {'none' if name is None else repr(str(name)[:120])}.",
            owner="Campaign",
            name="name",
        )
    return name


def make_cost(prices: Mapping[str, Any]) -> Any:
    """Return the cost function for ``fixed``, ``per_sample``, ``tiers``, ``minimum`` and ``currency``."""
    from driftpace.planning import LinearCost, TieredCost

    more = {name: prices[name] for name in ("fixed", "minimum", "currency") if name in prices}
    if "tiers" in prices:
        return TieredCost(tiers=tuple((start, price) for start, price in prices["tiers"]), **more)
    return LinearCost(**more, **({"per_sample": prices["per_sample"]} if "per_sample" in prices else {}))


def _check_loss(given: Mapping[str, Any]) -> None:
    """Refuse an unknown loss or parameter, and an exposure where the loss is not one of counts or amounts."""
    spec, parameters = parse_loss(given["loss"], "Campaign")
    spec.make(**parameters)
    if "exposure" in given and not spec.takes_exposure:
        raise ParameterError(
            f"must be left out with the loss {given['loss']!r}: counts and amounts have an exposure (poisson, gamma, tweedie).",
            owner="Campaign",
            name="exposure",
        )


def _penalty(given: Mapping[str, Any]) -> float | tuple[float, ...]:
    l2 = given.get("l2", loss_spec(given["loss"]).default_l2)
    several = isinstance(l2, list | tuple)
    for penalty in l2 if several else (l2,):
        validation.nonnegative("Campaign", l2=penalty)
    if several and not l2:
        raise ParameterError("must be a number or a non-empty list; got an empty list.", owner="Campaign", name="l2")
    return tuple(float(penalty) for penalty in l2) if several else float(l2)


def _delay(given: Mapping[str, Any]) -> int | None:
    delay = given.get("delay")
    if delay is None:
        return None
    from driftpace.adaptive import MOST_DELAY  # slow to import

    validation.count("Campaign", least=1, at_most=MOST_DELAY, delay=delay)
    if not given.get("keep_rows", True):
        raise ParameterError(
            f"must be None where keep_rows is false, because late rows are absorbed with those of their period; got {delay}.",
            owner="Campaign",
            name="delay",
        )
    return int(delay)


def _budget(value: Any, known: Sequence[str]) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise ParameterError(
            f"must be a table with total and horizon; got {value!r:.80}.",
            owner="Campaign",
            name="budget",
        )
    for name in value:
        if name not in known:
            near = get_close_matches(str(name), known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}."
            raise ParameterError(f"must be a setting of a budget; {hint}", owner="Campaign", name=f"budget.{name}")
    for name in ("total", "horizon"):
        if value.get(name) is None:
            raise ParameterError("must be given; got nothing.", owner="Campaign", name=f"budget.{name}")
    tiers = value.get("tiers")
    if tiers is not None:
        if not isinstance(tiers, list | tuple) or not all(
            isinstance(tier, list | tuple) and len(tier) == 2 for tier in tiers
        ):
            raise ParameterError(
                f"must be pairs (first sample, price); got {tiers!r:.80}.", owner="Campaign", name="budget.tiers"
            )
        if "per_sample" in value:
            raise ParameterError("must be left out beside tiers; got both.", owner="Campaign", name="budget.per_sample")
    _check_by_segment(value)
    return {name: item for name, item in value.items() if item is not None}


def _check_by_segment(budget: Mapping[str, Any]) -> None:
    """Refuse weights and prices of segments that are no tables."""
    for name, held in (("weights", "a weight"), ("costs", f"some of {', '.join(_SEGMENT_PRICES)}")):
        given = budget.get(name) or {}
        wrong = not isinstance(given, Mapping) or not all(isinstance(one, str) and one for one in given)
        if not wrong and name == "costs":
            wrong = not all(isinstance(one, Mapping) and set(one) <= set(_SEGMENT_PRICES) for one in given.values())
        if wrong:
            raise ParameterError(
                f"must be a table with {held} for each segment; got {given!r:.80}.",
                owner="Campaign",
                name=f"budget.{name}",
            )


_MODEL = ("format", "sha256", "trained_until")
_NOT_WITH_MODEL = (
    *(
        "metric",
        "at_least",
        "at_most",
        "categories",
        "indicators",
        "exposure",
        "annotator",
        "splines",
        "interactions",
        "text",
    ),
)


def _epsilons(value: Any) -> dict[str, float]:
    """Return the targets of segments, by their names."""
    if not isinstance(value, Mapping) or not all(isinstance(name, str) and name for name in value):
        raise ParameterError(
            f"must be a table of segments and their targets; got {value!r:.80}.", owner="Campaign", name="epsilons"
        )
    for epsilon in value.values():
        validation.positive("Campaign", epsilons=epsilon)
    return {name: float(epsilon) for name, epsilon in value.items()}


def _borrow(value: Any) -> bool | tuple[str, ...]:
    """Return what segments learn from each other: all of it, nothing, or the parts that are named, in their usual order."""
    if isinstance(value, bool):
        return value
    from driftpace.fleet.borrowing import PARTS, parts_of  # slow to import

    try:
        parts = parts_of(value)
    except ParameterError as error:
        raise error.renamed(owner="Campaign") from None
    return parts == PARTS or parts or False


def _model(given: Mapping[str, Any]) -> dict[str, str] | None:
    """Return what is known of the base model, None without one, or refuse settings that do not go with it."""
    value = given.get("model")
    if value is None:
        return None
    if not isinstance(value, Mapping) or not all(isinstance(item, str) for item in value.values()):
        raise ParameterError(
            f"must be a table of {', '.join(_MODEL)}; got {value!r:.80}.", owner="Campaign", name="model"
        )
    unknown = next((name for name in value if name not in _MODEL), None)
    if unknown is not None or not {"format", "sha256"} <= value.keys():
        got = repr(unknown) if unknown is not None else ", ".join(value) or "nothing"
        raise ParameterError(
            f"must have format and sha256, and may have trained_until; got {got}.", owner="Campaign", name="model"
        )
    refused = next((name for name in _NOT_WITH_MODEL if given.get(name)), None)
    several = isinstance(given["l2"], tuple)
    if refused is not None or several:
        raise ParameterError(
            f"must be {'one number' if several else 'left out'} with a model; got {given[refused or 'l2']!r:.80}.",
            owner="Campaign",
            name=refused or "l2",
        )
    for name, why in (("keep_rows", "the rows train it again"), ("fit_intercept", "a head has one")):
        if not given.get(name, True):
            raise ParameterError(f"must be true with a model: {why}; got false.", owner="Campaign", name=name)
    _check_trained_until(value.get("trained_until"), given.get("period"))
    return dict(value)


def _check_trained_until(value: str | None, period: str | None) -> None:
    """Refuse what is no date, and a campaign whose rows have no dates to compare with it."""
    if value is None:
        return
    from driftpace.tables.calendar import UNITS
    from driftpace.tracker.trained_until import TrainedUntil

    until = TrainedUntil.of(value, owner="Campaign")
    if until.new_from is None or (period or "").rpartition(":")[2] not in UNITS:
        raise ParameterError(
            f"must go with a period of dates, such as 'sold:month', whose column says when rows are from; got {period!r:.80}.",
            owner="Campaign",
            name="trained_until",
        )


def _plain(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    return value

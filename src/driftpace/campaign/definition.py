"""What a campaign is about: the columns, the loss, the target, the money; as a table of plain values, such as a TOML file holds.

=================  ==========================================================================================================
name               letters, digits, dot, dash and underscore
target             the column to predict
features           the columns the model sees; left out: every numeric column of the first delivery
classes            two words, the one that counts as no first, where the target is a class and not 0/1
categories         for a column of words, its words in a list; the first is the one the others are compared to
unknown_categories for a column of words, which of them any word counts as that is not listed; left out: such rows are refused
id, groups         the column that tells rows apart, and the one that says whose they are
loss, l2           the name of a loss (see driftpace.losses.loss_names); a penalty, or a list to choose from
epsilon            how much worse than the best model is accepted; or tolerance, within a share of the best loss
confidence         hold the target in each period with that probability instead of in the mean
certificate, pool, cap, fit_intercept, seed, keep_rows, description
budget             total, horizon, fixed, per_sample, tiers, minimum, currency, gap, batches
=================  ==========================================================================================================
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from driftpace import validation
from driftpace.errors import ParameterError
from driftpace.losses import classifies, get_loss, loss_names, loss_spec

if TYPE_CHECKING:
    from driftpace.losses import Loss
    from driftpace.planning import Budget
    from driftpace.tracker import Tracker

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")

_BUDGET = ("total", "horizon", "fixed", "per_sample", "tiers", "minimum", "currency", "gap", "batches")
_WORDS = ("target", "id", "groups", "description")


@dataclass(frozen=True, kw_only=True, slots=True)
class Definition:
    """A campaign as its owner defined it.

    >>> definition = Definition.of({"name": "churn", "target": "left", "classes": ["no", "yes"], "epsilon": 0.02})
    >>> definition.loss, definition.l2
    ('logistic', 0.001)
    >>> Definition.of({"name": "churn", "target": "left", "epsilom": 0.02})
    Traceback (most recent call last):
        ...
    driftpace.errors.ParameterError: Campaign(epsilom=...) must be a setting of a campaign; did you mean 'epsilon'?
    """

    name: str
    target: str | None = None
    epsilon: float | None = None
    tolerance: float | None = None
    confidence: float | None = None
    certificate: float = 0.95
    features: tuple[str, ...] | None = None
    classes: tuple[str, str] | None = None
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unknown_categories: Mapping[str, str] = field(default_factory=dict)
    id: str | None = None
    groups: str | None = None
    loss: str = "squared"
    l2: float | tuple[float, ...] = 0.0
    pool: int | None = None
    cap: int = 10**6
    fit_intercept: bool = True
    seed: int | None = None
    keep_rows: bool = True
    description: str = ""
    budget: Mapping[str, Any] | None = None

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "Definition":
        """Return the definition that plain values stand for, or refuse them in one sentence."""
        known = [one.name for one in fields(cls)]
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
        for name in ("fit_intercept", "keep_rows"):
            validation.switch("Campaign", **{name: given.get(name, True)})
        if "seed" in given:
            validation.count("Campaign", seed=given["seed"])
        for name in ("features", "classes"):
            if name in given:
                given[name] = _words(name, given[name])
        if "classes" in given and (len(given["classes"]) != 2 or len(set(given["classes"])) != 2):
            raise ParameterError(
                f"must be two different words; got {given['classes']!r}.",
                owner="Campaign",
                name="classes",
            )
        given["categories"] = _categories(given.get("categories", {}))
        given["unknown_categories"] = check_unknown_categories(
            "Campaign", given.get("unknown_categories", {}), given["categories"]
        )
        default = loss_names("classification" if "classes" in given else "regression")[0]
        given["loss"] = given.get("loss", default)
        validation.choice("Campaign", loss_names(), loss=given["loss"])
        given["l2"] = _penalty(given)
        if "budget" in given:
            given["budget"] = _budget(given["budget"])
        definition = cls(**given)
        definition._check_columns()
        return definition

    @classmethod
    def of_toml(cls, text: str | bytes) -> "Definition":
        """Return the definition that a TOML file holds."""
        try:
            values = tomllib.loads(text.decode("utf-8-sig") if isinstance(text, bytes) else text)
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
            raise ParameterError(f"must be TOML; {error}.", owner="Campaign", name="file") from None
        return cls.of(values)

    def _check_columns(self) -> None:
        roles = {name: getattr(self, name) for name in ("target", "id", "groups") if getattr(self, name) is not None}
        used = [*roles.values(), *(self.features or ())]
        twice = next((name for name in used if used.count(name) > 1), None)
        if twice is not None:
            raise ParameterError(f"must name each column once; got {twice!r} twice.", owner="Campaign", name="features")
        for name in self.categories:
            if self.features is not None and name not in self.features:
                raise ParameterError(
                    f"must be of features; got {name!r}, which is none.",
                    owner="Campaign",
                    name="categories",
                )
        if self.classes is not None and not classifies(self.loss):
            allowed = " or ".join(repr(name) for name in loss_names("classification"))
            raise ParameterError(
                f"must be {allowed} where classes are given; got {self.loss!r}.",
                owner="Campaign",
                name="loss",
            )

    def to_values(self) -> dict[str, Any]:
        """Return the plain values that :meth:`of` takes; those at their default are left out."""
        plain: dict[str, Any] = {}
        for one in fields(self):
            value = getattr(self, one.name)
            default = {} if one.name in ("categories", "unknown_categories") else one.default
            if value != default:
                plain[one.name] = _plain(value)
        return plain

    def make_loss(self) -> "Loss":
        """Return the loss."""
        return get_loss(self.loss, l2=0.0 if isinstance(self.l2, tuple) else self.l2)

    def make_budget(self) -> "Budget | None":
        """Return the budget; None where money is no object."""
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

    def make_tracker(self, *, rng: int) -> "Tracker":
        """Return a fresh tracker."""
        from driftpace.tracker import Tracker

        features = None
        if self.features is not None:
            features = sum(len(self.categories.get(name, ("", ""))) - 1 for name in self.features)
        try:
            return Tracker(
                self.make_loss(),
                epsilon=self.epsilon,
                tolerance=self.tolerance,
                confidence=self.confidence,
                certificate_level=self.certificate,
                features=features,
                fit_intercept=self.fit_intercept,
                cap=self.cap,
                pool=self.pool,
                budget=self.make_budget(),
                l2=list(self.l2) if isinstance(self.l2, tuple) else None,
                rng=rng if self.seed is None else self.seed,
            )
        except ParameterError as error:
            said = re.sub(r"\b(Tracker|Budget|LinearCost|TieredCost)\(", "Campaign(", str(error))
            raise ParameterError(said) from None


def check_name(name: object) -> str:
    """Return the name of a campaign, or refuse it: it stands in addresses and file names."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise ParameterError(
            f"must be up to 100 letters, digits, dots, dashes and underscores, "
            f"a letter or digit first; got {str(name)[:120]!r}.",
            owner="Campaign",
            name="name",
        )
    return name


def make_cost(prices: Mapping[str, Any]) -> Any:
    """Return what an order costs, of ``fixed``, ``per_sample``, ``tiers``, ``minimum`` and ``currency``."""
    from driftpace.planning import LinearCost, TieredCost

    more = {name: prices[name] for name in ("fixed", "minimum", "currency") if name in prices}
    if "tiers" in prices:
        return TieredCost(tiers=tuple((start, price) for start, price in prices["tiers"]), **more)
    return LinearCost(**more, **({"per_sample": prices["per_sample"]} if "per_sample" in prices else {}))


def _words(name: str, value: Any) -> tuple[str, ...]:
    good = isinstance(value, list | tuple) and value and all(isinstance(one, str) and "\0" not in one for one in value)
    if not good:
        raise ParameterError(f"must be a list of names; got {value!r:.80}.", owner="Campaign", name=name)
    return tuple(value)


def _categories(value: Any) -> dict[str, tuple[str, ...]]:
    if not isinstance(value, Mapping):
        raise ParameterError(
            f"must give a list of words for each column; got {value!r:.80}.",
            owner="Campaign",
            name="categories",
        )
    found = {}
    for name, words in value.items():
        levels = _words("categories", words)
        if len(levels) < 2 or len(set(levels)) != len(levels):
            raise ParameterError(
                f"must be two different words at least; got {list(levels)!r:.80} for {name!r}.",
                owner="Campaign",
                name="categories",
            )
        found[str(name)] = levels
    return found


def check_unknown_categories(owner: str, value: Any, categories: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """Return which listed word any other counts as, for each column given, or refuse it: both must be in ``categories``."""
    if not isinstance(value, Mapping):
        raise ParameterError(
            f"must give one word for each column; got {value!r:.80}.", owner=owner, name="unknown_categories"
        )
    for name, word in value.items():
        if name not in categories:
            near = get_close_matches(str(name), categories, n=1)
            there = (
                f"there {'are' if len(categories) > 1 else 'is'} {', '.join(categories)}"
                if categories
                else "there are none"
            )
            hint = f"did you mean {near[0]!r}?" if near else f"{there}."
            raise ParameterError(
                f"must be of columns in categories; got {name!r:.80}: {hint}",
                owner=owner,
                name="unknown_categories",
            )
        if word not in categories[name]:
            words = list(categories[name])
            raise ParameterError(
                f"must be one of {words!r:.80} for {name!r:.80}; got {word!r:.80}.",
                owner=owner,
                name="unknown_categories",
            )
    return dict(value)


def _penalty(given: Mapping[str, Any]) -> float | tuple[float, ...]:
    l2 = given.get("l2", loss_spec(given["loss"]).default_l2)
    several = isinstance(l2, list | tuple)
    for one in l2 if several else (l2,):
        validation.nonnegative("Campaign", l2=one)
    if several and not l2:
        raise ParameterError("must be a number, or a list of some; got an empty list.", owner="Campaign", name="l2")
    return tuple(float(one) for one in l2) if several else float(l2)


def _budget(value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise ParameterError(
            f"must be a table with total and horizon; got {value!r:.80}.",
            owner="Campaign",
            name="budget",
        )
    for name in value:
        if name not in _BUDGET:
            near = get_close_matches(str(name), _BUDGET, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(_BUDGET)}."
            raise ParameterError(f"Campaign(budget.{name}=...) must be a setting of a budget; {hint}")
    for name in ("total", "horizon"):
        if value.get(name) is None:
            raise ParameterError(f"Campaign(budget.{name}=...) must be given; got nothing.")
    tiers = value.get("tiers")
    if tiers is not None:
        if not isinstance(tiers, list | tuple) or not all(
            isinstance(one, list | tuple) and len(one) == 2 for one in tiers
        ):
            raise ParameterError(
                f"Campaign(budget.tiers=...) must be pairs (from which sample on, price); got {tiers!r:.80}."
            )
        if "per_sample" in value:
            raise ParameterError("Campaign(budget.per_sample=...) must be left out beside tiers; got both.")
    return {name: one for name, one in value.items() if one is not None}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items()}
    return value

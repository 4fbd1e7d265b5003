"""Inputs of a plan: the drift, the prices, and which two of target, budget and horizon are given."""

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from driftpace.errors import ParameterError

if TYPE_CHECKING:
    from driftpace.planning import Budget, Cost, Gap, Outlook
    from driftpace.records import DelayPrice, Money
    from driftpace.tracker import Tracker


@dataclass(frozen=True, kw_only=True, slots=True)
class PlanSource:
    """What a plan is based on: the outlook, and for a campaign or a saved tracker its target, period and remaining budget."""

    outlook: "Outlook"
    name: str = ""
    epsilon: float | None = None
    first_period: int = 1
    bought_before: bool = False
    budget: "Budget | None" = None
    money: "Money | None" = None
    delay_price: "DelayPrice | None" = None

    @property
    def periods_left(self) -> int:
        """How many periods the tracker's budget still has to last; 0 if it has none or they are over."""
        return 0 if self.budget is None else max(self.budget.horizon + 1 - self.first_period, 0)

    @classmethod
    def of(cls, state: str | None, *, storage: str | None = None, **numbers: Any) -> "PlanSource":
        """Return the source for a campaign or a saved tracker, or for ``noise``, ``features``, ``rho`` and ``start``."""
        given = [name for name, value in numbers.items() if value is not None]
        if state is None:
            return cls(outlook=_outlook(numbers))
        if given:
            raise ParameterError(
                f"--{given[0]} must be left out beside NAME, which determines it; got {numbers[given[0]]!r}."
            )
        return cls._saved(state) if Path(state).is_file() else cls._kept(state, storage)

    @classmethod
    def _saved(cls, state: str) -> "PlanSource":
        from driftpace.tracker import Tracker

        return cls._of_tracker(Tracker.load(state), Path(state).name)

    @classmethod
    def _kept(cls, name: str, storage: str | None) -> "PlanSource":
        """Return the source for a campaign; without a store, the error says that a file is accepted too."""
        from driftpace.cli.stores import DEFAULT_STORAGE, opened_campaign

        if storage is None and not Path(DEFAULT_STORAGE).exists():
            what = "is a folder" if Path(name).is_dir() else "is neither"
            raise ParameterError(f"NAME must be a campaign, or a file that Tracker.save() wrote; {name!r} {what}.")
        with opened_campaign(storage, name) as campaign:
            source = cls._of_tracker(campaign.planning_tracker(), name)
            status = campaign.status()
        if source.epsilon is not None:
            return source
        targets = [status.order.request.epsilon] if status.order is not None else []  # what the tolerance amounts to
        targets += [status.last.epsilon] if status.last is not None else []
        return replace(source, epsilon=next((target for target in targets if math.isfinite(target)), None))

    @classmethod
    def _of_tracker(cls, tracker: "Tracker", name: str) -> "PlanSource":
        history = tracker.history
        return cls(
            outlook=tracker.outlook(),
            name=name,
            epsilon=tracker.epsilon,
            first_period=tracker.period,
            bought_before=bool(history) and history[-1].samples > 0,
            budget=tracker.budget,
            money=_money(tracker),
            delay_price=None if tracker.delay is None else tracker.delay_price(),
        )


def _money(tracker: "Tracker") -> "Money | None":
    """Return what is left as the period begins: a plan from it on pays for all of its rows, those received included."""
    method, state = tracker.snapshot()
    spending = method.spending(state)
    return None if spending is None else spending.left


@dataclass(frozen=True, kw_only=True, slots=True)
class PlanTask:
    """Two of target, budget and horizon, or all three; the one that is None is solved for."""

    epsilon: float | None
    budget: "str | Money | None"
    horizon: int | None
    goal: "str | Gap | None"

    @classmethod
    def of(
        cls,
        *,
        epsilon: float | None,
        budget: str | None,
        horizon: int | None,
        solve: str | None,
        goal: str | None,
        source: PlanSource,
    ) -> "PlanTask":
        """Return the task, with the target and budget of the source filled in; refuse too few or contradictory options."""
        from driftpace.planning.tradeoffs import MAX_HORIZON

        typed = {"epsilon": epsilon, "budget": budget, "horizon": horizon}
        if solve is not None and typed[solve] is not None:
            raise ParameterError(f"--{solve} must be left out beside --solve {solve}; got {typed[solve]!r}.")
        if horizon is not None and horizon > MAX_HORIZON:
            raise ParameterError(f"--horizon must be at most {MAX_HORIZON:,} periods; got {horizon:,}.")
        if epsilon is None and solve != "epsilon":
            epsilon = source.epsilon
        if budget is None and horizon is None and solve in (None, "epsilon") and source.periods_left:
            return cls._rest(epsilon, solve, goal, source)
        known = {"epsilon": epsilon, "budget": budget, "horizon": horizon}
        missing = [name for name, value in known.items() if value is None]
        if len(missing) > 1:
            got = ", ".join(f"--{name}" for name, value in typed.items() if value is not None) or "none of them"
            note = f"; {source.name} has a tolerance and no epsilon" if source.name and source.epsilon is None else ""
            raise ParameterError(
                f"Give two of --epsilon, --budget and --horizon, and the third is solved for; got {got}{note}."
            )
        if missing and goal is not None:
            raise _without_gaps(missing[0], goal)
        return cls(epsilon=epsilon, budget=budget, horizon=horizon, goal=goal)

    @classmethod
    def _rest(cls, epsilon: float | None, solve: str | None, goal: str | None, source: PlanSource) -> "PlanTask":
        """Return the task of spending what is left of the tracker's budget, over the periods that it still has to last."""
        if solve is None and epsilon is None:
            raise ParameterError(
                f"Give --epsilon, or --solve epsilon: {source.name} has a tolerance and no epsilon; got neither."
            )
        if solve is not None and goal is not None:
            raise _without_gaps(solve, goal)
        assert source.budget is not None
        default = source.budget.goal.later(source.first_period - 1) if solve is None else None
        return cls(epsilon=epsilon, budget=source.money, horizon=source.periods_left, goal=goal or default)


def _without_gaps(solved: str, goal: str) -> ParameterError:
    return ParameterError(
        f"--gap must be left out when solving for the {solved}: every period then meets the target; got {str(goal)!r}."
    )


def _outlook(numbers: dict[str, Any]) -> "Outlook":
    missing = [f"--{name}" for name in ("noise", "features", "rho") if numbers[name] is None]
    if missing:
        raise ParameterError(
            f"Give NAME, a campaign or the file of a saved tracker, or --noise, --features and --rho; "
            f"got no {' and no '.join(missing)}."
        )
    from driftpace import validation
    from driftpace.bounds import Anchored
    from driftpace.planning import Outlook

    noise, start = numbers["noise"], numbers["start"]
    validation.positive("plan", noise=noise)
    bound = Anchored(noise=noise, features=numbers["features"])
    return Outlook(bound=bound, rho=numbers["rho"], start=3.0 * math.sqrt(noise) if start is None else start)


def costs(
    source: PlanSource,
    *,
    fixed: str | None,
    per_sample: str | None,
    tiers: list[str],
    minimum: int | None,
    currency: str | None,
) -> "Cost":
    """Return what an order costs: the prices of the options, or without any those of the tracker's budget."""
    from driftpace.planning import LinearCost, TieredCost

    unpriced = not tiers and all(option is None for option in (fixed, per_sample, minimum, currency))
    if unpriced and source.budget is not None:
        return source.budget.cost
    more: Any = {"fixed": fixed or "0", "minimum": minimum or 0, "currency": currency or ""}
    each = per_sample or "1"
    if not tiers:
        return LinearCost(per_sample=each, **more)
    return TieredCost(tiers=((1, each), *sorted(_tier(text) for text in tiers)), **more)


def _tier(text: str) -> tuple[int, str]:
    first, colon, price = text.partition(":")
    if not (colon and first.strip().isdecimal() and int(first) > 1):
        raise ParameterError(
            f"--tier must be FROM:AMOUNT, such as 101:1.50, with FROM above 1 (--per-sample is the price before); got {text!r}."
        )
    return int(first), price.strip()


def output_form(form: str, json: bool) -> str:
    """Return what stdout carries; refuse two contradictory options."""
    if json and form == "csv":
        raise ParameterError("--json must be left out beside --format csv; got both.")
    return "json" if json else form


def require_report(out: Path | None) -> None:
    """Refuse before the work if the report cannot be drawn or written."""
    if out is None:
        return
    from driftpace.cli.files import require_directory, require_plotly

    require_directory(out)
    require_plotly("The report", "leave out --out")

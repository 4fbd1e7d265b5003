"""Example campaigns: one that is running, and others in every state."""

import copy
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from driftpace.campaign import Campaign
from driftpace.storage import MemoryStore
from driftpace.storage.base import Store

FEATURES = ("income", "tenure", "usage")
BUDGET = {"total": 1200, "horizon": 20, "fixed": 20, "per_sample": 1.5, "currency": "EUR"}
PLACES = ("north", "south", "east", "west", "alps", "coast", "metro", "rural")
TOPICS = ("churn", "demand", "prices", "claims", "returns")
_EXAMPLES: dict[str, tuple[MemoryStore, "World"]] = {}
HOSTILE = '"><img src=x onerror="window.hacked=1"><script>window.hacked=1</script>{{7*7}}'


def clock(start: datetime = datetime(2026, 7, 6, 9, 0, tzinfo=UTC)) -> Callable[[], str]:
    """Return a clock that advances by half a week with every call."""
    now = [start]

    def tick() -> str:
        now[0] += timedelta(days=3, hours=11, minutes=17)
        return now[0].isoformat(timespec="milliseconds").replace("+00:00", "Z")

    return tick


class World:
    """A drifting linear model and its labels."""

    def __init__(self, seed: int, *, step: float = 0.07, features: int = 3) -> None:
        self.rng = np.random.default_rng(seed)
        self.w = self.rng.normal(size=features)
        self.step = step

    def move(self) -> None:
        """Advance by one period."""
        self.w = self.w + self.step * self.rng.normal(size=self.w.size)

    def rows(self, count: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Return labelled rows."""
        X = self.rng.normal(size=(count, self.w.size))
        return X, X @ self.w + 0.5 * self.rng.normal(size=count)

    def csv(self, count: int) -> str:
        """Return labelled rows as a file."""
        X, y = self.rows(count)
        lines = [",".join([*FEATURES, "price"])]
        lines += [",".join(f"{one:.6f}" for one in (*row, target)) for row, target in zip(X, y, strict=True)]
        return "\n".join(lines) + "\n"


def through(campaign: Campaign, world: World, periods: int, *, first_week: int = 28) -> None:
    """Run some periods, in several deliveries where the tracker asks for more."""
    for place in range(periods):
        week = f"2026-W{first_week + place:02d}"
        order = campaign.ask(key=week, who="cron")
        report = None
        while report is None:
            if order.missing:
                X, y = world.rows(order.missing)
                receipt = campaign.tell(X, y, source=f"{week}.csv", who="label-desk")
            else:
                receipt = campaign.tell(who="cron")
            order, report = receipt.order, receipt.report
        world.move()


def one(
    store: Store, name: str = "flat-prices", *, seed: int = 3, periods: int = 12, **more: Any
) -> tuple[Campaign, World]:
    """Return a running campaign with its next period asked for; each example is computed once and copied afterwards."""
    key = json.dumps([name, seed, periods, more], sort_keys=True)
    if not isinstance(store, MemoryStore):
        return _run_campaign(store, name, seed, periods, more)
    if key not in _EXAMPLES:
        prototype = MemoryStore()
        _, world = _run_campaign(prototype, name, seed, periods, more)
        _EXAMPLES[key] = prototype, world
    return _copy_campaign(store, name, key)


def _run_campaign(store: Store, name: str, seed: int, periods: int, more: dict[str, Any]) -> tuple[Campaign, World]:
    values: dict[str, Any] = {
        "name": name,
        "target": "price",
        "features": list(FEATURES),
        "epsilon": 0.05,
        "seed": seed,
        "description": "Asking prices of flats in the north, surveyed weekly.",
        "budget": BUDGET,
        **more,
    }
    campaign = Campaign.create(values, storage=store, who="Ada", clock=clock())
    world = World(seed)
    through(campaign, world, periods)
    campaign.ask(key=f"2026-W{28 + periods:02d}", who="cron")
    return campaign, world


def _copy_campaign(store: MemoryStore, name: str, key: str) -> tuple[Campaign, World]:
    prototype, world = _EXAMPLES[key]
    store._campaigns[name] = copy.deepcopy(prototype._campaigns[name])
    last = datetime.fromisoformat(prototype.entries(name)[-1].at)
    return Campaign.open(name, storage=store, clock=clock(last)), copy.deepcopy(world)


def spent(store: MemoryStore, name: str = "flat-prices") -> Campaign:
    """Return a campaign whose budget is spent, by an override."""
    key = f"spent {name}"
    if key not in _EXAMPLES:
        prototype = MemoryStore()
        campaign, world = one(prototype, name, periods=3)
        order = campaign.override(900, reason="a census", who="Ada")
        campaign.tell(*world.rows(order.missing), final=True)
        for _ in range(3):
            world.move()
        campaign.ask(key="2026-W32")
        _EXAMPLES[key] = prototype, world
    return _copy_campaign(store, name, key)[0]


def many(store: Store, count: int = 40) -> None:
    """Fill a store with campaigns in every state."""
    for place in range(count):
        name = f"{TOPICS[place % len(TOPICS)]}-{PLACES[place // len(TOPICS) % len(PLACES)]}"
        name += f"-{place // 40}" if place >= 40 else ""
        budget = {**BUDGET, "total": 1400 + 250 * (place % 9), "horizon": 8} if place % 3 else None
        values = {"name": name, "target": "y", "epsilon": (0.05, 0.1, 0.2)[place % 3], "seed": place, "budget": budget}
        about = ("Weekly survey.", "Flagged by the desk in Graz.", "")[place % 3]
        campaign = Campaign.create({**values, "description": about}, storage=store, clock=clock())
        world = World(place)
        through(campaign, world, place % 4)
        state = place % 5
        if state in (0, 1, 4):
            order = campaign.ask(key="2026-W46")
            if state == 1 and order.missing > 1:
                campaign.tell(*world.rows(order.missing // 2), final=False)
            if state == 4 and place % 3 == 0:
                X, y = world.rows(order.missing + 200)
                first = np.argsort(y - X @ world.w)  # sorted residuals: the rows are not exchangeable
                campaign.tell(X[first], y[first], final=False)

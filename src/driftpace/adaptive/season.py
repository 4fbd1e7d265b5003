"""The season: what the models of the same period in earlier cycles say of this one.

With a season of L periods, the model of period n - L is a further prediction beside those of the drift models. How far off it
usually is comes from a record of measured errors, as for the prediction of the drift models; how much it is believed comes from how
well it predicted before.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from driftpace import validation
from driftpace.adaptive.audit import ErrorRecord, with_spread
from driftpace.adaptive.bank import Prediction
from driftpace.adaptive.fit import Posterior
from driftpace.errors import ParameterError
from driftpace.typing import FloatArray

FIRST_ODDS = math.log(0.2 / 0.8)
"""The log odds of the season against the drift models before it has predicted anything."""

MOST_SEASON = 1000
"""The longest season: the model of each of its periods is remembered."""

SEASONS = {"quarter": 4, "weekday": 7, "month": 12, "week": 52}
"""The seasons that have names: quarters, months and weeks of a year, and days of a week."""

_MOST_ODDS = 6.0
_LEAST_GAIN = 0.5
"""What the last cycle counts for in the remembered model, at least: a season may change slowly."""

_BELIEVED = 1.0
"""The weight of the drift models' variance in the recorded error of the season."""


def season_length(owner: str, season: Any) -> int | None:
    """Return the number of periods of a season, which may have a name, or refuse it.

    >>> season_length("Tracker", "month"), season_length("Tracker", 24), season_length("Tracker", None)
    (12, 24, None)
    """
    if season is None:
        return None
    if isinstance(season, str) and season in SEASONS:
        return SEASONS[season]
    try:
        validation.count(owner, least=2, at_most=MOST_SEASON, season=season)
    except ParameterError:
        names = ", ".join(repr(name) for name in SEASONS)
        raise ParameterError(
            f"must be a whole number from 2 to {MOST_SEASON}, or one of {names}; got {season!r}.",
            owner=owner,
            name="season",
        ) from None
    return int(season)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SeasonState:
    """What is remembered of earlier cycles.

    ``models`` has the model of each place of the cycle, intercept first, ``counts`` how often it was fitted. By block,
    ``records`` are measured errors of the prediction and ``odds`` its log odds against the drift models.
    """

    models: FloatArray
    counts: FloatArray
    records: tuple[ErrorRecord, ...]
    odds: tuple[float, ...]

    @property
    def length(self) -> int:
        """The number of periods in a cycle."""
        return len(self.models)

    def remembered(self, periods: int) -> FloatArray | None:
        """Return the model for the period after ``periods`` periods; None in the first cycle."""
        place = periods % self.length
        return self.models[place] if self.counts[place] > 0.0 else None


def first_season(length: int, size: int, blocks: int) -> SeasonState:
    """Return the season before the first period."""
    return SeasonState(
        models=np.zeros((length, size)),
        counts=np.zeros(length),
        records=tuple(ErrorRecord() for _ in range(blocks)),
        odds=(FIRST_ODDS,) * blocks,
    )


def with_season(view: Prediction, mean: FloatArray, record: ErrorRecord, odds: float) -> Prediction:
    """Return a prediction with that of the season among its components, first of all."""
    share = 1.0 / (1.0 + math.exp(-odds))
    variance = (2.0 / mean.size * max(record.total, 0.0) + _BELIEVED * view.total) / (record.weight + _BELIEVED)
    both = with_spread(view, mean, variance, share, record)
    return replace(both, seasonal=both.recorded - view.recorded)


def after_period(
    season: SeasonState,
    periods: int,
    model: FloatArray,
    views: tuple[Prediction, ...],
    posteriors: tuple[Posterior, ...],
) -> SeasonState:
    """Return the season after a period that was fitted: its model is remembered, and the odds follow the evidence."""
    place = periods % season.length
    models, counts = season.models.copy(), season.counts.copy()
    gain = max(1.0 / (counts[place] + 1.0), _LEAST_GAIN)
    models[place] = (1.0 - gain) * models[place] + gain * model
    counts[place] += 1.0
    odds = []
    for before, view, posterior in zip(season.odds, views, posteriors, strict=True):
        evidence = 0.0
        if view.seasonal:
            prior = float(view.shares[: view.seasonal].sum())
            after = min(max(float(posterior.shares[: view.seasonal].sum()), 1e-12), 1.0 - 1e-12)
            evidence = math.log(after / (1.0 - after)) - math.log(prior / (1.0 - prior))
        odds.append(min(max(before + evidence, -_MOST_ODDS), _MOST_ODDS))
    return replace(season, models=models, counts=counts, odds=tuple(odds))

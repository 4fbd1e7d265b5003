"""All resamplings of one setting together, and what they say: means, paired differences, from which wave on."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from driftpace.typing import BoolArray, FloatArray
from paper.income.study import METHODS, Constant, Hindsight, Resampling, Walk, jobs, work
from paper.income.tables import Setting, dollars_of_1997, panel_of
from paper.runs import Paired, RunSettings, map_runs, paired, standard_errors

SURE = 2.0  # standard errors: the difference at which two curves are distinguished in a wave
STEADY = 2.0  # a size has settled where it stays within this factor of its median


@dataclass(frozen=True, kw_only=True, eq=False)
class Bought:
    """What one method did: arrays are (resamplings, waves); ``kept_loss`` and ``kept_rows`` are of its up-front model."""

    samples: FloatArray
    wanted: FloatArray
    rho: FloatArray
    excess_risk: FloatArray
    test_loss: FloatArray
    kept_loss: FloatArray
    kept_excess: FloatArray
    kept_rows: FloatArray

    @classmethod
    def of(cls, walks: list[Walk]) -> "Bought":
        """Return the walks of all resamplings, one a row."""
        return cls(
            samples=np.array([one.bought.samples for one in walks]),
            wanted=np.array([one.wanted for one in walks]),
            rho=np.array([one.rho for one in walks]),
            excess_risk=np.array([one.bought.excess_risk for one in walks]),
            test_loss=np.array([one.bought.test_loss for one in walks]),
            kept_loss=np.array([one.kept.test_loss for one in walks]),
            kept_excess=np.array([one.kept.excess_risk for one in walks]),
            kept_rows=np.array([one.kept.samples[0] for one in walks]),
        )

    @property
    def gap(self) -> Paired:
        """Return by how much the up-front model's test loss is larger, mean over waves, with its paired standard error."""
        return paired(self.kept_loss.mean(axis=1), self.test_loss.mean(axis=1))

    @property
    def ratio(self) -> float:
        """Return the mean test loss over that of the up-front model."""
        return float(self.test_loss.mean() / self.kept_loss.mean())

    @property
    def better_from(self) -> int | None:
        """Return the wave (from 1) from which on the up-front test loss is larger by two paired standard errors in every wave."""
        apart = self.kept_loss - self.test_loss
        sure = apart.mean(axis=0) > SURE * standard_errors(apart)
        return _from_there_on(sure)

    @property
    def settled_from(self) -> int | None:
        """Return the wave from which on the mean size stays within a factor of two of its median over waves 3, 4, ..."""
        sizes = self.samples.mean(axis=0)
        middle = float(np.median(sizes[2:]))
        return _from_there_on((sizes <= STEADY * middle) & (sizes >= middle / STEADY))

    def waves_above(self, epsilon: float) -> int:
        """Return in how many waves from the third on the excess risk is above the target by two standard errors."""
        late = self.excess_risk[:, 2:]
        return int((late.mean(axis=0) - SURE * standard_errors(late) > epsilon).sum())

    def saturated(self, pools: FloatArray) -> float:
        """Return the share of resamplings and waves in which every row of the wave was bought."""
        return float((self.samples >= pools).mean())


@dataclass(frozen=True, kw_only=True, eq=False)
class Account:
    """A setting replayed: its waves, and what each method did. ``constant`` is the best constant size, if any."""

    setting: Setting
    methods: dict[str, Bought]
    constant: Constant | None = None

    @classmethod
    def of(cls, setting: Setting, runs: list[dict[str, Walk]], constant: Constant | None = None) -> "Account":
        """Return the account of all resamplings of a setting."""
        methods = {name: Bought.of([run[name] for run in runs]) for name in METHODS}
        return cls(setting=setting, methods=methods, constant=constant)

    @property
    def runs(self) -> int:
        """How many resamplings there were."""
        return len(self.methods["practical"].samples)

    @cached_property
    def waves(self) -> tuple[str, ...]:
        """The name of each wave, such as its year."""
        return panel_of(self.setting).periods

    @cached_property
    def pools(self) -> FloatArray:
        """How many rows each wave has for training."""
        return jobs(self.setting)[0].pools.astype(np.float64)

    @cached_property
    def epsilon(self) -> float:
        """The target excess risk."""
        return float(jobs(self.setting)[0].epsilon[0])

    @cached_property
    def least(self) -> FloatArray:
        """The least loss that any linear model has on all rows of each wave, the penalty left out."""
        populations = jobs(self.setting)[0].populations
        penalties = [0.5 * self.setting.l2 * float(np.square(now.best[:-1]).sum()) for now in populations]
        losses: FloatArray = np.array([now.least for now in populations]) - np.array(penalties)
        return losses

    @cached_property
    def change(self) -> FloatArray:
        """How far the best model on all rows moved in each wave, in whitened coordinates; NaN in the first."""
        best = np.array([now.best for now in jobs(self.setting)[1].populations])
        return np.append(np.nan, np.linalg.norm(np.diff(best, axis=0), axis=1))

    @cached_property
    def change_beyond_chance(self) -> float:
        """The root mean square of the change without what waves of finite size change by chance (theory 3.3 N)."""
        white = jobs(self.setting)[1].populations
        chance = np.array([now.noise / len(now.y) for now in white])
        squares = np.square(self.change[1:]) - chance[1:] - chance[:-1]
        return math.sqrt(max(float(squares.mean()), 0.0))

    @cached_property
    def first_kept(self) -> float:
        """The mean excess risk of the best model of wave 1 on all its rows, kept: the best that up front can do."""
        populations = jobs(self.setting)[0].populations
        return float(np.mean([now.excess_risk(populations[0].best)[0] for now in populations]))

    @cached_property
    def dollars(self) -> FloatArray:
        """What one unit of the target is in dollars of 1997, wave by wave."""
        return dollars_of_1997(self.setting, panel_of(self.setting))

    def root_loss(self, losses: FloatArray) -> FloatArray:
        """Return for each resampling the square root of the mean test loss over waves in dollars of 1997, the 1/2 inside."""
        roots: FloatArray = np.sqrt((losses * np.square(self.dollars)).mean(axis=1))
        return roots


def _from_there_on(fine: BoolArray) -> int | None:
    """Return the first position, from 1, from which on all are fine; None where not even the last is."""
    wrong = np.flatnonzero(~fine)
    first = 1 if wrong.size == 0 else int(wrong[-1]) + 2
    return first if first <= fine.size else None


_SHARE_OF_RUNS = 4  # one resampling in four where a setting is only varied


def replayed(
    asked: RunSettings, searched: Sequence[Setting], others: Sequence[Setting] = (), varied: Sequence[Setting] = ()
) -> dict[Setting, Account]:
    """Return the account of every setting.

    For those in ``searched`` the best constant size in hindsight is searched for too; those in ``varied`` get fewer resamplings.
    """
    fewer = max(2, asked.runs // _SHARE_OF_RUNS)
    runs = {**dict.fromkeys([*searched, *others], asked.runs), **dict.fromkeys(varied, fewer)}
    searches = [Hindsight(setting=setting, runs=asked.runs) for setting in searched]
    walks = [Resampling(setting=setting, run=run) for setting, count in runs.items() for run in range(count)]
    items: list[Resampling | Hindsight] = [*searches, *walks]
    found = map_runs(asked, work, items, "income panel")
    best = {search.setting: one for search, one in zip(searches, found, strict=False) if isinstance(one, Constant)}
    accounts, at = {}, len(searches)
    for setting, count in runs.items():
        mine = [one for one in found[at : at + count] if isinstance(one, dict)]
        accounts[setting], at = Account.of(setting, mine, best.get(setting)), at + count
    return accounts

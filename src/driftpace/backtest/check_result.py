"""What a check of a table says."""

import math
import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from driftpace.backtest.proposals import ColumnSummary, PeriodProposal
from driftpace.formatting import number
from driftpace.tables.leakage import Leak

NOTHING_GAINED = 0.001
"""Where features reduce the loss by less than this share, labels gain nothing."""


MOST_MODEL_ERROR = 0.35
"""The share of a target that the error of the best models of periods may have, for the target to be judged."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DriftGlance:
    """How much a model of the first third of the periods loses on the last third.

    Parameters
    ----------
    first, last : str
        The periods of both thirds, such as "1977 to 1985".
    stale : float
        Loss of the model of the first third on the last third.
    fresh : float
        Loss of a model fitted to half of the last third, on the other half.
    constant : float
        Loss without features there.
    """

    first: str
    last: str
    stale: float
    fresh: float
    constant: float

    @property
    def excess(self) -> float:
        """The loss of the stale model above that of the fresh one, as a share of it."""
        return self.stale / self.fresh - 1.0 if self.fresh > 0.0 else 0.0

    @property
    def explained(self) -> float:
        """What the features explain: the loss without them above that of the fresh model, as a share of it."""
        return self.constant / self.fresh - 1.0 if self.fresh > 0.0 else math.inf


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelEstimate:
    """Labels that one target takes, from a quick replay of the last periods.

    Parameters
    ----------
    tolerance : float
        The excess loss allowed, as a share of the best achievable loss.
    first : float
        Labels in the first period of the replay, before anything is known.
    later : float
        Labels in each period after it, on average.
    reached : float
        The excess loss really reached as a share of the target, on average: below 1 the target was met.
    best_model_error : float
        How far the best model of a period's rows is from that of the world they come from, as a share of the target: N rows of
        noise tr(H^-1 Cov g) lose that over 2N. The table cannot judge a target much smaller than that.
    """

    tolerance: float
    first: float
    later: float
    reached: float
    best_model_error: float

    @property
    def missed(self) -> bool:
        """Whether the target was clearly missed."""
        return self.reached > 1.5

    @property
    def too_fine(self) -> bool:
        """Whether the periods of the table have too few rows to judge the target."""
        return self.best_model_error > MOST_MODEL_ERROR

    def feasible(self, rows: float) -> bool:
        """Return whether a backtest with so many rows a period can be expected to show the target met."""
        return not (self.missed or self.too_fine) and self.later <= 0.5 * rows


@dataclass(frozen=True, kw_only=True, slots=True)
class TableCheck:
    """What driftpace would make of a table.

    Parameters
    ----------
    name : str
        The table.
    rows : int
        Number of rows.
    columns : tuple of ColumnSummary
        What each column holds.
    period : str or None
        The period as a backtest takes it, such as "date:month"; None where none was given or found.
    proposals : tuple of PeriodProposal
        Ways to put rows into periods, the best first; empty where the period was given.
    target : str or None
        The column to predict; None where none was given or is named like one.
    target_proposed : bool
        Whether the target was chosen by its name.
    candidates : tuple of str
        Columns that could be the target.
    periods : tuple of str
        Labels of the periods.
    sizes : tuple of int
        Labelled rows of each period.
    target_detail : str
        How the target is understood: its classes, or its range.
    unlabelled : int
        Rows without a target.
    features : tuple of str
        The columns to predict from.
    coefficients : int
        The number of features after encoding.
    left_out : mapping of str to str
        Why other columns are not used.
    notes : tuple of str
        What was done with missing cells, categories and periods.
    warnings : tuple of str
        What looks wrong in the table: almost dates, repeated rows and ids.
    leaks : tuple of Leak
        Features that may give the target away.
    suspects : tuple of str
        Those of them that drift and labels are given without.
    drift : DriftGlance or None
        How much an old model loses.
    labels : tuple of LabelEstimate
        Labels a period for some targets.
    l2 : float or None
        A penalty that the table needs because columns are linear combinations of others.
    problems : tuple of str
        Why a backtest would be refused or no number can be given, one sentence each.
    row_id : str or None
        A column of ids that is different in every row.
    arguments : tuple of str
        The options of ``driftpace backtest`` that were given or chosen.
    """

    name: str
    rows: int
    columns: tuple[ColumnSummary, ...]
    period: str | None = None
    proposals: tuple[PeriodProposal, ...] = ()
    target: str | None = None
    target_proposed: bool = False
    candidates: tuple[str, ...] = ()
    periods: tuple[str, ...] = ()
    sizes: tuple[int, ...] = ()
    target_detail: str = ""
    unlabelled: int = 0
    features: tuple[str, ...] = ()
    coefficients: int = 0
    left_out: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    leaks: tuple[Leak, ...] = ()
    suspects: tuple[str, ...] = ()
    drift: DriftGlance | None = None
    labels: tuple[LabelEstimate, ...] = ()
    l2: float | None = None
    problems: tuple[str, ...] = ()
    row_id: str | None = None
    arguments: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Return the size in one line; ``render`` shows the page."""
        size = f"{self.rows:,} rows, {len(self.columns):,} columns"
        return f"TableCheck({self.name!r}, {size}; print(driftpace.backtest.render(...)) shows it)"

    @property
    def command(self) -> str:
        """The next command to run, with ``FILE`` in place of the name of the table."""
        if self.period is None or (self.problems and not self.periods):
            return f"driftpace check FILE{self._options('--period')} --period COLUMN"
        if self.target is None or not self.features:
            return f"driftpace check FILE{self._options('--target')} --target COLUMN"
        penalty = "" if self.l2 is None else f" --l2 {self.l2:g}"
        return f"driftpace backtest FILE{self._options()}{penalty} --tolerance {self.tolerance:g}"

    @property
    def init_command(self) -> str | None:
        """The command that makes a campaign of the table, with ``NAME`` and ``FILE`` to fill in; None where it cannot be one."""
        if self.target is None or not self.features or self.problems:
            return None
        row_id = "" if self.row_id is None else f" --id {shlex.quote(self.row_id)}"
        penalty = "" if self.l2 is None else f" --l2 {self.l2:g}"
        by_rows = self.period is None or self.period.rpartition(":")[2].isdecimal()
        words = self._options("--period" if by_rows else "")
        return f"driftpace init NAME --table FILE{words}{row_id}{penalty} --tolerance {self.tolerance:g}"

    def _options(self, without: str = "") -> str:
        """Return the options as part of a command line, all but one."""
        words = list(self.arguments)
        if without in words:
            del words[words.index(without) : words.index(without) + 2]
        return "".join(f" {shlex.quote(word)}" for word in words)

    @property
    def tolerance(self) -> float:
        """The target to try first: the middle one of those that can be expected to be met, else the largest that was tried."""
        rows = sum(self.sizes) / max(len(self.sizes), 1)
        good = [estimate.tolerance for estimate in self.labels if estimate.feasible(rows)]
        return good[len(good) // 2] if good else self.labels[0].tolerance if self.labels else 0.1

    @property
    def caution(self) -> str | None:
        """Why a backtest of the proposed target cannot be expected to show it met; None where it can."""
        if self.drift is not None and self.drift.explained <= NOTHING_GAINED:
            return "Labels gain nothing with these features: predicting the same for every row meets every target."
        estimate = next((one for one in self.labels if one.tolerance == self.tolerance), None)
        if estimate is None:
            return None
        share, rows = f"{100.0 * estimate.tolerance:g} %", sum(self.sizes) / len(self.sizes)
        reasons = []
        if estimate.too_fine:
            reasons.append(
                f"A backtest cannot judge {share}: the best model of a period, fitted to {rows:,.0f} rows, is itself uncertain by "
                f"{estimate.best_model_error:.2f} times that. Its note on held-out rows says more than its verdict. Fewer features "
                "or longer periods can be judged."
            )
        if estimate.later > 0.5 * rows:
            reasons.append(
                f"Staying within {share} takes most rows of a period: it is missed where a period has too few."
            )
        elif estimate.missed:
            reasons.append(
                f"A quick replay missed {share} ({estimate.reached:.2g} times the target), and so may a backtest."
            )
        if self.drift is not None and estimate.tolerance > self.drift.explained / 2.0:
            reasons.append(
                f"Predicting the same for every row is within {number(100.0 * self.drift.explained)} % of the best loss, less "
                "than twice the target, so that labels gain little."
            )
        return " ".join(reasons) or None

    def to_values(self, file: str = "FILE") -> dict[str, Any]:
        """Return plain values, as JSON has them, with the next commands for a file of that name."""
        campaign = None if self.init_command is None else self.init_command.replace("FILE", file, 1)
        commands = {
            "command": self.command.replace("FILE", file, 1),
            "init_command": campaign,
            "caution": self.caution,
        }
        return {name: _plain(value) for name, value in {**asdict(self), **commands}.items()}


def _plain(value: Any) -> Any:
    """Return lists and mappings, without the infinities that JSON does not have."""
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value

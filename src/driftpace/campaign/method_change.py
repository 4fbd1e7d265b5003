"""What the method of this version would have answered in the history of a campaign that an older one computed."""

from collections.abc import Iterator
from dataclasses import dataclass

from driftpace.campaign.replay import steps
from driftpace.errors import StateFileError
from driftpace.records import StepReport
from driftpace.storage.base import Entry, Store
from driftpace.storage.codec import decode


@dataclass(frozen=True, kw_only=True, slots=True)
class MethodChange:
    """A closed period as the log has it and as the method of this version computes it: rows ordered, expected excess loss."""

    period: int
    asked: int
    asked_now: int
    risk_bound: float
    risk_bound_now: float

    @property
    def differs(self) -> bool:
        """Whether the method of this version answers differently."""
        return self.asked != self.asked_now or not _close(self.risk_bound, self.risk_bound_now)


def _close(left: float, right: float) -> bool:
    return left == right or abs(left - right) <= 1e-6 * max(abs(left), abs(right))


def compare_methods(store: Store, name: str) -> tuple[MethodChange, ...]:
    """Replay the history of a campaign by the method of this version, and return what it would have answered.

    Parameters
    ----------
    store : Store
        The store.
    name : str
        A campaign whose rows are stored.

    Returns
    -------
    tuple of MethodChange
        One for each closed period.

    Raises
    ------
    StateFileError
        If the rows were not kept.
    """
    return tuple(_method_changes(store, name))


def _method_changes(store: Store, name: str) -> Iterator[MethodChange]:
    for step in steps(store.entries(name), lambda seq: store.rows(name, [seq]).get(seq)):
        report, now = _certified(step.entry), step.after.last
        if report is not None and now is not None:
            yield MethodChange(
                period=report.period,
                asked=report.asked,
                asked_now=now.asked,
                risk_bound=report.risk_bound,
                risk_bound_now=now.risk_bound,
            )


def _certified(entry: Entry) -> StepReport | None:
    report = decode(entry.body["report"]) if entry.kind == "certified" else None
    return report if isinstance(report, StepReport) else None


def answers_alike(store: Store, name: str) -> bool:
    """Return whether the method of this version answers alike in every closed period; not where rows were not kept."""
    try:
        return not any(change.differs for change in _method_changes(store, name))
    except StateFileError:
        return False

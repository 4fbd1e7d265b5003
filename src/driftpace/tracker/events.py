"""The events of a tracker; folding a log of them gives its state."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from driftpace.records import Request, StepReport
from driftpace.tracker.method import Method, TellEvent


@dataclass(frozen=True, kw_only=True, slots=True)
class AskEvent:
    """A period is sized; ``pool`` is the most rows that it can have, where that is known."""

    pool: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class CloseEvent:
    """The period is closed on the rows delivered so far."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ForgetEvent:
    """The rows of the open period are withdrawn."""


Event = AskEvent | TellEvent | CloseEvent | ForgetEvent
Answer = Request | StepReport | None


def apply(method: Method, state: Any, event: Event) -> tuple[Any, Answer]:
    """Return the state after an event, and the answer to it: a request, a report, or None."""
    match event:
        case AskEvent():
            return method.ask(state, event.pool)
        case TellEvent():
            return method.gather(state, event), None
        case ForgetEvent():
            return method.forget(state), None
        case CloseEvent():
            return method.close(state)


def replay(method: Method, events: Iterable[Event]) -> tuple[Any, list[StepReport]]:
    """Return the state and the reports that a log of events leads to, from the beginning."""
    state, reports = method.begin(), []
    for event in events:
        state, answer = apply(method, state, event)
        if isinstance(answer, StepReport):
            reports.append(answer)
    return state, reports

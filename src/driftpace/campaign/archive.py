"""Archive campaigns of one model and of segments, which can then only be read, and open them again."""

from dataclasses import replace
from typing import Any, Protocol, TypeVar


class _Archived(Protocol):
    @property
    def archived(self) -> bool: ...


class _Draft(Protocol):
    def add(self, kind: str, body: dict[str, Any]) -> Any: ...


State = TypeVar("State", bound=_Archived)


def archive(state: State, draft: _Draft, *, period: int, archived: bool, reason: str, who: str) -> State:
    """Archive a campaign, or open it again; nothing is written where it is so already."""
    if state.archived is archived:
        return state
    draft.add("archived" if archived else "unarchived", {"period": period, "reason": reason, "who": who})
    return replace(state, archived=archived)  # type: ignore[type-var]

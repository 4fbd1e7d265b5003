"""The candidates of a tracker as settings, one for each; what cannot work is refused before the first label is bought."""

from collections.abc import Callable, Sequence
from typing import Any

from driftpace.adaptive import AdaptiveConfig
from driftpace.errors import ParameterError
from driftpace.losses import LinearLoss, Loss, classifies
from driftpace.records import Constants
from driftpace.selection import Candidate, Selection
from driftpace.tracker.branches import Branches
from driftpace.tracker.parts import check_part
from driftpace.tracker.state import Settings

MEMORY = 0.75
"""What a comparison of penalties keeps of its weight from period to period in the practical tracker: four periods' worth in all."""

Settled = Callable[[Loss, dict[str, Any], int | None], Settings]
"""Returns the settings of a loss, the parts of a method, and the number of columns that it sees."""


def selection_of(
    owner: str,
    loss: Any,
    l2: Sequence[float] | None,
    select: Selection | None,
    constants: Any = None,
    *,
    memory: float = 0.0,
) -> Selection | None:
    """Return what is chosen among: the penalties of a list, or what the user put together; None for neither."""
    if select is not None and l2 is not None:
        raise ParameterError("must be None when select is given; got both.", owner=owner, name="l2")
    if select is not None:
        if not isinstance(select, Selection):
            raise ParameterError(f"must be a Selection; got {select!r:.80}.", owner=owner, name="select")
        if constants is not None:
            raise ParameterError(
                "must be None with select: each Candidate has its own; got some.",
                owner=owner,
                name="constants",
            )
        return select
    if l2 is None:
        return None
    if isinstance(constants, Constants):
        raise ParameterError(
            "must be one for each of l2, since m, M, A and B depend on it; got one for all.",
            owner=owner,
            name="constants",
        )
    if getattr(loss, "l2", 0.0) != 0.0:
        raise ParameterError(
            f"must be the only penalty; got a loss that has l2={loss.l2!r} besides.",
            owner=owner,
            name="l2",
        )
    return Selection.of_l2(loss, l2, memory=memory, constants=constants, owner=owner)


def branches_of(
    owner: str,
    loss: Loss,
    selection: Selection,
    made_of: dict[str, Any],
    settled: Settled,
    *,
    features: int | None,
    started: bool,
) -> Branches:
    """Return the settings of every candidate; a part of a candidate's own takes the place of the tracker's."""
    if started and any(one.columns is not None for one in selection.candidates):
        raise ParameterError("must be None where candidates see different columns; got one.", owner=owner, name="start")
    branches = []
    for one in selection.candidates:
        own = loss if one.loss is None else one.loss
        if made_of["constants"] is not None and one.constants is None and own != loss:
            raise ParameterError(
                f"must be given by each Candidate that has a loss of its own; {one.label!r} gives none.",
                owner=owner,
                name="constants",
            )
        parts = {name: part if getattr(one, name) is None else getattr(one, name) for name, part in made_of.items()}
        branches.append(settled(own, parts, _seen(one, features)))
        check_part(owner, "loss", loss)
        if isinstance(branches[-1].method, AdaptiveConfig) and not isinstance(loss, LinearLoss):
            raise ParameterError(
                f"must be a LinearLoss, for it judges {one.label!r}, which is fitted by the practical method; "
                f"got {loss!r}.",
                owner=owner,
                name="loss",
            )
        if classifies(own) != classifies(loss):
            raise ParameterError(
                f"must have losses of one kind, for numbers or for classes; {one.label!r} is of the other.",
                owner=owner,
                name="select",
            )
    return Branches(settings=tuple(branches), selection=selection, loss=loss)


def _seen(candidate: Candidate, features: int | None) -> int | None:
    if features is None or candidate.columns is None:
        return features
    beyond = [one for one in candidate.columns if isinstance(one, int) and not 0 <= one < features]
    if beyond:
        raise ParameterError(
            f"must be places from 0 to {features - 1}; {candidate.label!r} has {beyond[0]}.",
            owner="Candidate",
            name="columns",
        )
    return len(candidate.columns)

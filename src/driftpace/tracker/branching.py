"""Several candidates as one tracker (paper section IV-B, theory I24), as pure transitions on top of the engine's.

Each candidate follows the world from its own last model and with its own constants (m differs with the penalty). A period has as
many rows as the most demanding of them asks for. When it is closed every candidate is fitted to all rows, so nothing is lost to
the folds, which see only (P-1)/P of them and serve the comparison alone. What each promises is about its own, penalised, loss:
the report says so, and how the loss without a penalty compares.
"""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from driftpace.errors import DataError, ProtocolError
from driftpace.losses import classifies
from driftpace.records import Assumption, Request, Selected, StepReport, Verdict
from driftpace.selection import Tally, choose, divisible, make_folds, most_folds
from driftpace.tracker import engine
from driftpace.tracker.branches import BranchedState, Branches
from driftpace.tracker.engine import Answer
from driftpace.tracker.events import Asked, Closed, Event, Forgot, Told
from driftpace.tracker.left_out import losses_of
from driftpace.tracker.state import Settings, State
from driftpace.typing import FloatArray, IntArray


def begin(settings: Settings | Branches, features: int | None = None) -> State | BranchedState:
    """Return the state before the first period; ``features`` are the columns of rows to come, where they are known."""
    if isinstance(settings, Settings):
        return engine.begin(settings)
    state = BranchedState(states=tuple(engine.begin(one) for one in settings.settings), features=features)
    seen = [candidate.columns for candidate in settings.selection.candidates]
    if features is None or any(isinstance(one, str) for columns in seen for one in columns or ()):
        return state
    return replace(state, places=_all_places(settings, features, None))


def apply(
    settings: Settings | Branches, state: State | BranchedState, event: Event
) -> tuple[State | BranchedState, Answer]:
    """Return the state after an event, and the answer to it."""
    if isinstance(settings, Settings):
        assert isinstance(state, State)
        return engine.apply(settings, state, event)
    assert isinstance(state, BranchedState)
    match event:
        case Asked():
            return _ask(settings, state, event)
        case Told():
            return _gather(settings, state, event), None
        case Forgot():
            return _forgotten(settings, state, event), None
        case Closed():
            return _close(settings, state)


def replay(settings: Settings | Branches, events: Iterable[Event]) -> tuple[State | BranchedState, list[StepReport]]:
    """Return the state and the reports that a log of events leads to, from the beginning."""
    state, reports = begin(settings), []
    for event in events:
        state, answer = apply(settings, state, event)
        if isinstance(answer, StepReport):
            reports.append(answer)
    return state, reports


def chosen(settings: Settings | Branches, state: State | BranchedState) -> tuple[Settings, State]:
    """Return the candidate that was chosen last, or what there is where there are none."""
    if isinstance(settings, Settings):
        assert isinstance(state, State)
        return settings, state
    assert isinstance(state, BranchedState)
    return settings.settings[state.chosen], state.state


def _ask(settings: Branches, state: BranchedState, asked: Asked) -> tuple[BranchedState, Request]:
    """Ask every candidate; the answer is that of the most demanding one, the chosen one first among equals."""
    states, requests = [], []
    for own, now in zip(settings.settings, state.states, strict=True):
        after, request = engine.apply(own, now, asked)
        assert isinstance(request, Request)
        states.append(after)
        requests.append(request)
    lead = max(range(len(requests)), key=lambda i: (requests[i].samples, i == state.chosen))
    labels = settings.selection.labels
    most = requests[lead]
    word = f"{labels[lead]} asks for the most of {len(labels)} candidates" if most.samples else labels[lead]
    reason = f"{word}: {most.reason}" if len({one.samples for one in requests}) > 1 or not most.samples else most.reason
    behind = next((one.outcome for one in requests if not one.outcome.promised), most.outcome)
    merged = replace(
        most,
        outcome=behind if most.outcome.promised else most.outcome,
        samples_theory=max(one.samples_theory for one in requests),
        interval=(max(one.interval[0] for one in requests), max(one.interval[1] for one in requests)),
        risk_bound=max(one.risk_bound for one in requests),
        reason=reason,
    )
    return replace(state, states=tuple(states)), merged


def _gather(settings: Branches, state: BranchedState, told: Told) -> BranchedState:
    """Lay rows aside for every candidate, the columns it sees of them."""
    if state.order is None:
        raise ProtocolError(f"tell() came before ask() in period {state.period}; call ask() first.")
    columns = told.columns if state.columns is None else state.columns
    places = state.places or _all_places(settings, told.X.shape[1], columns)
    states = []
    for own, now, seen in zip(settings.settings, state.states, places, strict=True):
        part = told
        if seen is not None:
            names = None if columns is None else tuple(columns[i] for i in seen)
            part = replace(told, X=np.ascontiguousarray(told.X[:, list(seen)]), columns=names)
        states.append(engine.apply(own, now, part)[0])
    return replace(
        state,
        states=tuple(states),
        features=told.X.shape[1],
        columns=columns,
        places=places,
        groups=(*state.groups, told.groups),
    )


def _all_places(
    settings: Branches, features: int, columns: tuple[str, ...] | None
) -> tuple[tuple[int, ...] | None, ...]:
    return tuple(_places(one.label, one.columns, features, columns) for one in settings.selection.candidates)


def _places(
    label: str, wanted: tuple[str | int, ...] | None, features: int, columns: tuple[str, ...] | None
) -> tuple[int, ...] | None:
    if wanted is None:
        return None
    found = []
    for one in wanted:
        if isinstance(one, str):
            if columns is None or one not in columns:
                has = "no names" if columns is None else ", ".join(columns)
                raise DataError(f"must have the column {one!r} that candidate {label!r} sees; it has {has}.")
            found.append(columns.index(one))
        elif not 0 <= one < features:
            raise DataError(f"must have the column {one} that candidate {label!r} sees; it has {features} columns.")
        else:
            found.append(one)
    if len(set(found)) < len(found):
        raise DataError(f"must have each column that candidate {label!r} sees once; {wanted!r} has one of them twice.")
    return tuple(found)


def _close(settings: Branches, state: BranchedState) -> tuple[BranchedState, StepReport]:
    """Compare the candidates on rows they did not learn from, fit all of them, and report the one that is chosen."""
    if state.order is None:
        raise ProtocolError(f"tell() came before ask() in period {state.period}; call ask() first.")
    groups = _groups(state)
    selected, tally, doubt = _selected(settings, state, groups)
    states, reports = [], []
    for label, own, now in zip(settings.selection.labels, settings.settings, state.states, strict=True):
        try:
            after, report = engine.apply(own, now, Closed())
        except DataError as error:
            raise DataError(f"{str(error).rstrip('.')} (the candidate {label!r}).") from error
        assert isinstance(report, StepReport)
        states.append(after)
        reports.append(report)
    index = selected.index
    report = replace(
        reports[index],
        asked=max(one.asked for one in reports),
        samples_theory=max(one.samples_theory for one in reports),
        selected=selected,
        assumptions=(*reports[index].assumptions, _about(settings, selected, reports, doubt)),
    )
    return replace(state, states=tuple(states), chosen=index, groups=(), tally=tally), report


def _forgotten(settings: Branches, state: BranchedState, forgot: Forgot) -> BranchedState:
    """Take the rows back from every candidate; in the first period the columns go with them, unless the user gave their number."""
    pairs = zip(settings.settings, state.states, strict=True)
    states = tuple(engine.apply(*pair, forgot)[0] for pair in pairs)
    if state.period > 1:
        return replace(state, states=states, groups=())
    given = any(one.features is not None for one in settings.settings)
    fresh = begin(settings, state.features if given else None)
    assert isinstance(fresh, BranchedState)
    return replace(fresh, states=states)


def _groups(state: BranchedState) -> IntArray | None:
    """Return the group of each row of the period, or None; rows told without one are groups of their own."""
    if all(part is None for part in state.groups):
        return None
    sizes = [len(part.y) for part in state.state.parts]
    whole, alone = [], 0
    for size, part in zip(sizes, state.groups, strict=True):
        if part is None:
            whole.append(-1 - alone - np.arange(size, dtype=np.int64))
            alone += size
        else:
            whole.append(part)
    return np.concatenate(whole)


def _selected(
    settings: Branches, state: BranchedState, groups: IntArray | None
) -> tuple[Selected, Tally | None, str | None]:
    """Return the choice of the period, the losses to remember, and a sentence where the folds are fewer than asked for."""
    selection = settings.selection
    labels = selection.labels
    rows = state.gathered
    classes: FloatArray | None = None
    if rows and classifies(settings.loss):
        classes = divisible(np.concatenate([part.y for part in state.state.parts]), groups)
    count, doubt = most_folds(rows, selection.folds, classes=classes, groups=groups)
    if count == 0:
        return Selected(candidates=labels, chosen=labels[state.chosen]), state.tally, doubt
    rng = np.random.default_rng((settings.settings[0].entropy, state.period, 1))
    fold = make_folds(rows, count, rng=rng, classes=classes, groups=groups)
    tally = Tally.of(losses_of(settings, state, fold), groups)
    if state.tally is not None:
        tally = state.tally.after(tally, selection.memory)
    selected = choose(labels, tally, choosing=selection.choosing, last=state.chosen, folds=count)
    if selection.memory == 0.0 or not tally.finite:  # a period whose fit blew up is not remembered
        return selected, state.tally, doubt
    return selected, tally, doubt


def _about(settings: Branches, selected: Selected, reports: list[StepReport], doubt: str | None) -> Assumption:
    """Return what the promise is about: the loss of the chosen candidate, penalty and all, before the choice was made."""
    index = selected.index
    loss = settings.settings[index].loss
    said = [f"The promise is about the loss of the chosen candidate, {selected.chosen}"]
    said[0] += (
        ", its penalty included, and was made before the choice"
        if loss.l2 > 0.0
        else ", and was made before the choice"
    )
    verdict = Verdict.PASS
    if not selected.scores:
        verdict = Verdict.WARN
        said.append("nothing was compared in this period, and the last choice stands")
    elif index > 0:
        gain = selected.scores[0] - selected.scores[index]
        word = "less" if gain >= 0.0 else "more"
        said.append(
            f"on rows it did not see its loss without a penalty is {abs(gain):.2g} {word} than that of "
            f"{selected.candidates[0]} (standard error {selected.gaps[0]:.2g})"
        )
    if doubt is not None:
        verdict = Verdict.WARN
        said.append(doubt.rstrip("."))
    behind = [one for one, report in zip(selected.candidates, reports, strict=True) if not report.outcome.promised]
    if behind:
        said.append(f"not promised yet for {', '.join(behind)}")
    return Assumption(name="selection", verdict=verdict, sentence="; ".join(said) + ".")

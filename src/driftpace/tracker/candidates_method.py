"""Several candidates side by side, one of which is chosen in every period (paper section IV-B, theory I24).

Each candidate is tracked from its own last model and with its own constants (m differs with the penalty). A period has as many
rows as the most demanding of them asks for. When it is closed every candidate is fitted to all rows, so nothing is lost to the
folds, which see only (P-1)/P of them and serve the comparison alone. Each bound is about the candidate's own, penalised, loss:
the report says so, and how the loss without a penalty compares.
"""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from driftpace.adaptive import MetricTarget
from driftpace.errors import DataError
from driftpace.losses import Loss, SoftmaxLoss, classifies
from driftpace.planning import Budget, Outlook
from driftpace.records import Assumption, Request, Selected, StepReport, Verdict
from driftpace.selection import Selection, Tally, choose, divisible, make_folds, most_folds
from driftpace.tracker.method import Folds, Method, TellEvent, require_order
from driftpace.tracker.spending import Spending
from driftpace.tracker.state import ModelSpec, PeriodOrder, groups_of, mean_one, weights_of
from driftpace.typing import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class CandidatesState:
    """The ``states`` of the candidates, and which of them was ``chosen`` last.

    ``features`` and ``columns`` are those of the rows delivered; ``places`` are the columns that each candidate sees, None for
    all. ``tally`` are the losses of earlier periods on rows that were not fitted, where they count.
    """

    states: tuple[Any, ...]
    chosen: int = 0
    features: int | None = None
    columns: tuple[str, ...] | None = None
    places: tuple[tuple[int, ...] | None, ...] = ()
    tally: Tally | None = None

    @property
    def state(self) -> Any:
        """The state of the candidate that was chosen last."""
        return self.states[self.chosen]

    @property
    def period(self) -> int:
        """The open period, from 1."""
        period: int = self.state.period
        return period

    @property
    def order(self) -> PeriodOrder | None:
        """What was decided for the period."""
        order: PeriodOrder | None = self.state.order
        return order

    @property
    def gathered(self) -> int:
        """The number of rows in the open period so far."""
        gathered: int = self.state.gathered
        return gathered

    @property
    def bought(self) -> bool:
        """Whether the last closed period had rows."""
        bought: bool = self.state.bought
        return bought

    @property
    def rows_seen(self) -> int:
        """The number of rows that were fitted so far."""
        rows: int = self.state.rows_seen
        return rows

    @property
    def coef(self) -> FloatArray | None:
        """The chosen model."""
        return self.coef_of(self.chosen)

    def coef_of(self, index: int) -> FloatArray | None:
        """Return a candidate's model over all columns, zero for those it does not see; an intercept is last."""
        coef: FloatArray | None = self.states[index].coef
        if coef is None or (self.features is not None and not self.places):  # the first rows show the names of columns
            return None
        places = self.places[index] if self.places else None
        if places is None:
            return coef
        assert self.features is not None
        whole = np.zeros(self.features + coef.size - len(places))
        whole[list(places)] = coef[: len(places)]
        whole[self.features :] = coef[len(places) :]
        return whole

    def without_rows(self) -> Self:
        """Return the state without the rows of the open period."""
        return replace(self, states=tuple(state.without_rows() for state in self.states))

    def without_order(self) -> Self:
        """Return the state before the open period was sized."""
        return replace(self, states=tuple(state.without_order() for state in self.states))


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class CandidatesMethod:
    """Track all candidates and choose one by cross-validation; ``loss``, without its penalty, compares them."""

    methods: tuple[Any, ...]
    selection: Selection
    loss: Loss
    features: int | None = None

    @property
    def spec(self) -> ModelSpec:
        """What the first candidate fits."""
        spec: ModelSpec = self.methods[0].spec
        return spec

    @property
    def epsilon(self) -> float | None:
        """The target, the same for all."""
        epsilon: float | None = self.methods[0].epsilon
        return epsilon

    @property
    def tolerance(self) -> float | None:
        """The target as a share of the best loss."""
        tolerance: float | None = self.methods[0].tolerance
        return tolerance

    @property
    def metric(self) -> MetricTarget | None:
        """The target in a metric."""
        metric: MetricTarget | None = self.methods[0].metric
        return metric

    @property
    def confidence(self) -> float | None:
        """The probability with which the target is met."""
        confidence: float | None = self.methods[0].confidence
        return confidence

    @property
    def budget(self) -> Budget | None:
        """The budget, the same for all."""
        budget: Budget | None = self.methods[0].budget
        return budget

    @property
    def adjacent(self) -> bool:
        """Whether rows are bought in neighbouring periods only."""
        return bool(self.methods[0].adjacent)

    def begin(self) -> CandidatesState:
        """Return the state before the first period."""
        state = CandidatesState(states=tuple(method.begin() for method in self.methods), features=self.features)
        named = any(isinstance(name, str) for one in self.selection.candidates for name in one.columns or ())
        if self.features is None or named:
            return state
        return replace(state, places=self._places(self.features, None))

    def ask(self, state: CandidatesState, pool: int | None) -> tuple[CandidatesState, Request]:
        """Ask every candidate; the answer is that of the most demanding one, the chosen one first among equals."""
        answers = [
            method.ask(now, pool) for method, now in zip(self.methods, self._with_common_order(state), strict=True)
        ]
        requests = [request for _, request in answers]
        lead = max(range(len(requests)), key=lambda i: (requests[i].samples, i == state.chosen))
        labels = self.selection.labels
        most = requests[lead]
        who = f"{labels[lead]} needs the most of {len(labels)} candidates" if most.samples else labels[lead]
        differ = len({request.samples for request in requests}) > 1
        behind = next((request.outcome for request in requests if not request.outcome.promised), most.outcome)
        merged = replace(
            most,
            outcome=behind if most.outcome.promised else most.outcome,
            samples_theory=max(request.samples_theory for request in requests),
            interval=(
                max(request.interval[0] for request in requests),
                max(request.interval[1] for request in requests),
            ),
            risk_bound=max(request.risk_bound for request in requests),
            reason=f"{who}: {most.reason}" if differ or not most.samples else most.reason,
        )
        return replace(state, states=tuple(after for after, _ in answers)), merged

    def _with_common_order(self, state: CandidatesState) -> tuple[Any, ...]:
        """Return the states once rows were delivered, with the largest of their orders: a limited number of them is that of all.

        Until then each state has its own order, so that asking again gives the same answer.
        """
        states = state.states
        limited = [getattr(getattr(method, "config", None), "orders", None) is not None for method in self.methods]
        if state.order is None or state.order.after == state.gathered or not all(limited):
            return states
        total, placed = (max(getattr(state.order, name) for state in states) for name in ("total", "placed"))
        return tuple(replace(state, order=replace(state.order, total=total, placed=placed)) for state in states)

    def gather(self, state: CandidatesState, event: TellEvent) -> CandidatesState:
        """Add rows for every candidate, the columns that it sees of them."""
        require_order(state)
        columns = event.columns if state.columns is None else state.columns
        places = state.places or self._places(event.X.shape[1], columns)
        states = []
        for method, now, seen in zip(self.methods, state.states, places, strict=True):
            part = event
            if seen is not None:
                names = None if columns is None else tuple(columns[i] for i in seen)
                part = replace(event, X=np.ascontiguousarray(event.X[:, list(seen)]), columns=names)
            states.append(method.gather(now, part))
        return replace(
            state,
            states=tuple(states),
            features=event.X.shape[1],
            columns=columns,
            places=places,
        )

    def forget(self, state: CandidatesState) -> CandidatesState:
        """Withdraw the rows from every candidate; before the first fit the columns too, unless the user gave their number."""
        pairs = zip(self.methods, state.states, strict=True)
        states = tuple(method.forget(now) for method, now in pairs)
        fresh = self.begin()
        if state.rows_seen or [one.features for one in states] != [one.features for one in fresh.states]:
            return replace(state, states=states)
        return replace(fresh, states=states, chosen=state.chosen, tally=state.tally)

    def close(self, state: CandidatesState) -> tuple[CandidatesState, StepReport]:
        """Compare the candidates on rows they did not see, fit all of them, and report the one that is chosen."""
        require_order(state)
        groups = groups_of(state.state.batches)
        selected, tally, doubt = self._select(state, groups)
        states, reports = [], []
        for label, method, now in zip(self.selection.labels, self.methods, self._with_common_order(state), strict=True):
            try:
                after, report = method.close(now)
            except DataError as error:
                raise _for_candidate(error, label) from error
            states.append(after)
            reports.append(report)
        index = selected.index
        report = replace(
            reports[index],
            asked=max(one.asked for one in reports),
            samples_theory=max(one.samples_theory for one in reports),
            selected=selected,
            assumptions=(*reports[index].assumptions, self._check(selected, reports, doubt)),
        )
        return replace(state, states=tuple(states), chosen=index, tally=tally), report

    def outlook(self, state: CandidatesState) -> Outlook:
        """Return the outlook of the chosen candidate."""
        method, now = self.current(state)
        return method.outlook(now)

    def target(self, state: CandidatesState) -> float:
        """Return the target of the chosen candidate."""
        method, now = self.current(state)
        return method.target(now)

    def forecast(self, state: CandidatesState, samples: int) -> float | None:
        """Return the largest risk that a candidate predicts for a period of ``samples`` rows in all."""
        risks = [method.forecast(now, samples) for method, now in zip(self.methods, state.states, strict=True)]
        return None if None in risks else max(risk for risk in risks if risk is not None)

    def spending(self, state: CandidatesState) -> Spending | None:
        """Return the money in the open period."""
        method, now = self.current(state)
        return method.spending(now)

    def losses_left_out(self, state: CandidatesState, folds: Folds) -> FloatArray:
        """Return the losses of every candidate, (candidates, rows)."""
        return np.array(
            [
                method.losses_left_out(now, replace(folds, key=state.places[index] if state.places else None))
                for index, (method, now) in enumerate(zip(self.methods, state.states, strict=True))
            ]
        )

    def held_out(self, state: CandidatesState) -> BoolArray | None:
        """Return which rows of the open period are held out from every fit: the same for all candidates."""
        method, now = self.current(state)
        return method.held_out(now)

    def current(self, state: CandidatesState) -> tuple[Method, Any]:
        """Return the candidate that was chosen last."""
        return self.methods[state.chosen], state.state

    def _places(self, features: int, columns: tuple[str, ...] | None) -> tuple[tuple[int, ...] | None, ...]:
        return tuple(_places_of(one.label, one.columns, features, columns) for one in self.selection.candidates)

    def _select(self, state: CandidatesState, groups: IntArray | None) -> tuple[Selected, Tally | None, str | None]:
        """Return the choice of the period, the losses to remember, and a sentence where there are fewer folds than wanted."""
        selection = self.selection
        labels = selection.labels
        held = self.held_out(state)
        fitted = np.ones(state.gathered, dtype=np.bool_) if held is None else ~held
        groups = None if groups is None else groups[fitted]
        rows = int(fitted.sum())
        classes: FloatArray | None = None
        several = isinstance(self.loss, SoftmaxLoss)
        if rows and (classifies(self.loss) or several):
            y = np.concatenate([batch.y for batch in state.state.batches])[fitted]
            classes = divisible(y if several else np.where(y >= 0.0, 1.0, -1.0), groups)
        count, doubt = most_folds(rows, selection.folds, classes=classes, groups=groups)
        if count == 0:
            return Selected(candidates=labels, chosen=labels[state.chosen]), state.tally, doubt
        rng = np.random.default_rng((self.spec.entropy, state.period, 1))
        fold = make_folds(rows, count, rng=rng, classes=classes, groups=groups)
        losses = self.losses_left_out(state, Folds(fold=fold, loss=self.loss, designs={}))
        tally = Tally.of(losses, groups, mean_one(weights_of(state.state.batches), fitted))
        if state.tally is not None:
            tally = state.tally.after(tally, selection.memory)
        selected = choose(labels, tally, choosing=selection.choosing, last=state.chosen, folds=count)
        if selection.memory == 0.0 or not tally.finite:  # a period whose fit diverged is not remembered
            return selected, state.tally, doubt
        return selected, tally, doubt

    def _check(self, selected: Selected, reports: list[StepReport], doubt: str | None) -> Assumption:
        """Return what the bound is about: the loss of the chosen candidate, penalty included, before the choice was made."""
        index = selected.index
        loss = self.methods[index].spec.loss
        penalised = "penalised " if loss.l2 > 0.0 else ""
        about = f"The bound is about the {penalised}loss of the chosen candidate, {selected.chosen}"
        parts = [f"{about}, and was computed before the choice"]
        verdict = Verdict.PASS
        if not selected.scores:
            verdict = Verdict.WARN
            parts.append("nothing was compared in this period, so the last choice stands")
        elif index > 0:
            gain = selected.scores[0] - selected.scores[index]
            word = "less" if gain >= 0.0 else "more"
            parts.append(
                f"on rows it did not see its loss without a penalty is {abs(gain):.2g} {word} than that of "
                f"{selected.candidates[0]} (standard error {selected.gaps[0]:.2g})"
            )
        if doubt is not None:
            verdict = Verdict.WARN
            parts.append(doubt.rstrip("."))
        behind = [one for one, report in zip(selected.candidates, reports, strict=True) if not report.outcome.promised]
        if behind:
            parts.append(f"not within the target yet: {', '.join(behind)}")
        return Assumption(name="selection", verdict=verdict, sentence="; ".join(parts) + ".")


def _for_candidate(error: DataError, label: str) -> DataError:
    """Return a refusal that names the candidate it is about."""
    copy = error.renamed()
    copy.problem = f"{error.problem.rstrip('.')} (the candidate {label!r})."
    copy.args = (copy.problem,)
    return copy


def _places_of(
    label: str, wanted: tuple[str | int, ...] | None, features: int, columns: tuple[str, ...] | None
) -> tuple[int, ...] | None:
    if wanted is None:
        return None
    places = []
    for name in wanted:
        if isinstance(name, str):
            if columns is None or name not in columns:
                has = "no names" if columns is None else ", ".join(columns)
                raise DataError(f"must have the column {name!r} that candidate {label!r} sees; it has {has}.")
            places.append(columns.index(name))
        elif not 0 <= name < features:
            raise DataError(f"must have the column {name} that candidate {label!r} sees; it has {features} columns.")
        else:
            places.append(name)
    if len(set(places)) < len(places):
        raise DataError(f"must have each column that candidate {label!r} sees once; {wanted!r} has one of them twice.")
    return tuple(places)

"""The candidates among which cross-validation chooses: values of l2, or any grid of losses, columns and parts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

from driftpace import validation
from driftpace.errors import ParameterError
from driftpace.losses import LinearLoss, VectorLoss
from driftpace.selection.choice import CHOOSING, Choosing


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """One candidate of a :class:`Selection`; what is None is taken from the tracker.

    Parameters
    ----------
    label : str
        Its name in reports.
    loss : Loss, optional
        What it minimises, such as one with another penalty or threshold.
    columns : tuple of str or int, optional
        The features it sees, by name or position.
    learner, drift, rule, constants_estimator, constants : optional
        Parts of a composed method. Constants are given for each candidate, since m and others depend on the loss.

    Examples
    --------
    >>> Candidate(label="two columns", columns=("age", "income")).columns
    ('age', 'income')
    """

    label: str
    loss: Any = None
    columns: tuple[str | int, ...] | None = None
    learner: Any = None
    drift: Any = None
    rule: Any = None
    constants_estimator: Any = None
    constants: Any = None

    def __post_init__(self) -> None:
        if not isinstance(self.label, str) or not self.label:
            raise ParameterError(f"must be a word; got {self.label!r}.", owner="Candidate", name="label")
        columns: Any = self.columns
        if columns is None:
            return
        listed = isinstance(columns, tuple | list) and len(columns) > 0
        if not listed or not all(isinstance(one, str | Integral) and not isinstance(one, bool) for one in columns):
            raise ParameterError(
                f"must be names or places of columns; got {columns!r}.",
                owner="Candidate",
                name="columns",
            )
        if len(set(columns)) < len(columns):
            raise ParameterError(f"must be different columns; got {columns!r}.", owner="Candidate", name="columns")
        object.__setattr__(self, "columns", tuple(one if isinstance(one, str) else int(one) for one in columns))


@dataclass(frozen=True, kw_only=True, slots=True)
class Selection:
    """Candidates, and how one of them is chosen in every period.

    Every candidate is tracked separately, from its own last model. A period asks for as many rows as the most demanding of them;
    then cross-validation compares the candidates by the loss without a penalty, and the chosen one, fitted to all rows, is the
    model of the period.

    Parameters
    ----------
    candidates : tuple of Candidate
        At least two, from the richest to the simplest.
    folds : int, default 10
        The folds of the cross-validation.
    choosing : {"least", "one-standard-error"}
        Choose the candidate of least loss, or the simplest within one standard error of it.
    memory : float, default 0.0
        The share of its weight that a comparison keeps from one period to the next. The paper compares the rows of a period
        alone, which is 0; but a few rows separate penalties only by luck, and the best penalty changes more slowly than the
        best model.

    Examples
    --------
    >>> from driftpace.losses import SquaredLoss
    >>> Selection.of_l2(SquaredLoss(), [1.0, 0.1]).labels
    ('l2=0.1', 'l2=1')
    """

    candidates: tuple[Candidate, ...]
    folds: int = 10
    choosing: Choosing = "least"
    memory: float = 0.0

    def __post_init__(self) -> None:
        candidates = self.candidates
        if not isinstance(candidates, tuple | list) or not all(isinstance(one, Candidate) for one in candidates):
            raise ParameterError(f"must be Candidates; got {candidates!r:.80}.", owner="Selection", name="candidates")
        object.__setattr__(self, "candidates", tuple(candidates))
        if len(candidates) < 2:
            raise ParameterError(f"must be at least two; got {len(candidates)}.", owner="Selection", name="candidates")
        if len(set(self.labels)) < len(candidates):
            twice = next(label for label in self.labels if self.labels.count(label) > 1)
            raise ParameterError(
                f"must have different labels; got {twice!r} twice.",
                owner="Selection",
                name="candidates",
            )
        validation.count("Selection", least=2, folds=self.folds)
        validation.choice("Selection", CHOOSING, choosing=self.choosing)
        validation.nonnegative("Selection", memory=self.memory)
        if self.memory >= 1.0:
            raise ParameterError(
                f"must be below 1, or nothing is ever forgotten; got {self.memory!r}.",
                owner="Selection",
                name="memory",
            )

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the candidates."""
        return tuple(candidate.label for candidate in self.candidates)

    @classmethod
    def of_l2(
        cls,
        loss: LinearLoss | VectorLoss,
        l2: Sequence[float],
        *,
        folds: int = 10,
        choosing: Choosing = "least",
        memory: float = 0.0,
        constants: Sequence[Any] | None = None,
        owner: str = "Selection.of_l2",
    ) -> "Selection":
        """Return one candidate for each penalty, in rising order.

        Parameters
        ----------
        loss : LinearLoss or VectorLoss
            The loss; its penalty is replaced.
        l2 : sequence of float
            At least two different penalties.
        folds, choosing, memory
            As for :class:`Selection`.
        constants : sequence of Constants, optional
            One for each penalty, in the order given.
        owner : str
            The callable that errors name.

        Returns
        -------
        Selection
        """
        values = read_l2(owner, l2)
        if not isinstance(loss, LinearLoss | VectorLoss):
            raise ParameterError(
                f"must be a LinearLoss or VectorLoss when l2 is a list; got {loss!r}.", owner=owner, name="loss"
            )
        if constants is not None and not isinstance(constants, Sequence):
            raise ParameterError(
                f"must be one for each of {len(values)} l2; got {constants!r:.80}.",
                owner=owner,
                name="constants",
            )
        known = [None] * len(values) if constants is None else list(constants)
        if len(known) != len(values):
            raise ParameterError(
                f"must be one for each of {len(values)} l2; got {len(known)}.",
                owner=owner,
                name="constants",
            )
        pairs = sorted(zip(values, known, strict=True), key=lambda pair: pair[0])
        return cls(
            candidates=tuple(
                Candidate(label=f"l2={value:g}", loss=replace(loss, l2=value), constants=one) for value, one in pairs
            ),
            folds=folds,
            choosing=choosing,
            memory=memory,
        )


def read_l2(owner: str, l2: Any) -> tuple[float, ...]:
    """Return penalties to choose among: at least two different numbers of zero or more; refuse anything else."""
    if isinstance(l2, str) or not hasattr(l2, "__iter__") or getattr(l2, "ndim", 1) != 1:
        raise ParameterError(f"must be a list of numbers; got {l2!r}.", owner=owner, name="l2")
    values = list(l2)
    for value in values:
        validation.nonnegative(owner, l2=value)
    if len(values) < 2:
        raise ParameterError(
            f"must be at least two numbers to choose among; got {len(values)}: a single one belongs in the loss.",
            owner=owner,
            name="l2",
        )
    values = [abs(float(value)) for value in values]  # there is one zero
    if len({f"{value:g}" for value in values}) < len(values):
        raise ParameterError(
            f"must be different numbers; got {values!r}: they must differ in six digits.",
            owner=owner,
            name="l2",
        )
    return tuple(values)

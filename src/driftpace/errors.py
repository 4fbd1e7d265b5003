"""Exceptions raised by driftpace.

::

    DriftpaceError
    ├── ParameterError          a parameter is outside its allowed range            (also a ValueError)
    │   └── UnknownConstantError    a constant is required but neither given nor estimated yet
    ├── DataError               rows or files that cannot be used                   (also a ValueError)
    │   └── CollinearColumnsError   columns that are linearly dependent
    ├── ProtocolError           a call out of order, such as tell before ask        (also a RuntimeError)
    │   ├── TooEarlyError           not enough data yet to look ahead
    │   └── NoOpenPeriodError       a campaign has no order: ask first
    ├── StateFileError          a saved state that cannot be read back              (also a ValueError)
    ├── StorageError            a store that is full, read-only, damaged or gone    (also a RuntimeError)
    │   ├── ConflictError           a concurrent writer committed first
    │   └── StorageNotFoundError    no store at that place
    ├── UnknownCampaignError    no such campaign in the store                       (also a LookupError)
    ├── LabellingError          a labelling tool that is unreachable or refuses     (also a RuntimeError)
    │   ├── UnavailableError        no answer, or too busy
    │   └── WrongSecretError        a webhook call without the shared secret
    ├── ExecutorError           an engine that is unreachable or loses its workers  (also a RuntimeError)
    └── MissingExtraError       an optional dependency is not installed             (also an ImportError)

All messages share one grammar: the owner and the parameter, what is allowed, what was given. Owner and parameter are
fields of the exception, so that each layer can name them in its own terms (:meth:`DriftpaceError.renamed`) without parsing
the sentence. A call that raises changes nothing.
"""

from typing import Any, Self, TypeVar

AnyError = TypeVar("AnyError", bound="DriftpaceError")


class DriftpaceError(Exception):
    """Base class of all exceptions raised by driftpace.

    Parameters
    ----------
    problem : str
        What is wrong, such as ``"must be positive; got -1."``. Without owner and name this is the whole message.
    owner : str, optional
        The callable whose parameter is wrong, such as ``"Tracker.tell"``.
    name : str, optional
        The parameter.

    Examples
    --------
    >>> error = ParameterError("must be positive and finite; got -1.0.", owner="Ball", name="radius")
    >>> str(error)
    'Ball(radius=...) must be positive and finite; got -1.0.'
    >>> str(error.renamed(subject="--radius"))
    '--radius must be positive and finite; got -1.0.'
    >>> str(DataError("must be finite numbers; got nan.", name="y"))
    'y must be finite numbers; got nan.'
    """

    def __init__(self, problem: str = "", *, owner: str | None = None, name: str | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.owner = owner
        self.name = name
        self.subject: str | None = None

    def __str__(self) -> str:
        if self.subject is not None:
            return f"{self.subject} {self.problem}"
        if self.owner is None:
            return f"{self.name} {self.problem}" if self.name else self.problem
        return f"{self.owner}({self.name}=...) {self.problem}" if self.name else f"{self.owner}: {self.problem}"

    @property
    def public_problem(self) -> str:
        """The problem without the location of a store, for those who must not learn it."""
        return self.problem

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by the fields, since subclasses may have other parameters than the message."""
        return _restore, (type(self), self.args, {**self.__dict__, "name": self.name})

    def renamed(
        self,
        *,
        owner: str | None = None,
        name: str | None = None,
        subject: str | None = None,
        problem: str | None = None,
    ) -> Self:
        """Return a copy that names the parameter in the terms of another layer.

        Parameters
        ----------
        owner, name, problem : str, optional
            Replace those of this error.
        subject : str, optional
            Replaces ``owner(name=...)`` as a whole, such as ``"--epsilon"``.

        Returns
        -------
        DriftpaceError
            Of the same class.
        """
        copy = _restore(type(self), self.args, self.__dict__)
        copy.owner = self.owner if owner is None else owner
        copy.name = self.name if name is None else name
        copy.problem = self.problem if problem is None else problem
        copy.args = (copy.problem,)
        copy.subject = subject
        return copy


def _restore(kind: type[AnyError], args: tuple[Any, ...], values: dict[str, Any]) -> AnyError:
    """Return an error with these fields, without calling its ``__init__``."""
    error = kind.__new__(kind, *args)
    error.args = args
    for name, value in values.items():  # not __dict__.update: the name of an ImportError is not in its __dict__
        setattr(error, name, value)
    return error


class ParameterError(DriftpaceError, ValueError):
    """A parameter is outside what is allowed."""


class UnknownConstantError(ParameterError):
    """A constant of the problem is required but neither given nor estimated yet."""


class DataError(DriftpaceError, ValueError):
    """Rows that cannot be used: non-finite, of the wrong width, of the wrong kind."""


class CollinearColumnsError(DataError):
    """Columns that are linearly dependent over all rows so far, where no penalty decides between their coefficients.

    ``columns`` are the places of the dependent coefficients, the intercept last; ``rows`` is the number of rows so far.
    """

    def __init__(
        self,
        problem: str = "",
        *,
        owner: str | None = None,
        name: str | None = None,
        columns: tuple[int, ...] = (),
        rows: int = 0,
    ) -> None:
        super().__init__(problem, owner=owner, name=name)
        self.columns = columns
        self.rows = rows


class ProtocolError(DriftpaceError, RuntimeError):
    """A call out of order, such as ``tell`` before ``ask``."""


class TooEarlyError(ProtocolError):
    """Not enough data to look ahead; ``why`` says what is missing."""

    def __init__(self, why: str) -> None:
        super().__init__(f"it is too early to plan ahead: {why}; ask and tell first.")
        self.why = why


class NoOpenPeriodError(ProtocolError):
    """A call that needs an order, in a campaign that was not asked; ``period`` is the period to ask for."""

    def __init__(self, method: str, period: int) -> None:
        super().__init__(f"{method}() requires an open period; call ask() for period {period} first.")
        self.period = period


class StateFileError(DriftpaceError, ValueError):
    """A saved state that cannot be read back: truncated, edited, or of a newer version."""


class _StoreError(DriftpaceError):
    """An error that names a store.

    Parameters
    ----------
    problem : str
        What is wrong; ``{where}`` stands for the location of the store, such as ``"the store{where} is full."``.
    owner, name : str, optional
        As in :class:`DriftpaceError`.
    store : str, optional
        The URL of the store. It is part of the message, but not of ``public_problem``.
    """

    _preposition = "at"

    def __init__(
        self, problem: str = "", *, owner: str | None = None, name: str | None = None, store: str | None = None
    ) -> None:
        location = "" if store is None else f" {self._preposition} {store}"
        super().__init__(problem.replace("{where}", location), owner=owner, name=name)
        self.store = store
        self._public_problem = problem.replace("{where}", "")

    @property
    def public_problem(self) -> str:
        return self._public_problem


class StorageError(_StoreError, RuntimeError):
    """A store that is full, read-only, damaged, of a newer version, or gone; nothing was written.

    >>> error = StorageError("the store{where} is read-only.", store="sqlite:///labels.db")
    >>> str(error), error.public_problem
    ('the store at sqlite:///labels.db is read-only.', 'the store is read-only.')
    """


class ConflictError(StorageError):
    """A concurrent writer committed to the campaign first: read it again and retry."""


class StorageNotFoundError(StorageError):
    """There is no store at that place."""


class UnknownCampaignError(_StoreError, LookupError):
    """No campaign of that name is in the store."""

    _preposition = "in"


class LabellingError(DriftpaceError, RuntimeError):
    """A labelling tool that is unreachable, refuses the request, or sends an invalid answer."""


class UnavailableError(LabellingError):
    """The server did not answer or was too busy; retrying may succeed."""


class WrongSecretError(LabellingError):
    """A webhook call without the shared secret."""


class ExecutorError(DriftpaceError, RuntimeError):
    """An engine cannot be reached, or its workers died again and again; nothing was changed."""


class MissingExtraError(DriftpaceError, ImportError):
    """An optional dependency is not installed; the message names the extra."""

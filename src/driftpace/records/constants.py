"""Estimates with their uncertainty: the constants of a problem, which the bounds need, and the drift."""

import math
from dataclasses import dataclass, fields

from driftpace import validation
from driftpace.errors import ParameterError, UnknownConstantError

_MAY_BE_ZERO = frozenset({"A", "B", "V", "sigma", "sigma_star", "noise", "G"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Estimate:
    """A number with a confidence interval and its origin.

    Parameters
    ----------
    value, lower, upper : float
        The estimate and the ends of its interval; all equal where the user gave the number.
    rows : int
        The number of rows behind it; 0 where the user gave the number.
    account : str
        How it was obtained, in words.

    Examples
    --------
    >>> Estimate.given(2.0).upper
    2.0
    """

    value: float
    lower: float
    upper: float
    rows: int
    account: str

    @classmethod
    def given(cls, value: float) -> "Estimate":
        """Return a number supplied by the user, without uncertainty."""
        number = float(value)
        return cls(value=number, lower=number, upper=number, rows=0, account="given")

    @property
    def is_given(self) -> bool:
        """Whether the user supplied the number."""
        return self.rows == 0


@dataclass(frozen=True, kw_only=True, slots=True)
class DriftEstimate:
    """How far the minimiser moves in one period, with an upper confidence limit.

    Parameters
    ----------
    value, upper : float
        The estimate and its upper confidence limit.
    steps : int
        The number of one-step estimates behind it; 0 where the user gave the number.
    measures : {"rho", "distance"}
        "rho" where the number bounds the movement of the minimiser in one period, "distance" where it bounds the distance
        from the last model to the new minimiser, which is what a risk bound needs (theory 3.3 P).
    account : str
        How it was obtained, in words.
    age : int, default 0
        The number of periods closed since the last one-step estimate.
    """

    value: float
    upper: float
    steps: int
    measures: str
    account: str
    age: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Constants:
    """The constants of a problem; None where a constant is unknown.

    The letters are those of the paper and of docs/theory.md, sections 1 and 2. Bounds use the conservative end of each
    interval, by :meth:`safe`: the lower end of ``m`` and ``m_rows``, the upper end of the rest.

    ==========  ==========================================================================================
    m           strong convexity of the risk f
    M           smoothness of the risk f
    m_rows      strong convexity of the mean loss of any rows: the weight of a penalty on every coefficient
    L           smoothness of the loss of one row
    A, B        E||g(w)||^2 <= A + B ||w - w*||^2, the second moment of a row's gradient (B.2)
    sigma, V    E||g(w) - grad f(w)||^2 <= sigma^2 + V ||w - w*||^2, the variance of a row's gradient (B.4)
    sigma_star  E||g(w*)||^2 = sigma_star^2, the spread of gradients at the minimiser
    G           ||g(w)|| <= G, a bound on a row's gradient (B.5)
    diameter    the diameter of the set of coefficients
    noise       variance of the residual y - x'w* (squared loss)
    trace       tr H, the trace of the Hessian at the minimiser
    R2          E||x||^2 xx' <= R2 H (squared loss)
    spread      tr(H^-1 Cov g(w*)), which governs exact minimisers (theory 1.6)
    ==========  ==========================================================================================

    Examples
    --------
    >>> constants = Constants.given(m=1.0, M=1.0, A=0.16, B=4.0)
    >>> constants.safe("m")
    1.0
    >>> constants.safe("L")
    Traceback (most recent call last):
        ...
    driftpace.errors.UnknownConstantError: Constants(L=...) is required here but unknown; give it, or let it be estimated.
    """

    m: Estimate | None = None
    M: Estimate | None = None
    m_rows: Estimate | None = None
    L: Estimate | None = None
    A: Estimate | None = None
    B: Estimate | None = None
    sigma: Estimate | None = None
    V: Estimate | None = None
    sigma_star: Estimate | None = None
    G: Estimate | None = None
    diameter: Estimate | None = None
    noise: Estimate | None = None
    trace: Estimate | None = None
    R2: Estimate | None = None
    spread: Estimate | None = None

    @classmethod
    def given(cls, **numbers: float) -> "Constants":
        """Return constants supplied by the user, without uncertainty.

        Parameters
        ----------
        **numbers : float
            Constants by letter.

        Raises
        ------
        ParameterError
            If a name is not a constant, or a number is outside what is allowed.
        """
        known = {field.name for field in fields(cls)}
        for name, number in numbers.items():
            if name not in known:
                raise ParameterError(
                    f"is not a constant; the names are {', '.join(sorted(known))}.",
                    owner="Constants.given",
                    name=name,
                )
            if name in _MAY_BE_ZERO:
                validation.nonnegative("Constants.given", **{name: number})
            else:
                validation.positive("Constants.given", **{name: number})
        if "m" in numbers and "M" in numbers and numbers["m"] > numbers["M"]:
            raise ParameterError(
                f"must be at most M={numbers['M']!r}; got {numbers['m']!r}.",
                owner="Constants.given",
                name="m",
            )
        return cls(**{name: Estimate.given(number) for name, number in numbers.items()})

    def knows(self, *names: str) -> bool:
        """Return whether all the named constants are known."""
        return all(getattr(self, name) is not None for name in names)

    def safe(self, name: str) -> float:
        """Return the conservative end of a constant: lower for ``m`` and ``m_rows``, upper for the rest.

        Raises
        ------
        UnknownConstantError
            If the constant is unknown, or that end is not finite.
        """
        estimate: Estimate | None = getattr(self, name)
        if estimate is None:
            raise UnknownConstantError(
                "is required here but unknown; give it, or let it be estimated.",
                owner="Constants",
                name=name,
            )
        end = estimate.lower if name in ("m", "m_rows") else estimate.upper
        if not math.isfinite(end):
            raise UnknownConstantError(
                f"is required here but known only to be at most {end}.",
                owner="Constants",
                name=name,
            )
        return end

    def updated(self, other: "Constants") -> "Constants":
        """Return these constants, replaced by those that ``other`` knows."""
        merged = {field.name: getattr(other, field.name) or getattr(self, field.name) for field in fields(self)}
        return Constants(**merged)

"""The constants of a problem: what the bounds need to know about the loss and the data."""

import math
from dataclasses import dataclass, fields

from driftpace import validation
from driftpace.errors import ParameterError, UnknownConstantError
from driftpace.records.estimate import Estimate

_MAY_BE_ZERO = frozenset({"A", "B", "V", "sigma", "sigma_star", "noise", "G"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Constants:
    """What is known of a problem; a constant that is not known is None. Letters as in the paper and theory sections 1, 2.

    Bounds read the safe side: the lower end of ``m`` and the upper end of everything else, by :meth:`safe`.

    ==========  ==========================================================================================
    m           strong convexity of the risk f
    M           smoothness of the risk f
    m_rows      strong convexity of the mean loss of any rows whatever: the weight of a penalty on every coefficient
    L           smoothness of the loss of one row
    A, B        E||g(w)||^2 <= A + B ||w - w*||^2, the second moment of a row's gradient (B.2)
    sigma, V    E||g(w) - grad f(w)||^2 <= sigma^2 + V ||w - w*||^2, the variance of a row's gradient (B.4)
    sigma_star  E||g(w*)||^2 = sigma_star^2, the spread of gradients at the minimiser
    G           ||g(w)|| <= G, a limit on a row's gradient (B.5)
    diameter    the diameter of the set of coefficients
    noise       variance of the residual y - x'w* (squared loss)
    trace       tr H, the trace of the Hessian at the minimiser
    R2          E||x||^2 xx' <= R2 H (squared loss)
    spread      tr(H^-1 Cov g(w*)), which governs exact minimisers (theory 1.6)
    ==========  ==========================================================================================

    >>> constants = Constants.given(m=1.0, M=1.0, A=0.16, B=4.0)
    >>> constants.safe("m")
    1.0
    >>> constants.safe("L")
    Traceback (most recent call last):
        ...
    driftpace.errors.UnknownConstantError: Constants(L=...) is needed here and not known; give it, or let it be estimated.
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
        """Return constants that the user vouches for."""
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
        """Whether every one of the named constants is known."""
        return all(getattr(self, name) is not None for name in names)

    def safe(self, name: str) -> float:
        """Return the end of a constant that makes bounds larger: lower for ``m`` and ``m_rows``, upper for the rest.

        An end that is not finite says nothing: the constant is not known yet.
        """
        estimate: Estimate | None = getattr(self, name)
        if estimate is None:
            raise UnknownConstantError(
                "is needed here and not known; give it, or let it be estimated.",
                owner="Constants",
                name=name,
            )
        end = estimate.lower if name in ("m", "m_rows") else estimate.upper
        if not math.isfinite(end):
            raise UnknownConstantError(
                f"is needed here and known only to be at most {end}.",
                owner="Constants",
                name=name,
            )
        return end

    def updated(self, other: "Constants") -> "Constants":
        """Return these constants with those that ``other`` knows put in their place."""
        merged = {field.name: getattr(other, field.name) or getattr(self, field.name) for field in fields(self)}
        return Constants(**merged)

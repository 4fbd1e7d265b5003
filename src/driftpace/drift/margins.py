"""Margins: how far above its value an estimate of drift is assumed to reach."""

import math
from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

from driftpace import validation
from driftpace.constants.concentration import empirical_bernstein_radius, least_series_scale, standard_error
from driftpace.drift.combine import Combined
from driftpace.errors import ParameterError


@runtime_checkable
class Margin(Protocol):
    """Protocol of margins: how far above its value an estimate of drift is assumed to reach."""

    @property
    def account(self) -> str:
        """Short description for reports."""
        ...

    def upper(self, combined: Combined) -> float | None:
        """Return the upper end, a length of at least ``combined.value``, or None when there is too little data."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class NoMargin:
    """No margin: t_n = 0.

    Examples
    --------
    >>> NoMargin().account
    'no margin'
    """

    account: ClassVar[str] = "no margin"

    def upper(self, combined: Combined) -> float:
        """Return the value itself."""
        return combined.value


@dataclass(frozen=True, kw_only=True, slots=True)
class RootMargin:
    """Margin of the paper's footnote, t_n = scale / sqrt(n-1) (theory 3.1, 6.1).

    It is the only numerical value the paper gives, and it reproduces its figures. It does not satisfy the condition of
    Theorem 1: (n-1) t_n^2 stays at scale^2, so the series diverges (theory I5).

    Parameters
    ----------
    scale : float, default 1.0
        A length in the units of the coefficients; should be of the size of the drift.

    Examples
    --------
    >>> RootMargin(scale=2.0).account
    'margin 2/sqrt(periods), which no theorem covers'
    """

    scale: float = 1.0

    def __post_init__(self) -> None:
        validation.nonnegative("RootMargin", scale=self.scale)

    @property
    def account(self) -> str:
        """Short description for reports."""
        return f"margin {self.scale:g}/sqrt(periods), which no theorem covers"

    def upper(self, combined: Combined) -> float:
        """Return the value plus t_n."""
        return combined.value + self.scale / math.sqrt(combined.steps)


@dataclass(frozen=True, kw_only=True, slots=True)
class StandardErrorMargin:
    """Margin of z standard errors of the mean, in the units of the values (theory 3.1).

    For squares the margin is added before the root is taken. Neighbouring one-step estimates share a period's rows, and windows
    overlap: the standard error allows for dependence at lag 1, or up to the length of the window, with weights that keep it
    non-negative. The upper end is None while neither error is known.

    Parameters
    ----------
    z : float, default 1.645
        Number of standard errors.
    lags : int, optional
        Largest lag allowed for, at most the default; 0 for independence.
    step_errors : bool, default True
        Whether to take the larger of this error and the one-step estimates' own standard error, where they have one.

    Examples
    --------
    >>> StandardErrorMargin().account
    'margin of 1.645 standard errors'
    """

    z: float = 1.645
    lags: int | None = None
    step_errors: bool = True

    def __post_init__(self) -> None:
        validation.nonnegative("StandardErrorMargin", z=self.z)
        if self.lags is not None:
            validation.count("StandardErrorMargin", lags=self.lags)

    @property
    def account(self) -> str:
        """Short description for reports."""
        return f"margin of {self.z:g} standard errors"

    def upper(self, combined: Combined) -> float | None:
        """Return the length z standard errors up, or None when nothing is known of the spread."""
        step_error = combined.step_error if self.step_errors else None
        if combined.count < 2 and step_error is None:
            return None
        error = step_error or 0.0
        if combined.count >= 2:
            kept = combined.autocovariances[: None if self.lags is None else self.lags + 1]
            error = max(error, standard_error(kept, combined.count))
        return combined.raised(self.z * error)


@dataclass(frozen=True, kw_only=True, slots=True)
class BernsteinMargin:
    """Empirical Bernstein margin that holds at all periods at once, for bounded estimates (theory 3.1).

    sqrt(2 V log(3/delta_n)/(n-1)) + 3 width log(3/delta_n)/(n-1), with delta_n = delta/(n(n+1)). The delta_n add up to less than
    ``delta``, so one statement covers all periods. One-step estimates are treated as independent, which neighbours are not.

    Parameters
    ----------
    delta : float
        Probability of error over all periods.
    width : float
        Length of the interval in which one-step estimates lie, as a length: the diameter of the set, for instance.

    Examples
    --------
    >>> BernsteinMargin(delta=0.05, width=1.0).account
    'empirical Bernstein margin at level 0.05'
    """

    delta: float
    width: float

    def __post_init__(self) -> None:
        validation.fraction("BernsteinMargin", delta=self.delta)
        validation.positive("BernsteinMargin", width=self.width)

    @property
    def account(self) -> str:
        """Short description for reports."""
        return f"empirical Bernstein margin at level {self.delta:g}"

    def upper(self, combined: Combined) -> float:
        """Return the length with the radius added, in the units of the values."""
        n = combined.steps + 1
        width = self.width * self.width if combined.squared else self.width
        radius = empirical_bernstein_radius(
            variance=max(0.0, combined.autocovariances[0]),
            width=combined.stretch * width,
            count=combined.count,
            delta=self.delta / (n * (n + 1)),
        )
        return combined.raised(radius)


@dataclass(frozen=True, kw_only=True, slots=True)
class TheoreticalMargin:
    """Margin that Theorems 1 and 2 of the paper need (theory 3.1, I5).

    t_n = c sqrt(log n / (n-1)), c = slack max(sqrt(18) diameter, sqrt(72) G/m). Any ``slack`` above 1 makes the series of Theorem 1
    converge, so that the estimate plus D_n plus t_n is almost surely at least rho from some period on. Windows multiply t_n by
    (n-1)/(n-W) sum_j b_j (Theorem 2). It is far too wide in practice: below the diameter only from n = 80 on, below a tenth of
    it only from n = 17,597 on.

    Parameters
    ----------
    diameter : float
        Diameter of the set.
    m : float
        Strong convexity of the risk.
    G : float
        Largest gradient on the set.
    slack : float, default 1.01
        Factor above 1.

    Examples
    --------
    >>> TheoreticalMargin(diameter=1.0, m=1.0, G=0.0).t(80)
    1.0092
    """

    diameter: float
    m: float
    G: float
    slack: float = 1.01

    account: ClassVar[str] = "margin of Theorem 1"

    def __post_init__(self) -> None:
        validation.positive("TheoreticalMargin", diameter=self.diameter, m=self.m, slack=self.slack)
        validation.nonnegative("TheoreticalMargin", G=self.G)
        if not self.slack > 1.0:
            raise ParameterError(f"must be above 1; got {self.slack!r}.", owner="TheoreticalMargin", name="slack")

    def t(self, n: int) -> float:
        """Return t_n for estimates combined by their mean."""
        scale = self.slack * least_series_scale(diameter=self.diameter, m=self.m, G=self.G)
        return scale * math.sqrt(math.log(n) / (n - 1))

    def upper(self, combined: Combined) -> float:
        """Return the value plus t_n."""
        return combined.value + combined.inflation * self.t(combined.steps + 1)

"""How large gradients are along the way, as averages of iterates need to know it (theory 1.2, 1.3)."""

import math
from dataclasses import dataclass

from driftpace import validation

_ROWS = "rows are independent draws of the period's distribution, each used once"


@dataclass(frozen=True, kw_only=True, slots=True)
class SecondMoment:
    """A, B, C such that E||g(w)||^2 <= A + B ||w - w*||^2 + C <grad f(w), w - w*> for a row's gradient g, on the whole set.

    B is assumption B.2 of the paper. C is its sharper companion for convex, smooth rows: it is paid out of the progress of
    the step itself, so it costs C/m where B >= M^2 would cost (M/m)^2. The bounds of averages take B + mC in the place of B
    (:meth:`per_distance`), for steps of at most 2/C.

    >>> SecondMoment(A=0.16, B=4.0).per_distance(m=1.0)
    4.0
    >>> SecondMoment.least_squares(noise=0.08, trace=2.0, R2=4.0).per_distance(m=0.5)
    2.0
    """

    A: float
    B: float = 0.0
    C: float = 0.0
    conditions: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        validation.nonnegative("SecondMoment", A=self.A, B=self.B, C=self.C)

    @classmethod
    def row_smooth(cls, *, sigma_star: float, L: float) -> "SecondMoment":
        """Every row's loss is convex and L-smooth: A = 2 sigma_star^2, C = 2 L (co-coercivity, theory 1.1b).

        >>> SecondMoment.row_smooth(sigma_star=0.5, L=4.0).C
        8.0
        """
        validation.nonnegative("SecondMoment.row_smooth", sigma_star=sigma_star)
        validation.positive("SecondMoment.row_smooth", L=L)
        return cls(
            A=2.0 * sigma_star**2,
            C=2.0 * L,
            conditions=(
                _ROWS,
                "the gradient of the risk is zero at the minimiser (it is not on the border of the set)",
                f"the loss of every row is convex with a gradient that is {L:.4g}-Lipschitz",
                f"E||g(w*)||^2 <= {sigma_star**2:.4g} at the minimiser",
            ),
        )

    @classmethod
    def least_squares(cls, *, noise: float, trace: float, R2: float) -> "SecondMoment":
        """Well-specified least squares, E||x||^2 xx' <= R2 H: A = noise tr H, C = R2 (theory 1.1b, no factor 2).

        >>> SecondMoment.least_squares(noise=0.08, trace=2.0, R2=4.0).A
        0.16
        """
        validation.nonnegative("SecondMoment.least_squares", noise=noise)
        validation.positive("SecondMoment.least_squares", trace=trace, R2=R2)
        return cls(
            A=noise * trace,
            C=R2,
            conditions=(
                _ROWS,
                "squared loss without penalty, and the residual y - x'w* has mean zero given x",
                f"that residual has a variance of at most {noise:.4g} given x",
                f"the Hessian H = E xx' has trace {trace:.4g} and E||x||^2 xx' <= {R2:.4g} H",
                "the minimiser lies in the set",
            ),
        )

    def per_distance(self, *, m: float) -> float:
        """Return B + mC, which stands for B wherever strong convexity turns progress into distance."""
        return self.B + m * self.C

    def start(self, distance: float, *, M: float | None = None) -> float:
        """Return the most that the risk at ``distance`` can be: (M/2) d^2 when M is known, and never more than below.

        Convexity gives f(w) - f* <= p = <grad f(w), w - w*> <= d ||grad f(w)||, and ||grad f||^2 <= E||g||^2 gives
        p^2 <= d^2 (A + B d^2 + C p): the risk is at most the larger root.

        >>> SecondMoment(A=4.0).start(3.0), SecondMoment(A=4.0).start(3.0, M=0.5)
        (6.0, 2.25)
        """
        squared = distance * distance
        half = 0.5 * self.C * squared
        slope = half + math.sqrt(half * half + squared * (self.A + self.B * squared))
        return slope if M is None else min(slope, 0.5 * M * squared)

    def sentences(self) -> tuple[str, ...]:
        """Return what must be true, a sentence each."""
        if self.conditions is not None:
            return self.conditions
        terms = [f"{self.A:.4g}"]
        if self.B > 0.0:
            terms.append(f"{self.B:.4g} ||w - w*||^2")
        if self.C > 0.0:
            terms.append(f"{self.C:.4g} <grad f(w), w - w*>")
        return (_ROWS, f"a row's gradient has E||g(w)||^2 <= {' + '.join(terms)} everywhere in the set")


def bounded_start(distance: float, *, G2: float, m: float, M: float | None = None) -> float:
    """Return the most that the risk at ``distance`` can be when E||g||^2 <= G2 and f is m-strongly convex.

    f(w) - f* <= <grad f(w), w - w*> - (m/2) d^2 <= G d - (m/2) d^2, which is at most G2/(2m), its value at d = G/m.

    >>> bounded_start(0.5, G2=4.0, m=1.0), bounded_start(100.0, G2=4.0, m=1.0)
    (0.875, 2.0)
    """
    G = math.sqrt(G2)
    d = min(distance, G / m)
    slope = G * d - 0.5 * m * d * d
    return slope if M is None else min(slope, 0.5 * M * distance * distance)

"""Models of gradient noise: the constants of the last-iterate recursion and the second moments that averages need."""

import math
from dataclasses import dataclass

from driftpace import validation
from driftpace.errors import ParameterError

_INTERIOR = "the gradient of the risk is zero at the minimiser (it is not on the boundary of the set)"
_ROWS = "rows are independent draws of the period's distribution, each used once"


@dataclass(frozen=True, kw_only=True, slots=True)
class NoiseModel:
    """Constants A and B of the last-iterate recursion.

    One step of length mu <= step_limit obeys R: E||w+ - w*||^2 <= (1 - 2 m mu + B mu^2) D + A mu^2. There are three ways to know A
    and B: :meth:`second_moment`, :meth:`row_smooth` (with :meth:`least_squares`, sharper) and :meth:`variance`. The mean
    over a minibatch of q rows reduces A and B towards the parts that averaging does not remove; see :meth:`batched`.

    Parameters
    ----------
    A : float
        Noise at the minimiser.
    B : float
        Growth of the noise with the squared distance.
    step_limit : float, default inf
        Longest step for which the recursion holds.
    conditions : tuple[str, ...], default ('one step obeys the recursion R with these A and B',)
        Assumptions, one sentence each.
    A_kept : float, optional
        Part of A that minibatches do not reduce; all of it by default, which is always safe.
    B_kept : float, optional
        Part of B that minibatches do not reduce; all of it by default.
    limit_follows_B : bool, default False
        Whether the step limit is inversely proportional to B.

    Examples
    --------
    >>> NoiseModel.least_squares(noise=0.08, trace=2.0, R2=4.0, m=1.0, M=1.0).batched(4).B
    1.75
    """

    A: float
    B: float
    step_limit: float = math.inf
    conditions: tuple[str, ...] = ("one step obeys the recursion R with these A and B",)
    A_kept: float | None = None
    B_kept: float | None = None
    limit_follows_B: bool = False

    def __post_init__(self) -> None:
        validation.nonnegative("NoiseModel", A=self.A, B=self.B)
        if not self.step_limit > 0.0:
            raise ParameterError(f"must be above zero; got {self.step_limit!r}.", owner="NoiseModel", name="step_limit")
        for name, kept, whole in (("A_kept", self.A_kept, self.A), ("B_kept", self.B_kept, self.B)):
            if kept is not None and not 0.0 <= kept <= whole:
                raise ParameterError(
                    f"must be between 0 and {name[0]}={whole!r}; got {kept!r}.",
                    owner="NoiseModel",
                    name=name,
                )

    @classmethod
    def second_moment(cls, *, A: float, B: float, M: float | None = None) -> "NoiseModel":
        """Form (a): E||g(w)||^2 <= A + B ||w - w*||^2, any step.

        With the smoothness M, a minibatch keeps only the mean gradient: E||gbar||^2 <= (A + B r^2)/q + (1 - 1/q) M^2 r^2,
        r = ||w - w*||. (Where B < M^2 that would not help in B, and the whole of A and B is kept.)

        Examples
        --------
        >>> NoiseModel.second_moment(A=0.16, B=4.0, M=1.0).batched(3).B
        2.0
        """
        conditions = [_ROWS, f"a row's gradient has E||g||^2 <= {A:.4g} + {B:.4g} ||w - w*||^2"]
        if M is None or M * M > B:
            return cls(A=A, B=B, conditions=tuple(conditions))
        validation.positive("NoiseModel.second_moment", M=M)
        return cls(A=A, B=B, A_kept=0.0, B_kept=M * M, conditions=(*conditions, _INTERIOR))

    @classmethod
    def row_smooth(cls, *, sigma_star: float, L: float, m: float, M: float | None = None) -> "NoiseModel":
        """Form (b): every row's loss is convex and L-smooth. A = 2 sigma_star^2, B = 2 m L, mu <= 1/L.

        E||g||^2 <= 2 E||g(w) - g(w*)||^2 + 2 sigma_star^2 <= 2 L <grad f(w), w - w*> + 2 sigma_star^2 by co-coercivity.
        With the smoothness M of the risk, a minibatch has L_q = M + (L - M)/q in place of L.

        Examples
        --------
        >>> noise = NoiseModel.row_smooth(sigma_star=0.5, L=4.0, m=1.0)
        >>> noise.A, noise.B, noise.step_limit
        (0.5, 8.0, 0.25)
        """
        validation.nonnegative("NoiseModel.row_smooth", sigma_star=sigma_star)
        validation.positive("NoiseModel.row_smooth", L=L, m=m)
        _at_least("row_smooth", "L", L, "m", m)
        _at_least("row_smooth", "L", L, "M", M or m)
        return cls(
            A=2.0 * sigma_star**2,
            B=2.0 * m * L,
            step_limit=1.0 / L,
            A_kept=0.0,
            B_kept=2.0 * m * (L if M is None else M),
            limit_follows_B=True,
            conditions=(
                _ROWS,
                _INTERIOR,
                f"the loss of every row is convex with a gradient that is {L:.4g}-Lipschitz",
                f"E||g(w*)||^2 <= {sigma_star**2:.4g} at the minimiser",
            ),
        )

    @classmethod
    def least_squares(cls, *, noise: float, trace: float, R2: float, m: float, M: float | None = None) -> "NoiseModel":
        """Form (b) for well-specified least squares, E||x||^2 xx' <= R2 H: A = noise tr H, B = m R2, mu <= 2/R2.

        There is no factor 2: the residual at w* has mean zero given x, so the cross term vanishes. Gaussian features have
        R2 = 2 lambda_max + tr H. A minibatch has R2_q = M + (R2 - M)/q.

        Examples
        --------
        >>> model = NoiseModel.least_squares(noise=0.08, trace=2.0, R2=4.0, m=1.0)
        >>> model.A, model.B, model.step_limit
        (0.16, 4.0, 0.5)
        """
        validation.nonnegative("NoiseModel.least_squares", noise=noise)
        validation.positive("NoiseModel.least_squares", trace=trace, R2=R2, m=m)
        _at_least("least_squares", "R2", R2, "m", m)
        _at_least("least_squares", "R2", R2, "M", M or m)
        return cls(
            A=noise * trace,
            B=m * R2,
            step_limit=2.0 / R2,
            A_kept=0.0,
            B_kept=m * (R2 if M is None else M),
            limit_follows_B=True,
            conditions=(
                _ROWS,
                "squared loss without penalty, and the residual y - x'w* has mean zero given x",
                f"that residual has a variance of at most {noise:.4g} given x",
                f"the Hessian H = E xx' has trace {trace:.4g} and E||x||^2 xx' <= {R2:.4g} H",
                "the minimiser lies in the set",
            ),
        )

    @classmethod
    def variance(cls, *, sigma: float, V: float, m: float, M: float) -> "NoiseModel":
        """Form (c): E||g - grad f||^2 <= sigma^2 + V ||w - w*||^2. A = sigma^2, B = m^2 + V, mu <= 2/(m + M).

        A minibatch divides sigma^2 and V by q.

        Examples
        --------
        >>> model = NoiseModel.variance(sigma=0.5, V=2.0, m=1.0, M=3.0)
        >>> model.A, model.B, model.step_limit
        (0.25, 3.0, 0.5)
        """
        validation.nonnegative("NoiseModel.variance", sigma=sigma, V=V)
        validation.positive("NoiseModel.variance", m=m, M=M)
        _at_least("variance", "M", M, "m", m)
        return cls(
            A=sigma**2,
            B=m**2 + V,
            step_limit=2.0 / (m + M),
            A_kept=0.0,
            B_kept=m**2,
            conditions=(
                _ROWS,
                _INTERIOR,
                f"a row's gradient has variance E||g - grad f||^2 <= {sigma**2:.4g} + {V:.4g} ||w - w*||^2",
            ),
        )

    def batched(self, rows: int) -> "NoiseModel":
        """Return the same for the mean gradient of ``rows`` rows (theory 1.7): X becomes X_kept + (X - X_kept)/rows."""
        if rows == 1:
            return self
        validation.count("NoiseModel.batched", least=1, rows=rows)
        A_kept = self.A if self.A_kept is None else self.A_kept
        B_kept = self.B if self.B_kept is None else self.B_kept
        A, B = A_kept + (self.A - A_kept) / rows, B_kept + (self.B - B_kept) / rows
        limit = self.step_limit * self.B / B if self.limit_follows_B and B > 0.0 else self.step_limit
        return NoiseModel(A=A, B=B, step_limit=limit, conditions=self.conditions)


def _at_least(where: str, name: str, value: float, other: str, least: float) -> None:
    if value < least:
        raise ParameterError(f"NoiseModel.{where}({name}=...) must be at least {other}={least!r}; got {value!r}.")


@dataclass(frozen=True, kw_only=True, slots=True)
class SecondMoment:
    """Constants A, B, C that bound the second moment of a row's gradient.

    E||g(w)||^2 <= A + B ||w - w*||^2 + C <grad f(w), w - w*> on the whole set. B is assumption B.2 of the paper. C is its sharper
    companion for convex, smooth rows: it is charged to the progress of the step itself, so it costs C/m where B >= M^2 would
    cost (M/m)^2. The bounds of averages take B + mC in place of B (:meth:`per_distance`), for steps of at most 2/C.

    Parameters
    ----------
    A : float
        Second moment at the minimiser.
    B : float, default 0.0
        Growth with the squared distance.
    C : float, default 0.0
        Growth with the directional derivative.
    conditions : tuple[str, ...], optional
        Assumptions, one sentence each; derived from A, B, C by default.

    Examples
    --------
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

        Examples
        --------
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
                "the gradient of the risk is zero at the minimiser (it is not on the boundary of the set)",
                f"the loss of every row is convex with a gradient that is {L:.4g}-Lipschitz",
                f"E||g(w*)||^2 <= {sigma_star**2:.4g} at the minimiser",
            ),
        )

    @classmethod
    def least_squares(cls, *, noise: float, trace: float, R2: float) -> "SecondMoment":
        """Well-specified least squares, E||x||^2 xx' <= R2 H: A = noise tr H, C = R2 (theory 1.1b, no factor 2).

        Examples
        --------
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
        """Return the largest possible risk at ``distance``: (M/2) d^2 when M is known, and never more than below.

        Convexity gives f(w) - f* <= p = <grad f(w), w - w*> <= d ||grad f(w)||, and ||grad f||^2 <= E||g||^2 gives
        p^2 <= d^2 (A + B d^2 + C p): the risk is at most the larger root.

        Examples
        --------
        >>> SecondMoment(A=4.0).start(3.0), SecondMoment(A=4.0).start(3.0, M=0.5)
        (6.0, 2.25)
        """
        squared = distance * distance
        half = 0.5 * self.C * squared
        slope = half + math.sqrt(half * half + squared * (self.A + self.B * squared))
        return slope if M is None else min(slope, 0.5 * M * squared)

    def sentences(self) -> tuple[str, ...]:
        """Return the assumptions, one sentence each."""
        if self.conditions is not None:
            return self.conditions
        terms = [f"{self.A:.4g}"]
        if self.B > 0.0:
            terms.append(f"{self.B:.4g} ||w - w*||^2")
        if self.C > 0.0:
            terms.append(f"{self.C:.4g} <grad f(w), w - w*>")
        return (_ROWS, f"a row's gradient has E||g(w)||^2 <= {' + '.join(terms)} everywhere in the set")


def bounded_start(distance: float, *, G2: float, m: float, M: float | None = None) -> float:
    """Return the largest possible risk at ``distance`` when E||g||^2 <= G2 and f is m-strongly convex.

    f(w) - f* <= <grad f(w), w - w*> - (m/2) d^2 <= G d - (m/2) d^2, which is at most G2/(2m), its value at d = G/m.

    Examples
    --------
    >>> bounded_start(0.5, G2=4.0, m=1.0), bounded_start(100.0, G2=4.0, m=1.0)
    (0.875, 2.0)
    """
    G = math.sqrt(G2)
    d = min(distance, G / m)
    slope = G * d - 0.5 * m * d * d
    return slope if M is None else min(slope, 0.5 * M * distance * distance)

"""The last-iterate recursion R and the certificate of a weighted average, with checkpoints (theory 1.1, 1.2, 1.10).

a_0 = 1, s_0 = 0, and with c_k = max(0, 1 - 2 m mu_k + B mu_k^2): a_k = c_k a_{k-1}, s_k = c_k s_{k-1} + A mu_k^2. The step is
mu_k = scale / (grow k + shift): ``grow`` 1 decreases like 1/k, ``grow`` 0 with ``shift`` 1 is constant.

Checkpoint i holds (a, s) after ``position(i)`` steps. Positions are 256 apart up to 2^25 steps and then 2^-17 of the
octave's first position apart: 131,072 to the octave, 12 MB in all at 10^9 steps, and never more than 4,096 steps of
replay there. a is kept at 1e-300 or more: subnormal numbers are slow, and a larger a is on the safe side.

The certificate has steps mu_k = 2/(m t) and weights t - 1, t = k + shift. Besides (a, s) of R, which bound the squared
distance before step k by a d0^2 + s, it keeps two sums: P of max(e_k, 0) a and Q of max(e_k, 0) s + (A/2) theta_k mu_k^2 / v_k,
where v_k = mu_k (1 - C mu_k / 2) and e_k = theta_k (1/(2 v_k) - m/2 + B mu_k^2 / (2 v_k)) - theta_{k-1} / (2 v_{k-1}).
"""

from driftpace.compiled import compiled
from driftpace.typing import FloatArray

FINE_BITS = 8  # 2^8 steps between the first checkpoints
OCTAVE_BITS = 17  # 2^17 checkpoints to an octave
TINY = 1e-300


@compiled()
def position(index: int) -> int:
    """Return the number of steps after which checkpoint ``index`` stands."""
    first = 1 << OCTAVE_BITS
    if index <= first:
        return index << FINE_BITS
    octave = (index - first) >> OCTAVE_BITS
    offset = (index - first) & (first - 1)
    return (first + offset) << (FINE_BITS + octave)


@compiled()
def index_before(steps: int) -> int:
    """Return the last checkpoint at or before ``steps``."""
    first = 1 << OCTAVE_BITS
    if steps < first << FINE_BITS:
        return steps >> FINE_BITS
    octave = 0
    while steps >> (FINE_BITS + octave + 1) >= first:
        octave += 1
    return first + (octave << OCTAVE_BITS) + ((steps >> (FINE_BITS + octave)) - first)


@compiled()
def replay(
    a: float, s: float, begin: int, end: int, m: float, A: float, B: float, scale: float, grow: float, shift: float
) -> tuple[float, float]:
    """Return (a, s) after ``end`` steps from (a, s) after ``begin``."""
    for k in range(begin + 1, end + 1):
        mu = scale / (grow * k + shift)
        c = max(0.0, 1.0 - 2.0 * m * mu + B * mu * mu)
        a = max(c * a, TINY)
        s = c * s + A * mu * mu
    return a, s


@compiled()
def extend(
    alphas: FloatArray,
    betas: FloatArray,
    filled: int,
    until: int,
    m: float,
    A: float,
    B: float,
    scale: float,
    grow: float,
    shift: float,
) -> None:
    """Fill checkpoints ``filled`` + 1 .. ``until``; checkpoint ``filled`` is there."""
    a, s, k = alphas[filled], betas[filled], position(filled)
    for index in range(filled + 1, until + 1):
        a, s = replay(a, s, k, position(index), m, A, B, scale, grow, shift)
        k = position(index)
        alphas[index], betas[index] = a, s


@compiled()
def at(
    alphas: FloatArray,
    betas: FloatArray,
    steps: int,
    m: float,
    A: float,
    B: float,
    scale: float,
    grow: float,
    shift: float,
) -> tuple[float, float]:
    """Return (a, s) after ``steps`` steps, which the table covers."""
    index = index_before(steps)
    return replay(alphas[index], betas[index], position(index), steps, m, A, B, scale, grow, shift)


@compiled()
def first(
    alphas: FloatArray,
    betas: FloatArray,
    filled: int,
    squared: float,
    half_M: float,
    epsilon: float,
    cap: int,
    m: float,
    A: float,
    B: float,
    scale: float,
    grow: float,
    shift: float,
) -> tuple[int, float, float, float, float]:
    """Return the least k in 1 .. cap with half_M (a_k squared + s_k) <= epsilon, and (a, s) at k and at k - 1.

    The start must miss epsilon; then the numbers of steps that meet it are all those from some k on, and bisection finds k.
    k is 0 when the checkpoints end before it, -1 when the cap is reached before it.
    """
    last = index_before(cap)
    beyond = filled < last
    low, high = 0, filled if beyond else last  # low misses; is high known to meet?
    if half_M * (alphas[high] * squared + betas[high]) <= epsilon:
        while high - low > 1:
            middle = (low + high) >> 1
            if half_M * (alphas[middle] * squared + betas[middle]) <= epsilon:
                high = middle
            else:
                low = middle
        end = position(high)
    elif beyond:
        return 0, 0.0, 0.0, 0.0, 0.0
    else:
        low, end = high, cap
    a, s = alphas[low], betas[low]
    for k in range(position(low) + 1, end + 1):
        before_a, before_s = a, s
        mu = scale / (grow * k + shift)
        c = max(0.0, 1.0 - 2.0 * m * mu + B * mu * mu)
        a = max(c * a, TINY)
        s = c * s + A * mu * mu
        if half_M * (a * squared + s) <= epsilon:
            return k, a, s, before_a, before_s
    return -1, a, s, 0.0, 0.0


@compiled()
def replay_average(
    a: float, s: float, P: float, Q: float, begin: int, end: int, m: float, A: float, B: float, C: float, shift: float
) -> tuple[float, float, float, float]:
    """Return (a, s, P, Q) after ``end`` steps from those after ``begin``."""
    b, c = B / (m * m), C / m
    for k in range(begin + 1, end + 1):
        t = k + shift
        mu = 2.0 / (m * t)
        if k == 1:
            e = (t - 1.0) * (0.25 * m * t * t / (t - c) - 0.5 * m + B / (m * (t - c)))
        else:  # the two terms of size t^2 that cancel are cancelled analytically, or large shifts would lose every digit
            e = (t - 1.0) * m * (0.25 * c * (t - 2.0 * c) / ((t - c) * (t - 1.0 - c)) + b / (t - c))
        e = max(0.0, e)
        P += e * a
        Q += e * s + A * (t - 1.0) / (m * (t - c))
        shrink = max(0.0, 1.0 - 2.0 * m * mu + (B + m * C) * mu * mu)
        a = max(shrink * a, TINY)
        s = shrink * s + A * mu * mu
    return a, s, P, Q


@compiled()
def extend_average(
    columns: FloatArray, filled: int, until: int, m: float, A: float, B: float, C: float, shift: float
) -> None:
    """Fill checkpoints ``filled`` + 1 .. ``until``, a row each of (a, s, P, Q); checkpoint ``filled`` is there."""
    a, s, P, Q = columns[filled, 0], columns[filled, 1], columns[filled, 2], columns[filled, 3]
    k = position(filled)
    for index in range(filled + 1, until + 1):
        end = position(index)
        a, s, P, Q = replay_average(a, s, P, Q, k, end, m, A, B, C, shift)
        k = end
        columns[index, 0], columns[index, 1], columns[index, 2], columns[index, 3] = a, s, P, Q

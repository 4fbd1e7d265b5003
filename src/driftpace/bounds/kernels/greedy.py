"""The greedy recursion in closed form, to a millionth of a step (theory 1.1f).

D' = D (1 - m^2 D/(A + B D)). With beta = B - m^2, gamma = m^2/beta and v = A/(beta D), it is v' = v + gamma v/(1 + v). The
function Psi with Psi(v') = Psi(v) + 1 (Abel's equation) counts steps; its expansion in gamma is

    Psi(v) = (v + ln v)/gamma + l/2 - (gamma/12)(x^2 - x^3/3 - r) + (gamma^2/24)(5 x^4/4 - r)
             + gamma^3 (19 r/720 + x^4/576 - x^5/48 - 7 x^6/288) + ...,

x = 1/(1+v), l = ln(v/(1+v)), r = x^4/4 + x^5/5 + ... It follows from the iterative logarithm of the map, and for v -> 0,
where the map is v' = (1 + gamma) v, it is the expansion of ln v/ln(1 + gamma). The next term is at most
gamma^4 (0.019 |l| + 0.1), and 0.025 gamma^4 x^6 for large v. So the map is iterated as it stands for 64 steps, and on until
gamma <= 0.02 or gamma x <= 0.02, which takes a few dozen more as a rule; from there on the terms left out add up to less than a
millionth of a step, or 0.02 gamma^4 |l| where that is more. Values are taken that much earlier, and a little more for
rounding, so the result is still an upper bound.
"""

import math

from driftpace.compiled import compiled

PLAIN = 64
NEAR = 0.02
MARGIN = 1e-6
TINY = 1e-120


@compiled()
def psi(v: float, gamma: float) -> float:
    """Return the step count Psi(v), up to a constant."""
    x = 1.0 / (1.0 + v)
    l = -math.log1p(1.0 / v)  # noqa: E741 - as in the formula
    if x < 0.05:
        r = x**4 * (1 / 4 + x * (1 / 5 + x * (1 / 6 + x * (1 / 7 + x * (1 / 8 + x * (1 / 9 + x * (1 / 10 + x / 11)))))))
    else:
        r = -(l + x + x * x / 2 + x**3 / 3)
    return (
        (v + math.log(v)) / gamma
        + 0.5 * l
        - gamma / 12 * (x * x - x**3 / 3 - r)
        + gamma**2 / 24 * (1.25 * x**4 - r)
        + gamma**3 * (19 * r / 720 + x**4 / 576 - x**5 / 48 - 7 * x**6 / 288)
    )


@compiled()
def inverse_psi(count: float, gamma: float, high: float) -> float:
    """Return v with Psi(v) = count, by Newton's method in ln v from ``high`` above it: Psi is convex in ln v."""
    t = math.log(high)
    for _ in range(60):
        v = math.exp(t)
        change = (psi(v, gamma) - count) / ((1.0 + v) / gamma + 0.5 / (1.0 + v))
        t -= change
        if abs(change) <= 1e-15 * (1.0 + abs(t)):
            break
    return math.exp(t)


@compiled()
def near(v: float, gamma: float) -> bool:
    """Whether the expansion holds from ``v`` on."""
    return gamma <= NEAR or gamma <= NEAR * (1.0 + v)


@compiled()
def count_limited(squared: float, m: float, A: float, B: float, limit: float) -> int:
    """Return how many steps are cut to ``limit``: while m D/(A + B D) > limit."""
    if not limit * B < m:  # greedy steps are shorter than m/B
        return 0
    if A == 0.0:
        return 1 << 62
    level, edge = A * limit / (2.0 * m - B * limit), A * limit / (m - B * limit)
    if squared <= edge:
        return 0
    return math.ceil(math.log((squared - level) / (edge - level)) / -math.log1p(-limit * (2.0 * m - B * limit)))


@compiled()
def squared_distance(squared: float, steps: int, m: float, A: float, B: float, limit: float) -> float:
    """Return D after ``steps`` greedy steps from D = ``squared``; B >= m^2.

    An A under 1e-120 of the start is taken for that, which can only make D larger: beyond it logarithms run out of range.
    """
    if A > 0.0:
        A = max(A, TINY * squared)
    limited = min(steps, count_limited(squared, m, A, B, limit))
    if limited > 0:
        gain = min(1.0, limit * (2.0 * m - B * limit))
        kept = math.exp(limited * math.log1p(-gain)) if gain < 1.0 else 0.0
        squared = kept * squared + (1.0 - kept) * A * limit * limit / gain
    steps -= limited
    beta = B - m * m
    if steps == 0 or squared == 0.0:
        return squared
    if A == 0.0:
        return squared * math.exp(steps * math.log1p(-m * m / B)) if beta > 0.0 else 0.0
    if beta == 0.0:
        return 1.0 / (1.0 / squared + steps * m * m / A)
    gamma, v, done = m * m / beta, A / (beta * squared), 0
    while steps > 0 and (done < PLAIN or not near(v, gamma)):
        squared = squared * (A + beta * squared) / (A + B * squared)
        v = A / (beta * squared)
        steps -= 1
        done += 1
    if steps == 0:
        return squared
    begin = psi(v, gamma)
    margin = MARGIN + 0.02 * min(gamma, NEAR) ** 4 * math.log1p(1.0 / v) + 1e-14 * (abs(begin) + steps)
    high = min(v + gamma * steps, v * math.exp(min(steps * math.log1p(gamma), 1400.0 - max(0.0, math.log(v)))))
    return A / (beta * inverse_psi(begin + steps - margin, gamma, high))


@compiled()
def steps_to(squared: float, target: float, m: float, A: float, B: float, limit: float) -> float:
    """Return about how many greedy steps bring D from ``squared`` to ``target`` < squared."""
    if A > 0.0:
        A = max(A, TINY * squared)
    limited = count_limited(squared, m, A, B, limit)
    gain = limit * (2.0 * m - B * limit) if limited > 0 else 0.0
    level = A * limit * limit / gain if limited > 0 else 0.0
    if limited > 0:
        until = math.log((squared - level) / (target - level)) / -math.log1p(-gain) if target > level else math.inf
        if until <= limited:
            return until
        kept = math.exp(limited * math.log1p(-gain))
        squared = kept * squared + (1.0 - kept) * level
    beta, done = B - m * m, float(limited)
    if A == 0.0:
        return done + (math.log(squared / target) / -math.log1p(-m * m / B) if beta > 0.0 else 1.0)
    if beta == 0.0:
        return done + (1.0 / target - 1.0 / squared) * A / (m * m)
    gamma, v = m * m / beta, A / (beta * squared)
    while squared > target and not near(v, gamma):
        squared = squared * (A + beta * squared) / (A + B * squared)
        v = A / (beta * squared)
        done += 1.0
    if squared <= target:
        return done
    return done + psi(A / (beta * target), gamma) - psi(v, gamma)


@compiled()
def tuned(squared: float, steps: int, m: float, A: float, B: float, limit: float) -> tuple[float, float]:
    """Return a, s of the recursion R with the steps tuned to D = ``squared``, which a start at any other distance may take."""
    a, s = 1.0, 0.0
    for _ in range(steps):
        spread = A + B * squared
        mu = min(m * squared / spread, limit) if spread > 0.0 else 0.0
        c = max(0.0, 1.0 - 2.0 * m * mu + B * mu * mu)
        a = c * a
        s = c * s + A * mu * mu
        squared = c * squared + A * mu * mu
    return a, s

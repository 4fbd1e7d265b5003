"""Paths of the truth from period to period, in coordinates where every direction costs the same.

A path lives in whitened coordinates z, where the Hessian of the risk is the identity: a move delta costs a stale model
1/2 |delta|^2 of squared loss, whatever the condition number of the rows. Period 1 is at ``start``. With ``size`` the length
of a move and u, v random unit vectors at right angles:

    still      z_1
    jump       z_1 before period ``jump_at``, z_1 + size u from it on
    line       z_1 + (n - 1) size u
    walk       a step of length size in a fresh random direction each period
    seasonal   a circle through z_1 in the plane of u and v, ``turn`` steps of length size to a round; with one coordinate,
               where there is no plane, a sine whose squared steps have the mean size^2

On a sphere (``sphere=True``) z keeps its length and ``size`` is an angle: the line is a great circle, the walk turns by
size in a random direction, the jump turns once, and the season swings back and forth on a great circle, size to either side.
"""

import math
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from driftpace import validation
from driftpace.typing import FloatArray

Shape = Literal["line", "walk", "seasonal", "jump", "still"]
MOVES = 2  # each use of a seed has a separate stream: rotation 0, start 1, moves 2, leaning 3


def check_shape(owner: str, shape: str, cost: float, rng: int, turn: int, jump_at: int) -> None:
    """Validate the parameters of a path."""
    validation.choice(owner, get_args(Shape), shape=shape)
    validation.nonnegative(owner, cost=cost)
    validation.count(owner, rng=rng)
    validation.count(owner, least=3, turn=turn)
    validation.count(owner, least=2, jump_at=jump_at)


def random_start(coordinates: int, signal: float, rng: int) -> FloatArray:
    """Return a point at squared length ``signal`` in a uniformly random direction.

    Examples
    --------
    >>> float((random_start(3, 4.0, rng=0) ** 2).sum())
    4.0
    """
    normal = np.random.default_rng([rng, 1]).standard_normal(coordinates)
    return math.sqrt(signal) * normal / np.linalg.norm(normal)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Path:
    """Position of the truth in each period, a function of the seed ``rng`` alone.

    Parameters
    ----------
    shape : {'line', 'walk', 'seasonal', 'jump', 'still'}
        Shape of the path, see :mod:`driftpace.synthetic.paths`.
    size : float
        Length of a step, or its angle on a sphere.
    start : ndarray
        Position in period 1.
    rng : int
        Seed; every period is a function of it alone, so periods may be drawn in any order.
    turn : int, default 12
        Periods in a season, for ``shape='seasonal'``.
    jump_at : int, default 20
        Period of the jump, for ``shape='jump'``.
    sphere : bool, default False
        Whether the path stays on a sphere about the origin.

    Examples
    --------
    >>> path = Path(shape="seasonal", size=0.5, start=np.zeros(3), rng=0, turn=12)
    >>> float(np.linalg.norm(path.at(8) - path.at(7)))
    0.5
    >>> np.allclose(path.at(1), path.at(13))
    True
    """

    shape: Shape
    size: float
    start: FloatArray
    rng: int
    turn: int = 12
    jump_at: int = 20
    sphere: bool = False
    _known: list[FloatArray] = field(init=False, repr=False, default_factory=list)

    def at(self, n: int) -> FloatArray:
        """Return the place in period n = 1, 2, ..."""
        place: FloatArray = self._upto(n)[n - 1]
        return place

    def upto(self, periods: int) -> FloatArray:
        """Return the places in periods 1 .. periods, (periods, coordinates)."""
        return self._upto(periods)[:periods]

    def _upto(self, periods: int) -> FloatArray:
        if not self._known or len(self._known[0]) < periods:
            places = (self._turned if self.sphere else self._moved)(max(64, 2 * periods))
            places.setflags(write=False)
            self._known[:] = [places]
        return self._known[0]

    def _moved(self, periods: int) -> FloatArray:
        phase, directions = self._random(periods)
        after = np.arange(periods, dtype=np.float64)
        if self.shape == "walk":
            unit = directions / np.linalg.norm(directions, axis=1, keepdims=True)
            steps = np.vstack([np.zeros_like(self.start), self.size * unit[: periods - 1]])
            return np.asarray(self.start + np.cumsum(steps, axis=0))
        u = directions[0] / np.linalg.norm(directions[0])
        if self.shape == "seasonal" and self.start.size > 1:
            radius, angle = 0.5 * self.size / math.sin(math.pi / self.turn), 2.0 * math.pi * after / self.turn
            v = _across(directions[1], u)
            return np.asarray(self.start + radius * (np.outer(np.cos(angle) - 1.0, u) + np.outer(np.sin(angle), v)))
        lengths = self._swing(phase, after) if self.shape == "seasonal" else self._along(after)
        return np.asarray(self.start + np.outer(lengths, u))

    def _turned(self, periods: int) -> FloatArray:
        phase, directions = self._random(periods)
        after, radius = np.arange(periods, dtype=np.float64), float(np.linalg.norm(self.start))
        here = self.start / radius
        if self.shape == "walk":
            places = np.empty((periods, here.size))
            for n in range(periods):
                places[n] = here
                here = math.cos(self.size) * here + math.sin(self.size) * _across(directions[n], here)
                here = here / np.linalg.norm(here)  # rounding does not pile up
            return radius * places
        swing = self.size * np.asarray(np.sin(phase + 2.0 * math.pi * after / self.turn) - math.sin(phase))
        angles = swing if self.shape == "seasonal" else self._along(after)
        across = _across(directions[0], here)
        return np.asarray(radius * (np.outer(np.cos(angles), here) + np.outer(np.sin(angles), across)))

    def _along(self, after: FloatArray) -> FloatArray:
        """How far along one direction: line, jump, still."""
        if self.shape == "jump":
            return self.size * (after >= self.jump_at - 1).astype(np.float64)
        return self.size * after if self.shape == "line" else np.zeros(after.size)

    def _swing(self, phase: float, after: FloatArray) -> FloatArray:
        """(sin(a + h) - sin a)^2 = 4 sin^2(h/2) cos^2(a + h/2), and cos^2 has mean 1/2 over three or more equal steps."""
        reach = self.size / (math.sqrt(2.0) * math.sin(math.pi / self.turn))
        return reach * np.asarray(np.sin(phase + 2.0 * math.pi * after / self.turn) - math.sin(phase))

    def _random(self, periods: int) -> tuple[float, FloatArray]:
        """Return a phase, and normal vectors: row i moves period i + 1 on, however many are drawn."""
        rng = np.random.default_rng([self.rng, MOVES])
        return 2.0 * math.pi * rng.random(), rng.standard_normal((periods, self.start.size))


def _across(direction: FloatArray, unit: FloatArray) -> FloatArray:
    """Return the unit vector of a direction's part at right angles to ``unit``."""
    rest = direction - float(direction @ unit) * unit
    rest = rest - float(rest @ unit) * unit  # twice, so that it is at right angles to rounding error
    return rest / np.linalg.norm(rest)

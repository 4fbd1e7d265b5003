"""A check of the contract of constraint sets."""

import math
from itertools import pairwise

import numpy as np

from driftpace.constraints import ConstraintSet
from driftpace.typing import FloatArray

_SCALES = (0.1, 0.5, 1.0, 3.0, 100.0)


def check_set(set_: ConstraintSet, features: int, *, rng: np.random.Generator | int | None = None) -> None:
    """Check a set against the contract of :class:`driftpace.constraints.ConstraintSet`.

    Projections are in the set, are nearest points, and are projected to themselves; points of the set are projected to
    themselves; projections are no further apart than the points; the set is convex; the diameter is the largest distance
    (an infinite diameter is always safe and is not checked). Nothing is mutated. Points of size 1e300 and 1e-300 neither
    overflow nor underflow.

    Parameters
    ----------
    set_ : ConstraintSet
        The set to check.
    features : int
        The number of dimensions.
    rng : Generator or int, optional
        The source of randomness; the same points in every call when not given.

    Raises
    ------
    AssertionError
        If a property fails; the message names it.

    Examples
    --------
    >>> from driftpace.constraints import Ball
    >>> check_set(Ball(radius=2.0), features=3)
    """
    _claim(isinstance(set_, ConstraintSet), "does not have every method of driftpace.constraints.ConstraintSet")
    _claim(set_.fits(features), f"does not fit {features} dimensions")
    rng = np.random.default_rng(0 if rng is None else rng)
    middle = set_.project(np.zeros(features))
    _claim(middle.shape == (features,), "returns a projection of the wrong shape")
    size = set_.diameter if 0.0 < set_.diameter < math.inf else 1.0 + _length(middle)
    points = [middle + size * scale * rng.standard_normal(features) for scale in _SCALES for _ in range(8)]
    nearest = [_check_point(set_, point) for point in points]
    members = [*nearest, *_check_between(set_, nearest, size, rng)]
    for point, image in zip(points, nearest, strict=True):
        _check_nearest(point, image, members)
    for (p, p_image), (q, q_image) in pairwise(zip(points, nearest, strict=True)):
        _claim(
            _length(p_image - q_image) <= _length(p - q) * (1.0 + 1e-9) + 1e-12 * _size(p, q, p_image, q_image),
            "has projections that are further apart than the points were",
        )
    _check_diameter(set_, members, size)
    for scale in (1e-300, 1e300):
        point = scale * rng.uniform(-1.0, 1.0, size=features)
        _check_nearest(point, _check_point(set_, point), members)
    _claim(not set_.contains(np.full(features, np.nan)), "contains NaN")


def _claim(holds: bool, sentence: str) -> None:
    if not holds:
        raise AssertionError(f"The set {sentence}.")


def _length(vector: FloatArray) -> float:
    return math.hypot(*vector.tolist())  # neither overflows nor underflows


def _size(*vectors: FloatArray) -> float:
    return max(float(np.abs(vector).max(initial=0.0)) for vector in vectors)


def _check_point(set_: ConstraintSet, point: FloatArray) -> FloatArray:
    before = point.copy()
    image = set_.project(point)
    _claim(np.array_equal(point, before), "changes the point that it projects")
    _claim(not np.shares_memory(image, point), "returns the point itself and not a new array")
    _claim(bool(np.isfinite(image).all()), "has a projection that is not finite")
    _claim(set_.contains(image), "does not contain its own projection")
    again, tolerance = set_.project(image), 1e-12 * _size(image)
    _claim(bool((np.abs(again - image) <= tolerance).all()), "moves a projection when it is projected again")
    if set_.contains(point, tolerance=0.0):
        _claim(np.array_equal(image, point), "moves a point that it contains")
    elif np.array_equal(image, point):
        _claim(set_.contains(point), "does not contain a point that its projection leaves in place")
    if _size(image - point) > 1e-6 * _size(point, image):
        _claim(not set_.contains(point), "contains a point that its projection moves")
    return image


def _check_between(
    set_: ConstraintSet, members: list[FloatArray], size: float, rng: np.random.Generator
) -> list[FloatArray]:
    between = []
    for _ in range(40):
        i, j = rng.integers(len(members), size=2)
        share = rng.random()
        between.append((1.0 - share) * members[i] + share * members[j])
        tolerance = 1e-9 + 1e-14 * _size(between[-1]) / size  # far from the origin a point rounds out of a small set
        _claim(
            set_.contains(between[-1], tolerance=tolerance), "is not convex: it lacks a point between two of its points"
        )
    return between


def _check_nearest(point: FloatArray, image: FloatArray, members: list[FloatArray]) -> None:
    """Hold the image to what makes it nearest: <point - image, member - image> <= 0 for every member."""
    back = point - image
    if _length(back) <= 1e-6 * _size(point, image):
        return
    for member in members:
        across = member - image
        if _length(across) > 1e-6 * _size(member, image):
            cosine = float((back / _length(back)) @ (across / _length(across)))
            _claim(cosine <= 1e-6, "has a projection that is not the nearest point")


def _check_diameter(set_: ConstraintSet, members: list[FloatArray], size: float) -> None:
    if set_.diameter == math.inf:
        return
    widest = 0.0
    for p, q in zip(members, reversed(members), strict=True):
        for _ in range(4):  # walk two members apart: the distance never falls
            apart = p - q
            reach = 10.0 * size / max(_length(apart), 1e-6 * size)
            p, q = set_.project(p + reach * apart), set_.project(q - reach * apart)
        widest = max(widest, _length(p - q))
    _claim(widest <= set_.diameter * (1.0 + 1e-9), "has two points further apart than its diameter")
    _claim(widest >= 0.9 * set_.diameter, "has a diameter that no two of its points come near")

"""How far a number computed from rows may lie from the truth: radii, quantiles, standard errors. No context."""

from driftpace.concentration.bernstein import empirical_bernstein_radius, matrix_bernstein_radius
from driftpace.concentration.dependence import standard_error
from driftpace.concentration.influence import influences, leverages, scaled_inverse
from driftpace.concentration.length import length
from driftpace.concentration.positive import positive_ends
from driftpace.concentration.quantiles import chi_squared_quantile, normal_quantile
from driftpace.concentration.running import Running
from driftpace.concentration.series import least_series_scale, series_converges

__all__ = [
    "Running",
    "chi_squared_quantile",
    "empirical_bernstein_radius",
    "influences",
    "least_series_scale",
    "length",
    "leverages",
    "matrix_bernstein_radius",
    "normal_quantile",
    "positive_ends",
    "scaled_inverse",
    "series_converges",
    "standard_error",
]

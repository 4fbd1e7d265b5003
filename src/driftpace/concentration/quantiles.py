"""Quantiles of the distributions that intervals are cut from."""

from driftpace import require


def normal_quantile(confidence: float) -> float:
    """Return z with P(N(0, 1) <= z) = confidence: a one-sided interval reaches z standard errors.

    >>> normal_quantile(0.95)
    1.6448536
    """
    require.fraction("normal_quantile", confidence=confidence)
    from scipy import special  # slow to import, and not always needed

    return float(special.ndtri(confidence))


def chi_squared_quantile(confidence: float, freedom: float) -> float:
    """Return q with P(chi^2 <= q) = confidence for a chi-squared variable with ``freedom`` degrees of freedom.

    >>> chi_squared_quantile(0.95, 10.0)
    18.3070380
    """
    require.fraction("chi_squared_quantile", confidence=confidence)
    require.positive("chi_squared_quantile", freedom=freedom)
    from scipy import special

    return float(special.chdtri(freedom, 1.0 - confidence))

"""Why a baseline or a tracker could not run, in the names of the table's columns."""

from collections.abc import Sequence

from numpy.linalg import LinAlgError

from driftpace.errors import CollinearColumnsError, DataError, DriftpaceError

BASELINE_ERRORS = (DriftpaceError, LinAlgError, ArithmeticError)
"""What a baseline may raise on a table that it cannot handle; anything else is a defect and is raised."""


def explain(error: Exception, features: Sequence[str]) -> str:
    """Return the reason in one sentence.

    >>> explain(CollinearColumnsError(columns=(1, 2), rows=60), ["price", "promo"])
    "'promo' is constant over the first 60 rows."
    >>> explain(CollinearColumnsError(columns=(0, 1), rows=60), ["net", "gross"])
    "'net' and 'gross' are collinear over the first 60 rows."
    """
    if isinstance(error, CollinearColumnsError):
        return f"{_dependence(error, features)}."
    sentence = str(error) or type(error).__name__
    return sentence if sentence.endswith(".") else f"{sentence}."


def feature_error(error: CollinearColumnsError, features: Sequence[str]) -> DataError:
    """Return the error of a tracker of the user's own, in the names of the table.

    >>> str(feature_error(CollinearColumnsError(columns=(1,), rows=40), ["age", "rare"]))
    "backtest(features=...) must be linearly independent in the rows that are bought; 'rare' is constant over the first 40 rows: \
leave it out, or give the loss an l2 above 0."
    """
    left_out = "one of them" if len(_names(error, features)) > 1 else "it"
    return DataError(
        f"must be linearly independent in the rows that are bought; {_dependence(error, features)}: "
        f"leave {left_out} out, or give the loss an l2 above 0.",
        owner="backtest",
        name="features",
    )


def _names(error: CollinearColumnsError, features: Sequence[str]) -> list[str]:
    """Return the features among the dependent columns; the intercept, which comes after them, is not one."""
    return [repr(features[column]) for column in error.columns if column < len(features)]


def _dependence(error: CollinearColumnsError, features: Sequence[str]) -> str:
    names = _names(error, features)
    where = f"over the first {error.rows:,} rows"
    if len(names) == 1:
        return f"{names[0]} is constant {where}"
    return f"{', '.join(names[:-1])} and {names[-1]} are collinear {where}"

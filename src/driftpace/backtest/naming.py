"""What the tracker refuses, said in the names of the table: it knows columns by their numbers only."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from driftpace.errors import DataError

_ALIKE = re.compile(
    r"^Tracker\.tell\(X=\.\.\.\) must have linearly independent columns.* over the (\d+) rows seen, (.*) cannot be"
)


@contextmanager
def in_names(features: Sequence[str]) -> Iterator[None]:
    """Name the features that a tracker could not tell apart in the rows it bought.

    >>> with in_names(["age", "rare"]):
    ...     raise DataError(
    ...         "Tracker.tell(X=...) must have linearly independent columns when l2=0; over the 40 rows seen, column 1 "
    ...         "cannot be told apart: drop one, or set l2 above 0."
    ...     )
    Traceback (most recent call last):
    driftpace.errors.DataError: backtest(features=...) must change in the rows that are bought, each in its own way; in 40 \
rows 'rare' did not: leave it out, or give the loss an l2 above 0.
    """
    try:
        yield
    except DataError as error:
        found = _ALIKE.match(str(error))
        if found is None:
            raise
        shown = re.sub(r"\bcolumn (\d+)", lambda number: repr(features[int(number[1])]), found[2])
        which = "one of them" if " and " in shown else "it"
        raise DataError(
            f"must change in the rows that are bought, each in its own way; in {found[1]} rows {shown} "
            f"did not: leave {which} out, or give the loss an l2 above 0.",
            owner="backtest",
            name="features",
        ) from None

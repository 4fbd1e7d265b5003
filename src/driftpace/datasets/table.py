"""A table that knows which column is the time, which one to predict, and where it came from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.util import find_spec
from typing import Any

import narwhals as nw
import numpy as np

from driftpace import validation
from driftpace.errors import DataError, MissingExtraError, ParameterError

_BACKENDS = ("polars", "pandas", "pyarrow")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Table:
    """Columns of equal length, with what one needs to know to replay them.

    ``columns`` are one-dimensional arrays by name; they become read-only. ``period`` and ``target`` name two of them,
    ``features`` the ones recommended for predicting the target. ``source`` and ``terms`` say where the numbers come from and
    what may be done with them; ``notes`` are sentences on how the table was made.

    >>> table = Table(name="toy", columns={"year": np.array([1, 1, 2]), "y": np.array([0.5, 0.1, 0.3])}, period="year", target="y")
    >>> len(table), table["y"].tolist()
    (3, [0.5, 0.1, 0.3])
    """

    name: str
    columns: Mapping[str, np.ndarray[Any, Any]]
    period: str
    target: str
    features: tuple[str, ...] = ()
    source: str = ""
    terms: str = ""
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        columns = {name: _read_only(name, values) for name, values in self.columns.items()}
        lengths = {values.size for values in columns.values()}
        if len(lengths) != 1:
            raise DataError(
                f"must be columns of one length; got lengths {sorted(lengths)}.",
                owner="Table",
                name="columns",
            )
        object.__setattr__(self, "columns", columns)
        for name in (self.period, self.target, *self.features):
            self[name]

    def __len__(self) -> int:
        return next(iter(self.columns.values())).size

    def __getitem__(self, name: str) -> np.ndarray[Any, Any]:
        if name not in self.columns:
            near = get_close_matches(str(name), self.columns, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(self.columns)}."
            raise ParameterError(f"Table {self.name!r} has no column {name!r}; {hint}")
        return self.columns[name]

    def __repr__(self) -> str:
        size = f"{len(self)} rows, {len(self.columns)} columns"
        return f"Table({self.name!r}, {size}, period {self.period!r}, target {self.target!r})"

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a frame of ``backend`` ("pandas", "polars", "pyarrow"), or of the first that is installed."""
        if backend is not None:
            validation.choice("Table.to_frame", _BACKENDS, backend=backend)
        return nw.from_dict(dict(self.columns), backend=_installed(backend)).to_native()


def _read_only(name: str, values: Any) -> np.ndarray[Any, Any]:
    array = np.array(values)
    if array.ndim != 1:
        raise DataError(
            f"must be one-dimensional arrays; column {name!r} has shape {array.shape}.",
            owner="Table",
            name="columns",
        )
    array.flags.writeable = False
    return array


def _installed(backend: str | None) -> Any:
    wanted: Sequence[str] = _BACKENDS if backend is None else (backend,)
    for name in wanted:
        if find_spec(name) is not None:
            return name
    raise MissingExtraError(f"Table.to_frame() needs {' or '.join(wanted)} to be installed: pip install {wanted[0]}.")

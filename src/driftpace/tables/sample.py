"""Draw the rows of a pool that are to be labelled: at random, all equally likely, none twice in a period.

The rows are in random order, so that the first of them are a random sample too, should only those be labelled.
"""

import hashlib
import itertools
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from driftpace import validation
from driftpace.errors import DataError, ParameterError
from driftpace.tables.cells import as_ids, repeated_marks
from driftpace.tables.columns import Column
from driftpace.tables.json_format import as_written
from driftpace.tables.label_studio import ROW_ID
from driftpace.tables.limits import clip
from driftpace.typing import BoolArray, FloatArray, IntArray

_PREFIX, _DIGEST = "row-", 24
"""What ids made from the content of rows begin with, and how many characters of a digest follow."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class DrawnRows:
    """Rows drawn from a pool: their places, their ids, and a sentence on how they were drawn.

    ``pool`` is the number of rows to draw from, without those drawn before; ``strata`` the number drawn from each stratum;
    ``weights`` what each row counts for, None where all were equally likely.
    """

    places: IntArray
    ids: tuple[str, ...]
    sentence: str
    pool: int
    strata: Mapping[str, int] | None = None
    weights: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.ids)


def draw_rows(  # noqa: PLR0913  public API
    columns: Mapping[str, Column],
    samples: int,
    *,
    rng_key: Sequence[int],
    strata: str | None = None,
    already: Collection[str] = (),
    leave: BoolArray | None = None,
    id_column: str | None = None,
    labels: Collection[str] = (),
    owner: str = "draw_rows",
) -> DrawnRows:
    r"""Draw rows to label, without replacement.

    Without ``strata`` it is a simple random sample. With strata, each gives its share of the sample, rounded down or up: which
    are rounded up is random, in proportion to the remainders, so that every row is equally likely and no weights are needed.
    (Giving the rest to the largest remainders would never draw from a small stratum.) Rows without a value are one stratum.

    Parameters
    ----------
    columns : mapping of str to Column
        The pool.
    samples : int
        Rows to draw; a smaller pool gives all it has.
    rng_key : sequence of int
        The same key and pool give the same rows.
    strata : str, optional
        Column to stratify by.
    already : collection of str
        Ids of rows that were drawn before.
    leave : bool array, optional
        Rows to leave out.
    id_column : str, optional
        Column with the id of each row; a row without one is left out. By default a digest of its content, numbered among equal
        rows.
    labels : collection of str
        Columns that are no part of the digest: the target, and who gave it.
    owner : str
        The function that error messages name.

    Returns
    -------
    DrawnRows

    Examples
    --------
    >>> from driftpace.tables import read_columns
    >>> pool = read_columns(b"id,city\n1,Rome\n2,Oslo\n3,Rome\n4,Rome\n5,Oslo\n6,Rome\n", as_text=["id"])
    >>> drawn = draw_rows(pool, 3, strata="city", id_column="id", already={"1"}, rng_key=(7, 0))
    >>> drawn.sentence
    '3 of the 5 rows not drawn before, in proportion to city; every row was as likely as any other, so no weights are needed.'
    >>> "1" in drawn.ids
    False
    """
    validation.count(owner, samples=samples)
    key = validation.counts(owner, rng_key=list(rng_key))
    ids = row_ids(columns, id_column=id_column, labels=labels, owner=owner)
    if isinstance(already, str):
        raise ParameterError("must be a collection of ids; got one text.", owner=owner, name="already")
    before = frozenset(already)
    leave = np.zeros(len(ids), dtype=np.bool_) if leave is None else leave
    leave = leave | np.array([not name for name in ids], dtype=np.bool_)
    eligible = np.array([place for place, name in enumerate(ids) if name not in before], dtype=np.int64)
    eligible, rows = eligible[~leave[eligible]], len(ids) - int(leave.sum())
    rng = np.random.default_rng([len(key), *key])
    count = min(samples, eligible.size)
    shares = None
    if strata is None:
        places = rng.permutation(eligible)[:count]
    else:
        places, shares = _stratified(_stratum_names(columns, strata, owner), eligible, count, rng)
    return DrawnRows(
        places=places,
        ids=tuple(ids[place] for place in places.tolist()),
        sentence=_sentence(samples, count, eligible.size, rows, strata),
        pool=eligible.size,
        strata=shares,
    )


def _stratified(
    names: list[str], eligible: IntArray, count: int, rng: np.random.Generator
) -> tuple[IntArray, dict[str, int]]:
    groups: dict[str, list[int]] = {}
    for place in eligible.tolist():
        groups.setdefault(names[place], []).append(place)
    labels = sorted(groups)
    shares = allocate([len(groups[label]) for label in labels], count, rng)
    picked = [rng.permutation(np.array(groups[label]))[:share] for label, share in zip(labels, shares, strict=True)]
    places = np.concatenate([np.empty(0, dtype=np.int64), *picked])
    return rng.permutation(places), dict(zip(labels, shares, strict=True))


def allocate(sizes: Sequence[int], count: int, rng: np.random.Generator) -> list[int]:
    """Allocate ``count`` to groups in proportion to their sizes, rounded down or up, exact on average.

    In whole numbers throughout: the share of a group is ``count * size / total``, and the groups that get one more are
    drawn by one random start and equal steps through their remainders, in random order (systematic sampling).

    >>> sum(allocate([5, 3, 2], 4, np.random.default_rng(0)))
    4
    """
    total = sum(sizes)
    if not total:
        return [0] * len(sizes)
    shares = [count * size // total for size in sizes]
    rests = [count * size % total for size in sizes]
    at = int(rng.integers(total))  # a point in every stretch of `total` along the remainders, laid end to end
    for place in rng.permutation(len(sizes)).tolist():
        if at < rests[place]:
            shares[place] += 1
            at += total
        at -= rests[place]
    return shares


def _sentence(samples: int, count: int, eligible: int, rows: int, strata: str | None) -> str:
    fresh = "rows" if eligible == rows else "rows not drawn before"
    if count < samples:
        return f"All {eligible:,} {fresh} of the pool, in random order: {samples:,} were asked and there are no more."
    alike = "every row was as likely as any other, so no weights are needed."
    how = "at random" if strata is None else f"in proportion to {clip(strata)}"
    return f"{count:,} of the {eligible:,} {fresh}, {how}; {alike}"


def _column(columns: Mapping[str, Column], name: str, parameter: str, owner: str) -> Column:
    if name not in columns:
        listed = clip(", ".join(columns), 120)
        raise ParameterError(
            f"must be a column of the pool ({listed}); got {clip(name)!r}.",
            owner=owner,
            name=parameter,
        )
    return columns[name]


def _stratum_names(columns: Mapping[str, Column], strata: str, owner: str) -> list[str]:
    return ["" if text is None else text for text in cell_texts(_column(columns, strata, "strata", owner))]


def row_ids(
    columns: Mapping[str, Column],
    *,
    id_column: str | None = None,
    labels: Collection[str] = (),
    owner: str = "row_ids",
) -> list[str]:
    """Return the id of every row: from a column, "" where it is empty, or made from the content of the row.

    A column named ``driftpace_id`` is the id column where none is named. Columns of ``labels`` are no content: a row has the same
    id before and after it is labelled.
    """
    if not columns:
        raise DataError("the pool must have at least one column; got none.", owner=owner)
    if id_column is None and ROW_ID in columns:
        id_column = ROW_ID
    if id_column is None:
        return _numbered(_digests(columns, labels))
    column = _column(columns, id_column, "id_column", owner)
    names = as_ids([name or "" for name in cell_texts(column)])
    names = ["" if gone else name for name, gone in zip(names, repeated_marks(column), strict=True)]
    if names and not any(names):
        raise DataError(f"rows must have an id in {clip(id_column)!r}; it is empty in all of them.", owner=owner)
    twins = [name for name, count in Counter(names).items() if count > 1 and name]
    if twins:
        raise DataError(
            f"every row must have its own id in {clip(id_column)!r}; {clip(twins[0])!r} is there twice.", owner=owner
        )
    return names


def content_ids(
    columns: Mapping[str, Column], known: Collection[str], *, labels: Collection[str] = (), used: Collection[str] = ()
) -> list[str] | None:
    r"""Return ids made from the content of rows; equal rows take the ``known`` ids of such rows first, and no ``used`` one.

    Returns None where no row has a known id.

    Examples
    --------
    >>> from driftpace.tables import read_columns
    >>> pool = read_columns(b"size,city\n1,Rome\n2,Oslo\n1,Rome\n")
    >>> drawn = row_ids(pool)[1:]
    >>> rows = read_columns(b"size,city,price\n1,Rome,7\n2,Oslo,9\n")
    >>> content_ids(rows, drawn, labels=["price"]) == drawn[::-1], content_ids(rows, ["a"])
    (True, None)
    """
    digests = _digests(columns, labels)
    numbered: dict[str, list[str]] = {}
    for one in known:
        numbered.setdefault(one[: len(_PREFIX) + _DIGEST], []).append(one)
    if not any(digest in numbered for digest in digests):
        return None
    return _numbered(digests, numbered, used)


def _digests(columns: Mapping[str, Column], labels: Collection[str]) -> list[str]:
    """Return a digest of the content of each row."""
    names = sorted(set(columns).difference(labels))
    head = _framed(names)
    cells = [cell_texts(columns[name]) for name in names] or [[""] * len(next(iter(columns.values())).missing)]
    return [f"{_PREFIX}{hashlib.sha256(head + _framed(row)).hexdigest()[:_DIGEST]}" for row in zip(*cells, strict=True)]


def _numbered(
    digests: Sequence[str], known: Mapping[str, Sequence[str]] | None = None, used: Collection[str] = ()
) -> list[str]:
    """Return an id for each digest: equal ones take the ``known`` ids first, then they are numbered from the second on."""
    ids: list[str] = []
    names: dict[str, Iterator[str]] = {}
    for digest in digests:
        if digest not in names:
            names[digest] = _names(digest, () if known is None else known.get(digest, ()), used)
        ids.append(next(names[digest]))
    return ids


def _names(digest: str, known: Sequence[str], used: Collection[str]) -> Iterator[str]:
    yield from known
    for number in itertools.count(1):
        name = digest if number == 1 else f"{digest}-{number}"
        if name not in known and name not in used:
            yield name


def _framed(words: Sequence[str | None]) -> bytes:
    """Return words as unambiguous bytes: each is preceded by its length."""
    return "".join("-;" if word is None else f"{len(word)}:{word};" for word in words).encode("utf-8", "surrogatepass")


def cell_texts(column: Column) -> list[str | None]:
    """Return the cells of a column as text, as originally written where that is known; None where missing.

    >>> cell_texts(Column(kind="number", values=np.array([7.0, np.nan]), missing=np.array([False, True])))
    ['7', None]
    """
    plain = cell_values(column) if column.written is None else [cell.strip() for cell in column.written.tolist()]
    return [None if gone else as_written(value) for value, gone in zip(plain, column.missing, strict=True)]


def cell_values(column: Column) -> list[Any]:
    """Return the cells of a column as plain values: numbers, True or False, texts, times as texts, None where missing."""
    if column.kind == "time":
        days = column.values.astype("datetime64[D]")
        whole = bool(((days == column.values) | column.missing).all())
        cells: list[Any] = [str(moment) for moment in (days if whole else column.values)]
    elif column.kind == "flag":
        cells = [bool(value) for value in column.values]
    elif column.kind == "number":
        cells = [
            int(value) if value.is_integer() and abs(value) < 2.0**53 else value for value in column.values.tolist()
        ]
    else:
        cells = column.values.tolist()
    return [None if gone else value for value, gone in zip(cells, column.missing, strict=True)]

"""Rows to label: every one as likely as any other, none twice, the same ones again for the same key."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from driftpace.errors import DataError, ParameterError
from driftpace.tables import Column, draw_rows, read_columns, row_ids, sample
from driftpace.tables.sample import allocate


def _pool(cities: str) -> dict[str, Column]:
    """One row for each letter, which is its city; a point is a row without one."""
    lines = [f"{place},{'' if city == '.' else city}" for place, city in enumerate(cities)]
    return read_columns("\n".join(["id,city", *lines, ""]).encode(), as_text=["id"])


@given(cities=st.text("abc.", min_size=1, max_size=40), samples=st.integers(0, 50), data=st.data())
def test_what_every_draw_holds(cities: str, samples: int, data: st.DataObject) -> None:
    pool = _pool(cities)
    already = data.draw(st.sets(st.integers(0, 45).map(str)))
    strata = data.draw(st.sampled_from([None, "city"]))
    key = data.draw(st.lists(st.integers(0, 2**70), min_size=1, max_size=3))
    drawn = draw_rows(pool, samples, strata=strata, already=already, id_column="id", rng_key=key)
    left = {str(place) for place in range(len(cities))} - already
    assert len(drawn) == len(set(drawn.ids)) == min(samples, len(left)) == drawn.places.size
    assert set(drawn.ids) <= left
    assert drawn.ids == tuple(pool["id"].values[drawn.places])
    assert drawn.pool == len(left)
    again = draw_rows(pool, samples, strata=strata, already=already, id_column="id", rng_key=key)
    assert again.ids == drawn.ids
    if strata is not None:
        assert drawn.strata == {city: share for city, share in (drawn.strata or {}).items() if share >= 0}
        assert sum((drawn.strata or {}).values()) == len(drawn)
        sizes = Counter(cities[int(name)].replace(".", "") for name in left)
        for city, share in (drawn.strata or {}).items():
            exact = len(drawn) * sizes[city] / len(left)
            assert np.floor(exact) <= share <= np.ceil(exact)


@given(sizes=st.lists(st.integers(0, 50), min_size=1, max_size=9), seed=st.integers(0, 2**32), data=st.data())
def test_shares_are_whole_and_add_up(sizes: list[int], seed: int, data: st.DataObject) -> None:
    total = sum(sizes)
    count = data.draw(st.integers(0, total))
    shares = allocate(sizes, count, np.random.default_rng(seed))
    assert sum(shares) == count
    for size, share in zip(sizes, shares, strict=True):
        assert 0 <= share <= size
        assert total == 0 or count * size // total <= share <= -(-count * size // total)


def _chances(
    pool: dict[str, Column], samples: int, strata: str | None, seed: int, runs: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return how often each row was drawn, and how often it came first."""
    rows = next(iter(pool.values())).values.size
    often, first = np.zeros(rows), np.zeros(rows)
    for run in range(runs):
        drawn = draw_rows(pool, samples, strata=strata, rng_key=(seed, run))
        often[drawn.places] += 1
        first[drawn.places[0]] += 1
    return often, first


def _largest_deviation(often: np.ndarray, runs: int, chance: float) -> float:
    return float(np.abs(often / runs - chance).max() / np.sqrt(chance * (1 - chance) / runs))


@pytest.mark.statistical
@pytest.mark.parametrize("strata", [None, "city"])
def test_every_row_is_as_likely_as_any_other(strata: str | None, seed: int) -> None:
    """Drawn at all, and drawn first: within what chance allows, one false alarm in a million for each of the two.

    The smallest stratum has less than half a share.
    """
    runs, samples = 4_000, 5
    pool = _pool("a" * 11 + "b" * 8 + "c" * 3 + ".")
    rows = 23
    often, first = _chances(pool, samples, strata, seed, runs)
    allowed = stats.norm.isf(1e-6 / rows / 2) * 1.1  # the binomial's tail is a little longer than the normal's here
    assert _largest_deviation(often, runs, samples / rows) < allowed
    assert stats.chisquare(first).pvalue > 1e-6


@pytest.mark.statistical
def test_the_test_can_fail(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rests given to the largest remainders, and rows left in the order of the pool, are both found out."""

    def largest(sizes: Sequence[int], count: int, rng: np.random.Generator) -> list[int]:
        exact = count * np.array(sizes) / sum(sizes)
        shares = np.floor(exact).astype(int)
        for place in np.argsort(shares - exact)[: count - shares.sum()]:
            shares[place] += 1
        return [int(share) for share in shares]

    class InOrder(np.random.Generator):
        def permutation(self, x: Any, axis: int = 0) -> Any:
            return np.sort(super().permutation(x)[:5]) if np.ndim(x) else super().permutation(x)

    runs, samples, rows = 4_000, 5, 23
    pool = _pool("a" * 11 + "b" * 8 + "c" * 3 + ".")
    with monkeypatch.context() as patched:
        patched.setattr(sample, "allocate", largest)
        often, _ = _chances(pool, samples, "city", seed, runs)
        assert often[-1] == 0
        assert _largest_deviation(often, runs, samples / rows) > stats.norm.isf(1e-6 / rows / 2) * 1.1
    made = np.random.default_rng
    monkeypatch.setattr(np.random, "default_rng", lambda key: InOrder(made(key).bit_generator))
    _, first = _chances(pool, samples, None, seed, runs)
    assert stats.chisquare(first).pvalue < 1e-6


@pytest.mark.statistical
def test_pairs_of_rows_are_as_likely_as_chance_has_it(seed: int) -> None:
    """Without strata, every pair is drawn together alike: the sample is a simple random one, not merely fair to single rows."""
    runs, rows, samples = 4_000, 8, 3
    pool = _pool("abcdabcd")
    together = np.zeros((rows, rows))
    for run in range(runs):
        places = draw_rows(pool, samples, rng_key=(seed, 1, run)).places
        together[np.ix_(places, places)] += 1
    pairs = together[np.triu_indices(rows, 1)]
    chance = samples * (samples - 1) / (rows * (rows - 1))
    assert _largest_deviation(pairs, runs, chance) < stats.norm.isf(1e-6 / pairs.size / 2) * 1.1


def test_keys_that_look_alike_draw_differently() -> None:
    pool = _pool("a" * 200)
    keys = [(1,), (1, 0), (0, 1), (1, 0, 0), (2**32,), (0, 0, 1), (2**32 + 1,)]
    assert len({draw_rows(pool, 20, rng_key=key).ids for key in keys}) == len(keys)


def test_a_pool_that_is_too_small_gives_all_and_says_so() -> None:
    drawn = draw_rows(_pool("aab"), 10, id_column="id", already=["1"], rng_key=[0])
    assert sorted(drawn.ids) == ["0", "2"]
    assert (
        drawn.sentence
        == "All 2 rows not drawn before of the pool, in random order: 10 were asked and there are no more."
    )
    assert draw_rows(_pool("aab"), 2, rng_key=[0]).sentence == (
        "2 of the 3 rows, at random; every row was as likely as any other, so no weights are needed."
    )
    assert len(draw_rows(_pool("aab"), 0, rng_key=[0])) == 0


def test_rows_without_an_id_are_known_by_what_they_hold() -> None:
    pool = read_columns(b"a,b\n1,x\n2,y\n1,x\n1,x\n")
    ids = row_ids(pool)
    assert len(set(ids)) == 4
    assert ids[2] == f"{ids[0]}-2"
    assert ids[3] == f"{ids[0]}-3"
    assert row_ids(read_columns(b"b;a\nx;1.0\ny;2\n"))[:2] == ids[:2], (
        "the order of columns and the form of a number say nothing"
    )
    assert row_ids(read_columns(b'{"a": 1, "b": "x"}\n{"a": 2, "b": "y"}'))[:2] == ids[:2]
    drawn = draw_rows(pool, 4, already=ids[1:3], rng_key=[3])
    assert sorted(drawn.ids) == sorted([ids[0], ids[3]])
    assert row_ids(read_columns(b"a,b\n1:,x\n"))[0] != row_ids(read_columns(b"a,b\n1,:x\n"))[0]


def test_the_column_of_a_former_draw_is_the_id() -> None:
    assert row_ids(read_columns(b"driftpace_id,a\n007,1\nrow-2,1\n")) == ["007", "row-2"]


def test_what_cannot_be_drawn_is_refused() -> None:
    pool = _pool("aab")
    with pytest.raises(
        ParameterError, match=r"ask\(strata=...\) must be a column of the pool \(id, city\); got 'town'"
    ):
        draw_rows(pool, 1, strata="town", rng_key=[0], owner="ask")
    with pytest.raises(ParameterError, match=r"ask\(id_column=...\) must be a column of the pool"):
        draw_rows(pool, 1, id_column="key", rng_key=[0], owner="ask")
    with pytest.raises(ParameterError, match=r"draw_rows\(samples=...\) must be a whole number of at least 0; got -1"):
        draw_rows(pool, -1, rng_key=[0])
    with pytest.raises(ParameterError, match=r"draw_rows\(rng_key=...\) must be a tuple of whole numbers"):
        draw_rows(pool, 1, rng_key=[-1])
    with pytest.raises(ParameterError, match=r"draw_rows\(already=...\) must be a collection of ids; got one text"):
        draw_rows(pool, 1, rng_key=[0], already="1")
    with pytest.raises(DataError, match="every row must have its own id in 'city'; 'a' is there twice"):
        draw_rows(pool, 1, id_column="city", rng_key=[0])
    with pytest.raises(DataError, match="rows must have an id in 'city'; it is empty in all of them"):
        draw_rows(_pool(".."), 1, id_column="city", rng_key=[0])
    with pytest.raises(DataError, match="the pool must have at least one column; got none"):
        draw_rows({}, 1, rng_key=[0])


def test_a_row_is_known_again_by_its_id_however_that_is_written() -> None:
    for text in (b"id,a\n1,5\n2,6\n", b"id,a\n1.0,5\n2.0,6\n"):
        pool = read_columns(text, as_text=["id"])
        assert row_ids(pool, id_column="id") == ["1", "2"]
        assert draw_rows(pool, 2, rng_key=(1,), id_column="id", already=["1"]).ids == ("2",)
    with pytest.raises(DataError, match="'1' is there twice"):
        row_ids(read_columns(b"id,a\n1,5\n1.0,6\n", as_text=["id"]), id_column="id")

"""Features that give the target away are named; strong honest ones are not."""

from typing import Any

import numpy as np
import pytest

from driftpace.tables import read_columns
from driftpace.tables.leakage import Leak, find_leaks
from driftpace.typing import FloatArray

ROWS = 2000


def _leaks(columns: dict[str, Any], y: FloatArray, target: Any = None) -> list[Leak]:
    table = read_columns({**columns, "y": y if target is None else target})
    keep = ~table["y"].missing
    return find_leaks(table, list(columns), "y", y[keep], keep)


def _names(columns: dict[str, Any], y: FloatArray) -> list[str]:
    return [leak.feature for leak in _leaks(columns, y)]


def _near(y: FloatArray, correlation: float, rng: np.random.Generator) -> FloatArray:
    """Return a column of that correlation with the target."""
    noise = rng.normal(size=y.size)
    noise -= noise.mean() + (noise @ (y - y.mean())) / ((y - y.mean()) @ (y - y.mean())) * (y - y.mean())
    return np.asarray(correlation * (y - y.mean()) / y.std() + np.sqrt(1.0 - correlation**2) * noise / noise.std())


@pytest.fixture
def data(rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    x = rng.normal(size=ROWS)
    return x, x + rng.normal(size=ROWS)


def test_near_copies_are_named(data: tuple[FloatArray, FloatArray], rng: np.random.Generator) -> None:
    x, y = data
    assert _names({"x": x, "copy": _near(y, 0.985, rng)}, y) == ["copy"]
    assert _names({"x": x, "copy": -3.0 * y + 2.0, "other": np.exp(y)}, y) == [
        "copy",
        "other",
    ]  # two copies do not excuse each other
    leak = _leaks({"x": x, "grown": np.exp(3.0 * y)}, y)[0]
    assert (leak.measure, leak.kind) == ("rank correlation", "copy")


def test_a_strong_honest_feature_is_not_named(data: tuple[FloatArray, FloatArray], rng: np.random.Generator) -> None:
    x, y = data
    assert _names({"x": x, "strong": _near(y, 0.95, rng)}, y) == []


def test_a_strong_feature_among_strong_ones_is_not_named(rng: np.random.Generator) -> None:
    parts = rng.normal(size=(4, ROWS))
    y = parts.sum(axis=0) + 0.2 * rng.normal(size=ROWS)
    nearly = y + 0.3 * rng.normal(size=ROWS)  # correlation 0.99, but the parts together reach 0.995
    assert np.corrcoef(nearly, y)[0, 1] > 0.98
    assert _names({"nearly": nearly, **{f"part {k}": part for k, part in enumerate(parts)}}, y) == []
    assert _names({"nearly": nearly, "part": parts[0]}, y) == ["nearly"]


def test_two_classes(rng: np.random.Generator) -> None:
    x = rng.normal(size=ROWS)
    late = (x + rng.logistic(size=ROWS) > 1.0).astype(float)
    minutes = np.where(late == 1.0, 15.0, 0.0) + rng.exponential(5.0, ROWS) * np.where(late == 1.0, 1.0, 0.5)
    honest = late * 2.7 + rng.normal(size=ROWS)  # an AUC of 0.97
    assert _names({"x": x, "minutes": minutes, "honest": honest}, late) == ["minutes"]
    assert _names({"x": x, "honest": honest}, late) == []
    leak = _leaks({"x": x, "minutes": minutes}, late)[0]
    assert leak.measure == "AUC"
    assert leak.score > 0.995
    assert 0.5 < leak.others < 0.9


def test_categories_that_determine_the_target(rng: np.random.Generator) -> None:
    x = rng.normal(size=ROWS)
    codes = rng.integers(0, 12, ROWS)
    y = (codes * 7 % 5).astype(float) + 0.05 * rng.normal(size=ROWS)
    words = np.array([f"code {code}" for code in codes], dtype=object)
    assert _names({"x": x, "word": words}, y) == ["word"]
    assert _names({"x": x, "code": codes}, y) == ["code"]  # numbers of few values may be codes
    assert _leaks({"x": x, "word": words}, y)[0].kind == "determines"
    outcome = np.where(y > 2.0, "late", "on time").astype(object)
    assert _names({"x": x, "outcome": outcome}, (y > 2.0).astype(float)) == ["outcome"]


def test_categories_that_are_all_different_determine_nothing(rng: np.random.Generator) -> None:
    y = rng.normal(size=ROWS)
    assert _names({"name": [f"row {row}" for row in range(ROWS)]}, y) == []
    assert _names({"pair": [f"pair {row // 2}" for row in range(ROWS)]}, y) == []


def test_columns_known_only_after_the_target(data: tuple[FloatArray, FloatArray], rng: np.random.Generator) -> None:
    x, y = data
    waiting = np.arange(ROWS) >= ROWS - 200
    target = np.where(waiting, np.nan, y)
    fee = np.where(waiting, np.nan, rng.normal(size=ROWS))
    often = np.where(rng.random(ROWS) < 0.3, np.nan, rng.normal(size=ROWS))
    leaks = _leaks({"x": x, "fee": fee, "often": often}, y, target)
    assert [(leak.feature, leak.kind) for leak in leaks] == [("fee", "after")]
    assert leaks[0].sentence == (
        "fee is empty exactly where y is, in 200 rows: exclude it if it is known only after y."
    )


def test_few_rows_prove_nothing(rng: np.random.Generator) -> None:
    assert _names({"x": [1.0, 2.0, 3.0]}, np.array([1.0, 2.0, 3.0])) == []
    rare = np.zeros(200)
    rare[7] = 1.0
    top = rng.normal(size=200)
    top[7] = 10.0
    assert _names({"x": top}, rare) == []
    assert _names({"x": np.arange(50.0)}, np.ones(50)) == []


def test_odd_columns_are_no_trouble(data: tuple[FloatArray, FloatArray]) -> None:
    x, y = data
    odd = {
        "empty": [None] * ROWS,
        "constant": np.ones(ROWS),
        "large": np.where(x > 0, 1e300, -1e300),
        "when": np.arange(ROWS).astype("datetime64[D]"),
        "flag": x > 0,
        "half": np.where(x > 1, np.nan, x),
    }
    assert _names(odd, y) == []


def test_copies_within_periods(rng: np.random.Generator) -> None:
    periods = np.arange(ROWS) // 100
    x = rng.normal(size=ROWS)
    y = x + rng.normal(size=ROWS)
    table = read_columns({"x": x, "nominal": y + 0.5 * periods, "y": y})
    keep = np.ones(ROWS, dtype=np.bool_)
    assert find_leaks(table, ["x", "nominal"], "y", y, keep) == []  # over all periods its correlation is 0.4
    (leak,) = find_leaks(table, ["x", "nominal"], "y", y, keep, periods)
    assert leak.feature == "nominal"
    assert leak.measure == "correlation within periods"
    assert leak.score == pytest.approx(1.0)
    assert leak.others == pytest.approx(0.707, abs=0.05)


def test_classes_that_are_given_away_within_periods(rng: np.random.Generator) -> None:
    periods = np.arange(ROWS) // 100
    y = rng.integers(0, 2, size=ROWS).astype(np.float64)
    table = read_columns(
        {"x": rng.normal(size=ROWS), "index": y + 3.0 * periods + 0.1 * rng.uniform(size=ROWS), "y": y}
    )
    (leak,) = find_leaks(table, ["x", "index"], "y", y, np.ones(ROWS, dtype=np.bool_), periods)
    assert (leak.feature, leak.measure) == ("index", "AUC within periods")


@pytest.mark.parametrize("size", [1, 2, 5, 40])
def test_no_column_is_a_copy_within_periods_by_chance(size: int, rng: np.random.Generator) -> None:
    keep, periods = np.ones(60, dtype=np.bool_), np.arange(60) // size
    for _ in range(50):
        columns = {f"x{index}": rng.normal(size=60) for index in range(5)}
        y = rng.normal(size=60)
        assert find_leaks(read_columns({**columns, "y": y}), list(columns), "y", y, keep, periods) == []


def test_columns_that_are_empty_for_one_class(rng: np.random.Generator) -> None:
    """The delay of flights is empty where they are cancelled, and so is the flag of it; cells missing at random are no sign."""
    codes = rng.integers(0, 4, ROWS).astype(np.float64)
    late = np.where(codes == 3, np.nan, (codes > 0).astype(np.float64))
    honest = np.where(rng.random(ROWS) < 0.3, np.nan, rng.normal(size=ROWS))
    words = np.array(["on time", "late", "very late", "cancelled"])[codes.astype(np.int64)]
    table = read_columns({"late": late, "honest": honest, "y": words})
    (leak,) = find_leaks(table, ["late", "honest"], "y", codes, ~table["y"].missing, classes=True)
    assert (leak.feature, leak.kind, leak.level) == ("late", "after", "cancelled")
    assert f"late is empty exactly where y is 'cancelled', in {int((codes == 3).sum())} rows" in leak.sentence
    two = (codes == 3).astype(np.float64)
    assert [leak.feature for leak in _leaks({"late": late, "honest": honest}, two)] == ["late"]


def test_classes_that_alternate_row_by_row_are_not_a_leak() -> None:
    """Cases and controls in pairs: the halves that features are judged on must not be every other row."""
    rng = np.random.default_rng(4)
    y = np.tile([0.0, 1.0], 200)
    table = {
        "x": rng.normal(size=400),
        "city": rng.choice(list("abcdef"), 400),
        "age": rng.integers(20, 60, 400),
        "y": y,
    }
    columns = read_columns(table)
    assert not find_leaks(columns, ["x", "city", "age"], "y", y, np.ones(400, dtype=np.bool_))
    columns |= read_columns({"fee": np.where(y == 1.0, 5.0, 7.0) + 0.01 * rng.normal(size=400)})
    leaks = find_leaks(columns, ["x", "city", "age", "fee"], "y", y, np.ones(400, dtype=np.bool_))
    assert [leak.feature for leak in leaks] == ["fee"]


@pytest.mark.parametrize("share", [0.05, 0.15, 0.3, 0.9])
def test_copies_with_empty_cells_are_copies(
    share: float, data: tuple[FloatArray, FloatArray], rng: np.random.Generator
) -> None:
    x, y = data
    gone = rng.random(ROWS) < share
    (leak,) = _leaks({"x": x, "copy": np.where(gone, np.nan, 2.0 * y + 1.0)}, y)
    assert (leak.feature, leak.measure) == ("copy", "correlation where it is known")
    sold = (y > 0.8).astype(float)
    words = np.where(gone, None, np.where(sold == 1.0, "yes", "no").astype(object))  # type: ignore[call-overload]
    (leak,) = _leaks({"x": x, "sold": words}, sold)
    assert (leak.kind, leak.measure, leak.score) == ("determines", "AUC where it is known", 1.0)
    honest = np.where(gone, np.nan, x + 0.5 * rng.normal(size=ROWS))
    assert _names({"x": x, "honest": honest}, y) == []
    kinds = np.digitize(y, [-1.0, 0.5])
    table = read_columns({"x": x, "copy": np.where(gone, np.nan, y), "y": np.array(["low", "middle", "high"])[kinds]})
    found = find_leaks(table, ["x", "copy"], "y", kinds.astype(float), ~table["y"].missing, classes=True)
    assert [leak.feature for leak in found] == ["copy"]


def test_copies_that_are_written_in_texts_are_copies(
    data: tuple[FloatArray, FloatArray], rng: np.random.Generator
) -> None:
    x, y = data
    written = [f"EUR {value:.2f}" for value in y]
    commas = [f"{value:.2f}".replace(".", ",") for value in y]
    assert _names({"x": x, "paid": written, "price": commas}, y) == ["paid", "price"]
    others = [f"EUR {value:.2f}" for value in x]
    assert _names({"paid": others, "code": [f"C{row % 97}-{row}" for row in range(ROWS)]}, y) == []


def test_leaks_do_not_hide_each_other(rng: np.random.Generator) -> None:
    """Three columns of an AUC just below the threshold reach together what the leak does."""
    x = rng.normal(size=(ROWS, 3))
    amount = x @ [1.0, -1.0, 0.5] + rng.normal(size=ROWS)
    churned = (amount > 0.8).astype(float)
    strong = {f"near{k}": churned * 3.3 + rng.normal(size=ROWS) for k in range(3)}
    leak = churned * 5.0 + rng.normal(size=ROWS)
    columns = {"x": x[:, 0], "leak": leak, **strong}
    assert _names(columns, churned) == ["leak"]
    assert _names({"x": x[:, 0], **strong}, churned) == []


def test_worlds_without_a_leak_give_none() -> None:
    """Strong, missing, categorical and lagged columns of 200 worlds, numbers and classes."""
    for seed in range(200):
        rng = np.random.default_rng(seed)
        rows = int(rng.integers(40, 400))
        x = rng.normal(size=(rows, 4))
        signal = x @ rng.normal(size=4)
        y = signal + rng.choice([0.5, 1.0, 2.0]) * signal.std() * rng.normal(size=rows)
        columns: dict[str, Any] = {f"x{k}": np.where(rng.random(rows) < 0.3, np.nan, x[:, k]) for k in range(4)}
        columns["word"] = np.array(list("abcdef"), dtype=object)[np.clip(np.round(x[:, 0] + 2.0), 0, 5).astype(int)]
        columns["lag"] = np.roll(y, 1)
        columns["text"] = [f"EUR {value:.1f}" for value in x[:, 1]]
        target = y if seed % 2 else (y > np.median(y)).astype(float)
        table = read_columns({**columns, "y": target})
        periods = np.arange(rows) // 20
        assert find_leaks(table, list(columns), "y", target, np.ones(rows, dtype=np.bool_), periods) == []

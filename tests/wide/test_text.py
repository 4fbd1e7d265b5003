"""Texts and embeddings in frames."""

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from driftpace import LogisticLoss, SquaredLoss, Tracker
from driftpace.errors import DataError, ParameterError, StateFileError
from driftpace.tables import TextTerms

WORDS = ["late", "broken", "refund", "angry", "great", "quick", "thanks", "perfect"]
FILLERS = [f"word{place}" for place in range(60)]


def reviews(count: int, seed: int, *, new: str = "") -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    texts, classes = [], []
    for _ in range(count):
        bad = rng.random() < 0.5
        words = rng.choice(WORDS[:4] if bad else WORDS[4:], 2).tolist() + rng.choice(FILLERS, 6).tolist()
        texts.append(" ".join([*words, new]))
        classes.append("bad" if bad else "good")
    return pd.DataFrame({"review": texts, "length": [float(len(text)) for text in texts]}), np.array(classes) == "good"


def test_texts_are_columns_that_stay_the_same_and_are_saved(tmp_path: Path) -> None:
    tracker = Tracker(LogisticLoss(), epsilon=0.15, text="review", rng=0)
    tracker.fit_pool(reviews(600, 1)[0])
    report = tracker.step(lambda count: reviews(count, 10))
    report = tracker.step(lambda count: reviews(count, 11, new="unseen"))
    assert report.outcome.promised
    tested, classes = reviews(300, 99, new="another")
    right = np.mean((tracker.predict(tested) > 0) == classes)
    assert right > 0.8
    tracker.save(tmp_path / "state")
    again = Tracker.load(tmp_path / "state")
    np.testing.assert_array_equal(again.predict_proba(tested), tracker.predict_proba(tested))
    with pytest.raises(DataError, match="the columns of the first one"):
        again.predict(tested[["review"]])


@pytest.mark.parametrize("library", [pd, pl])
def test_lists_of_numbers_are_columns(library: object) -> None:
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((150, 120))
    frame = library.DataFrame({"vector": vectors.tolist(), "age": rng.random(150)})  # type: ignore[attr-defined]
    tracker = Tracker(SquaredLoss(), epsilon=0.5, rng=0)
    tracker.fit_pool(frame)
    tracker.ask()
    report = tracker.tell(frame, vectors[:, 0] + rng.standard_normal(150))
    assert report is not None
    assert tracker.coef.shape == (121,)
    uneven = library.DataFrame({"vector": [[1.0] * 120, [1.0] * 119], "age": [1.0, 2.0]})  # type: ignore[attr-defined]
    with pytest.raises(DataError, match="lists of 120 numbers in column 'vector'; got 119 in row 1"):
        tracker.predict(uneven)


def test_terms_do_not_depend_on_the_process_and_missing_texts_are_zeros() -> None:
    terms = TextTerms(terms=1024, ngrams=1)
    row = terms.transform(["Drift", None, ""])
    assert row.indices.tolist() == [812]  # the CRC-32 of b"drift"
    assert row.nnz == 1


def test_bad_texts_are_refused() -> None:
    with pytest.raises(DataError, match="must be texts; got 3"):
        TextTerms().transform(["a", 3])
    with pytest.raises(DataError, match="a single one"):
        TextTerms().transform("a text")
    with pytest.raises(StateFileError):
        TextTerms.of({})
    with pytest.raises(ParameterError, match="text"):
        Tracker(SquaredLoss(), epsilon=0.1, text="a", season=12)
    tracker = Tracker(SquaredLoss(), epsilon=0.1, text="note", rng=0)
    tracker.ask()
    with pytest.raises(DataError, match="must have the text column 'note'"):
        tracker.tell(pd.DataFrame({"other": ["a"]}), [1.0])
    with pytest.raises(DataError, match="numbers beside texts"):
        tracker.tell(pd.DataFrame({"note": ["a"], "city": ["Oslo"]}), [1.0])
    assert tracker.snapshot()[1].gathered == 0


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_a_vocabulary_that_changes_is_said_and_orders_end(share: float) -> None:
    rng = np.random.default_rng(0)
    scores, chances = rng.standard_normal((2, 60)), 1.0 / (1.0 + np.arange(60.0))
    chances /= chances.sum()

    def draw(rows: int, new: float) -> tuple[pd.DataFrame, np.ndarray]:
        words, books = rng.choice(60, (rows, 12), p=chances), (rng.random((rows, 12)) < new).astype(int)
        texts = [
            " ".join(f"{'no' if b else 'yes'}{w}" for w, b in zip(*each, strict=True))
            for each in zip(words, books, strict=True)
        ]
        good = scores[books, words].sum(axis=1) + rng.logistic(size=rows) > 0.0
        return pd.DataFrame({"review": texts}), np.where(good, 1.0, -1.0)

    tracker = Tracker(LogisticLoss(), epsilon=0.3, text="review", rng=0)
    tracker.fit_pool(draw(300, 0.0)[0])
    assert tracker.step(lambda rows: draw(rows, 0.0)).outcome.promised
    report = tracker.step(lambda rows: draw(rows, share))
    check = next(one for one in report.assumptions if one.name == "components")
    assert (check.verdict.value == "fail") == (share > 0.0)
    assert ("Start a tracker with a pool" in check.sentence) == (share > 0.0)
    assert report.outcome.promised == (share < 1.0)
    assert report.samples < 1000  # orders end, where more rows would not help either

"""The share of the noise that is the annotators', its interval, biases, and the number of labels a row to buy."""

import numpy as np
import pytest

from driftpace import LogisticLoss, SquaredLoss
from driftpace.adaptive import DesignRows, label_sums, summarise_labels
from driftpace.adaptive.annotators import MOST_LABELS, best_labels, price
from driftpace.losses import LinearLoss
from driftpace.records import AnnotatorReport, LabelSums
from driftpace.typing import FloatArray, IntArray

NAMES = np.array(["Ada", "Ben", "Cleo", "Dov"])


def sums_of(
    X: FloatArray, w: FloatArray, y: FloatArray, of_row: IntArray, names: FloatArray, loss: LinearLoss | None = None
) -> LabelSums:
    """Return the sums at the true model, where leverages are zero."""
    rows = DesignRows(loss=loss or SquaredLoss(), X=X, y=np.zeros(len(X)), penalty=np.zeros(X.shape[1]))
    return label_sums(rows, w, np.zeros(len(X)), y, of_row, names.tolist())


def numbers(rng: np.random.Generator, rows: int, twice: int, share: float, bias: float = 0.0) -> LabelSums:
    """Return the sums of rows whose labels have so much of their variance from annotators; Ada's are higher by ``bias``."""
    X, w = rng.standard_normal((rows, 2)), np.array([1.0, -1.0])
    of_row = np.r_[:rows, :twice]
    own = np.sqrt(1.0 - share) * rng.standard_normal(rows)
    who = rng.integers(4, size=rows)
    who = np.r_[who, (who[:twice] + rng.integers(1, 4, twice)) % 4]
    y = (X @ w + own)[of_row] + np.sqrt(share) * rng.standard_normal(len(of_row)) + bias * (who == 0)
    return sums_of(X, w, y, of_row, NAMES[who])


def coverage(rows: int, twice: int, share: float, shuffled: bool = False) -> tuple[float, float]:
    """Return how often the interval has the share in it, and the mean estimate."""
    hits, means = [], []
    for seed in range(400):
        rng = np.random.default_rng((seed, rows, twice))
        sums = numbers(rng, rows, twice, 1.0 if shuffled else share)
        report = summarise_labels(sums)
        assert report.share is not None
        assert report.interval is not None
        hits.append(report.interval[0] <= share <= report.interval[1])
        means.append(report.share)
    return float(np.mean(hits)), float(np.mean(means))


@pytest.mark.parametrize(("twice", "share"), [(15, 0.5), (40, 0.2), (40, 0.62), (200, 0.8)])
def test_intervals_cover_the_share(twice: int, share: float) -> None:
    """400 runs: a coverage of 0.95 has a standard error of 0.011, and an asymptotic interval from 15 rows may lack 0.03."""
    covered, mean = coverage(400, twice, share)
    assert covered >= 0.95 - 0.03 - 2.5 * 0.011
    assert mean == pytest.approx(share, abs=0.03)


def test_labels_of_different_rows_look_like_annotators_alone() -> None:
    """The control: where labels of one id have nothing in common, intervals must not have the share of true pairs in them."""
    covered, mean = coverage(400, 200, 0.5, shuffled=True)
    assert covered < 0.05
    assert mean > 0.9


def test_the_sums_of_periods_add_up() -> None:
    rng = np.random.default_rng(0)
    first, second = numbers(rng, 60, 20, 0.4), numbers(rng, 50, 10, 0.4)
    both = LabelSums.over([None, first, second])
    assert both is not None
    assert (both.rows, both.labels, both.repeated) == (110, 140, 30)
    assert both.within == first.within + second.within
    assert [one.name for one in both.annotators] == sorted(NAMES)
    assert LabelSums.over([None]) is None


def test_a_biased_annotator_is_found_and_others_are_not() -> None:
    """95 % for all annotators together: at most 5 % of 200 runs without a bias, and 2.5 standard errors, name somebody."""
    named = []
    for seed in range(200):
        report = summarise_labels(numbers(np.random.default_rng(seed), 100, 60, 0.5))
        named.append(bool(report.warnings))
    assert np.mean(named) <= 0.05 + 2.5 * 0.0155
    report = summarise_labels(numbers(np.random.default_rng(0), 400, 300, 0.5, bias=1.0))
    biased = {one.name for one in report.annotators if one.clear and (one.bias or 0.0) > 0.0}
    assert biased == {"Ada"}
    assert any("Ada labels higher than the others on the same rows, by " in line for line in report.warnings)


def test_classes_have_a_rate_of_disagreement_and_kappa() -> None:
    rng = np.random.default_rng(1)
    rows, flips = 4000, 0.1
    X, w = rng.standard_normal((rows, 2)), np.array([2.0, 0.0])
    chance = 1.0 / (1.0 + np.exp(-X @ w))
    own = rng.random(rows) < chance
    of_row = np.r_[:rows, :rows]
    y = np.where(own[of_row] ^ (rng.random(2 * rows) < flips), 1.0, -1.0)
    names = np.repeat(NAMES[:2], rows)
    best = np.array([1.35, 0.0])  # close to the best model of flipped labels
    report = summarise_labels(sums_of(X, best, y, of_row, names, LogisticLoss()))
    differ = 2.0 * flips * (1.0 - flips)
    assert report.disagreement == pytest.approx(differ, abs=0.02)
    assert report.kappa == pytest.approx(1.0 - differ / 0.5, abs=0.04)
    flipped = chance * (1.0 - flips) + (1.0 - chance) * flips
    truth = flips * (1.0 - flips) / float(np.mean(flipped * (1.0 - flipped)))
    assert report.share == pytest.approx(truth, abs=0.04)
    assert report.spread is None
    assert "Fleiss' kappa" in report.agreement


def test_labels_that_always_agree_leave_an_upper_end() -> None:
    rng = np.random.default_rng(2)
    X, w = rng.standard_normal((40, 2)), np.zeros(2)
    y = rng.standard_normal(40)[np.r_[:40, :40]]
    report = summarise_labels(sums_of(X, w, y, np.r_[:40, :40], np.repeat(NAMES[:2], 40)))
    assert report.share == 0.0
    assert report.interval is not None
    assert 0.05 < report.interval[1] < 0.1  # three in forty rows might have differed
    assert report.labels_per_row == 1


def test_the_advised_number_is_the_cheapest() -> None:
    for share in (0.0, 0.1, 0.5, 0.62, 0.8, 0.95, 0.99, 1.0):
        for row_cost in (0.0, 0.5, 1.0, 10.0, 50.0):
            costs = [price(share, labels, row_cost, 1.0) for labels in range(1, MOST_LABELS + 1)]
            best = best_labels(share, row_cost, 1.0)
            assert costs[best - 1] == pytest.approx(min(costs))


def test_sentences() -> None:
    unknown = AnnotatorReport(rows=80, labels=80, repeated=0)
    assert unknown.sentence == (
        "not known: no row of the closed periods was labelled more than once; label 5 to 10 % of the rows twice to know"
    )
    few = AnnotatorReport(rows=80, labels=81, repeated=1)
    assert few.sentence.startswith("not known: only 1 row of the closed periods was labelled more than once")
    report = AnnotatorReport(
        rows=80, labels=120, repeated=40, share=0.9, interval=(0.7, 1.0), labels_per_row=3, plausible=(2, 5), saving=0.2
    )
    assert report.sentence == (
        "90 % of the noise is the annotators' (95 %: 70 to 100 %; 40 rows labelled more than once); label every row 3 times, "
        "20 % cheaper for the same precision (not settled: 2 to 5 labels a row)"
    )


def test_how_many_rows_to_label_twice() -> None:
    known = AnnotatorReport(rows=900, labels=990, repeated=90, labels_per_row=1, plausible=(1, 1))
    nothing = AnnotatorReport(rows=0, labels=0, repeated=0)
    assert [report.rows_to_repeat(120) for report in (nothing, known)] == [12, 6]
    assert nothing.rows_to_repeat(0) == 0
    several = AnnotatorReport(rows=900, labels=990, repeated=90, labels_per_row=3, plausible=(3, 3))
    assert several.rows_to_repeat(120) == 120

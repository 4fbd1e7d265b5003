"""What is predicted is stated at the beginning; a target that no label can have is refused then, not after labels are bought."""

from pathlib import Path

import pytest

from tests.cli.loop import Run
from tests.cli.test_init_table import begin


def table(*labels: str) -> str:
    """A table with two features and those labels, over and over."""
    lines = [f"{n % 7},{n * 5 % 11},{labels[n % len(labels)]}" for n in range(60)]
    return "\n".join(["a,b,y", *lines])


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (("1", "0"), ("0", "1")),
        (("1.0", "0.0", "NA"), ("0", "1")),
        (("1", "-1"), ("-1", "1")),
        (("2", "1", ""), ("1", "2")),
        (("True", "False"), ("false", "true")),
        (("TRUE",), ("false", "true")),
        (("ja", "nein"), ("nein", "ja")),
        (("Yes", "Unsure"), ("Unsure", "Yes")),
        (("b", "a", "N/A"), ("a", "b")),
    ],
)
def test_two_values_are_classes_and_can_be_told(
    folder: Path, run: Run, labels: tuple[str, ...], classes: tuple[str, str]
) -> None:
    created, out = begin(run, table(*labels))
    assert (created.classes, created.loss) == (classes, "logistic")
    assert f"Predicts   y ({classes[0]}, {classes[1]}), by logistic regression" in out
    run("ask", "t")
    assert run("tell", "t", "t.csv", "--part", "--dry-run")[0] == 0


@pytest.mark.parametrize(
    ("more", "how"), [(("--loss", "squared"), "least squares"), (("--loss", "huber"), "Huber regression")]
)
def test_two_numbers_may_be_numbers(folder: Path, run: Run, more: tuple[str, ...], how: str) -> None:
    created, out = begin(run, table("1", "0"), *more)
    assert (created.classes, created.loss) == (None, more[1])
    assert f"Predicts   y (a number), by {how}" in out


def test_numbers_are_numbers(folder: Path, run: Run) -> None:
    created, out = begin(run, table("1.5", "0.25", "7"))
    assert (created.classes, created.loss) == (None, "squared")
    assert "Predicts   y (a number), by least squares" in out


@pytest.mark.parametrize(
    ("labels", "more", "sentence"),
    [
        (("a", "b", "c"), ("--loss", "hinge"), "--loss must be softmax for the 3 classes of 'y' in t.csv; got hinge."),
        (("a", "b", "c"), ("--loss", "squared"), "--target must hold numbers or classes; 'y' holds 'a' among numbers"),
        (
            ("yes",),
            (),
            "--target must hold numbers or classes; 'y' holds 1 class in t.csv (yes); pass all as classes",
        ),
        (("2026-11-16", "2026-11-17"), (), "--target must hold numbers or classes; 'y' holds dates in t.csv."),
        (("1", "2", "three"), (), "--target must hold numbers or classes; 'y' holds 'three' among numbers"),
        (
            ("no", "yes", "maybe"),
            ("--classes", "no,yes"),
            "--classes must be the classes of 'y' in t.csv; got no, yes, but",
        ),
        (
            ("1", "2", "3"),
            ("--loss", "logistic"),
            "--loss must be one of squared, huber, poisson, gamma, tweedie, quantile for a numeric target; 'y' has 3 distinct",
        ),
        (
            ("1", "0"),
            ("--loss", "cubic"),
            "--loss must be one of 'squared', 'huber', 'poisson', 'gamma', 'tweedie', 'quantile', 'logistic', 'hinge', 'softmax'",
        ),
    ],
)
def test_what_can_never_be_told_is_refused(
    folder: Path, run: Run, labels: tuple[str, ...], more: tuple[str, ...], sentence: str
) -> None:
    Path("t.csv").write_text(table(*labels))
    code, out, err = run("init", "t", "--target", "y", "--epsilon", "0.1", "--table", "t.csv", *more)
    assert (code, out) == (2, "")
    assert err.startswith(f"driftpace: {sentence}")
    assert not Path("driftpace.db").exists()


@pytest.mark.parametrize("target", ["Churned", "chruned", "churnd"])
def test_a_target_that_is_nearly_a_column_is_a_slip(folder: Path, run: Run, target: str) -> None:
    Path("t.csv").write_text(table("1", "0").replace("y", "churned"))
    words = ("init", "t", "--target", target, "--epsilon", "0.1", "--table", "t.csv")
    code, _, err = run(*words)
    assert code == 2
    assert "did you mean 'churned'? If not, list the features explicitly." in err
    assert run(*words, "--features", "a,b")[0] == 0


def test_a_target_may_be_missing_in_the_table(folder: Path, run: Run) -> None:
    text = table("1", "0", "5").replace("y", "score1")
    created, out = begin(run, text, target="score2")
    assert created.features == ("a", "b", "score1")
    assert "Target     score2 is not a column of t.csv; labellers will add it" in out

"""What the parser of the command line refuses is one sentence that says what must be and what came."""

from pathlib import Path

import pytest

from tests.cli.loop import Run, content

HUGE = "9" * 30


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("ask churn --pool few", "--pool must be a whole number; got 'few'."),
        ("log churn --last 1.5", "--last must be a whole number; got 1.5."),
        ("log churn --last 0", "--last must be at least 1; got 0."),
        ("list --limit -1", "--limit must be at least 1; got -1."),
        (f"list --limit 1{'0' * 5000}", f"--limit must be a whole number of fewer digits; got 1{'0' * 59}...."),
        ("serve --port 65536", "--port must be at most 65,535; got 65536."),
        ("ask churn --format xml", "--format must be table or json; got 'xml'."),
        ("log churn --format xml", "--format must be table, json or csv; got 'xml'."),
        ("init new --epsilon small", "--epsilon must be a number; got 'small'."),
        (f"init new --target y --epsilon 1 --seed {HUGE}", "--seed must be at most 9,007,199,254,740,992; got 99"),
        ("init new --target y --epsilon 1 --horizon 0", "--horizon must be at least 1; got 0."),
        (f"init new --target y --epsilon 1 --horizon {HUGE}", "--horizon must be at most 10,000; got 99"),
        (f"plan --features {HUGE}", "--features must be at most 1,000,000; got 99"),
        (f"backtest gss_income --epsilon 1 --runs {HUGE}", "--runs must be at most 100,000; got 99"),
        ("override churn -3 --reason r", "a number must not be below 0 here; got -3."),
        ("ask churn --poool 3", "No such option: --poool (Possible options: --pool)."),
        ("ask churn --dry-run=yes", "Option '--dry-run' does not take a value."),
        ("ask churn more", "Got unexpected extra argument(s) (more)."),
        ("ask", "Missing argument 'NAME'."),
        ("override churn 3", "Missing option '--reason'."),
    ],
)
def test_refusals(churn: Path, run: Run, words: str, sentence: str) -> None:
    before = content()
    code, out, err = run(*words.split())
    assert (code, out) == (2, "")
    assert err.startswith(f"driftpace: {sentence}")
    assert err.count("\n") == 1
    assert content() == before


@pytest.mark.parametrize("words", [("log", "churn", "--last"), ("list", "--limit")])
def test_more_than_there_can_be_is_all_of_it(churn: Path, run: Run, words: tuple[str, ...]) -> None:
    run("ask", "churn")
    assert run(*words, HUGE) == run(*words[:-1])

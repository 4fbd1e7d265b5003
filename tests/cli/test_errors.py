"""Errors name options instead of parameters, in one sentence with what is expected and what was given."""

from pathlib import Path

import pytest

from driftpace.cli.app import load
from driftpace.cli.errors import in_options
from driftpace.errors import DriftpaceError, ParameterError
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
        ("override churn -3 --reason r", "a number must not be negative here; got -3."),
        ("ask churn --poool 3", "No such option: --poool (Possible options: --pool)."),
        ("ask churn --dry-run=yes", "Option '--dry-run' does not take a value."),
        ("ask churn more", "Got unexpected extra argument(s) (more)."),
        ("ask", "Missing argument 'NAME'."),
        ("override churn 3", "Missing option '--reason'."),
    ],
)
def test_parser_errors(churn: Path, run: Run, words: str, sentence: str) -> None:
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


@pytest.mark.parametrize(
    ("command", "owner", "name", "message"),
    [
        ("tell", "Campaign.tell", "X", "FILE must be allowed."),
        ("tell", "Campaign.tell", None, "FILE: must be allowed."),
        ("override", "Campaign.override", "samples", "ROWS must be allowed."),
        ("forget", "Campaign.forget", "reason", "--reason must be allowed."),
        ("budget", "Campaign.add_money", "money", "--add must be allowed."),
        ("budget", "Campaign.add_money", "per_sample", "--per-sample must be allowed."),
        ("init", "Campaign", "name", "NAME must be allowed."),
        ("init", "Campaign", "epsilon", "--epsilon must be allowed."),
        ("init", "Campaign", "id", "--id must be allowed."),
        ("init", "Campaign", "budget.total", "--budget must be allowed."),
        ("init", "Campaign", "cap", "cap must be allowed."),
        ("init", "infer_definition", "features", "--features must be allowed."),
        ("import", "import", "name", "--as must be allowed."),
        ("ask", "Campaign.sample", "strata", "--stratify must be allowed."),
        ("ask", "Campaign.sample", None, "--select: must be allowed."),
        ("ask", "open_store", "storage", "--storage must be allowed."),
        ("ask", "LabelStudio", "url", "--label-studio must be allowed."),
        ("plan", "TieredCost", "tiers[0]", "--per-sample must be allowed."),
        ("plan", "TieredCost", "tiers[2]", "--tier must be allowed."),
        ("plan", "Outlook", "rho", "--rho must be allowed."),
        ("backtest", "backtest", "frame", "FILE must be allowed."),
        ("backtest", "backtest", "test_fraction", "--test-fraction must be allowed."),
        ("log", "Elsewhere", "depth", "Elsewhere(depth=...) must be allowed."),
        ("log", None, None, "must be allowed."),
    ],
)
def test_parameters_are_named_by_their_options(command: str, owner: str | None, name: str | None, message: str) -> None:
    error = ParameterError("must be allowed.", owner=owner, name=name)
    assert str(in_options(error, load(command).params)) == message


def test_a_name_given_by_another_layer_is_kept() -> None:
    error: DriftpaceError = ParameterError("must be allowed.", owner="Campaign", name="name").renamed(subject="name")
    assert str(in_options(error, load("init").params)) == "name must be allowed."


def test_a_pool_that_is_given_too_late_is_refused_by_its_option(churn: Path, run: Run) -> None:
    run("ask", "churn")
    before = content()
    sentence = "driftpace: --pool must be the same as when period 1 was sized, without a pool; got 5.\n"
    assert run("ask", "churn", "--pool", "5") == (2, "", sentence)
    assert content() == before

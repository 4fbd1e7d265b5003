"""The page of a campaign says what the campaign says, needs nothing from anywhere, and cannot be made to run anything."""

import json
import re
import resource
import signal
from pathlib import Path
from typing import Any

import pytest

from driftpace.campaign import Campaign
from driftpace.storage import open_store
from tests.cli.loop import Run, content, period


def figures(text: str) -> dict[str, Any]:
    match = re.search(r'<script type="application/json" id="figures">(.*?)</script>', text, re.DOTALL)
    assert match is not None
    return dict(json.loads(match[1]))


def test_a_page_after_some_periods(churn: Path, run: Run) -> None:
    for key in ("W1", "W2", "W3"):
        period(run, key)
    run("ask", "churn", "--key", "W4", "--who", "anna")
    before = content()
    code, out, err = run("report", "churn", "--out", "page.html")
    assert (code, out, err) == (0, "churn: report written to page.html.\n", "")
    assert content() == before
    text = Path("page.html").read_text()
    store = open_store("driftpace.db")
    campaign = Campaign.open("churn", storage=store)
    status, ledger = campaign.status(), campaign.ledger()
    store.close()
    assert status.todo in text
    assert status.order is not None
    drawn = figures(text)
    assert list(drawn) == ["labels", "drift", "risk", "served", "money"]
    received = next(one for one in drawn["labels"]["data"] if one["name"] == "received")
    assert received["x"] == ["W1", "W2", "W3", "W4"]
    assert received["y"] == [*(row.report.samples for row in ledger), None]
    expected = next(one for one in drawn["risk"]["data"] if one["name"] == "expected")
    assert expected["y"] == pytest.approx([row.report.risk_bound for row in ledger])
    spent = [
        one for one in next(one for one in drawn["money"]["data"] if one["name"] == "spent")["y"] if one is not None
    ]
    assert spent[-1] == float(status.spent or 0)
    for one in status.order.request.assumptions:
        assert one.name in text
    assert text.count("anna") == 1
    assert "http://" not in re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)


def test_a_page_from_the_first_day_on(churn: Path, run: Run) -> None:
    assert run("report", "churn")[0] == 0
    assert figures(Path("churn.html").read_text()) == {}
    run("ask", "churn")
    assert run("report", "churn")[0] == 0
    assert list(figures(Path("churn.html").read_text())) == ["labels", "money"]


def test_nothing_that_people_wrote_is_run(churn: Path, run: Run) -> None:
    nasty = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"
    run("ask", "churn", "--key", nasty)
    run("override", "churn", "3", "--reason", nasty, "--who", nasty)
    run("report", "churn")
    text = Path("churn.html").read_text()
    assert "<script>alert" not in text
    assert "<img" not in re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)
    assert "script-src 'sha256-" in text


def test_a_dry_run_writes_nothing(churn: Path, run: Run) -> None:
    assert run("report", "churn", "--dry-run") == (
        0,
        "churn: report would be written to churn.html.\n",
        "Nothing was written.\n",
    )
    assert not Path("churn.html").exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("churn", "--out", "pool.csv"), "--out must end in .html or .htm; got 'pool.csv'."),
        (("churn", "--out", "folder.html"), "--out must be a file; 'folder.html' is a directory."),
        (("churn", "--out", "no/x.html"), "--out must be in an existing directory; got 'no/x.html'."),
        (("chrun",), "there is no campaign 'chrun'"),
    ],
)
def test_refusals(churn: Path, run: Run, words: tuple[str, ...], sentence: str) -> None:
    Path("folder.html").mkdir()
    code, out, err = run("report", *words)
    assert run("report", *words, "--dry-run") == (code, out, err)
    assert (code, out) == (2, "")
    assert err.startswith(f"driftpace: {sentence}")


def test_without_plotly_the_sentence_names_what_to_install(
    churn: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("driftpace.cli.files.find_spec", lambda name: None)
    code, _, err = run("report", "churn")
    assert code == 2
    assert 'pip install "driftpace[report]"' in err


def test_a_report_that_cannot_be_written_leaves_the_old_one(churn: Path, run: Run) -> None:
    period(run, "W1")
    Path("page.html").write_text("the old one")
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64 << 10, limit[1]))
    try:
        code, _, err = run("report", "churn", "--out", "page.html")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        signal.signal(signal.SIGXFSZ, before)
    assert code == 2
    assert err.count("\n") == 1
    assert Path("page.html").read_text() == "the old one"
    assert sorted(file.name for file in Path().glob("*page*")) == ["page.html"]
